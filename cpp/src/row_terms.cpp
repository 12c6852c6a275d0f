#include "maxmargin/kernel/row_terms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "maxmargin/loss/table.hpp"

namespace maxmargin {

bool certificate_terms(std::string_view name, const ScoredRows& rows, double b, const double* alpha,
                       CertificateTerms& terms) {
    bool known = false;
    loss::with_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        if constexpr (loss::DualLoss<Loss>) {
            known = true;
            for (std::int64_t i = 0; i < rows.n; ++i) {
                const double c = rows.cost[i];
                if (c == 0) continue;
                const double s = rows.sign[i], m = s * (rows.z[i] + b), a = alpha[i];
                terms.loss += c * Loss::value(m);
                terms.gap += Loss::fenchel_gap(m, a, c);
                terms.dual += Loss::dual_value(a, c);
                terms.balance += s * a;
                terms.largest_score = std::max(terms.largest_score, std::fabs(rows.z[i]));
            }
        }
    });
    return known;
}

bool offset_derivatives(std::string_view name, const ScoredRows& rows, double b,
                        OffsetDerivatives& derivatives) {
    return loss::with_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        for (std::int64_t i = 0; i < rows.n; ++i) {
            if (rows.cost[i] == 0) continue;
            const double s = rows.sign[i], m = s * (rows.z[i] + b);
            derivatives.slope += rows.cost[i] * s * Loss::slope(m);
            derivatives.curvature += rows.cost[i] * Loss::curvature(m);
        }
    });
}

namespace {

struct Breakpoint {
    double at, cost;
};

double median_of_three(const std::vector<Breakpoint>& points, std::size_t low, std::size_t high) {
    const double a = points[low].at, b = points[low + (high - low) / 2].at, c = points[high - 1].at;
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

}  // namespace

// The slope in b is Σ(cost of breakpoints below b) − (cost of the + class): passing a breakpoint adds its
// cost whichever the sign. So the minimisers begin where the running cost reaches that of the + class, and
// end at the next breakpoint if it meets it exactly; equal means within n ε of the total.
Interval hinge_offset(const ScoredRows& rows) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<Breakpoint> points;
    points.reserve(static_cast<std::size_t>(rows.n));
    double positive = 0, total = 0;
    for (std::int64_t i = 0; i < rows.n; ++i) {
        const double c = rows.cost[i];
        if (c == 0) continue;
        points.push_back({rows.sign[i] - rows.z[i], c});
        total += c;
        if (rows.sign[i] > 0) positive += c;
    }
    const double tie = static_cast<double>(rows.n) * std::numeric_limits<double>::epsilon() * total;
    double smallest = kInfinity;
    for (const Breakpoint& point : points) smallest = std::min(smallest, point.at);
    if (positive <= tie) return {-kInfinity, smallest};

    std::size_t low = 0, high = points.size();
    double below = 0, next = kInfinity;  // cost of the points left of `low`; nearest point right of `high`
    while (low < high) {
        const double pivot = median_of_three(points, low, high);
        const auto begin = points.begin() + static_cast<std::ptrdiff_t>(low);
        const auto end = points.begin() + static_cast<std::ptrdiff_t>(high);
        const auto equal = std::partition(begin, end, [&](const Breakpoint& p) { return p.at < pivot; });
        const auto after = std::partition(equal, end, [&](const Breakpoint& p) { return p.at <= pivot; });
        double cost_less = 0, cost_equal = 0;
        for (auto p = begin; p != equal; ++p) cost_less += p->cost;
        for (auto p = equal; p != after; ++p) cost_equal += p->cost;
        if (begin != equal && below + cost_less >= positive - tie) {
            high = static_cast<std::size_t>(equal - points.begin());
            next = pivot;
        } else if (below + cost_less + cost_equal >= positive - tie) {
            if (below + cost_less + cost_equal > positive + tie) return {pivot, pivot};
            for (auto p = after; p != end; ++p) next = std::min(next, p->at);
            return {pivot, next};
        } else {
            below += cost_less + cost_equal;
            low = static_cast<std::size_t>(after - points.begin());
        }
    }
    return {next, next};  // reached only if rounding hid the crossing between two selections
}

}  // namespace maxmargin
