// The offsets that minimise Σ c max(0, 1 − s(z + b)), exactly.
//
// The slope in b is Σ(cost of the breakpoints s − z below b) − (cost of the + class): passing a breakpoint
// adds its cost whichever the sign. So the minimisers begin where the running cost reaches that of the +
// class, and end at the next breakpoint if it meets it exactly; equal means within `tie`, n ε of the total.
//
// Of many rows only the breakpoints in a window are gathered; of the others their total cost is enough.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "maxmargin/kernel/row_terms.hpp"

namespace maxmargin {

struct Interval {
    double low, high;
};

struct Breakpoint {
    double at, cost;
};

struct BreakpointWindow {
    double below = 0;   // cost of the breakpoints below the window
    double at_low = 0;  // and of those exactly at its ends, which may be very many
    double at_high = 0;
    double next = std::numeric_limits<double>::infinity();  // the first breakpoint above it
    double inside = 0;                                      // cost of the gathered ones
    std::vector<Breakpoint> points;                         // strictly inside, in the order of the rows
};

// Rows without cost, or with a score that is no number, have no breakpoint.
void breakpoints_between(const ScoredRows& rows, double low, double high, BreakpointWindow& window);

// The interval whose low end is where `below` plus the running cost of the points reaches `target`; found by
// selection, in time linear in the number of points, which are rearranged. `next` follows the last of them.
Interval select_offset(Breakpoint* points, std::int64_t n, double below, double next, double target,
                       double tie);

// All in one, for rows that are at hand. Infinite ends when a class is missing.
Interval hinge_offset(const ScoredRows& rows);

}  // namespace maxmargin
