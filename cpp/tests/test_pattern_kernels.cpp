// The inner loops over condensed rows: every instruction set against plain loops, for rows of any length.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "maxmargin/pattern.hpp"
#include "maxmargin/primitives.hpp"

using namespace maxmargin;

namespace {

constexpr std::int64_t kPatterns = 3;

double number(std::int64_t k) { return std::round(64 * std::sin(static_cast<double>(5 * k + 1))) / 16; }

template <class Value>
struct Rows {
    std::int64_t n, count, room;
    std::vector<Value> x;
    std::vector<std::uint16_t> pattern;
    std::vector<double> w, a, base;

    Rows(std::int64_t columns, std::int64_t rows, const PatternKernels& set)
        : n(columns), count(rows), room(set.whole(columns)),
          x(static_cast<std::size_t>(n * count + kPatternPadding), Value(0)),
          w(static_cast<std::size_t>(room), 0.0) {
        for (std::int64_t k = 0; k < n * count; ++k)
            x[static_cast<std::size_t>(k)] = static_cast<Value>(number(k));
        for (std::int64_t j = 0; j < n; ++j) w[static_cast<std::size_t>(j)] = number(3 * j + 1);
        for (std::int64_t i = 0; i < count; ++i) {
            pattern.push_back(static_cast<std::uint16_t>(i / 2 % kPatterns));
            a.push_back(number(7 * i + 2));
        }
        for (std::int64_t p = 0; p < kPatterns; ++p) base.push_back(number(p + 50));
    }

    PatternPiece<Value> piece(std::int64_t first, std::int64_t length) const {
        return {x.data() + first * n, n, length, pattern.data() + first};
    }
    double at(std::int64_t i, std::int64_t j) const {
        return static_cast<double>(x[static_cast<std::size_t>(i * n + j)]);
    }
};

template <class Value>
void check_products(const Rows<Value>& rows, const PatternPrimitives<Value>& use) {
    std::vector<double> z(static_cast<std::size_t>(rows.count) + 1, 77.0);
    use.scores(rows.piece(0, rows.count), rows.w.data(), rows.base.data(), z.data());
    CHECK(z.back() == 77.0);
    std::vector<double> v(static_cast<std::size_t>(2 * rows.room), 0.0),
        sums(kSumsPerPattern * kPatterns, 0.0);
    use.combine(rows.piece(0, rows.count), rows.a.data(), v.data(), sums.data());
    std::vector<double> by_pattern(kPatterns, 0.0);
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const std::size_t at = static_cast<std::size_t>(i);
        double sum = rows.base[rows.pattern[at]];
        for (std::int64_t j = 0; j < rows.n; ++j) sum += rows.at(i, j) * rows.w[static_cast<std::size_t>(j)];
        CHECK_CLOSE(z[at], sum, 1e-13);
        by_pattern[rows.pattern[at]] += rows.a[at];
    }
    for (std::int64_t j = 0; j < rows.n; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < rows.count; ++i)
            sum += rows.a[static_cast<std::size_t>(i)] * rows.at(i, j);
        CHECK_CLOSE(v[static_cast<std::size_t>(j)] + v[static_cast<std::size_t>(rows.room + j)], sum, 1e-13);
    }
    for (std::size_t p = 0; p < kPatterns; ++p) {
        double sum = 0;
        for (std::size_t k = 0; k < kSumsPerPattern; ++k) sum += sums[kSumsPerPattern * p + k];
        CHECK_CLOSE(sum, by_pattern[p], 1e-13);
    }
}

// Every second row, in a list; w serves as the shift.
template <class Value>
void check_gram(const Rows<Value>& rows, const PatternPrimitives<Value>& use, bool narrow) {
    std::vector<std::uint32_t> listed;
    std::vector<double> weight;
    for (std::int64_t i = 1; i < rows.count && listed.size() < WeightedRows::kRowsAtOnce; i += 2) {
        listed.push_back(static_cast<std::uint32_t>(i));
        weight.push_back(number(i));
    }
    const WeightedRows chosen{listed.data(), weight.data(), static_cast<std::int64_t>(listed.size())};
    const std::size_t room = static_cast<std::size_t>(rows.room);
    std::vector<double> values(kPatterns * room, 0.0), weights(kPatterns, 0.0), total(room * room, 0.0);
    const PatternSums sums{rows.pattern.data(), rows.w.data(), values.data(), weights.data()};
    if (narrow) {
        use.gram(rows.x.data(), rows.n, chosen, sums, total.data());
    } else {
        use.collect(rows.x.data(), rows.n, chosen, sums);
    }
    const auto centred = [&](std::size_t k, std::int64_t j) {
        return rows.at(listed[k], j) - rows.w[static_cast<std::size_t>(j)];
    };
    for (std::int64_t i = 0; i < rows.n; ++i) {
        std::vector<double> expected(kPatterns, 0.0);
        for (std::size_t k = 0; k < listed.size(); ++k)
            expected[rows.pattern[listed[k]]] += weight[k] * centred(k, i);
        for (std::size_t p = 0; p < kPatterns; ++p)
            CHECK_CLOSE(values[p * room + static_cast<std::size_t>(i)], expected[p], 1e-12);
        for (std::int64_t j = i; j < rows.n && narrow; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < listed.size(); ++k) sum += weight[k] * centred(k, i) * centred(k, j);
            CHECK_CLOSE(total[static_cast<std::size_t>(i) * room + static_cast<std::size_t>(j)], sum, 1e-12);
        }
    }
    std::vector<double> expected(kPatterns, 0.0);
    for (std::size_t k = 0; k < listed.size(); ++k) expected[rows.pattern[listed[k]]] += weight[k];
    for (std::size_t p = 0; p < kPatterns; ++p) CHECK_CLOSE(weights[p], expected[p], 1e-13);
}

template <class Value>
void check_set(const PatternKernels& set) {
    for (std::int64_t n = 0; n <= set.narrow + 2 * set.lanes + 1; ++n) {
        for (const std::int64_t count : {0, 1, 2, 3, 4, 5, 8, 11, 131}) {
            const Rows<Value> rows(n, count, set);
            const PatternPrimitives<Value>& use = patterns_of(set, rows.x.data());
            check_products(rows, use);
            check_gram(rows, use, false);
            if (n <= set.narrow) check_gram(rows, use, true);
        }
    }
}

}  // namespace

TEST("condensed rows of any length by every instruction set") {
    for (const std::string& name : available_primitives()) {
        const PatternKernels& set = *primitives_named(name).patterns;
        CHECK(set.lanes <= kPatternPadding);
        check_set<float>(set);
        check_set<double>(set);
    }
}

TEST("a score does not depend on the rows around it") {
    const PatternKernels& set = *primitives().patterns;
    const Rows<double> rows(10, 23, set);
    std::vector<double> together(23), alone(23);
    const auto fill = [&](std::int64_t first, std::int64_t number, double* z) {
        set.f64.scores(rows.piece(first, number), rows.w.data(), rows.base.data(), z);
    };
    fill(0, 23, together.data());
    for (std::int64_t i = 0; i < 23; ++i) fill(i, 1, alone.data() + i);
    CHECK(alone == together);
}
