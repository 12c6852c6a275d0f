// What becomes of one example after the other when it is left out of a hinge fit, judged by a band of rows
// near the margin while all others are held.
#pragma once

#include <cstdint>

#include "maxmargin/kernel/band_problem.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct SignLimits {
    double reach;  // cost of the penalty, in units of the dual that has to go
    std::int64_t max_steps;
};

// decisions[k] = 1 if row k is certainly right in every optimum of its left-out problem, else 0; steps[k] is
// how many interior point steps it took. False if it was stopped: what was not looked at is 0.
bool decide_signs(const Band& band, const ChangedRow* rows, std::int64_t count, const SignLimits& limits,
                  std::int8_t* decisions, std::int32_t* steps, StopToken& token);

// The left-out problems to all digits: duals of the band and row g (n + 1 numbers each), weights and
// offset. Returns how many were solved; fewer than `count` if it was stopped.
std::int64_t solve_bands(const Band& band, const ChangedRow* rows, std::int64_t count, double* a, double* w,
                         double* b, StopToken& token);

}  // namespace maxmargin
