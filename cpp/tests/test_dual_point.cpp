// Dual variables made feasible, and the sums that say how far they are from it.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "maxmargin/kernel/dual_point.hpp"

using namespace maxmargin;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Rows {
    std::vector<std::int8_t> sign;
    std::vector<double> cost;

    SignedCosts view() const { return {sign.data(), cost.data(), static_cast<std::int64_t>(cost.size())}; }
};

// More rows than one partial sum takes, with costs and duals that add up exactly.
Rows many() {
    Rows rows;
    for (int i = 0; i < 1000; ++i) {
        rows.sign.push_back(i % 3 == 0 ? 1 : -1);
        rows.cost.push_back(i % 5);
    }
    return rows;
}

}  // namespace

TEST("costs of the classes") {
    ClassCosts sums;
    class_costs(many().view(), sums);
    CHECK(sums.positive == 668 && sums.negative == 1332 && sums.n_live == 800);
    class_costs(Rows{{1, -1}, {0.5, 0}}.view(), sums);  // added to what is there
    CHECK(sums.positive == 668.5 && sums.negative == 1332 && sums.n_live == 801);
}

TEST("duals are moved into their interval") {
    const Rows rows{{1, 1, -1, -1, 1, 1}, {1, 1, 2, 1, 1, 0}};
    const std::vector<double> alpha{-0.5, 0.25, 3, kNaN, kInfinity, 1};
    std::vector<double> feasible(6, 77.0);
    DualBalance sums;
    clamp_dual(rows.view(), alpha.data(), {true, 0}, feasible.data(), sums);
    CHECK((feasible == std::vector<double>{0, 0.25, 2, 0, 0, 0}));
    CHECK(sums.positive == 0.25 && sums.negative == 2 && sums.room == 0.25);

    DualBalance unbounded;
    clamp_dual(rows.view(), alpha.data(), {false, 2}, feasible.data(), unbounded);
    CHECK(feasible[2] == 2 * std::sqrt(2.0) && feasible[5] == 0 && unbounded.room == 0);
}

TEST("rows between their bounds share a correction") {
    const Rows rows = many();
    std::vector<double> alpha;
    for (std::size_t i = 0; i < rows.cost.size(); ++i) alpha.push_back(rows.cost[i] * (i % 4) / 4);
    DualBalance before, after;
    clamp_dual(rows.view(), alpha.data(), {true, 0}, alpha.data(), before);
    const double excess = before.positive - before.negative;
    CHECK(before.room > 2 * std::fabs(excess));
    correct_dual(rows.view(), {excess / before.room, 1, 1}, true, alpha.data(), after);
    CHECK(std::fabs(after.positive - after.negative) <= 1e-12 * after.positive);
    for (std::size_t i = 0; i < alpha.size(); ++i) {
        CHECK(alpha[i] >= 0 && alpha[i] <= rows.cost[i]);
        if (i % 4 == 0) CHECK(alpha[i] == 0);
    }
}

TEST("the heavier class shrinks") {
    const Rows rows{{1, 1, -1}, {1, 1, 1}};
    std::vector<double> alpha{1, 0.5, 0.25};
    DualBalance sums;
    correct_dual(rows.view(), {0, 0.5, 1}, true, alpha.data(), sums);
    CHECK((alpha == std::vector<double>{0.5, 0.25, 0.25}));
    CHECK(sums.positive == 0.75 && sums.negative == 0.25 && sums.room == 1.0);
}
