// Rows near the margin as one system: against its equations, against left-out optima known by hand, and for
// every instruction set.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "maxmargin/kernel/left_out_proof.hpp"
#include "maxmargin/kernel/near_removals.hpp"
#include "maxmargin/kernel/near_system.hpp"
#include "maxmargin/primitives.hpp"

using namespace maxmargin;

namespace {

using Vector = std::vector<double>;

Vector random_numbers(std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Vector numbers(count);
    for (double& number : numbers) number = static_cast<double>(random() >> 11) * 0x1p-52 - 1.0;
    return numbers;
}

Block dense(const Vector& x, std::int64_t n, std::int64_t d) {
    return {DenseStorage{x.data(), Scalar::f64, d, 1}, n, d};
}

std::vector<std::int64_t> first(std::int64_t count) {
    std::vector<std::int64_t> rows;
    for (std::int64_t k = 0; k < count; ++k) rows.push_back(k);
    return rows;
}

double product(const Vector& x, std::int64_t d, std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t k = 0; k < d; ++k)
        sum += x[static_cast<std::size_t>(i * d + k)] * x[static_cast<std::size_t>(j * d + k)];
    return sum;
}

// What a system says about changes `in` must solve its equations; the last row is not near and changes too.
void check_equations(std::int64_t n, std::int64_t n_free, bool has_free_offset) {
    const std::int64_t d = n + 3;
    const double constant = has_free_offset ? 0.7 : 0.25;
    const Vector x = random_numbers(static_cast<std::size_t>((n + 1) * d), 5);
    const Block block = dense(x, n + 1, d);
    const NearProducts products(block, first(n));
    NearSystem system(products, n_free, constant, has_free_offset);
    NeverStop token;
    CHECK(system.make(token) == NearSystem::Outcome::made);
    const Vector in = random_numbers(static_cast<std::size_t>(n + 1), 6);
    Vector column(static_cast<std::size_t>(n)), answer(1);
    system.columns_of(&n, 1, column.data(), answer.data());
    Vector beta(static_cast<std::size_t>(n + 1)), u(static_cast<std::size_t>(n));
    double b = answer[0] * in.back();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        double out = column[i] * in.back();
        for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j)
            out += system.row(static_cast<std::int64_t>(i))[j] * in[j];
        b += system.offset_answer()[i] * in[i];
        const bool is_free = i < static_cast<std::size_t>(n_free);
        beta[i] = is_free ? out : -in[i];
        u[i] = is_free ? in[i] : out;
    }
    beta.back() = -in.back();
    double balance = 0;
    for (const double change : beta) balance += change;
    if (has_free_offset) CHECK(std::fabs(balance) < 1e-12);
    for (std::int64_t i = 0; i < n; ++i) {
        double score = has_free_offset ? b : 0.0;
        for (std::int64_t j = 0; j <= n; ++j)
            score += (product(x, d, i, j) + (has_free_offset ? 0.0 : constant)) *
                     beta[static_cast<std::size_t>(j)];
        CHECK_CLOSE(score, u[static_cast<std::size_t>(i)], 1e-10);
    }
}

// Rows 0, 1, 3, 4 on a line, classes − − + +, C = 10: w = 1, b = −2, held by 1 and 3. Without 1 the others
// hold w = 2/3, b = −1, and its agreement is 1/3; without 3 it is the same from the other side.
struct Line {
    Vector x{0, 1, 3, 4};
    std::vector<std::int8_t> sign{-1, -1, 1, 1};
    Vector cost{10, 10, 10, 10}, alpha{0, 0.5, 0.5, 0}, agreement{2, 1, 1, 2}, distance{0, 0, 1, 1};
    std::vector<std::int64_t> order{1, 2, 0, 3};
    Vector near_sign{-1, 1, -1, 1}, near_alpha{0.5, 0.5, 0, 0}, near_agreement{1, 1, 2, 2};

    LeftOutValue without(std::int64_t row, std::int64_t n_near, double spoil = 0.0) const {
        const Block block = dense(x, 4, 1);
        const NearProducts products(block, {order.begin(), order.begin() + n_near});
        NearSystem system(products, 2, 4.0, true);
        NeverStop token;
        CHECK(system.make(token) == NearSystem::Outcome::made);
        const NearRemovals removals(
            system, {near_sign.data(), cost.data(), near_alpha.data(), near_agreement.data(), 0.0});
        const NearRemoval removal{row, row - 1, near_sign[static_cast<std::size_t>(row - 1)],
                                  alpha[static_cast<std::size_t>(row)], 0.0};
        Vector changes(static_cast<std::size_t>(n_near + 1));
        double b;
        bool solved;
        CHECK(removals.solve(&removal, 1, changes.data(), &b, &solved, token));
        CHECK(solved);
        b += spoil;
        const LeftOutPoint point{row, 0.0, changes.data(), b};
        LeftOutValue value;
        CHECK(prove_left_out({block, sign.data(), cost.data(), alpha.data(), agreement.data(), order.data(),
                              distance.data(), 4, n_near, 4.0, 0.0},
                             &point, 1, &value, token));
        return value;
    }
};

}  // namespace

