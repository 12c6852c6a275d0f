#include "maxmargin/kernel/interior_passes.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "check.hpp"
#include "matrix.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

using Vector = std::vector<double>;

// A point well inside, its directions, and a few rows of which one costs nothing.
struct Fixture {
    Matrix x;
    std::vector<std::int8_t> sign;
    Vector cost, alpha, beta, t, xi, w;
    double b = 0.3;

    Fixture(std::int64_t n, std::int64_t d) : x(n, d), w(static_cast<std::size_t>(d)) {
        for (std::size_t j = 0; j < w.size(); ++j) w[j] = 0.02 * static_cast<double>(j) - 0.03;
        for (std::int64_t i = 0; i < n; ++i) {
            const double c = i % 5 == 3 ? 0.0 : 0.5 + 0.25 * static_cast<double>(i % 7);
            sign.push_back(i % 3 == 0 ? 1 : -1);
            cost.push_back(c);
            alpha.push_back(c * (0.1 + 0.08 * static_cast<double>(i % 9)));
            beta.push_back(c - alpha.back());
            const double e = margin(i) - 1.0;
            const double small = 0.2 + 0.1 * static_cast<double>(i % 4);
            t.push_back(e >= 0 ? small + e : small);
            xi.push_back(e >= 0 ? small : small - e);
        }
    }

    std::size_t size() const { return cost.size(); }
    double margin(std::int64_t i) const {
        return sign[static_cast<std::size_t>(i)] * (x.dot(i, w.data()) + b);
    }
    InteriorRows rows() { return {sign.data(), cost.data(), alpha.data(), beta.data(), t.data(), xi.data()}; }
    NewState after(Vector& out) { return {out.data(), beta.data(), t.data(), xi.data()}; }
    double curvature(std::size_t i) const {
        return cost[i] > 0 ? 1 / (t[i] / alpha[i] + xi[i] / beta[i]) : 0;
    }
};

struct Directions {
    Vector alpha, t, xi;
    explicit Directions(std::size_t n) : alpha(n), t(n), xi(n) {}
    InteriorDirection view() const { return {alpha.data(), t.data(), xi.data()}; }
    NewDirection room() { return {alpha.data(), t.data(), xi.data()}; }
};

void check_all_close(const Vector& a, const Vector& b, double tolerance) {
    CHECK(a.size() == b.size());
    for (std::size_t k = 0; k < a.size(); ++k) CHECK_CLOSE(a[k], b[k], tolerance);
}

// Σ f (x, 1), in plain loops.
Vector combined(const Fixture& f, const Vector& coefficient) {
    Vector total(static_cast<std::size_t>(f.x.columns) + 1);
    for (std::int64_t i = 0; i < f.x.rows; ++i) {
        const double value = coefficient[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; j < f.x.columns; ++j)
            total[static_cast<std::size_t>(j)] += value * f.x.at(i, j);
        total.back() += value;
    }
    return total;
}

}  // namespace

TEST("the centred row is on the path, whatever the margin") {
    for (const double e : {0.0, 1e-12, -1e-12, 0.5, -0.5, 40.0, -40.0, 1e9, -1e9}) {
        for (const double mu : {1.0, 1e-3, 1e-14}) {
            const CentredRow row = centre_row(e, 3.0, mu);
            CHECK(row.t > 0 && row.xi > 0 && row.alpha > 0 && row.beta > 0);
            CHECK_CLOSE(row.t - row.xi, e, 1e-14);
            CHECK_CLOSE(row.alpha + row.beta, 3.0, 1e-14);
            CHECK_CLOSE(row.alpha * row.t / (3.0 * mu), 1.0, 1e-14);
            CHECK_CLOSE(row.beta * row.xi / (3.0 * mu), 1.0, 1e-14);
        }
    }
}

