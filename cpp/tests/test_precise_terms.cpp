// Sums in twice the precision: exact where long sums of doubles lose everything, alike in every storage.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/precise_terms.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

TEST("sums and products of doubles are exact as pairs") {
    const Twofold sum = exact_sum(1e16, 1.0);
    CHECK(sum.high == 1e16);
    CHECK(sum.low == 1.0);
    const double a = 1 + 0x1p-30, b = 1 - 0x1p-30;  // their product is 1 − 2⁻⁶⁰
    const Twofold product = exact_product(a, b);
    CHECK(product.high == 1.0);
    CHECK(product.low == -0x1p-60);
    const Twofold third = Twofold{1.0, 0.0} / 3.0, one = third * 3.0;
    CHECK(std::fabs((one - Twofold{1.0, 0.0}).rounded()) <= 0x1p-104);
}

TEST("scores that cancel keep their digits") {
    // x·w = 1e20 + 1 − 1e20 = 1, and the agreement is 1 less 2⁻⁶⁰.
    const std::vector<double> x{1e10, 1.0, -1e10}, w{1e10, 1.0, 1e10};
    const Block block{DenseStorage{x.data(), Scalar::f64, 3, 1}, 1, 3};
    const std::int8_t sign = 1;
    const double cost = 0x1p60, alpha = 0.5, origin[3] = {0, 0, 0};
    PreciseTerms terms;
    double high[3] = {0, 0, 0}, low[3] = {0, 0, 0};
    bool known = false;
    NeverStop never;
    CHECK(precise_terms("hinge", block, {w.data(), -0x1p-60, origin}, {&sign, &cost, &alpha}, terms, high,
                        low, known, never));
    CHECK(known);
    CHECK(terms.loss.rounded() == 1.0);  // 2⁶⁰ times 2⁻⁶⁰
    CHECK(terms.dual.rounded() == 0.5);
    CHECK(terms.balance.rounded() == 0.5);
    CHECK(high[0] == 0.5e10);
    CHECK(terms.least_score == 1.0);
    CHECK(terms.furthest2 == 1e20 + 1.0 + 1e20);
    precise_terms("absolute", block, {w.data(), 0, origin}, {&sign, &cost, &alpha}, terms, high, low, known,
                  never);
    CHECK(!known);
}

TEST("terms in every storage agree with plain sums") {
    const Matrix m(70, 9);
    std::vector<double> w(9), cost(70), alpha(70), origin(9, 0.25);
    std::vector<std::int8_t> sign(70);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = 0.05 * std::sin(static_cast<double>(j + 1));
    for (std::size_t i = 0; i < cost.size(); ++i) {
        cost[i] = i % 7 == 0 ? 0.0 : 1.0 + static_cast<double>(i % 3);
        alpha[i] = i % 2 == 0 ? 0.0 : 0.5 * cost[i];
        sign[i] = i % 4 < 2 ? 1 : -1;
    }
    for (const char* loss : {"hinge", "squared_hinge", "logistic"}) {
        double losses = 0, balance = 0, largest = 0;
        std::vector<double> v(9, 0.0);
        for (std::int64_t i = 0; i < m.rows; ++i) {
            const auto k = static_cast<std::size_t>(i);
            if (cost[k] == 0) continue;
            const double margin = sign[k] * (m.dot(i, w.data()) + 0.1), slack = std::fmax(0.0, 1 - margin);
            losses += cost[k] * (loss[0] == 'h'   ? slack
                                 : loss[0] == 's' ? slack * slack
                                                  : std::log1p(std::exp(-margin)));
            balance += sign[k] * alpha[k];
            double distance2 = 0;
            for (std::int64_t j = 0; j < m.columns; ++j) {
                v[static_cast<std::size_t>(j)] += sign[k] * alpha[k] * m.at(i, j);
                distance2 += (m.at(i, j) - 0.25) * (m.at(i, j) - 0.25);
            }
            largest = std::fmax(largest, distance2);
        }
        for (const Stored& stored : every_storage(m)) {
            PreciseTerms terms;
            std::vector<double> high(9, 0.0), low(9, 0.0);
            bool known = false;
            NeverStop never;
            CHECK(precise_terms(loss, stored.block, {w.data(), 0.1, origin.data()},
                                {sign.data(), cost.data(), alpha.data()}, terms, high.data(), low.data(),
                                known, never));
            CHECK_CLOSE(terms.loss.rounded(), losses, 1e-12 * losses);
            CHECK(terms.balance.rounded() == balance);
            CHECK(terms.furthest2 >= largest * (1 - 1e-12));
            for (std::size_t j = 0; j < v.size(); ++j) CHECK_CLOSE(high[j] + low[j], v[j], 1e-12);
        }
    }
}
