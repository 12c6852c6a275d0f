// Squared hinge loss: max(0, 1 - m)^2.
//
// conjugate  u + u^2/4 for u <= 0
// gap        (2c(1 - m) - alpha)^2 / (4c)       for m < 1
//            alpha (m - 1) + alpha^2 / (4c)     for m >= 1,       alpha >= 0
#pragma once

#include <algorithm>

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct SquaredHinge {
    static constexpr const char* name = "squared_hinge";

    static double value(double m) noexcept {
        const double slack = std::max(1.0 - m, 0.0);  // in this order NaN stays NaN
        return slack * slack;
    }
    static double slope(double m) noexcept { return 2.0 * std::min(m - 1.0, 0.0); }
    static double slope_low(double m) noexcept { return slope(m); }
    static double slope_high(double m) noexcept { return slope(m); }
    static double curvature(double m) noexcept { return 2.0 * static_cast<double>(m < 1.0); }

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
        if (m == infinity) return alpha == 0.0 ? 0.0 : infinity;
        // Both sides of the margin in one formula: no processor could foresee a branch.
        const double residual = 2.0 * c * std::max(1.0 - m, 0.0) - alpha;
        return (residual / c) * (0.25 * residual) +
               alpha * std::max(m - 1.0, 0.0);  // its square may overflow
    }

    static double best_alpha(double m, double c) noexcept {
        return m < 1.0 && c > 0.0 ? 2.0 * c * (1.0 - m) : 0.0;
    }
};

static_assert(QuadraticDual<SquaredHinge>);

}  // namespace maxmargin::loss
