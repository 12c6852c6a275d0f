// Cholesky factors against plain loops in long double: odd sizes, scales, dependent and empty columns.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/cholesky.hpp"
#include "maxmargin/primitives.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

using Numbers = std::vector<double>;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

double some_number(std::int64_t k) { return std::sin(1.7 * static_cast<double>(k + 1)); }

// A Aᵀ + 0.1 for an A of pseudo-random numbers, rows and columns scaled by `scale` to the power of their
// number modulo 5.
Numbers positive_matrix(std::int64_t n, double scale = 1) {
    Numbers a(at(n * n)), m(at(n * n));
    for (std::int64_t k = 0; k < n * n; ++k)
        a[at(k)] = std::sin(static_cast<double>(k % 9973) * 12.9898 + 78.233 * static_cast<double>(k / 9973));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = i == j ? 0.1 : 0;
            for (std::int64_t k = 0; k < n; ++k) sum += a[at(i * n + k)] * a[at(j * n + k)];
            m[at(i * n + j)] = sum * std::pow(scale, static_cast<double>(i % 5 + j % 5));
        }
    }
    return m;
}

Numbers times(const Numbers& m, const Numbers& x) {
    const std::size_t n = x.size();
    Numbers product(n);
    for (std::size_t i = 0; i < n; ++i) {
        long double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += static_cast<long double>(m[i * n + j]) * x[j];
        product[i] = static_cast<double>(sum);
    }
    return product;
}

Numbers solve(const Factor& factor, const Numbers& rhs) {
    Numbers x(rhs.size());
    factor.solve(rhs.data(), x.data());
    return x;
}

// xᵀ M⁻¹ x in long double.
double plain_form(const Numbers& m, const std::vector<long double>& x) {
    const std::size_t n = x.size();
    std::vector<long double> lower(n * n, 0.0L), y(n);
    long double form = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            long double value = m[i * n + j];
            for (std::size_t k = 0; k < j; ++k) value -= lower[i * n + k] * lower[j * n + k];
            lower[i * n + j] = i == j ? std::sqrt(value) : value / lower[j * n + j];
        }
        y[i] = x[i];
        for (std::size_t k = 0; k < i; ++k) y[i] -= lower[i * n + k] * y[k];
        y[i] /= lower[i * n + i];
        form += y[i] * y[i];
    }
    return static_cast<double>(form);
}

}  // namespace

TEST("equations of every size are solved") {
    for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 63, 64, 65, 72, 127, 130, 203, 260}) {
        const Numbers m = positive_matrix(n);
        const Factor factor(m.data(), n);
        CHECK(factor.ridge() == 0 && factor.size() == n);
        CHECK(factor.smallest_pivot() > 0 && factor.smallest_pivot() <= 1);
        Numbers x(at(n));
        for (std::int64_t k = 0; k < n; ++k) x[at(k)] = some_number(k);
        const Numbers found = solve(factor, times(m, x));
        for (std::size_t k = 0; k < x.size(); ++k) CHECK_CLOSE(found[k], x[k], 1e-9);
    }
}

TEST("only the lower triangle is read") {
    Numbers m = positive_matrix(40);
    const Numbers rhs(40, 1.0), expected = solve(Factor(m.data(), 40), rhs);
    for (std::size_t i = 0; i < 40; ++i) {
        for (std::size_t j = i + 1; j < 40; ++j) m[i * 40 + j] = NAN;
    }
    CHECK(solve(Factor(m.data(), 40), rhs) == expected);
}

TEST("the scales of rows and columns do not matter") {
    for (const double scale : {1e-30, 1e-5, 1e10, 1e30}) {
        const Numbers m = positive_matrix(33, scale);
        const Factor factor(m.data(), 33);
        CHECK(factor.ridge() == 0);
        Numbers x(33);
        for (std::size_t k = 0; k < 33; ++k)
            x[k] = some_number(static_cast<std::int64_t>(k)) * std::pow(scale, -static_cast<double>(k % 5));
        const Numbers found = solve(factor, times(m, x));
        for (std::size_t k = 0; k < 33; ++k) CHECK_CLOSE(found[k] / x[k], 1.0, 1e-9);
    }
}

