// Hinge loss: max(0, 1 - m).
//
// conjugate  u on [-1, 0]
// gap        (c - alpha) (1 - m)+ + alpha (m - 1)+        for 0 <= alpha <= c
#pragma once

#include <algorithm>
#include <cmath>

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct Hinge {
    static constexpr const char* name = "hinge";

    static double value(double m) noexcept { return std::max(1.0 - m, 0.0); }  // in this order NaN stays NaN
    static double slope(double m) noexcept { return m > 1.0 ? 0.0 : -1.0; }
    static double slope_low(double m) noexcept { return m > 1.0 ? 0.0 : -1.0; }
    static double slope_high(double m) noexcept { return m < 1.0 ? -1.0 : 0.0; }
    static double curvature(double) noexcept { return 0.0; }
    static double conjugate(double u) noexcept { return u >= -1.0 && u <= 0.0 ? u : infinity; }

    static constexpr double dual_curvature = 0.0;

    static double largest_alpha(double c) noexcept { return c; }

    static double dual_value(double alpha, double c) noexcept {
        return alpha >= 0.0 && alpha <= c ? alpha : -infinity;
    }

    static double fenchel_gap(double m, double alpha, double c) noexcept {
        if (!(alpha >= 0.0 && alpha <= c)) return infinity;
        const double distance = 1.0 - m;
        if (std::isinf(distance)) return (distance > 0.0 ? c == alpha : alpha == 0.0) ? 0.0 : infinity;
        // No branch on the side of the margin: no processor could foresee it.
        return (c - alpha) * std::max(distance, 0.0) + alpha * std::max(-distance, 0.0);
    }

    static double best_alpha(double m, double c) noexcept { return m < 1.0 ? c : 0.0; }
};

static_assert(QuadraticDual<Hinge>);

}  // namespace maxmargin::loss
