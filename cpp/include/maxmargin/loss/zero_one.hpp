// Zero-one loss: 1 if m <= 0, else 0. An agreement of 0 is an error.
//
// Not convex, so it has no conjugate, and at its jump no subdifferential: the slope is 0 on either side, and
// the interval given at m = 0 is that of its one-sided derivatives, 0 from the left and -inf from the right.
#pragma once

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct ZeroOne {
    static constexpr const char* name = "zero_one";

    static double value(double m) noexcept { return m > 0.0 ? 0.0 : 1.0; }
    static double slope(double) noexcept { return 0.0; }
    static double slope_low(double m) noexcept { return m == 0.0 ? -infinity : 0.0; }
    static double slope_high(double) noexcept { return 0.0; }
    static double curvature(double) noexcept { return 0.0; }
};

static_assert(Loss<ZeroOne> && !ConvexLoss<ZeroOne>);

}  // namespace maxmargin::loss
