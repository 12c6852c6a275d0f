// The passes of the rounded hinge against plain loops, in every storage.

#include "maxmargin/kernel/proximal_passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "check.hpp"
#include "matrix.hpp"
#include "maxmargin/condense.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

using Vector = std::vector<double>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Three columns of small integers, then a one-hot group of seven: rows that can be condensed.
Matrix table(std::int64_t n) {
    Matrix m(n, 10);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 3; j < 10; ++j) m.at(i, j) = j - 3 == (i * i + i / 5) % 7 ? 1.0 : 0.0;
    return m;
}

std::vector<Stored> every_view(const Matrix& m) {
    std::vector<Stored> all = every_storage(m);
    Stored base = dense<double>("condensed", m, Scalar::f64, m.columns, 1);
    NeverStop never;
    std::optional<Block> block;
    CHECK(condense(base.block, block, never));
    CHECK(block.has_value());
    if (block) all.push_back({"condensed", *block, base.memory});
    return all;
}

// Rows on both sides of the corner and within it; every fifth costs nothing.
struct Fixture {
    Matrix x;
    std::vector<std::int8_t> sign;
    Vector cost, anchor, excess, change, w, dw;
    double b = 0.3, db = -0.2;

    explicit Fixture(std::int64_t n) : x(table(n)), w(10), dw(10) {
        for (std::size_t j = 0; j < w.size(); ++j) {
            w[j] = 0.06 * static_cast<double>(j) - 0.21;
            dw[j] = 0.05 - 0.015 * static_cast<double>(j * j % 7);
        }
        for (std::int64_t i = 0; i < n; ++i) {
            sign.push_back(i % 3 == 0 ? 1 : -1);
            cost.push_back(i % 5 == 3 ? 0.0 : 0.5 + 0.25 * static_cast<double>(i % 7));
            anchor.push_back(cost.back() * 0.125 * static_cast<double>(i % 9));
            excess.push_back(sign.back() * (x.dot(i, w.data()) + b) - 1.0);
            change.push_back(sign.back() * (x.dot(i, dw.data()) + db));
        }
    }

    std::int64_t size() const { return x.rows; }
    ProximalRows rows() { return {sign.data(), cost.data(), anchor.data(), excess.data(), change.data()}; }
    ProximalAfter after() { return {anchor.data(), excess.data()}; }
    double alpha(std::int64_t i, double stiffness) const {
        const double raw = anchor[at(i)] - stiffness * cost[at(i)] * excess[at(i)];
        return raw < 0 ? 0.0 : raw > cost[at(i)] ? cost[at(i)] : raw;
    }
};

