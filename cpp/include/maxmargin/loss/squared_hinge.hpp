// Squared hinge loss: max(0, 1 - m)^2.
//
// conjugate  u + u^2/4 for u <= 0
// gap        (2c(1 - m) - alpha)^2 / (4c)       for m < 1
//            alpha (m - 1) + alpha^2 / (4c)     for m >= 1,       alpha >= 0
#pragma once

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct SquaredHinge {
    static constexpr const char* name = "squared_hinge";

    static double value(double m) noexcept { return m > 1.0 ? 0.0 : (1.0 - m) * (1.0 - m); }
    static double slope(double m) noexcept { return m > 1.0 ? 0.0 : 2.0 * (m - 1.0); }
    static double slope_low(double m) noexcept { return slope(m); }
    static double slope_high(double m) noexcept { return slope(m); }
    static double curvature(double m) noexcept { return m < 1.0 ? 2.0 : 0.0; }

    // The product form keeps u = -inf from becoming inf - inf.
    static double conjugate(double u) noexcept { return u <= 0.0 ? u * (1.0 + 0.25 * u) : infinity; }

    static constexpr double dual_curvature = 0.5;

    static double largest_alpha(double c) noexcept { return c > 0.0 ? infinity : 0.0; }

    static double dual_value(double alpha, double c) noexcept {
        if (alpha == 0.0) return 0.0;
        if (!(alpha > 0.0 && c > 0.0)) return -infinity;
        return alpha * (1.0 - 0.25 * (alpha / c));
    }

    static double fenchel_gap(double m, double alpha, double c) noexcept {
        if (!(alpha >= 0.0 && alpha < infinity && (c > 0.0 || alpha == 0.0))) return infinity;
        if (c == 0.0) return 0.0;
        if (m < 1.0) {
            const double residual = 2.0 * c * (1.0 - m) - alpha;
            return (residual / c) * (0.25 * residual);  // its square could overflow or vanish
        }
        return alpha == 0.0 && m == infinity ? 0.0 : alpha * ((m - 1.0) + 0.25 * (alpha / c));
    }

    static double best_alpha(double m, double c) noexcept {
        return m < 1.0 && c > 0.0 ? 2.0 * c * (1.0 - m) : 0.0;
    }
};

static_assert(QuadraticDual<SquaredHinge>);

}  // namespace maxmargin::loss
