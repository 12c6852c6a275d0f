// A convex quadratic with an L1 term, minimised coordinate by coordinate.
//
//   minimise  ½ (x − x₀)ᵀ H (x − x₀) + g·(x − x₀) + r ‖x‖₁
//
// A coordinate's own minimum is x_j = S(x_j − q_j / H_jj, r / H_jj) with q = g + H (x − x₀) and the soft
// threshold S(t, s) = sign(t) max(|t| − s, 0) (Friedman, Hastie and Tibshirani, "Regularization paths for
// generalized linear models via coordinate descent", 2010). Sweeps over all coordinates alternate with sweeps
// over those that are not 0, until these gain little.
#pragma once

#include <cstdint>

#include "maxmargin/stop.hpp"

namespace maxmargin {

struct L1Descent {
    double gained = 0;        // by how much the function was lowered
    std::int64_t sweeps = 0;  // over all coordinates, those over some counting in proportion
};

// H: row-major and symmetric, n × n. x is x₀ on entry, q is g; both are moved to where it ends. It ends when
// a sweep over all coordinates lowers the function by no more than `share` of what all sweeps did, or after
// `most_sweeps`. A coordinate without curvature stays where it is. False if the token stopped it.
bool descend_l1_quadratic(const double* H, std::int64_t n, double r, double* x, double* q, double share,
                          std::int64_t most_sweeps, L1Descent& found, StopToken& token);

}  // namespace maxmargin
