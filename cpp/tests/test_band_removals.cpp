// Small problems on a band of rows: products against loops, optima against their conditions, and the proof.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/band_removals.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

using Numbers = std::vector<double>;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

// Pseudo-random rows; only every `every`-th number is not 0.
Numbers table_of(std::int64_t n, std::int64_t d, std::int64_t every) {
    Numbers table(at(n * d), 0.0);
    for (std::int64_t k = 0; k < n * d; k += every) table[at(k)] = std::sin(3.7 * static_cast<double>(k) + 1);
    return table;
}

// Ten rows in the plane, the classes mixed; all of them are the band, nothing is held, w = 0 is the full fit.
struct Example {
    std::int64_t n = 10, d = 2;
    Numbers table = table_of(n, d, 1), sign, cost, alpha, agreement, zeros;
    BandRows rows{table.data(), n, d};

    explicit Example(double c) : cost(at(n), c), alpha(at(n), 0.0), agreement(at(n), 0.0), zeros(at(d), 0.0) {
        for (std::int64_t i = 0; i < n; ++i) sign.push_back(i % 2 == 0 ? 1.0 : -1.0);
    }
    Band band(bool has_free_offset) const {
        return {rows,         sign.data(), cost.data(),    alpha.data(), agreement.data(),
                zeros.data(), 0.0,         zeros.data(),   0.0,          0.0,
                10.0,         10.0,        has_free_offset};
    }
    ChangedRow row(std::int64_t i, double new_cost) const {
        return {table.data() + i * d, sign[at(i)], alpha[at(i)], agreement[at(i)], new_cost, i};
    }
};

}  // namespace

TEST("products and Gram matrices of a band are those of plain loops, sparse or not") {
    for (const std::int64_t every : {1, 7}) {
        const std::int64_t n = 9, d = 21;
        const Numbers table = table_of(n, d, every);
        const BandRows rows(table.data(), n, d);
        Numbers w(at(d)), a(at(n)), z(at(n)), v(at(d), 0.5), h(at(n));
        for (std::int64_t j = 0; j < d; ++j) w[at(j)] = std::cos(static_cast<double>(j));
        for (std::int64_t i = 0; i < n; ++i) a[at(i)] = static_cast<double>(i % 3) - 1;
        for (std::int64_t i = 0; i < n; ++i) h[at(i)] = static_cast<double>(i % 4);
        rows.scores(w.data(), z.data());
        rows.combine(a.data(), v.data());
        UpperFactor gram(d + 1);
        rows.add_gram(h.data(), gram);
        const auto x = [&](std::int64_t i, std::int64_t j) { return j == d ? 1.0 : table[at(i * d + j)]; };
        for (std::int64_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < d; ++j) sum += x(i, j) * w[at(j)];
            CHECK_CLOSE(z[at(i)], sum, 1e-14);
        }
        for (std::int64_t j = 0; j < d; ++j) {
            double sum = 0.5;
            for (std::int64_t i = 0; i < n; ++i) sum += x(i, j) * a[at(i)];
            CHECK_CLOSE(v[at(j)], sum, 1e-14);
        }
        for (std::int64_t j = 0; j <= d; ++j) {
            for (std::int64_t k = j; k <= d; ++k) {
                double sum = 0;
                for (std::int64_t i = 0; i < n; ++i) sum += h[at(i)] * x(i, j) * x(i, k);
                CHECK_CLOSE(gram.row(j)[k], sum, 1e-13);
            }
        }
    }
}

TEST("a left-out problem is solved to all digits: nothing is left to gain, and its duals are feasible") {
    for (const double c : {0.1, 1.0, 30.0}) {
        for (const bool has_free_offset : {false, true}) {
            const Example example(c);
            const Band band = example.band(has_free_offset);
            for (const double left : {0.0, 0.4 * c}) {
                const ChangedRow row = example.row(3, left);
                Numbers a(at(example.n + 1)), w(at(example.d)), b(1);
                NeverStop token;
                CHECK(solve_bands(band, &row, 1, a.data(), w.data(), b.data(), token) == 1);
                CHECK(a[3] == 0);  // the row itself comes last
                double balance = 0, gap = 0;
                for (std::int64_t i = 0; i <= example.n; ++i) {
                    const std::int64_t k = i < example.n ? i : 3;
                    const double cost = i < example.n ? (i == 3 ? 0.0 : c) : left;
                    const double* x = example.table.data() + k * example.d;
                    const double excess = example.sign[at(k)] * (x[0] * w[0] + x[1] * w[1] + b[0]) - 1;
                    CHECK(a[at(i)] >= 0 && a[at(i)] <= cost);
                    balance += example.sign[at(k)] * a[at(i)];
                    gap += excess > 0 ? a[at(i)] * excess : (a[at(i)] - cost) * excess;
                }
                CHECK_CLOSE(gap, 0.0, 1e-10 * (1 + c));
                if (has_free_offset) CHECK_CLOSE(balance, 0.0, 1e-11 * (1 + c));
            }
        }
    }
}

TEST("a sign is proved only where the value of the proof is above zero") {
    // One row of each class on a line, C = 1: the optimum is w = 1, both rows free with dual ½. Without the
    // right one, every offset is best that leaves the other alone: nothing can be proved.
    const Numbers table{1.0, -1.0}, sign{1.0, -1.0}, cost{1.0, 1.0}, alpha{0.5, 0.5}, agreement{1.0, 1.0};
    const Numbers w{1.0}, held{0.0};
    const BandRows rows(table.data(), 2, 1);
    NeverStop token;
    for (const bool has_free_offset : {false, true}) {
        const Band band{rows,     sign.data(), cost.data(),    alpha.data(), agreement.data(),
                        w.data(), 0.0,         held.data(),    0.0,          0.0,
                        0.5,      10.0,        has_free_offset};
        const ChangedRow row{table.data(), 1.0, 0.5, 1.0, 0.0, 0};
        std::int8_t decision = 7;
        std::int32_t steps = 0;
        CHECK(decide_signs(band, &row, 1, {6.0, 25}, &decision, &steps, token));
        CHECK(decision == (has_free_offset ? 0 : 1));  // without an offset the other row says w = 1 as well
    }
}

TEST("a stop leaves what was not looked at undecided") {
    const Example example(1.0);
    const Band band = example.band(true);
    std::vector<ChangedRow> removals;
    for (int k = 0; k < 30000; ++k) removals.push_back(example.row(k % example.n, 0.0));
    std::vector<std::int8_t> decisions(removals.size(), 5);
    std::vector<std::int32_t> steps(removals.size());
    StopAt token(1);
    const auto count = static_cast<std::int64_t>(removals.size());
    CHECK(!decide_signs(band, removals.data(), count, {6.0, 25}, decisions.data(), steps.data(), token));
    CHECK(decisions.back() == 0);
    Numbers a(removals.size() * 11), w(removals.size() * 2), b(removals.size());
    StopAt again(1);
    CHECK(solve_bands(band, removals.data(), count, a.data(), w.data(), b.data(), again) < count);
}
