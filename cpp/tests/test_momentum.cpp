// The vectors of an extrapolation: what each function leaves in which place.

#include "check.hpp"

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/momentum.hpp"

using namespace maxmargin;

namespace {

std::vector<double> numbers(std::size_t n, double seed) {
    std::vector<double> values(n);
    for (std::size_t j = 0; j < n; ++j) values[j] = static_cast<double>((j * 37 + 11) % 101) / 50.0 - seed;
    return values;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double total = 0;
    for (std::size_t j = 0; j < a.size(); ++j) total += a[j] * b[j];
    return total;
}

}  // namespace

TEST("an extrapolation goes where the formulas say, at every length") {
    for (const std::size_t n : {1U, 7U, 1024U, 3001U}) {
        const std::int64_t count = static_cast<std::int64_t>(n);
        const std::vector<double> start = numbers(n, 1.0), before = numbers(n, 0.3), here = numbers(n, -0.4);
        std::vector<double> u = here, step = start, direction = before, trial = numbers(n, 2.0);
        const std::vector<double> correction = trial;

        const MomentumProducts products = momentum_products(u.data(), step.data(), direction.data(), count);
        for (std::size_t j = 0; j < n; ++j) CHECK(step[j] == here[j] - start[j]);
        CHECK_CLOSE(products.step_step, dot(step, step), 1e-12);
        CHECK_CLOSE(products.step_direction, dot(step, before), 1e-12);
        CHECK_CLOSE(products.direction_direction, dot(before, before), 1e-12);
        CHECK_CLOSE(products.u_step, dot(here, step), 1e-12);
        CHECK_CLOSE(products.u_direction, dot(here, before), 1e-12);

        momentum_direction(step.data(), 2.0, -0.5, direction.data(), count);
        const double square = momentum_trial(u.data(), direction.data(), 0.25, trial.data(), count);
        for (std::size_t j = 0; j < n; ++j) {
            const double there = here[j] + 0.25 * (2.0 * step[j] - 0.5 * before[j]) + correction[j];
            CHECK_CLOSE(trial[j], there, 1e-12);
        }
        CHECK_CLOSE(square, dot(trial, trial), 1e-12);

        momentum_accept(trial.data(), step.data(), u.data(), direction.data(), count);
        for (std::size_t j = 0; j < n; ++j) {
            CHECK(u[j] == trial[j]);
            CHECK_CLOSE(direction[j], trial[j] - start[j], 1e-12);
        }
    }
}