void check_all_close(const Vector& a, const Vector& b, double tolerance) {
    CHECK(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK_CLOSE(a[k], b[k], tolerance);
}

struct Found {
    Vector v, gram;
    ProximalSums sums;
    Found() : v(10), gram(121) {}
};

// What a move has to find, in plain loops; it changes the fixture as the move does.
Found expected_of(Fixture& f, const ProximalMove& move) {
    Found found;
    for (std::int64_t i = 0; i < f.size(); ++i) {
        const double old = move.before == 0 ? 0.0 : f.alpha(i, move.before);
        if (move.anchor) f.anchor[at(i)] = old;
        f.excess[at(i)] += move.step * f.change[at(i)];
        const double c = f.cost[at(i)], s = f.sign[at(i)], e = f.excess[at(i)];
        const double alpha = f.alpha(i, move.after), apart = alpha - f.anchor[at(i)];
        Vector row(11, 1.0);
        for (std::int64_t j = 0; j < 10; ++j) {
            found.v[at(j)] += s * (alpha - old) * f.x.at(i, j);
            row[at(j)] = f.x.at(i, j) - (move.shift != nullptr ? move.shift[j] : 0.0);
        }
        found.sums.loss += e < 0 ? -c * e : 0.0;
        found.sums.alpha += alpha;
        found.sums.balance += s * alpha;
        found.sums.gap += e < 0 ? -(c - alpha) * e : alpha * e;
        found.sums.moved += c > 0 ? apart * apart / (2 * move.after * c) : 0.0;
        if (!(alpha > 0 && alpha < c)) continue;
        ++found.sums.free;
        for (std::size_t k = 0; k < 121; ++k) found.gram[k] += move.after * c * row[k / 11] * row[k % 11];
    }
    return found;
}

void check_move(const ProximalMove& move) {
    constexpr std::int64_t n = 1100;  // chunks of 512 and the rest of one
    Fixture plain(n);
    const Found expected = expected_of(plain, move);
    CHECK(expected.sums.free > 20 && expected.sums.free < n / 2);
    NeverStop never;
    for (const Stored& stored : every_view(plain.x)) {
        Fixture f(n);
        Found found;
        CHECK(proximal_move(stored.block, move, f.rows(), f.after(), found.v.data(), found.gram.data(),
                            found.sums, never));
        check_all_close(found.v, expected.v, 1e-11);
        check_all_close(found.gram, expected.gram, 1e-11);
        check_all_close(f.anchor, plain.anchor, 1e-14);
        check_all_close(f.excess, plain.excess, 1e-13);
        CHECK_CLOSE(found.sums.loss, expected.sums.loss, 1e-12);
        CHECK_CLOSE(found.sums.alpha, expected.sums.alpha, 1e-12);
        CHECK_CLOSE(found.sums.balance, expected.sums.balance, 1e-11);
        CHECK_CLOSE(found.sums.gap, expected.sums.gap, 1e-12);
        CHECK_CLOSE(found.sums.moved, expected.sums.moved, 1e-12);
        CHECK(found.sums.free == expected.sums.free);
    }
}

// Σ ψ(e + t q) of the rounded hinge: the integral of −α, which is quadratic between its two kinks.
double value_at(const Fixture& f, double stiffness, double step) {
    double total = 0;
    for (std::int64_t i = 0; i < f.size(); ++i) {
        const double c = f.cost[at(i)], a = f.anchor[at(i)], kc = stiffness * c;
        if (c == 0) continue;
        const double e = f.excess[at(i)] + step * f.change[at(i)];
        const double low = (a - c) / kc, high = a / kc;  // α = c below the first, 0 above the second
        const double inside = std::clamp(e, low, high);
        total += c * (low - std::min(e, low)) - (a * inside - 0.5 * kc * inside * inside);
    }
    return total;
}

}  // namespace

TEST("the excess is s(x.w + b) - 1, in every storage") {
    const Fixture plain(1100);
    NeverStop never;
    for (const Stored& stored : every_view(plain.x)) {
        Fixture f(1100);
        std::fill(f.excess.begin(), f.excess.end(), 99.0);
        CHECK(proximal_excess(stored.block, f.w.data(), f.b, f.sign.data(), f.excess.data(), never));
        check_all_close(f.excess, plain.excess, 1e-13);
    }
}

TEST("a move along a direction") { check_move({0.7, 0.8, 0.8, false, nullptr}); }

TEST("a move that sharpens the corners around new anchors") {
    const Vector shift{0.5, -1.0, 0.25, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1};
    check_move({0.0, 0.8, 3.0, true, shift.data()});
    check_move({0.0, 0.8, 3.0, false, nullptr});
}

TEST("a move that does everything at once") { check_move({-0.4, 1.5, 0.5, true, nullptr}); }

TEST("without a stiffness before, all of alpha is a change") {
    const Vector shift{0.5, -1.0, 0.25, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1};
    check_move({0.0, 0.0, 0.8, false, shift.data()});
    check_move({0.5, 0.0, 0.8, false, nullptr});
}