TEST("a move assembles the system of the new point, in every storage") {
    const Fixture plain(150, 4);
    for (const Stored& stored : every_storage(plain.x)) {
        Fixture f(150, 4);
        const std::size_t n = f.size(), size = 5;
        Vector out(n), dual_sum(size), predictor_side(size), matrix(size * size), shift{0.5, -1.0, 0.25, 2.0};
        const Affine at{f.w.data(), f.b};
        NeverStop token;
        Directions still(n);
        const InteriorDirection along = still.view();
        const Move stay{&along, 0.0, 0.0};
        const PointSums sums =
            interior_move(stored.block, f.rows(), at, stay, f.after(out),
                          {dual_sum.data(), predictor_side.data(), matrix.data(), shift.data()}, token);
        CHECK(sums.complete);
        Vector first(n), second(n), expected(size * size);
        double loss = 0, gap = 0, dual = 0, products = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double e = plain.margin(static_cast<std::int64_t>(i)) - 1, h = plain.curvature(i);
            first[i] = plain.sign[i] * plain.alpha[i];
            second[i] = plain.sign[i] * h * (plain.xi[i] - plain.t[i]);
            loss += plain.cost[i] * std::max(0.0, -e);
            gap += e >= 0 ? plain.alpha[i] * e : -plain.beta[i] * e;
            dual += plain.alpha[i];
            products += plain.cost[i] > 0 ? plain.alpha[i] * plain.t[i] + plain.beta[i] * plain.xi[i] : 0;
            Vector row{0, 0, 0, 0, 1};
            for (std::size_t j = 0; j < 4; ++j)
                row[j] = plain.x.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) - shift[j];
            for (std::size_t k = 0; k < size * size; ++k) expected[k] += h * row[k / size] * row[k % size];
        }
        check_all_close(out, plain.alpha, 1e-14);
        check_all_close(dual_sum, combined(plain, first), 1e-11);
        check_all_close(predictor_side, combined(plain, second), 1e-11);
        check_all_close(matrix, expected, 1e-11);
        CHECK_CLOSE(sums.loss, loss, 1e-12);
        CHECK_CLOSE(sums.gap, gap, 1e-12);
        CHECK_CLOSE(sums.dual, dual, 1e-12);
        CHECK_CLOSE(sums.complementarity, products, 1e-12);
    }
}

TEST("directions solve the equations that they come from") {
    Fixture f(60, 3);
    const Stored stored = dense<double>("double", f.x, Scalar::f64, 3, 1);
    const std::size_t n = f.size();
    Vector dw{0.01, -0.02, 0.03}, centring(4), second_order(4), pull_back(4), next(4);
    const Affine change{dw.data(), 0.05};
    Directions along(n), better(n);
    NeverStop token;
    interior_predict(stored.block, f.rows(), change, along.alpha.data(), centring.data(), second_order.data(),
                     token);
    const Vector first = along.alpha;
    const double target = 0.01;
    interior_correct(stored.block, f.rows(), change, along.room(), {target, 0.7}, pull_back.data(), token);
    const StepSums sums = interior_refine(stored.block, f.rows(), change, along.view(), better.room(),
                                          {target, 0.7}, 0.9, next.data(), token);
    double ratio = 0, linear = 0, square = 0;
    Vector centre(n), error(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double c = f.cost[i],
                     moved = f.sign[i] * (f.x.dot(static_cast<std::int64_t>(i), dw.data()) + 0.05);
        if (c == 0) continue;
        const double h = f.curvature(i), a = first[i];
        CHECK_CLOSE(a, h * (f.xi[i] - f.t[i] - moved), 1e-13);
        const double dt = -f.t[i] - f.t[i] * a / f.alpha[i], dxi = -f.xi[i] + f.xi[i] * a / f.beta[i];
        CHECK_CLOSE(dt - dxi, moved, 1e-12);  // t − ξ follows the margin
        centre[i] = f.sign[i] * h * c * (1 / f.alpha[i] - 1 / f.beta[i]);
        error[i] = -f.sign[i] * h * a * (dt / f.alpha[i] + dxi / f.beta[i]);
        const double d = along.alpha[i];
        CHECK_CLOSE(along.t[i] - along.xi[i], moved, 1e-12);
        CHECK_CLOSE(f.alpha[i] * along.t[i] + f.t[i] * d, target * c - f.alpha[i] * f.t[i] - a * dt, 1e-12);
        CHECK_CLOSE(f.beta[i] * along.xi[i] - f.xi[i] * d, target * c - f.beta[i] * f.xi[i] + a * dxi, 1e-12);
        CHECK_CLOSE(better.t[i] - better.xi[i], 2 * moved, 1e-12);
        ratio = std::max({ratio, -better.alpha[i] / f.alpha[i], better.alpha[i] / f.beta[i],
                          -better.t[i] / f.t[i], -better.xi[i] / f.xi[i]});
        linear += f.alpha[i] * better.t[i] + f.t[i] * better.alpha[i] + f.beta[i] * better.xi[i] -
                  f.xi[i] * better.alpha[i];
        square += better.alpha[i] * (better.t[i] - better.xi[i]);
    }
    check_all_close(centring, combined(f, centre), 1e-12);
    check_all_close(second_order, combined(f, error), 1e-12);
    CHECK_CLOSE(sums.largest_ratio, ratio, 1e-13);
    CHECK_CLOSE(sums.first, linear, 1e-12);
    CHECK_CLOSE(sums.second, square, 1e-12);
}

