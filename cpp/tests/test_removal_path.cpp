// The path of a row that is left out: small problems whose left-out optimum is known by hand, and the free
// set against elimination.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "maxmargin/kernel/dual_face.hpp"
#include "maxmargin/kernel/free_set.hpp"
#include "maxmargin/kernel/removal_path.hpp"
#include "maxmargin/kernel/row_gram.hpp"

using namespace maxmargin;

namespace {

using Vector = std::vector<double>;

constexpr double kNever = -std::numeric_limits<double>::infinity();

Vector products(const Vector& x, std::int64_t n, std::int64_t d, double constant) {
    Vector k(static_cast<std::size_t>(n * n));
    const Block block{DenseStorage{x.data(), Scalar::f64, d, 1}, n, d};
    NeverStop token;
    CHECK(row_gram(block, 0, n, k.data(), token));
    for (double& value : k) value += constant;
    return k;
}

// Rows 0, 1, 3, 4 on a line, classes − − + +, C = 10: w = 1, b = −2, held by 1 and 3.
struct Line {
    Vector x{0, 1, 3, 4};
    std::vector<std::int8_t> sign{-1, -1, 1, 1};
    Vector cost{10, 10, 10, 10}, alpha{0, 0.5, 0.5, 0}, agreement{2, 1, 1, 2}, rounding{0, 0, 0, 0};
    Vector k = products(x, 4, 1, 1.0);
    double product_error = 1e-15;

    FullFit fit(std::int64_t watched = 4) const {
        const DualRows rows{k.data(), sign.data(), cost.data(), 4};
        return {rows, alpha.data(),    agreement.data(), -2.0, 1.0,
                0.0,  rounding.data(), product_error,    true, watched};
    }
};

LeftOut leave_out(const FullFit& fit, const Removal& removal) {
    NeverStop token;
    LeftOut result;
    CHECK(RemovalPath(fit).follow(&removal, 1, &result, token));
    return result;
}

}  // namespace

TEST("products of rows are those of the definition, for dense and sparse rows") {
    const Vector x{1, 2, 0, -1, 3, 0.5};
    const Vector k = products(x, 3, 2, 0.0);
    CHECK(k == Vector({5, -2, 4, -2, 1, -0.5, 4, -0.5, 9.25}));
    const Vector values{1, 2, -1, 3, 0.5};
    const std::vector<std::int32_t> indices{0, 1, 1, 0, 1}, starts{0, 2, 3, 5};
    const CsrStorage csr{values.data(), Scalar::f64, indices.data(), starts.data(), false};
    Vector sparse(9);
    NeverStop token;
    CHECK(row_gram(Block{csr, 3, 2}, 0, 3, sparse.data(), token));
    CHECK(sparse == k);
}

TEST("products of rows refuse rows that would have to be converted") {
    const std::vector<std::int32_t> x{1, 2};
    const Block block{DenseStorage{x.data(), Scalar::i32, 1, 1}, 2, 1};
    Vector k(4);
    NeverStop token;
    CHECK_THROWS(row_gram(block, 0, 2, k.data(), token), "float or double");
}

TEST("a free set solves with the rows that are left after some have gone") {
    const Vector x{1, 2, 0, 0, -1, 1, 3, 0.5, 2, 1, 1, 1, 0.2, -2, 1};
    const Vector k = products(x, 5, 3, 0.5);
    FreeSet free(k.data(), 5);
    Vector y;
    for (const std::int64_t row : {0, 1, 2, 3}) {
        const double left = free.residual(row, y);
        CHECK(left > 1e-9);
        free.append(row, y, left);
    }
    CHECK_CLOSE(free.residual(4, y), 0.0, 1e-12);  // five rows of three columns and a constant depend
    free.remove(1);
    free.append(4, y, free.residual(4, y));
    CHECK(free[0] == 0 && free[1] == 2 && free[2] == 3 && free[3] == 4);
    CHECK(free.position(3) == 2 && free.position(1) == -1);
    Vector solution{1, -2, 0.5, 3};
    free.solve(solution);
    const Vector right{1, -2, 0.5, 3};
    for (std::int64_t i = 0; i < 4; ++i) {
        double value = 0;
        for (std::int64_t j = 0; j < 4; ++j) value += k[free[i] * 5 + free[j]] * solution[j];
        CHECK_CLOSE(value, right[i], 1e-11);
    }
}