TEST("v is what the multipliers give, after any moves") {
    const Vector shift(10, 0.25);
    const std::vector<ProximalMove> moves{{0.0, 0.0, 0.8, false, nullptr},
                                          {0.6, 0.8, 0.8, false, shift.data()},
                                          {0.0, 0.8, 2.5, true, nullptr},
                                          {-1.3, 2.5, 2.5, false, shift.data()},
                                          {0.0, 2.5, 1.0, true, nullptr}};
    NeverStop never;
    for (const Stored& stored : every_view(table(700))) {
        Fixture f(700);
        Vector v(10);
        for (const ProximalMove& move : moves) {
            Vector alpha(700), expected(10);
            ProximalSums sums;
            CHECK(proximal_move(stored.block, move, f.rows(), f.after(), v.data(), nullptr, sums, never));
            proximal_alpha(700, move.after, f.rows(), alpha.data());
            for (std::int64_t i = 0; i < 700; ++i) {
                CHECK(alpha[at(i)] == f.alpha(i, move.after));
                for (std::int64_t j = 0; j < 10; ++j)
                    expected[at(j)] += f.sign[at(i)] * alpha[at(i)] * f.x.at(i, j);
            }
            check_all_close(v, expected, 1e-11);
        }
    }
}

TEST("a move that changes no alpha leaves every bit of v") {
    Fixture f(700);
    const Stored stored = dense<double>("", f.x, Scalar::f64, 10, 1);
    NeverStop never;
    Vector v(10, 0.1);
    const Vector before = v;
    ProximalSums sums;
    CHECK(proximal_move(stored.block, {0.0, 0.8, 0.8, false, nullptr}, f.rows(), f.after(), v.data(), nullptr,
                        sums, never));
    CHECK(v == before);
}

TEST("multipliers are exactly 0 or exactly the cost away from the corner") {
    Fixture f(700);
    Vector alpha(700);
    std::int64_t none = 0, all = 0, free = 0;
    proximal_alpha(700, 0.8, f.rows(), alpha.data());
    for (std::int64_t i = 0; i < 700; ++i) {
        const double c = f.cost[at(i)], a = alpha[at(i)], raw = f.anchor[at(i)] - 0.8 * c * f.excess[at(i)];
        CHECK(a >= 0 && a <= c);
        CHECK(raw > 0 || a == 0);
        CHECK(raw < c || a == c);
        none += c > 0 && a == 0;
        all += c > 0 && a == c;
        free += a > 0 && a < c;
    }
    CHECK(none > 20 && all > 20 && free > 20);
}

TEST("a direction gives the slopes of the rounded hinge, in every storage") {
    const Fixture plain(1100);
    const Vector steps{0.0, 0.4, 1.0, 40.0};
    constexpr double stiffness = 0.8, h = 1e-6;
    Vector numerical;
    for (const double t : steps)
        numerical.push_back((value_at(plain, stiffness, t + h) - value_at(plain, stiffness, t - h)) /
                            (2 * h));
    NeverStop never;
    for (const Stored& stored : every_view(plain.x)) {
        Fixture f(1100);
        std::fill(f.change.begin(), f.change.end(), 99.0);
        Vector slopes(steps.size()), again(steps.size());
        CHECK(proximal_direction(stored.block, f.dw.data(), f.db, stiffness, f.rows(), f.change.data(),
                                 steps.data(), slopes.data(), never));
        check_all_close(f.change, plain.change, 1e-13);
        check_all_close(f.excess, plain.excess, 0.0);
        check_all_close(slopes, numerical, 1e-5);
        CHECK(std::is_sorted(slopes.begin(), slopes.end()));
        proximal_slopes(1100, stiffness, f.rows(), steps.data(), again.data());
        check_all_close(again, slopes, 1e-13);
    }
}

