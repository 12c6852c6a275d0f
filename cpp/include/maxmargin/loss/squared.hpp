// Squared loss: (1 - m)^2, which is (y - score)^2 for y = +-1.
//
// conjugate  u + u^2/4
#pragma once

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct Squared {
    static constexpr const char* name = "squared";

    static double value(double m) noexcept { return (1.0 - m) * (1.0 - m); }
    static double slope(double m) noexcept { return 2.0 * (m - 1.0); }
    static double slope_low(double m) noexcept { return slope(m); }
    static double slope_high(double m) noexcept { return slope(m); }
    static double curvature(double) noexcept { return 2.0; }

    // The product form keeps u = -inf from becoming inf - inf.
    static double conjugate(double u) noexcept { return u * (1.0 + 0.25 * u); }
};

static_assert(ConvexLoss<Squared>);

}  // namespace maxmargin::loss
