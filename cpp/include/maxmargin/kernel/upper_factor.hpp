// Memory for one symmetric positive definite matrix after another, and its Cholesky factor in place: for
// loops that factorise thousands of matrices of one size. `Factor` adds scaling, ridges and refinement.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/stop.hpp"
#include "maxmargin/triangles.hpp"

namespace maxmargin {

class UpperFactor {
  public:
    // The size is padded to a multiple of the step by rows of the unit matrix.
    explicit UpperFactor(std::int64_t size);

    std::int64_t size() const noexcept { return size_; }
    static std::int64_t padded(std::int64_t size) noexcept {
        return (size + kTriangleStep - 1) / kTriangleStep * kTriangleStep;
    }
    std::int64_t stride() const noexcept { return stride_; }

    // Row-major; only the upper triangle counts.
    double* row(std::int64_t i) noexcept { return upper_.data() + i * stride_; }
    const double* row(std::int64_t i) const noexcept { return upper_.data() + i * stride_; }
    UpperTriangle triangle(std::int64_t first, std::int64_t size) const noexcept;

    // All zeros but the padding.
    void clear() noexcept;

    // Turns the matrix into U with UᵀU = matrix; false at a pivot that is not positive. `smallest_pivot` is
    // that of the matrix as it was given. A token, if there is one, ends it too.
    bool factorise(StopToken* token = nullptr);
    double smallest_pivot() const noexcept { return smallest_pivot_; }

    // x ← (UᵀU)⁻¹ x.
    void solve(double* x) const noexcept;

    // The same for several right-hand sides, each a row of x; or with the numbers of equation i in row i.
    void solve_rows(double* x, std::int64_t n_sides) const noexcept;
    void solve_many(double* x, std::int64_t n_sides) const noexcept;

  private:
    std::int64_t size_, padded_, stride_, step_;
    double smallest_pivot_ = 1;
    std::vector<double> upper_, inverse_diagonal_;
    std::vector<double> packed_, zeros_, ones_, unused_;  // of the register tiles
    std::vector<const double*> rows_;
};

}  // namespace maxmargin
