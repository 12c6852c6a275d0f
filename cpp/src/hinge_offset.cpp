#include "maxmargin/kernel/hinge_offset.hpp"

#include <algorithm>

namespace maxmargin {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double median_of_three(const Breakpoint* first, const Breakpoint* last) {
    const double a = first->at, b = first[(last - first) / 2].at, c = last[-1].at;
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

double cost_of(const Breakpoint* first, const Breakpoint* last) {
    double cost = 0;
    for (; first != last; ++first) cost += first->cost;
    return cost;
}

}  // namespace

void breakpoints_between(const ScoredRows& rows, double low, double high, BreakpointWindow& window) {
    for (std::int64_t i = 0; i < rows.n; ++i) {
        const double c = rows.cost[i], at = rows.sign[i] - rows.z[i];
        // About half of the rows lie below and nearly all others above: no branch on which of the two.
        window.below += static_cast<double>(at < low) * c;
        if ((at > high) & (at < window.next) & (c != 0)) window.next = at;
        if (!((at >= low) & (at <= high) & (c != 0))) continue;
        if (at == low) {
            window.at_low += c;
        } else if (at == high) {
            window.at_high += c;
        } else {
            window.inside += c;
            window.points.push_back({at, c});
        }
    }
}

Interval select_offset(Breakpoint* points, std::int64_t n, double below, double next, double target,
                       double tie) {
    Breakpoint *first = points, *last = points + n;
    while (first != last) {
        const double pivot = median_of_three(first, last);
        Breakpoint* equal = std::partition(first, last, [&](const Breakpoint& p) { return p.at < pivot; });
        Breakpoint* after = std::partition(equal, last, [&](const Breakpoint& p) { return p.at <= pivot; });
        const double less = below + cost_of(first, equal), with_equal = less + cost_of(equal, after);
        if (first != equal && less >= target - tie) {
            last = equal;
            next = pivot;
        } else if (with_equal >= target - tie) {
            if (with_equal > target + tie) return {pivot, pivot};
            for (const Breakpoint* p = after; p != last; ++p) next = std::min(next, p->at);
            return {pivot, next};
        } else {
            below = with_equal;
            first = after;
        }
    }
    return {next, next};  // reached only if rounding hid the crossing between two selections
}

Interval hinge_offset(const ScoredRows& rows) {
    BreakpointWindow window;
    breakpoints_between(rows, -kInfinity, kInfinity, window);
    double positive = 0, total = 0, smallest = kInfinity;
    for (std::int64_t i = 0; i < rows.n; ++i) {
        total += rows.cost[i];
        if (rows.sign[i] > 0) positive += rows.cost[i];
    }
    for (const Breakpoint& point : window.points) smallest = std::min(smallest, point.at);
    const double tie = static_cast<double>(rows.n) * std::numeric_limits<double>::epsilon() * total;
    if (positive <= tie) return {-kInfinity, smallest};
    return select_offset(window.points.data(), static_cast<std::int64_t>(window.points.size()), 0, kInfinity,
                         positive, tie);
}

}  // namespace maxmargin
