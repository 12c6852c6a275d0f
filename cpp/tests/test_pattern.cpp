// Condensed blocks: the same numbers as the blocks they were made from, in every storage.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/condense.hpp"
#include "maxmargin/kernel/dual_sweep.hpp"
#include "maxmargin/kernel/gram.hpp"
#include "maxmargin/kernel/products.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

// `dense` columns of small integers, set apart by binary ones: a one-hot group of seven, a column of ones
// and a column of zeros.
Matrix one_hot(std::int64_t n, std::int64_t dense) {
    Matrix m(n, dense + 9);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < m.columns; ++j) {
            const std::int64_t group = j - dense / 2;  // binary columns stand in the middle
            if (group < 0 || group >= 9) continue;
            m.at(i, j) = group == 7 ? 1.0 : group == (i * i + i / 5) % 7 ? 1.0 : 0.0;
        }
    }
    return m;
}

std::optional<Block> condensed(const Block& block) {
    NeverStop never;
    std::optional<Block> result;
    CHECK(condense(block, result, never));
    return result;
}

const PatternStorage& patterns_of(const Block& block) { return *std::get<SharedPatterns>(block.storage); }

std::vector<double> some_numbers(std::int64_t n) {
    std::vector<double> numbers(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = std::sin(static_cast<double>(3 * k + 1));
    return numbers;
}

// Every operation of the view against the matrix.
void check_view(const Matrix& m, const Block& block) {
    const std::vector<double> w = some_numbers(m.columns);
    Chunks chunks(block);
    CHECK(chunks.count() == 1 && chunks.in_place());
    chunks.open(0, [&](const auto& rows, std::int64_t first) {
        CHECK(first == 0 && rows.n_rows() == m.rows);
        for (std::int64_t i = 0; i < m.rows; ++i) {
            std::vector<double> sum(w.size(), 0.25), row(w.size(), 0.0);
            rows.prefetch(i);
            rows.add(i, 2.0, sum.data());
            double norm2 = 0;
            for (std::int64_t k = 0; k < rows.n_values(i); ++k)
                row[static_cast<std::size_t>(rows.column(i, k))] += static_cast<double>(rows.value(i, k));
            for (std::int64_t j = 0; j < m.columns; ++j) {
                CHECK(row[static_cast<std::size_t>(j)] == m.at(i, j));
                CHECK(sum[static_cast<std::size_t>(j)] == 0.25 + 2 * m.at(i, j));
                norm2 += m.at(i, j) * m.at(i, j);
            }
            CHECK(rows.norm2(i) == norm2);
            CHECK_CLOSE(rows.dot(i, w.data()), m.dot(i, w.data()), 1e-12);
        }
    });
    const std::uint32_t listed[2] = {5, 3};
    chunks.open_listed(listed, 2, [&](const auto& rows) {
        for (std::int64_t j = 0; j < m.columns; ++j)
            CHECK(rows.value(0, j) == m.at(5, j) && rows.value(1, j) == m.at(3, j));
    });
}

void check_products(const Matrix& m, const Block& block) {
    NeverStop never;
    const std::vector<double> w = some_numbers(m.columns), a = some_numbers(m.rows);
    std::vector<double> z(a.size(), 77.0), v(w.size(), 0.5);
    CHECK(multiply(block, w.data(), z.data(), a.data(), v.data(), never));
    for (std::int64_t i = 0; i < m.rows; ++i)
        CHECK_CLOSE(z[static_cast<std::size_t>(i)], m.dot(i, w.data()), 1e-12);
    for (std::int64_t j = 0; j < m.columns; ++j) {
        double sum = 0.5;
        for (std::int64_t i = 0; i < m.rows; ++i) sum += a[static_cast<std::size_t>(i)] * m.at(i, j);
        CHECK_CLOSE(v[static_cast<std::size_t>(j)], sum, 1e-11);
    }
}

// In two pieces, the second of which starts anywhere, and with rows that have no weight.
void check_gram(const Matrix& m, const Block& block, const double* shift) {
    const std::int64_t size = m.columns + 1, cut = m.rows / 3 + 1;
    std::vector<double> h = some_numbers(m.rows), total(static_cast<std::size_t>(size * size), 0.0);
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = i % 4 == 1 ? 0.0 : h[i] * h[i];
    Gram gram(m.columns, shift);
    Chunks(block).open(0, [&](const auto& rows, std::int64_t) {
        gram.add(rows, 0, cut, h.data());
        gram.add(rows, cut, m.rows - cut, h.data() + cut);
    });
    gram.finish(total.data());
    const auto entry = [&](std::int64_t i, std::int64_t j) {
        return j == m.columns ? 1.0 : m.at(i, j) - (shift == nullptr ? 0.0 : shift[j]);
    };
    for (std::int64_t j = 0; j < size; ++j) {
        for (std::int64_t k = 0; k < size; ++k) {
            double sum = 0;
            for (std::int64_t i = 0; i < m.rows; ++i)
                sum += h[static_cast<std::size_t>(i)] * entry(i, j) * entry(i, k);
            CHECK_CLOSE(total[static_cast<std::size_t>(j * size + k)], sum, 1e-10);
        }
    }
}

}  // namespace

