// What a loss is: a function of the agreement m = s (x.w + b), as static functions double -> double.
//
// value(m)         the loss
// slope(m)         its derivative; at a kink the choice of the lecture notes (hinge: -1 at m = 1)
// slope_low(m),    the ends of the interval of slopes: the subdifferential of a convex loss,
// slope_high(m)    one point wherever the loss is differentiable
// curvature(m)     its second derivative; at a kink of the slope the smaller of the two sides
// conjugate(u)     sup over m of u m - value(m): +inf outside its domain
//
// All of them may overflow to an infinity and give no NaN for m or u in [-inf, +inf]. A NaN agreement gives
// a NaN value and a NaN gap, so that it cannot hide.
#pragma once

#include <concepts>
#include <limits>

namespace maxmargin::loss {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

template <class L>
concept Loss = requires(double m) {
    { L::name } -> std::convertible_to<const char*>;
    { L::value(m) } noexcept -> std::same_as<double>;
    { L::slope(m) } noexcept -> std::same_as<double>;
    { L::slope_low(m) } noexcept -> std::same_as<double>;
    { L::slope_high(m) } noexcept -> std::same_as<double>;
    { L::curvature(m) } noexcept -> std::same_as<double>;
};

template <class L>
concept ConvexLoss = Loss<L> && requires(double u) {
    { L::conjugate(u) } noexcept -> std::same_as<double>;
};

// A loss whose regularised problem we solve and certify in the dual. A row of cost c >= 0 has a dual
// variable alpha in [0, largest_alpha(c)]:
//
// dual_value(alpha, c)      -c conjugate(-alpha/c), the row's share of the dual objective
// fenchel_gap(m, alpha, c)  c value(m) + c conjugate(-alpha/c) + alpha m >= 0, the row's share of the
//                           duality gap, computed without cancellation
// best_alpha(m, c)          -c slope(m), where that gap is zero
//
// alpha outside the interval is infeasible: fenchel_gap is +inf and dual_value -inf. A row of cost 0 admits
// alpha = 0 only, and then contributes 0 to everything.
template <class L>
concept DualLoss = ConvexLoss<L> && requires(double m, double alpha, double c) {
    { L::largest_alpha(c) } noexcept -> std::same_as<double>;
    { L::dual_value(alpha, c) } noexcept -> std::same_as<double>;
    { L::fenchel_gap(m, alpha, c) } noexcept -> std::same_as<double>;
    { L::best_alpha(m, c) } noexcept -> std::same_as<double>;
};

// One whose dual_value is the parabola alpha - kappa alpha^2/(2c), with dual_curvature = kappa: the step of a
// coordinate is then the same for all (kernel/dual_step.hpp).
template <class L>
concept QuadraticDual = DualLoss<L> && requires {
    { L::dual_curvature } -> std::convertible_to<double>;
};

}  // namespace maxmargin::loss
