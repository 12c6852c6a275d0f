// What becomes of an example of the hinge that is left out: its dual is taken down step by step, and the
// optimum followed exactly.
//
// With x̃ the rows as the products K = X̃ X̃ᵀ know them, β = sα, F the free rows and i the row that leaves,
// per unit of α_i:
//
//     K_FF β′_F + b′ 1 = s_i K_Fi,   1·β′_F = s_i (b free; else b′ = 0),   m′_j = s_j (K_jF β′_F − s_i K_ji +
//     b′),
//
// until a free dual meets a bound, or an agreement meets 1, where the row changes its place. Without free
// rows a free offset slides to the next row that can take over. For a free offset K holds an arbitrary
// constant σ in every entry, which changes nothing because Σ β = 0 and makes d + 1 rows independent.
//
// Only rows near the margin change their places; those are the first ones, `n_watched` of them, and the
// others are looked at when the row is out. If one of them has crossed the margin, the path is followed
// again.
//
// The end is judged by its duality gap g on all rows, computed without cancellation and with the rounding δ_j
// of every score paid for, that of the products included: |error of the agreement| ≤ √(2g) (‖x_i‖ + max
// ‖x_j‖)
// + δ_i + max δ_j, the maxima with a free offset only.
#pragma once

#include <cstdint>

#include "maxmargin/kernel/dual_face.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct FullFit {
    DualRows rows;
    const double* alpha;
    const double* agreement;
    double b;                // 0 where the offset is part of the products, or absent
    double constant;         // σ
    double residual2;        // ‖w − Σ sαx̃‖²
    const double* rounding;  // how far each agreement may be off
    double product_error;    // how far x_j · x_k may be off, in units of ‖x_j‖ ‖x_k‖
    bool has_free_offset;
    std::int64_t n_watched;
};

struct Removal {
    std::int64_t row;
    double new_cost;    // what the row costs afterwards: 0, or the cost of its copies
    double stop_below;  // an agreement at which it is wrong for certain and need not be followed further
};

struct LeftOut {
    // With the offset in the middle of its interval; if the row is not out yet, with the one that suits it
    // worst: no left-out optimum has a larger agreement then.
    double agreement = 0;
    double error_bound = 0;  // of that agreement; infinite if the path was lost
    bool is_out = false;
    std::int64_t events = 0;
};

class RemovalPath {
  public:
    explicit RemovalPath(const FullFit& fit);

    // The dual point of the fit with a regular free set; w is the same.
    const std::vector<double>& alpha() const noexcept { return face_.alpha(); }
    std::int64_t n_free() const noexcept { return face_.free().size(); }

    // False if it was stopped; results before the first that is missing are complete.
    bool follow(const Removal* removals, std::int64_t count, LeftOut* results, StopToken& token) const;

  private:
    FullFit fit_;
    DualFace face_;
    double radius_ = 0;  // max ‖x_j‖
};

}  // namespace maxmargin
