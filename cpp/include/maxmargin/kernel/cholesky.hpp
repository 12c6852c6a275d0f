// Equations with a symmetric positive definite matrix, by Cholesky factors of the matrix scaled to a unit
// diagonal. Where rounding or dependent columns break the factorisation down, the smallest ridge of
// 1e-15, 1e-13, … that lets it through is added to the scaled diagonal.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "maxmargin/block.hpp"
#include "maxmargin/kernel/upper_factor.hpp"
#include "maxmargin/stop.hpp"
#include "maxmargin/triangles.hpp"

namespace maxmargin {

// A number of the matrix is not finite, or it is far from positive semidefinite.
struct NotFactorised : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

class Factor {
  public:
    // Reads the lower triangle of a row-major matrix. A row whose diagonal is 0 counts as a row of the unit
    // matrix. Throws NotFactorised.
    Factor(const double* matrix, std::int64_t size);

    std::int64_t size() const noexcept { return size_; }
    double ridge() const noexcept { return ridge_; }

    // The smallest pivot of the matrix scaled to a unit diagonal: near the rounding unit, some column is a
    // combination of others as far as the matrix can tell.
    double smallest_pivot() const noexcept { return std::fmin(1.0, upper_.smallest_pivot()); }

    // x = M⁻¹ rhs, improved by steps of iterative refinement against M: two, or four with a ridge.
    void solve(const double* rhs, double* x) const;

    // The same for several right-hand sides, the rows of `rhs`, without refinement: to precondition with.
    void solve_rows(const double* rhs, std::int64_t n_sides, double* x) const;

    // L with LLᵀ = M (and its ridge), row-major with zeros above the diagonal: row i of L has the inner
    // products of row i of M.
    void lower(double* triangle) const;

    // The largest (x − shift, 1)ᵀ M⁻¹ (x − shift, 1) over the rows of a block, in `largest`, which must hold
    // a number on entry that it only raises; false if it was stopped. Rows whose `cost` is 0 are not read;
    // a null `cost` means all rows.
    bool quadratic_form_max(const Block& block, const double* cost, const double* shift, double& largest,
                            StopToken& token) const;

    // The forms themselves, of the rows whose `chosen` is not 0 (null: of all); other entries stay as they
    // are. Sparse rows are multiplied with U⁻¹, which is made the first time.
    bool quadratic_forms(const Block& block, const double* chosen, const double* shift, double* forms,
                         StopToken& token) const;

  private:
    template <class Take>
    bool forms_by_panels(const Block& block, const double* chosen, const double* shift, StopToken& token,
                         Take&& take) const;
    template <class Rows>
    double form_of_sums(const Rows& rows, std::int64_t row, std::vector<double>& sum) const;
    template <class Rows>
    bool form_of_products(const Rows& rows, std::int64_t row, double& form) const;
    void invert() const;
    void read(const double* matrix);
    void fill();
    UpperTriangle triangle(std::int64_t first, std::int64_t size) const;

    std::int64_t size_, padded_;
    double ridge_ = 0;
    std::vector<double> matrix_;  // M, both triangles
    UpperFactor upper_;           // U with UᵀU = scaled M
    std::vector<double> scale_;   // 1/√diagonal of M
    mutable std::once_flag inverted_;
    // Empty until they are wanted: columns of U⁻ᵀ times the scale, and M⁻¹.
    mutable std::vector<double> inverse_, products_;
};

}  // namespace maxmargin