TEST("dependent columns get a ridge, and equations that have a solution are still solved") {
    const std::int64_t n = 90;
    Numbers m = positive_matrix(n);
    // Row and column 70 become the sum of those of 3 and 50.
    for (std::int64_t j = 0; j < n; ++j) m[at(70 * n + j)] = m[at(3 * n + j)] + m[at(50 * n + j)];
    for (std::int64_t i = 0; i < n; ++i) m[at(i * n + 70)] = m[at(i * n + 3)] + m[at(i * n + 50)];
    const Factor factor(m.data(), n);
    CHECK(factor.ridge() <= 1e-12 && factor.smallest_pivot() < 1e-12);
    Numbers x(at(n));
    for (std::int64_t k = 0; k < n; ++k) x[at(k)] = some_number(k);
    const Numbers rhs = times(m, x), again = times(m, solve(factor, rhs));
    for (std::size_t k = 0; k < rhs.size(); ++k) CHECK_CLOSE(again[k], rhs[k], 1e-9);
}

TEST("a matrix of rank one") {
    Numbers m(49, 1.0);
    const Factor factor(m.data(), 7);
    CHECK(factor.ridge() > 0 && factor.ridge() <= 1e-13);
    const Numbers x = solve(factor, Numbers(7, 7.0));
    double sum = 0;
    for (const double value : x) sum += value;
    CHECK_CLOSE(sum, 7.0, 1e-9);
}

TEST("empty columns count as columns of the unit matrix") {
    const std::int64_t n = 21;
    Numbers m = positive_matrix(n), x(at(n));
    for (const std::int64_t empty : {0, 8, 20}) {
        for (std::int64_t j = 0; j < n; ++j) m[at(empty * n + j)] = m[at(j * n + empty)] = 0;
    }
    for (std::int64_t k = 0; k < n; ++k) x[at(k)] = some_number(k);
    Numbers rhs = times(m, x);
    for (const std::int64_t empty : {0, 8, 20}) rhs[at(empty)] = x[at(empty)];
    const Factor factor(m.data(), n);
    CHECK(factor.ridge() == 0);
    const Numbers found = solve(factor, rhs);
    for (std::size_t k = 0; k < x.size(); ++k) CHECK_CLOSE(found[k], x[k], 1e-11);
    const Numbers nothing(25, 0.0), ones(5, 1.0);
    CHECK(solve(Factor(nothing.data(), 5), ones) == ones);
}

TEST("what cannot be factorised is refused") {
    for (const double bad : {double(NAN), double(INFINITY), -double(INFINITY)}) {
        Numbers m = positive_matrix(10);
        m[6 * 10 + 2] = bad;
        CHECK_THROWS(Factor(m.data(), 10), "not finite: row 6, column 2");
    }
    Numbers m = positive_matrix(10);
    m[4 * 10 + 4] = -1;
    CHECK_THROWS(Factor(m.data(), 10), "entry 4");
    const Numbers indefinite{1, 30, 30, 1};
    CHECK_THROWS(Factor(indefinite.data(), 2), "far from positive semidefinite");
}

TEST("the largest form over the rows, in every storage") {
    for (const std::int64_t d : {1, 6, 7, 30}) {
        const Matrix rows(230, d);
        const Numbers m = positive_matrix(d + 1, 1.5);
        const Factor factor(m.data(), d + 1);
        Numbers shift(at(d)), cost(230, 1.0);
        for (std::int64_t j = 0; j < d; ++j) shift[at(j)] = some_number(j);
        for (std::size_t r = 0; r < 230; r += 5) cost[r] = 0;
        for (const double* centre :
             {static_cast<const double*>(nullptr), static_cast<const double*>(shift.data())}) {
            double all = 0, costly = 0;
            for (std::int64_t r = 0; r < 230; ++r) {
                std::vector<long double> x(at(d + 1), 1.0L);
                for (std::int64_t j = 0; j < d; ++j)
                    x[at(j)] = static_cast<long double>(rows.at(r, j)) - (centre == nullptr ? 0 : centre[j]);
                const double form = plain_form(m, x);
                all = std::max(all, form);
                if (cost[at(r)] != 0) costly = std::max(costly, form);
            }
            for (const Stored& stored : every_storage(rows)) {
                NeverStop never;
                double found = 0;
                CHECK(factor.quadratic_form_max(stored.block, nullptr, centre, found, never));
                CHECK_CLOSE(found / all, 1.0, 1e-9);
                found = 0;
                CHECK(factor.quadratic_form_max(stored.block, cost.data(), centre, found, never));
                CHECK_CLOSE(found / costly, 1.0, 1e-9);
                found = 10 * all;
                CHECK(factor.quadratic_form_max(stored.block, nullptr, centre, found, never));
                CHECK(found == 10 * all);
            }
        }
    }
}