TEST("products with panels of every instruction set are those of the definition") {
    for (const std::string& name : available_primitives()) {
        const Panels& panels = *primitives_named(name).panels;
        const std::int64_t n = 13, length = 7, stride = 9, width = panels.width;
        const Vector rows = random_numbers(static_cast<std::size_t>(n * stride), 1),
                     z = random_numbers(static_cast<std::size_t>(2 * length * width), 2);
        Vector to(static_cast<std::size_t>(2 * n * width), 99.0);
        panels.multiply(rows.data(), stride, n, length, z.data(), length * width, 2, to.data(), n * width);
        for (std::int64_t p = 0; p < 2; ++p) {
            for (std::int64_t i = 0; i < n; ++i) {
                for (std::int64_t c = 0; c < width; ++c) {
                    double expected = 0;
                    for (std::int64_t k = 0; k < length; ++k)
                        expected += rows[static_cast<std::size_t>(i * stride + k)] *
                                    z[static_cast<std::size_t>((p * length + k) * width + c)];
                    CHECK_CLOSE(to[static_cast<std::size_t>((p * n + i) * width + c)], expected, 1e-14);
                }
            }
        }
    }
}

TEST("panels, tiles and triangles of every instruction set have the same width") {
    for (const std::string& name : available_primitives()) {
        const Primitives& set = primitives_named(name);
        CHECK(set.tiles->f64.width == set.triangles->width);
    }
}

TEST("products with near rows are the same for dense and sparse rows") {
    const Vector x{1, 2, 0, -1, 3, 0.5}, values{1, 2, -1, 3, 0.5};
    const std::vector<std::int32_t> indices{0, 1, 1, 0, 1}, starts{0, 2, 3, 5};
    const Block rows = dense(x, 3, 2);
    const Block sparse{CsrStorage{values.data(), Scalar::f64, indices.data(), starts.data(), false}, 3, 2};
    Vector own(2), to(2), other(2);
    NearProducts(rows, {2, 0}).multiply(1, own, to.data());
    NearProducts(sparse, {2, 0}).multiply(1, own, other.data());
    CHECK(to == Vector({-0.5, -2}));
    CHECK(other == to);
    CHECK(own == Vector(2));
}

TEST("products with near rows refuse rows that would have to be converted") {
    const std::vector<std::int32_t> x{1, 2};
    const Block block{DenseStorage{x.data(), Scalar::i32, 1, 1}, 2, 1};
    CHECK_THROWS(NearProducts(block, {0}), "float or double");
}

TEST("near rows answer as their equations say") {
    for (const bool has_free_offset : {false, true}) {
        for (const std::int64_t n : {3, 8, 15, 40}) {
            check_equations(n, 1, has_free_offset);
            check_equations(n, n / 2 + 1, has_free_offset);
            check_equations(n, n, has_free_offset);
        }
    }
    check_equations(9, 0, false);
}

TEST("free rows that depend on each other are noticed") {
    const Vector x{1, 2, 2, 4, 0, 1};
    const Block block = dense(x, 3, 2);
    const NearProducts products(block, first(3));
    NearSystem system(products, 2, 0.0, false);
    NeverStop token;
    CHECK(system.make(token) == NearSystem::Outcome::dependent);
    CHECK_THROWS(NearSystem(products, 0, 1.0, true), "must be free");
}

TEST("a row that leaves a line leaves the optimum that is known by hand") {
    for (const std::int64_t row : {1, 2}) {
        const LeftOutValue value = Line().without(row, 4);
        CHECK_CLOSE(value.agreement, 1.0 / 3.0, 1e-12);
        CHECK_CLOSE(value.moved2, 1.0 / 9.0, 1e-12);
        CHECK(value.gap < 1e-12);
        CHECK(value.offset_error < 1e-12);
        CHECK(std::fabs(value.balance_change) < 1e-12);
        CHECK_CLOSE(value.room_below + value.room_above, 20.0, 1e-12);
    }
}

TEST("a row that should have moved but was held shows in the gap") {
    const LeftOutValue value = Line().without(1, 2);  // 0 is held: its agreement falls below 1
    CHECK(value.gap > 0.1);
    const LeftOutValue shifted = Line().without(1, 4, 0.01);
    CHECK_CLOSE(shifted.offset_error, 0.01, 1e-9);
    CHECK(shifted.gap > 0.01 * 0.1);
}
