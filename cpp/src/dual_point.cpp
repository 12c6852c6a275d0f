#include "maxmargin/kernel/dual_point.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {

namespace {

// Rows per partial sum. Two levels keep the rounding error of a block's sum near ε, as Σ sα = 0 needs it.
constexpr std::int64_t kRun = 256;

// Calls row(i, sums) for every row, with fresh sums for each run of rows.
template <class Row>
void sum_balance(std::int64_t n, DualBalance& sums, Row&& row) {
    for (std::int64_t first = 0; first < n; first += kRun) {
        DualBalance part;
        const std::int64_t last = std::min(first + kRun, n);
        for (std::int64_t i = first; i < last; ++i) row(i, part);
        sums.positive += part.positive;
        sums.negative += part.negative;
        sums.room += part.room;
    }
}

// 1 for the sign +1 and 0 for −1: adding a product costs less than a branch that is taken every other row.
double is_positive(double s) { return 0.5 * (1.0 + s); }

void add_row(double s, double alpha, double room, DualBalance& sums) {
    const double positive = is_positive(s);
    sums.positive += positive * alpha;
    sums.negative += (1.0 - positive) * alpha;
    sums.room += room;
}

}  // namespace

void class_costs(const SignedCosts& rows, ClassCosts& sums) {
    for (std::int64_t first = 0; first < rows.n; first += kRun) {
        double positive = 0, negative = 0;
        const std::int64_t last = std::min(first + kRun, rows.n);
        for (std::int64_t i = first; i < last; ++i) {
            const double c = rows.cost[i], share = is_positive(rows.sign[i]);
            positive += share * c;
            negative += (1.0 - share) * c;
            sums.n_live += c != 0.0;
        }
        sums.positive += positive;
        sums.negative += negative;
    }
}

void clamp_dual(const SignedCosts& rows, const double* alpha, const LargestDual& largest, double* feasible,
                DualBalance& sums) {
    sum_balance(rows.n, sums, [&](std::int64_t i, DualBalance& part) {
        const double c = rows.cost[i], given = std::isfinite(alpha[i]) ? alpha[i] : 0.0;
        const double top = largest.bounded ? c : largest.reach * std::sqrt(c);
        const double a = std::min(std::max(given, 0.0), top);
        feasible[i] = a;
        add_row(rows.sign[i], a, largest.bounded ? std::min(a, c - a) : 0.0, part);
    });
}

void correct_dual(const SignedCosts& rows, const Correction& by, bool bounded, double* alpha,
                  DualBalance& sums) {
    if (by.share != 0) {
        sum_balance(rows.n, sums, [&](std::int64_t i, DualBalance& part) {
            const double c = rows.cost[i], s = rows.sign[i];
            const double a = alpha[i] - s * std::min(alpha[i], c - alpha[i]) * by.share;
            alpha[i] = a;
            add_row(s, a, std::min(a, c - a), part);
        });
        return;
    }
    const double factors[2] = {by.negative_factor, by.positive_factor};
    sum_balance(rows.n, sums, [&](std::int64_t i, DualBalance& part) {
        const double c = rows.cost[i], s = rows.sign[i];
        const double a = alpha[i] * factors[rows.sign[i] > 0];
        alpha[i] = a;
        add_row(s, a, bounded ? std::min(a, c - a) : 0.0, part);
    });
}

}  // namespace maxmargin
