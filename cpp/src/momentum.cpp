#include "maxmargin/kernel/momentum.hpp"

#include <algorithm>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

constexpr std::int64_t kPiece = 1024;  // three such pieces stay in the first-level cache

}  // namespace

MomentumProducts momentum_products(const double* u, double* start, const double* direction, std::int64_t n) {
    const auto dot = dense_of(primitives(), u).dot;
    MomentumProducts sums;
    for (std::int64_t from = 0; from < n; from += kPiece) {
        const std::int64_t count = std::min(kPiece, n - from);
        const double *here = u + from, *before = direction + from;
        double* step = start + from;
        for (std::int64_t j = 0; j < count; ++j) step[j] = here[j] - step[j];
        sums.step_step += dot(step, step, count);
        sums.step_direction += dot(step, before, count);
        sums.direction_direction += dot(before, before, count);
        sums.u_step += dot(here, step, count);
        sums.u_direction += dot(here, before, count);
    }
    return sums;
}

void momentum_direction(const double* step, double a, double b, double* direction, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) direction[j] = a * step[j] + b * direction[j];
}

double momentum_trial(const double* u, const double* direction, double length, double* correction,
                      std::int64_t n) {
    const auto norm2 = dense_of(primitives(), u).norm2;
    double square = 0;
    for (std::int64_t from = 0; from < n; from += kPiece) {
        const std::int64_t count = std::min(kPiece, n - from);
        double* trial = correction + from;
        for (std::int64_t j = 0; j < count; ++j) trial[j] += u[from + j] + length * direction[from + j];
        square += norm2(trial, count);
    }
    return square;
}

void momentum_accept(const double* trial, const double* step, double* u, double* direction, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j) {
        direction[j] = step[j] + (trial[j] - u[j]);
        u[j] = trial[j];
    }
}

}  // namespace maxmargin