TEST("slopes are added to what is there") {
    Fixture f(100);
    const Vector steps{0.0, 1.0, 2.0, 3.0};
    Vector alone(4), added{5.0, -5.0, 0.0, 0.0};
    proximal_slopes(100, 0.8, f.rows(), steps.data(), alone.data());
    proximal_slopes(100, 0.8, f.rows(), steps.data(), added.data());
    CHECK_CLOSE(added[0], alone[0] + 5.0, 1e-13);
    CHECK_CLOSE(added[1], alone[1] - 5.0, 1e-13);
}

TEST("rows without cost neither count nor change anything, wherever they lie") {
    Fixture f(700);
    const Stored stored = dense<double>("", f.x, Scalar::f64, 10, 1);
    const Vector steps{0.0, 0.5, 1.0, 2.0};
    Found calm, wild;
    Vector calm_slopes(4), wild_slopes(4);
    NeverStop never;
    const ProximalMove move{0.5, 0.8, 2.0, true, nullptr};
    for (const bool is_wild : {false, true}) {
        Fixture g(700);
        for (std::size_t i = 0; i < 700; ++i)
            if (is_wild && g.cost[i] == 0) g.excess[i] = i % 2 == 0 ? 1e200 : -1e200;
        Found& found = is_wild ? wild : calm;
        Vector& slopes = is_wild ? wild_slopes : calm_slopes;
        CHECK(proximal_move(stored.block, move, g.rows(), g.after(), found.v.data(), found.gram.data(),
                            found.sums, never));
        proximal_slopes(700, 2.0, g.rows(), steps.data(), slopes.data());
        for (std::size_t i = 0; i < 700; ++i) CHECK(g.cost[i] > 0 || g.anchor[i] == 0);
    }
    CHECK(calm.v == wild.v && calm.gram == wild.gram && calm_slopes == wild_slopes);
    CHECK(calm.sums.loss == wild.sums.loss && calm.sums.alpha == wild.sums.alpha);
    CHECK(calm.sums.gap == wild.sums.gap && calm.sums.moved == wild.sums.moved);
    CHECK(calm.sums.balance == wild.sums.balance && calm.sums.free == wild.sums.free);
}

TEST("no rows are nothing") {
    Fixture f(0);
    Found found;
    NeverStop never;
    const double number = 0;
    const Block nothing{DenseStorage{&number, Scalar::f64, 10, 1}, 0, 10};
    CHECK(proximal_excess(nothing, f.w.data(), f.b, f.sign.data(), f.excess.data(), never));
    CHECK(proximal_move(nothing, {0.5, 0.8, 0.8, true, nullptr}, f.rows(), f.after(), found.v.data(),
                        found.gram.data(), found.sums, never));
    CHECK(found.v == Vector(10) && found.gram == Vector(121) && found.sums.free == 0);
}

TEST("every pass over the rows ends when its token says so") {
    constexpr std::int64_t n = 100000;
    Fixture f(n);
    const Stored stored = dense<double>("", f.x, Scalar::f64, 10, 1);
    const Vector before = f.excess, steps{0.1, 0.4, 1.0, 2.5};
    Vector slopes(4), v(10);
    ProximalSums sums;
    StopAt first(1), second(1), third(1);
    std::fill(f.excess.begin(), f.excess.end(), 99.0);
    CHECK(!proximal_excess(stored.block, f.w.data(), f.b, f.sign.data(), f.excess.data(), first));
    CHECK(f.excess.front() == before.front() && f.excess.back() == 99.0);
    std::fill(f.change.begin(), f.change.end(), 99.0);
    CHECK(!proximal_direction(stored.block, f.dw.data(), f.db, 0.8, f.rows(), f.change.data(), steps.data(),
                              slopes.data(), second));
    CHECK(f.change.front() != 99.0 && f.change.back() == 99.0);
    f.excess = before;
    CHECK(!proximal_move(stored.block, {1.0, 0.8, 0.8, false, nullptr}, f.rows(), f.after(), v.data(),
                         nullptr, sums, third));
    CHECK(f.excess.front() != before.front() && f.excess.back() == before.back());
}
