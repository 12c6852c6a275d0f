// One coordinate of the dual: the best α of a row while all others stay.
//
// With m the row's agreement, q = ‖x‖² + γ and h the dual term of the loss, α minimises
//     (m)(α' − α) + q/2 (α' − α)² − dual_value(α'),     0 ≤ α' ≤ largest_alpha(c).
// Where dual_value is a parabola: a quadratic in a box. Logistic: one smooth equation, in the agreement.
#pragma once

#include <algorithm>
#include <cmath>

#include "maxmargin/loss/concept.hpp"
#include "maxmargin/loss/logistic.hpp"

namespace maxmargin {

struct CoordinateStep {
    double alpha;      // the new value
    double violation;  // projected gradient before the step, in units of agreement
    double gap;        // the row's share of the duality gap before the step
};

template <class Loss>
struct DualStep;  // losses whose dual is no parabola specialise it below

template <loss::QuadraticDual Loss>
struct DualStep<Loss> {
    static CoordinateStep take(double m, double alpha, double c, double q) noexcept {
        const double upper = Loss::largest_alpha(c);
        const double curve = curvature(c);
        const double gradient = m - 1 + curve * alpha;
        CoordinateStep step{alpha, gradient, Loss::fenchel_gap(m, alpha, c)};
        if (alpha <= 0) {
            step.violation = std::min(gradient, 0.0);
        } else if (alpha >= upper) {
            step.violation = std::max(gradient, 0.0);
        }
        if (step.violation == 0) return step;
        const double curved = q + curve;
        // A row that cannot move the score (all zero, no offset) goes to the bound its slope points at.
        const double best = curved > 0 ? alpha - gradient / curved : (gradient < 0 ? upper : 0.0);
        step.alpha = std::clamp(best, 0.0, upper);
        return step;
    }

  private:
    static double curvature(double c) noexcept {
        if constexpr (Loss::dual_curvature == 0) return 0;  // without a division
        return Loss::dual_curvature / c;
    }
};

// With α' = c σ(−t) the optimality condition is t = m + q (c σ(−t) − α): the new agreement t lies in
// [m − qα, m + q(c − α)]. The left side minus the right side increases, convex for t < 0 and concave for t >
// 0: Newton's method that is kept on the solution's side of 0 overshoots at most once and cannot cycle. α'
// keeps all its digits near 0 and near c.
template <>
struct DualStep<loss::Logistic> {
    static CoordinateStep take(double m, double alpha, double c, double q) noexcept {
        const double held = std::log((c - alpha) / alpha);  // the agreement at which this α would be right
        const double violation = m - held;
        const double gap = 0.5 * (alpha - c * loss::Logistic::sigma(-m)) * violation;
        double low = m - q * alpha, high = m + q * (c - alpha);
        if (m + q * (0.5 * c - alpha) > 0) {
            low = std::max(low, 0.0);
        } else {
            high = std::min(high, 0.0);
        }
        double t = std::clamp(held, low, high);
        double share = loss::Logistic::sigma(-t);
        for (int round = 0; round < 50; ++round) {
            const double excess = t - m - q * (c * share - alpha);
            const double next = std::clamp(t - excess / (1 + q * c * share * (1 - share)), low, high);
            const double moved = std::fabs(next - t);
            t = next;
            share = loss::Logistic::sigma(-t);
            if (moved <= 1e-9 * (1 + std::fabs(t))) break;
        }
        return {c * share, violation, std::fabs(gap)};
    }
};

}  // namespace maxmargin