TEST("of each pair the smaller keeps its digits, and sums hold exactly") {
    Fixture f(20, 2);
    const Stored stored = dense<double>("double", f.x, Scalar::f64, 2, 1);
    Directions along(f.size());
    for (std::size_t i = 0; i < f.size(); ++i) along.alpha[i] = -(1 - 1e-20) * f.alpha[i];
    const InteriorDirection direction = along.view();
    Vector out(f.size()), dual_sum(3), predictor_side(3);
    NeverStop token;
    interior_move(stored.block, f.rows(), {f.w.data(), f.b}, {&direction, 1.0, 0.0}, f.after(out),
                  {dual_sum.data(), predictor_side.data(), nullptr, nullptr}, token);
    for (std::size_t i = 0; i < f.size(); ++i) {
        CHECK(f.cost[i] == 0 ? out[i] == 0 : out[i] > 0);
        CHECK(out[i] + f.beta[i] == f.cost[i]);
        CHECK_CLOSE(f.t[i] - f.xi[i], f.margin(static_cast<std::int64_t>(i)) - 1, 1e-14);
    }
}

TEST("an interrupted move leaves the duals as they were") {
    Fixture f(40, 2);
    const Stored stored = dense<double>("double", f.x, Scalar::f64, 2, 1);
    const Vector before = f.alpha;
    Vector out(f.size()), dual_sum(3), predictor_side(3);
    StopAt token(1);
    const PointSums sums =
        interior_move(stored.block, f.rows(), {f.w.data(), f.b}, {nullptr, 0.0, 0.5}, f.after(out),
                      {dual_sum.data(), predictor_side.data(), nullptr, nullptr}, token);
    CHECK(!sums.complete);
    CHECK(f.alpha == before);
}

TEST("least products and the smoothed slope are those of plain loops") {
    Fixture f(33, 2);
    Directions along(f.size());
    Vector change(f.size());
    for (std::size_t i = 0; i < f.size(); ++i) {
        along.alpha[i] = -0.3 * f.alpha[i];
        along.t[i] = 0.1 * f.t[i];
        along.xi[i] = -0.2 * f.xi[i];
        change[i] = 0.1 * static_cast<double>(i % 5) - 0.2;
    }
    const TriedStep tried[] = {{1.0, 0.4}, {0.5, 0.6}};
    double least[] = {1e300, 1e300}, expected[] = {1e300, 1e300}, slope = 0;
    interior_least_products(33, f.rows(), along.view(), tried, 2, least);
    for (std::size_t i = 0; i < f.size(); ++i) {
        if (f.cost[i] == 0) continue;
        for (int k = 0; k < 2; ++k) {
            const double step = tried[k].step, unit = tried[k].mean * f.cost[i];
            const double up = f.alpha[i] * (1 - 0.3 * step) * f.t[i] * (1 + 0.1 * step);
            const double down = (f.beta[i] + 0.3 * step * f.alpha[i]) * f.xi[i] * (1 - 0.2 * step);
            expected[k] = std::min({expected[k], up / unit, down / unit});
        }
        const double moved = f.sign[i] * change[i];
        slope -= centre_row(f.t[i] - f.xi[i] + 0.7 * moved, f.cost[i], 0.1).alpha * moved;
    }
    CHECK_CLOSE(least[0], expected[0], 1e-14);
    CHECK_CLOSE(least[1], expected[1], 1e-14);
    CHECK_CLOSE(interior_smooth_slope(33, f.rows(), change.data(), 0.7, 0.1), slope, 1e-13);
}