TEST("the form of every chosen row, in every storage") {
    for (const std::int64_t d : {1, 6, 7, 30, 61}) {
        const Matrix rows(230, d);
        const Numbers m = positive_matrix(d + 1, 1.5);
        const Factor factor(m.data(), d + 1);
        Numbers shift(at(d)), chosen(230, 1.0);
        for (std::int64_t j = 0; j < d; ++j) shift[at(j)] = some_number(j);
        for (std::size_t r = 0; r < 230; r += 5) chosen[r] = 0;
        for (const double* centre :
             {static_cast<const double*>(nullptr), static_cast<const double*>(shift.data())}) {
            for (const Stored& stored : every_storage(rows)) {
                NeverStop never;
                Numbers all(230, -1.0), some(230, -1.0);
                CHECK(factor.quadratic_forms(stored.block, nullptr, centre, all.data(), never));
                CHECK(factor.quadratic_forms(stored.block, chosen.data(), centre, some.data(), never));
                for (std::int64_t r = 0; r < 230; ++r) {
                    std::vector<long double> x(at(d + 1), 1.0L);
                    for (std::int64_t j = 0; j < d; ++j)
                        x[at(j)] =
                            static_cast<long double>(rows.at(r, j)) - (centre == nullptr ? 0 : centre[j]);
                    CHECK_CLOSE(all[at(r)] / plain_form(m, x), 1.0, 1e-9);
                    CHECK(some[at(r)] == (chosen[at(r)] == 0 ? -1.0 : all[at(r)]));
                }
            }
        }
    }
}

TEST("the lower triangle has the matrix as its product") {
    for (const std::int64_t n : {1, 7, 30, 131}) {
        const Numbers m = positive_matrix(n, 1.5);
        Numbers lower(at(n * n), NAN);
        Factor(m.data(), n).lower(lower.data());
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                long double product = 0;
                for (std::int64_t k = 0; k < n; ++k)
                    product += static_cast<long double>(lower[at(i * n + k)]) * lower[at(j * n + k)];
                const double unit = std::sqrt(m[at(i * n + i)] * m[at(j * n + j)]);
                CHECK_CLOSE((static_cast<double>(product) - m[at(i * n + j)]) / unit, 0.0, 1e-13);
                if (j > i) CHECK(lower[at(i * n + j)] == 0);
            }
        }
    }
}

TEST("a form that is not a number is not lost") {
    Matrix rows(150, 4);
    rows.at(3, 2) = NAN;
    const Stored stored = dense<double>("", rows, Scalar::f64, 4, 1);
    const Numbers m = positive_matrix(5);
    NeverStop never;
    double found = 0;
    CHECK(Factor(m.data(), 5).quadratic_form_max(stored.block, nullptr, nullptr, found, never));
    CHECK(std::isnan(found));
}

TEST("the largest form ends soon after its token says so") {
    const Matrix rows(4000, 60);
    const Stored stored = dense<float>("", rows, Scalar::f32, 60, 1);
    const Numbers m = positive_matrix(61);
    double found = 0;
    StopAt first(1);
    CHECK(!Factor(m.data(), 61).quadratic_form_max(stored.block, nullptr, nullptr, found, first));
}

TEST("triangles of every instruction set agree") {
    const std::int64_t n = 24;
    for (const std::string& name : available_primitives()) {
        const Triangles& triangles = *primitives_named(name).triangles;
        const Numbers m = positive_matrix(n);
        Numbers upper = m, inverse(at(n)), z(at(n * 16));
        double smallest = std::numeric_limits<double>::infinity();
        CHECK(triangles.factorise(upper.data(), n, n, inverse.data(), smallest));
        for (std::int64_t k = 0; k < n * 16; ++k) z[at(k)] = some_number(k);
        const Numbers right = z;
        triangles.solve_transposed({upper.data(), n, n, inverse.data()}, z.data(), 16, triangles.width, 16);
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t column = 0; column < 16; ++column) {
                double back = 0;
                for (std::int64_t k = 0; k <= i; ++k) back += upper[at(k * n + i)] * z[at(k * 16 + column)];
                CHECK_CLOSE(back, right[at(i * 16 + column)], 1e-11);
            }
            for (std::int64_t j = i; j < n; ++j) {
                double product = 0;
                for (std::int64_t k = 0; k <= i; ++k) product += upper[at(k * n + i)] * upper[at(k * n + j)];
                CHECK_CLOSE(product, m[at(i * n + j)], 1e-12);
            }
        }
    }
}
