// Sums over scored rows: the certificate's terms, slopes in the offset, and the hinge's best offset.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "maxmargin/kernel/hinge_offset.hpp"
#include "maxmargin/kernel/row_terms.hpp"

using namespace maxmargin;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Rows {
    std::vector<double> z;
    std::vector<std::int8_t> sign;
    std::vector<double> cost;

    ScoredRows view() const {
        return {z.data(), sign.data(), cost.data(), static_cast<std::int64_t>(z.size())};
    }

    double hinge(double b) const {
        double total = 0;
        for (std::size_t i = 0; i < z.size(); ++i)
            total += cost[i] * std::fmax(0.0, 1 - sign[i] * (z[i] + b));
        return total;
    }
};

// Scores and costs are small multiples of powers of two: sums are exact and ties are frequent.
Rows draw(std::mt19937_64& random, std::size_t n) {
    Rows rows;
    for (std::size_t i = 0; i < n; ++i) {
        rows.z.push_back(static_cast<double>(random() % 17) / 4 - 2);
        rows.sign.push_back(random() % 2 == 0 ? 1 : -1);
        rows.cost.push_back(static_cast<double>(random() % 4) / 2);
    }
    return rows;
}

// All minimisers, by trying every breakpoint.
Interval by_trying(const Rows& rows) {
    std::vector<double> breaks;
    bool positive = false, negative = false;
    for (std::size_t i = 0; i < rows.z.size(); ++i) {
        if (rows.cost[i] == 0) continue;
        (rows.sign[i] > 0 ? positive : negative) = true;
        breaks.push_back(rows.sign[i] - rows.z[i]);
    }
    double best = kInfinity;
    for (const double b : breaks) best = std::fmin(best, rows.hinge(b));
    Interval interval{kInfinity, -kInfinity};
    for (const double b : breaks) {
        if (rows.hinge(b) != best) continue;
        interval = {std::fmin(interval.low, b), std::fmax(interval.high, b)};
    }
    if (!positive) interval.low = -kInfinity;
    if (!negative) interval.high = kInfinity;
    return interval;
}

double value(const char* loss, const Rows& rows, double b) {
    CertificateTerms terms;
    const std::vector<double> alpha(rows.z.size(), 0.0);
    certificate_terms(loss, rows.view(), b, alpha.data(), terms);
    return terms.loss;
}

}  // namespace

TEST("the best offsets of the hinge, against every breakpoint") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 20'000; ++round) {
        Rows rows = draw(random, 1 + random() % 12);
        rows.cost[0] = 1;
        const Interval found = hinge_offset(rows.view()), expected = by_trying(rows);
        CHECK(found.low == expected.low && found.high == expected.high);
    }
}

TEST("the best offsets of many rows") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 30; ++round) {
        const Rows rows = draw(random, 500);
        const Interval found = hinge_offset(rows.view()), expected = by_trying(rows);
        CHECK(found.low == expected.low && found.high == expected.high);
    }
}

TEST("no row that costs anything: every offset will do") {
    for (const std::size_t n : {0, 3}) {
        const Rows rows{std::vector<double>(n, 1.0), std::vector<std::int8_t>(n, 1),
                        std::vector<double>(n, 0.0)};
        const Interval found = hinge_offset(rows.view());
        CHECK(found.low == -kInfinity && found.high == kInfinity);
    }
}