TEST("dependent free rows are moved to bounds without moving the weights") {
    const Vector x{0, 1, 2, 3};
    const std::vector<std::int8_t> sign{1, -1, 1, -1};
    const Vector cost{1, 1, 1, 1}, alpha{0.5, 0.6, 0.4, 0.3}, k = products(x, 4, 1, 1.0);
    const DualFace face({k.data(), sign.data(), cost.data(), 4}, alpha.data());
    CHECK(face.free().size() == 2);
    double w = 0, balance = 0;
    for (std::size_t j = 0; j < 4; ++j) {
        const double beta = sign[j] * face.alpha()[j];
        w += beta * x[j];
        balance += beta;
        CHECK(face.alpha()[j] >= 0 && face.alpha()[j] <= 1);
        const auto place = face.place(static_cast<std::int64_t>(j));
        CHECK((place == Place::free) == (face.alpha()[j] > 0 && face.alpha()[j] < 1));
    }
    CHECK_CLOSE(w, -0.6 + 0.8 - 0.9, 1e-14);
    CHECK_CLOSE(balance, 0.5 - 0.6 + 0.4 - 0.3, 1e-14);
}

TEST("a row that held the margin hands over to the next one") {
    const Line line;
    // Without 3 the classes meet at 1 and 4: w = 2/3, b = −5/3.
    const LeftOut result = leave_out(line.fit(), {2, 0.0, kNever});
    CHECK_CLOSE(result.agreement, 2.0 - 5.0 / 3.0, 1e-12);
    CHECK(result.error_bound < 1e-5);
    CHECK(result.events >= 2);
}

TEST("the rounding of agreements and of products is part of the bound") {
    Line line;
    line.product_error = 1e-3;
    CHECK(leave_out(line.fit(), {2, 0.0, kNever}).error_bound > 1e-3);
    line = Line();
    line.rounding[0] = 1e-3;
    CHECK(leave_out(line.fit(), {2, 0.0, kNever}).error_bound > 1e-3);
}

TEST("a row that only loses a part of its cost stays until its dual fits") {
    const Line line;
    const LeftOut result = leave_out(line.fit(), {2, 0.25, kNever});
    // With b = −1 − w the rest is w²/2 + ¼ max(0, 2 − 2w), w ≥ 2/3, which is least at w = 2/3 still.
    CHECK_CLOSE(result.agreement, 1.0 / 3.0, 1e-12);
}

TEST("rows that are not watched are looked at in the end") {
    const Line line;
    // Without 3, row 4 must take over, which only a path that watches all rows sees.
    const LeftOut all = leave_out(line.fit(4), {2, 0.0, kNever});
    const LeftOut some = leave_out(line.fit(3), {2, 0.0, kNever});
    CHECK(some.agreement == all.agreement);
    CHECK(some.error_bound == all.error_bound);
}

TEST("a path that is stopped early ends below the mark and above the end") {
    const Line line;
    const LeftOut whole = leave_out(line.fit(), {2, 0.0, kNever});
    const LeftOut part = leave_out(line.fit(), {2, 0.0, 0.9});
    CHECK(part.agreement < 0.9);
    CHECK(whole.is_out && !part.is_out);
    CHECK(part.agreement >= whole.agreement - 1e-12);
    CHECK(part.events < whole.events);
}

TEST("a path that is stopped while the offset slides tells the worst that is certain") {
    // All rows are at their cost: w = 6/100, and every offset between those at which 0 and 4 reach 1 is best.
    Line line;
    line.cost = line.alpha = {0.01, 0.01, 0.01, 0.01};
    const double w = 0.06, b = (-1.0 + 1.0 - 4 * w) / 2;
    for (std::size_t j = 0; j < 4; ++j) line.agreement[j] = line.sign[j] * (w * line.x[j] + b);
    FullFit fit = line.fit();
    fit.b = b;
    const LeftOut whole = leave_out(fit, {2, 0.0, kNever});
    const LeftOut part = leave_out(fit, {2, 0.0, 0.0});
    CHECK(whole.is_out && !part.is_out);
    CHECK(whole.agreement < 0);
    CHECK(part.agreement < 0 && part.agreement >= whole.agreement - 1e-12);
    CHECK(part.error_bound < 1e-6);
}

TEST("a path stops when it is told to, and keeps what is complete") {
    struct AtOnce final : StopToken {
        bool poll() noexcept override { return true; }
    };
    const std::int64_t n = 600;
    Vector x, cost(n, 1.0), alpha(n, 0.0), agreement(n, 3.0), rounding(n, 0.0);
    std::vector<std::int8_t> sign;
    for (std::int64_t j = 0; j < n; ++j) {
        sign.push_back(j % 2 ? 1 : -1);
        x.push_back(sign.back() * 3.0);
    }
    alpha[0] = alpha[1] = 0.5;
    agreement[0] = agreement[1] = 1.0;
    const Vector k = products(x, n, 1, 1.0);
    const DualRows rows{k.data(), sign.data(), cost.data(), n};
    const RemovalPath path(
        {rows, alpha.data(), agreement.data(), 0.0, 1.0, 0.0, rounding.data(), 1e-15, true, n});
    const std::vector<Removal> removals(1000, Removal{0, 0.0, kNever});
    std::vector<LeftOut> results(1000);
    AtOnce token;
    CHECK(!path.follow(removals.data(), 1000, results.data(), token));
}
