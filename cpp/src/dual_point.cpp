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

// Adding 0 to the other class costs less than a branch that is taken every other row.
void add_row(double s, double alpha, double room, DualBalance& sums) {
    sums.positive += s > 0 ? alpha : 0.0;
    sums.negative += s > 0 ? 0.0 : alpha;
    sums.room += room;
}

}  // namespace

void class_costs(const SignedCosts& rows, ClassCosts& sums) {
    for (std::int64_t first = 0; first < rows.n; first += kRun) {
        double positive = 0, negative = 0;
        const std::int64_t last = std::min(first + kRun, rows.n);
        for (std::int64_t i = first; i < last; ++i) {
            const double c = rows.cost[i];
            positive += rows.sign[i] > 0 ? c : 0.0;
            negative += rows.sign[i] > 0 ? 0.0 : c;
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
    sum_balance(rows.n, sums, [&](std::int64_t i, DualBalance& part) {
        const double c = rows.cost[i], s = rows.sign[i];
        double a = alpha[i];
        if (by.share != 0) {
            a -= s * std::min(a, c - a) * by.share;
        } else {
            a *= s > 0 ? by.positive_factor : by.negative_factor;
        }
        alpha[i] = a;
        add_row(s, a, bounded ? std::min(a, c - a) : 0.0, part);
    });
}

}  // namespace maxmargin