TEST("selection ends at once on sorted and on equal scores") {
    const std::size_t n = 300'000;
    for (int kind = 0; kind < 4; ++kind) {
        Rows rows;
        for (std::size_t i = 0; i < n; ++i) {
            const double t = static_cast<double>(i);
            rows.z.push_back(kind == 0 ? 0.0 : kind == 1 ? t : kind == 2 ? -t : std::fabs(t - 150'000));
            rows.sign.push_back(i % 2 == 0 ? 1 : -1);
            rows.cost.push_back(1.0);
        }
        const Interval found = hinge_offset(rows.view());
        CHECK(found.low <= found.high);
        CHECK(rows.hinge(found.low) <= rows.hinge(found.low - 0.5));
        CHECK(rows.hinge(found.high) <= rows.hinge(found.high + 0.5));
    }
}

TEST("certificate terms of the hinge, by hand") {
    const Rows rows{{0.5, -2.0, 3.0, 7.0}, {1, -1, -1, 1}, {2.0, 1.0, 4.0, 0.0}};
    const std::vector<double> alpha{0.5, 0.25, 1.0, 0.0};
    CertificateTerms terms;
    CHECK(certificate_terms("hinge", rows.view(), 0.25, alpha.data(), terms));
    // m = 0.75, 1.75, -3.25
    CHECK_CLOSE(terms.loss, 2 * 0.25 + 4 * 4.25, 1e-15);
    CHECK_CLOSE(terms.gap, 1.5 * 0.25 + 0.25 * 0.75 + 3 * 4.25, 1e-15);
    CHECK_CLOSE(terms.dual, 1.75, 1e-15);
    CHECK_CLOSE(terms.balance, -0.75, 1e-15);
    CHECK(largest_score(rows.z.data(), rows.cost.data(), 4) == 3.0);  // a row that costs nothing has no say
}

TEST("loss, dual value and gap fit together") {
    std::mt19937_64 random(3);
    for (const char* loss : {"hinge", "squared_hinge", "logistic"}) {
        for (int round = 0; round < 200; ++round) {
            const Rows rows = draw(random, 20);
            std::vector<double> alpha;
            double cross = 0;
            const double b = static_cast<double>(round % 7) / 3 - 1;
            for (std::size_t i = 0; i < 20; ++i) {
                alpha.push_back(rows.cost[i] * static_cast<double>(random() % 100) / 100);
                cross += alpha[i] * rows.sign[i] * (rows.z[i] + b);
            }
            CertificateTerms terms;
            CHECK(certificate_terms(loss, rows.view(), b, alpha.data(), terms));
            CHECK_CLOSE(terms.gap, terms.loss - terms.dual + cross, 1e-12);
            CHECK(terms.gap >= 0);
        }
    }
}

TEST("terms are added to what is there, so that blocks can be joined") {
    std::mt19937_64 random(4);
    const Rows rows = draw(random, 30);
    std::vector<double> alpha;
    for (const double c : rows.cost) alpha.push_back(0.5 * c);
    CertificateTerms whole, parts;
    certificate_terms("logistic", rows.view(), 0.5, alpha.data(), whole);
    certificate_terms("logistic", {rows.z.data(), rows.sign.data(), rows.cost.data(), 10}, 0.5, alpha.data(),
                      parts);
    certificate_terms("logistic", {rows.z.data() + 10, rows.sign.data() + 10, rows.cost.data() + 10, 20}, 0.5,
                      alpha.data() + 10, parts);
    CHECK_CLOSE(whole.loss, parts.loss, 1e-14);
    CHECK_CLOSE(whole.gap, parts.gap, 1e-14);
    CHECK_CLOSE(whole.dual, parts.dual, 1e-14);
    CHECK_CLOSE(whole.balance, parts.balance, 1e-14);
    const double* z = rows.z.data();
    const double* cost = rows.cost.data();
    CHECK(largest_score(z, cost, 30) ==
          std::max(largest_score(z, cost, 10), largest_score(z + 10, cost + 10, 20)));
}

TEST("slope and curvature in the offset are numerical derivatives") {
    std::mt19937_64 random(5);
    for (const char* loss : {"squared_hinge", "logistic"}) {
        for (int round = 0; round < 100; ++round) {
            const Rows rows = draw(random, 15);
            const double b = static_cast<double>(round) / 37 - 1.3, h = 1e-4;
            OffsetDerivatives found;
            CHECK(offset_derivatives(loss, rows.view(), b, found));
            CHECK_CLOSE(found.slope, (value(loss, rows, b + h) - value(loss, rows, b - h)) / (2 * h), 1e-6);
            OffsetDerivatives left, right;
            offset_derivatives(loss, rows.view(), b - h, left);
            offset_derivatives(loss, rows.view(), b + h, right);
            CHECK_CLOSE(found.curvature, (right.slope - left.slope) / (2 * h), 1e-5);
        }
    }
}

TEST("unknown losses and losses without a dual are refused") {
    const Rows rows{{0.5}, {1}, {1.0}};
    const double alpha = 0;
    CertificateTerms terms;
    CHECK(!certificate_terms("abacus", rows.view(), 0, &alpha, terms));
    CHECK(!certificate_terms("zero_one", rows.view(), 0, &alpha, terms));
    OffsetDerivatives derivatives;
    CHECK(!offset_derivatives("abacus", rows.view(), 0, derivatives));
}
