// Absolute loss: |1 - m|, which is |y - score| for y = +-1.
//
// slope      -1 at the kink m = 1, as for the hinge, which it equals for m <= 1
// conjugate  u on [-1, 1]
#pragma once

#include <cmath>

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct Absolute {
    static constexpr const char* name = "absolute";

    static double value(double m) noexcept { return std::fabs(1.0 - m); }
    static double slope(double m) noexcept { return m > 1.0 ? 1.0 : -1.0; }
    static double slope_low(double m) noexcept { return m > 1.0 ? 1.0 : -1.0; }
    static double slope_high(double m) noexcept { return m < 1.0 ? -1.0 : 1.0; }
    static double curvature(double) noexcept { return 0.0; }
    static double conjugate(double u) noexcept { return u >= -1.0 && u <= 1.0 ? u : infinity; }
};

static_assert(ConvexLoss<Absolute>);

}  // namespace maxmargin::loss
