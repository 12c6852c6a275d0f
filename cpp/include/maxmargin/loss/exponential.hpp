// Exponential loss: exp(-m).
//
// conjugate  p log p - p with p = -u >= 0
#pragma once

#include <cmath>

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct Exponential {
    static constexpr const char* name = "exponential";

    static double value(double m) noexcept { return std::exp(-m); }
    static double slope(double m) noexcept { return -std::exp(-m); }
    static double slope_low(double m) noexcept { return slope(m); }
    static double slope_high(double m) noexcept { return slope(m); }
    static double curvature(double m) noexcept { return std::exp(-m); }

    static double conjugate(double u) noexcept {
        if (u == 0.0) return 0.0;
        return u < 0.0 ? -u * (std::log(-u) - 1.0) : infinity;
    }
};

static_assert(ConvexLoss<Exponential>);

}  // namespace maxmargin::loss
