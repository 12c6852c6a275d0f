// The window around the hinge's best offset: costs of what lies outside, and what lies inside.

#include "check.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "maxmargin/kernel/hinge_offset.hpp"

using namespace maxmargin;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Rows {
    std::vector<double> z;
    std::vector<std::int8_t> sign;
    std::vector<double> cost;

    ScoredRows view() const {
        return {z.data(), sign.data(), cost.data(), static_cast<std::int64_t>(z.size())};
    }
};

std::int64_t size(const BreakpointWindow& window) { return static_cast<std::int64_t>(window.points.size()); }

}  // namespace

TEST("breakpoints below, at the ends of, inside and above a window") {
    // Breakpoints s − z: 1, 0, −3, 4, 2, 3, none, none
    const Rows rows{
        {0, -1, 2, -3, -1, -2, kNaN, 0.5}, {1, -1, -1, 1, 1, 1, 1, 1}, {1, 2, 4, 8, 16, 32, 64, 0}};
    BreakpointWindow window;
    breakpoints_between(rows.view(), 0, 2, window);
    CHECK(window.below == 4 && window.at_low == 2 && window.inside == 1 && window.at_high == 16);
    CHECK(window.next == 3);
    CHECK(size(window) == 1 && window.points[0].at == 1 && window.points[0].cost == 1);

    BreakpointWindow everything;
    breakpoints_between(rows.view(), -kInfinity, kInfinity, everything);
    CHECK(size(everything) == 6 && everything.inside == 63 && everything.next == kInfinity);

    BreakpointWindow nothing;
    breakpoints_between(rows.view(), -kInfinity, -kInfinity, nothing);
    CHECK(size(nothing) == 0 && nothing.below == 0 && nothing.next == -3);
}

TEST("selecting inside any window that holds the answer gives the answer") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 3'000; ++round) {
        Rows rows;
        double positive = 0;
        for (std::size_t i = 0; i < 2 + random() % 20; ++i) {
            rows.z.push_back(static_cast<double>(random() % 17) / 4 - 2);
            rows.sign.push_back(i == 0 || (i > 1 && random() % 2 == 0) ? 1 : -1);
            rows.cost.push_back(i < 2 ? 1 : static_cast<double>(random() % 4) / 2);
            positive += rows.sign[i] > 0 ? rows.cost[i] : 0;
        }
        const Interval expected = hinge_offset(rows.view());
        const double low = expected.low - static_cast<double>(random() % 9) / 8;
        const double high = expected.low + static_cast<double>(random() % 9) / 8;
        BreakpointWindow window;
        breakpoints_between(rows.view(), low, high, window);
        if (window.at_low > 0) window.points.push_back({low, window.at_low});
        if (window.at_high > 0) window.points.push_back({high, window.at_high});
        const Interval found =
            select_offset(window.points.data(), size(window), window.below, window.next, positive, 1e-12);
        CHECK(found.low == expected.low && found.high == expected.high);
    }
}

TEST("no points: what follows is all there is") {
    const Interval found = select_offset(nullptr, 0, 1, 2.5, 3, 0);
    CHECK(found.low == 2.5 && found.high == 2.5);
}
