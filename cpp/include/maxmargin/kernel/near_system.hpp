// How the rows near the margin of a hinge fit answer when the duals of some of them change, as long as the
// free ones stay at the margin: one symmetric matrix, made once for a fit.
//
// K are the products of the near rows, a constant added to each; the free rows F come first, B are the
// others. With β = sα and u = x·w + b, a change of u_F (0 unless a row leaves the margin) and of β_B makes
//
//     (δβ_F, δu_B) = A (δu_F, −δβ_B),   A = WᵀW − (0 ⊕ K_BB) − p pᵀ/η,   W = U⁻ᵀ (I | K_FB),   UᵀU = K_FF,
//
// where the last term belongs to a free offset, which keeps Σ β: η = ‖U⁻ᵀ1‖², p = WᵀU⁻ᵀ1 − (0, 1_B), and
// δb = p·(δu_F, −δβ_B)/η. A is positive definite on F, negative definite on B, so any of its principal
// submatrices can be eliminated without looking for pivots: rows change their roles by small systems.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/near_products.hpp"
#include "maxmargin/kernel/symmetric.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

class NearSystem {
  public:
    enum class Outcome { made, dependent, stopped };

    // `constant` is added to all products: the square of a penalised offset's column, or for a free offset,
    // which does not feel it, any moderate number.
    NearSystem(const NearProducts& products, std::int64_t n_free, double constant, bool has_free_offset);

    // `dependent` if the free rows are, as far as rounding lets us see.
    Outcome make(StopToken& token);

    std::int64_t size() const noexcept { return n_; }
    std::int64_t n_free() const noexcept { return n_free_; }
    const double* row(std::int64_t k) const noexcept { return matrix_.get() + k * stride_; }
    // p/η, and 1/η; zeros unless the offset is free.
    const std::vector<double>& offset_answer() const noexcept { return offset_answer_; }
    double inverse_eta() const noexcept { return inverse_eta_; }

    // The same column of A for rows that are not near: `columns` gets `size()` numbers for each, and
    // `offset_answers` their p/η.
    void columns_of(const std::int64_t* rows, std::int64_t count, double* columns,
                    double* offset_answers) const;

  private:
    bool multiply_rows(StopToken& token);
    Outcome reduce(StopToken& token);
    Outcome negate();
    void take_out_offset();
    void mirror();

    const NearProducts& products_;
    std::int64_t n_, n_free_, stride_;
    double constant_, inverse_eta_ = 0;
    bool has_free_offset_;
    Zeros matrix_;
    std::vector<double> offset_answer_;
};

}  // namespace maxmargin
