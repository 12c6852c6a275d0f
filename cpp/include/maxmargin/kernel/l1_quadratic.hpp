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

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct L1Descent {
    double gained = 0;        // by how much the function was lowered
    std::int64_t sweeps = 0;  // over all coordinates, those over some counting in proportion
};

// When it ends: when a sweep over all coordinates lowers the function by no more than `share` of what all
// sweeps did, or after `most_sweeps`.
struct L1Limits {
    double share;
    std::int64_t most_sweeps;
};

// H: row-major and symmetric, n × n. x is x₀ on entry, q is g; both are moved to where it ends. A coordinate
// without curvature stays where it is. False if the token stopped it.
bool descend_l1_quadratic(const double* H, std::int64_t n, double r, double* x, double* q, L1Limits limits,
                          L1Descent& found, StopToken& token);

// The same for H = A diag(h) Aᵀ + ridge by its rows A, one for each coordinate (the columns of data), without
// making it. An offset, if there is one, adds a column of ones whose coordinate is always at its best: it has
// the slope `slope` and beside Σ h the curvature `stiffness`; `change` is where it ends.
struct L1Offset {
    bool is_there;
    double slope, stiffness, change;
};
bool descend_l1_columns(const Block& A, const double* h, double ridge, double r, const double* g, double* x,
                        L1Offset& offset, L1Limits limits, L1Descent& found, StopToken& token);

}  // namespace maxmargin
