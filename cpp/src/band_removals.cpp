#include "maxmargin/kernel/band_removals.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

constexpr std::int64_t kMostSteps = 60;
constexpr double kNearlySolved = 1e-7;
constexpr double kSolved =
    1e-12;  // of the objective: so much from the optimum it is clear which rows are free

// How much is done in a step, in values.
std::int64_t work_of(const Band& band) {
    const std::int64_t d = band.rows.n_columns() + 1;
    return d * d * d / 12 + band.rows.n_rows() * d;
}

bool is_certain(BandProblem& problem, const ChangedRow& row, const SignLimits& limits, std::int32_t& steps) {
    problem.start(row, limits.reach * std::max(row.alpha - row.cost, 0.0));
    for (steps = 1; steps <= limits.max_steps; ++steps) {
        if (!problem.step()) return false;
        const double value = problem.certified_value();
        if (value > 0) return true;
        if (value + problem.left_to_gain() < 0 && std::isfinite(value)) return false;
    }
    return false;
}

}  // namespace

bool decide_signs(const Band& band, const ChangedRow* rows, std::int64_t count, const SignLimits& limits,
                  std::int8_t* decisions, std::int32_t* steps, StopToken& token) {
    Pace pace(token);
    BandProblem problem(band);
    std::fill(decisions, decisions + count, std::int8_t{0});
    for (std::int64_t k = 0; k < count; ++k) {
        decisions[k] = is_certain(problem, rows[k], limits, steps[k]) ? 1 : 0;
        if (pace.stop_after(steps[k] * work_of(band))) return false;
    }
    return true;
}

namespace {

// Interior point steps until it is clear which rows are free, or until rounding makes it worse.
bool solve(BandProblem& problem, const Band& band, Pace& pace) {
    double gain = HUGE_VAL;
    for (std::int64_t step = 0; step < kMostSteps; ++step) {
        if (pace.stop_after(work_of(band))) return false;
        const double before = problem.complementarity();
        if (before <= kSolved * band.objective || !problem.step()) break;
        const double left = problem.left_to_gain();
        if (left > gain && before <= kNearlySolved * band.objective) break;
        gain = left;
    }
    problem.polish();
    return true;
}

}  // namespace

std::int64_t solve_bands(const Band& band, const ChangedRow* rows, std::int64_t count, double* a, double* w,
                         double* b, StopToken& token) {
    Pace pace(token);
    BandProblem problem(band);
    const std::int64_t n = band.rows.n_rows() + 1, d = band.rows.n_columns();
    for (std::int64_t k = 0; k < count; ++k) {
        problem.start(rows[k], 0);
        if (!solve(problem, band, pace)) return k;
        std::copy(problem.a(), problem.a() + n, a + k * n);
        std::copy(problem.w(), problem.w() + d, w + k * d);
        b[k] = problem.b();
    }
    return count;
}

}  // namespace maxmargin
