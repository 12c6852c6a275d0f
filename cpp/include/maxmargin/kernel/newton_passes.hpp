// The passes of Newton's method for  Σ c ℓ(m),  m = s(x·w + b),  with a smooth loss ℓ.
//
// evaluate reads every row once: score z = x·w, losses, gradient Σ s c ℓ′(m) (x, 1) and, if it is wanted, the
// weighted Gram matrix with h = c ℓ″(m) while the row is still in cache. The other passes are the Hessian's
// product with a direction, for conjugate gradients, and sums that need the scores alone.
#pragma once

#include <cstdint>
#include <string_view>

#include "maxmargin/block.hpp"
#include "maxmargin/kernel/gram.hpp"
#include "maxmargin/kernel/row_terms.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// Where to evaluate, and where the per-row results go.
struct NewtonPoint {
    const double* w;
    double b;
    const std::int8_t* sign;
    const double* cost;
    double* z;
    double* h;  // null: not kept
};

struct NewtonSums {
    bool complete = true;  // false if it was stopped
    double loss = 0;       // Σ c ℓ(m)
    double slope = 0;      // Σ s c ℓ′(m), the gradient's entry for b
    double curvature = 0;  // Σ c ℓ″(m)

    NewtonSums operator+(const NewtonSums& other) const noexcept {
        return {complete && other.complete, loss + other.loss, slope + other.slope,
                curvature + other.curvature};
    }
};

// Adds Σ s c ℓ′(m) x to `gradient` and, unless it is null, every row to `gram`. Returns false when no smooth
// loss has that name.
bool newton_evaluate(std::string_view loss, const Block& block, const NewtonPoint& point, double* gradient,
                     Gram* gram, NewtonSums& sums, StopToken& token);

// Adds Σ h (x·d + e) x to `product` and Σ h (x·d + e) to `product_b`; false if it was stopped.
bool hessian_product(const Block& block, const double* h, const double* d, double e, double* product,
                     double& product_b, StopToken& token);

// Adds Σ h x² to `squares` and Σ h x to `sums`, column by column: what the Hessian's diagonal is made of.
bool hessian_diagonal(const Block& block, const double* h, double* squares, double* sums, StopToken& token);

// Other scores of the same rows, with their offset.
struct OtherScores {
    const double* z;
    double b;
};

struct LineSums {
    double loss = 0, slope = 0, curvature = 0;  // of Σ c ℓ(s(p + t(q − p))) in t

    LineSums operator+(const LineSums& other) const noexcept {
        return {loss + other.loss, slope + other.slope, curvature + other.curvature};
    }
};

// On the line from the scores p = rows.z + b to the scores q = to.z + to.b.
bool line_sums(std::string_view loss, const ScoredRows& rows, double b, const OtherScores& to, double t,
               LineSums& sums);

struct PredictionSums {
    double gap = 0;      // the rows' share of the duality gap at the scores q
    double error = 0;    // Σ |−c ℓ′(s q) − α|, before clipping
    double clipped = 0;  // Σ |what clipping changed|

    PredictionSums operator+(const PredictionSums& other) const noexcept {
        return {gap + other.gap, error + other.error, clipped + other.clipped};
    }
};

// The duals that a quadratic model with curvatures h at the scores p predicts at the scores q (as above),
//
//     α = −c ℓ′(s p) − h s(q − p),   clipped to what is feasible.
//
// Where the step from p to q solved the equations of that model, Σ sαx is w at q and Σ sα is what it should
// be, but for clipping: all that is left of the duality gap are the rows' own terms.
bool predicted_duals(std::string_view loss, const ScoredRows& rows, double b, const double* h,
                     const OtherScores& to, double* alpha, PredictionSums& sums);

}  // namespace maxmargin
