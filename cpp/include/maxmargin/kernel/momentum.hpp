// The vectors of columns in an extrapolation of sweeps (the solver's momentum.py has the reasons).
//
// The sweeps have taken u from `start` to where it is; `direction` is how far the extrapolation before this
// one went. Nothing is allocated: what is no longer needed gives its place to what comes next.
#pragma once

#include <cstdint>

namespace maxmargin {

struct MomentumProducts {
    double step_step = 0, step_direction = 0, direction_direction = 0, u_step = 0, u_direction = 0;
};

// Puts the step u − start into `start`, and returns the products of step, direction and u.
MomentumProducts momentum_products(const double* u, double* start, const double* direction, std::int64_t n);

// Puts the direction a·step + b·direction into `direction`.
void momentum_direction(const double* step, double a, double b, double* direction, std::int64_t n);

// Puts u + length·direction + correction into `correction`, and returns its square.
double momentum_trial(const double* u, const double* direction, double length, double* correction,
                      std::int64_t n);

// Goes to `trial`: u becomes it, and `direction` what step and extrapolation moved u by in all.
void momentum_accept(const double* trial, const double* step, double* u, double* direction, std::int64_t n);

}  // namespace maxmargin