TEST("every storage condenses to the same numbers") {
    for (const std::int64_t dense : {1, 4, 5}) {
        const Matrix m = one_hot(600, dense);
        const std::vector<double> shift = some_numbers(m.columns);
        for (const Stored& stored : every_storage(m)) {
            const std::optional<Block> block = condensed(stored.block);
            if (!block) {  // one byte for a number leaves little to win
                CHECK(stored.name.find("int8") != std::string::npos);
                continue;
            }
            CHECK(patterns_of(*block).n_patterns() <= 7);
            CHECK(patterns_of(*block).n_dense() == dense);
            CHECK(std::holds_alternative<std::vector<float>>(patterns_of(*block).dense));
            check_view(m, *block);
            check_products(m, *block);
            check_gram(m, *block, nullptr);
            check_gram(m, *block, shift.data());
            CHECK(!condensed(*block));
        }
    }
}

TEST("doubles that single precision cannot hold stay doubles") {
    Matrix m = one_hot(600, 1);
    for (const double odd : {0.1, 1e300, 1e-320}) {
        m.at(599, m.columns - 1) = odd;
        const Stored stored = dense<double>("", m, Scalar::f64, m.columns, 1);
        const std::optional<Block> block = condensed(stored.block);
        CHECK(block && std::holds_alternative<std::vector<double>>(patterns_of(*block).dense));
        if (block && odd == 0.1) check_view(m, *block);
    }
}

TEST("any number of dense columns") {
    for (std::int64_t dense = 0; dense <= 9; ++dense) {
        Matrix m = one_hot(515, dense);
        if (dense > 0) m.at(511, 0) = 0.1;
        const Stored stored = csr<double, std::int64_t>("", m, Scalar::f64);
        const std::optional<Block> block = condensed(stored.block);
        if (!block) continue;
        check_view(m, *block);
        check_products(m, *block);
        const std::vector<double> shift = some_numbers(m.columns);
        check_gram(m, *block, shift.data());
    }
}

TEST("what does not pay or is not finite stays as it is") {
    Matrix m = one_hot(600, 3);
    CHECK(condensed(dense<double>("", m, Scalar::f64, m.columns, 1).block));
    for (const double bad : {double(NAN), double(INFINITY)}) {
        Matrix spoilt = m;
        spoilt.at(300, 0) = bad;
        CHECK(!condensed(dense<double>("", spoilt, Scalar::f64, m.columns, 1).block));
        CHECK(!condensed(csr<double, std::int32_t>("", spoilt, Scalar::f64).block));
    }
    CHECK(!condensed(dense<double>("", one_hot(100, 3), Scalar::f64, 12, 1).block));   // few rows
    CHECK(!condensed(dense<double>("", one_hot(600, 20), Scalar::f64, 29, 1).block));  // most columns dense
    CHECK(!condensed(dense<double>("", Matrix(600, 12), Scalar::f64, 12, 1).block));
    const double one = 1;
    CHECK(!condensed(Block{DenseStorage{&one, Scalar::f64, 0, 1}, 1000, 0}));
    CHECK(!condensed(Block{DenseStorage{&one, Scalar::f64, 0, 1}, 0, 5}));
}

TEST("a column that fails to be binary once is dense") {
    Matrix m = one_hot(2000, 1);
    m.at(1777, 2) = -1;
    m.at(1999, 5) = 2;
    for (const Stored& stored : every_storage(m)) {
        const std::optional<Block> block = condensed(stored.block);
        if (!block) continue;
        CHECK(patterns_of(*block).n_dense() == 3);
        check_view(m, *block);
    }
    CHECK(condensed(dense<double>("", m, Scalar::f64, m.columns, 1).block));
}

TEST("condensing ends when its token says so") {
    const Matrix m = one_hot(60000, 1);
    std::optional<Block> result;
    StopAt first(1);
    CHECK(!condense(dense<double>("", m, Scalar::f64, m.columns, 1).block, result, first));
    CHECK(!result);
}

TEST("a dual sweep over a condensed block does what it does over the dense one") {
    const Matrix m = one_hot(600, 2);
    const Stored stored = dense<double>("", m, Scalar::f64, m.columns, 1);
    const std::optional<Block> block = condensed(stored.block);
    NeverStop never;
    const std::vector<double> cost(600, 1.0), norm2(600, 400.0);
    std::vector<std::int8_t> sign(600);
    for (std::size_t i = 0; i < 600; ++i) sign[i] = i % 3 == 0 ? 1 : -1;
    std::vector<std::vector<double>> us, alphas;
    for (const Block* rows : {&stored.block, &*block}) {
        std::vector<double> u(static_cast<std::size_t>(m.columns), 0.0), alpha(600, 0.0);
        std::vector<std::uint8_t> bound_visits(600, 0), skips(600, 0);
        DualState state{u.data(), 0, 0, 0, 0, 0};
        const DualRows numbers{sign.data(),  cost.data(),         norm2.data(), nullptr,
                               alpha.data(), bound_visits.data(), skips.data()};
        for (std::uint64_t pass = 0; pass < 3; ++pass) {
            DualSweepRecord record;
            CHECK(dual_sweep("hinge", *rows, numbers, state, {1, pass, 0}, never, record));
        }
        us.push_back(u);
        alphas.push_back(alpha);
    }
    for (std::size_t j = 0; j < us[0].size(); ++j) CHECK_CLOSE(us[0][j], us[1][j], 1e-10);
    for (std::size_t i = 0; i < 600; ++i) CHECK_CLOSE(alphas[0][i], alphas[1][i], 1e-10);
}
