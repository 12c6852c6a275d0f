// The passes of Newton's method against plain loops and finite differences, in every storage.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/newton_passes.hpp"
#include "maxmargin/loss/logistic.hpp"
#include "maxmargin/loss/squared_hinge.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

const char* const kLosses[] = {"logistic", "squared_hinge"};

double value_of(const std::string& loss, double m) {
    return loss == "logistic" ? loss::Logistic::value(m) : loss::SquaredHinge::value(m);
}
double slope_of(const std::string& loss, double m) {
    return loss == "logistic" ? loss::Logistic::slope(m) : loss::SquaredHinge::slope(m);
}
double curvature_of(const std::string& loss, double m) {
    return loss == "logistic" ? loss::Logistic::curvature(m) : loss::SquaredHinge::curvature(m);
}

struct Setting {
    std::int64_t n, d;
    std::vector<double> w, cost;
    std::vector<std::int8_t> sign;
    double b = 0.3;

    Setting(std::int64_t rows, std::int64_t columns) : n(rows), d(columns) {
        for (std::int64_t j = 0; j < d; ++j) w.push_back(0.01 * small_integer(3 * j + 1));
        for (std::int64_t i = 0; i < n; ++i) {
            sign.push_back(i % 3 == 0 ? 1 : -1);
            cost.push_back(i % 7 == 3 ? 0.0 : 0.25 * static_cast<double>(1 + i % 5));
        }
    }

    double agreement(const Matrix& m, std::int64_t i) const {
        return sign[static_cast<std::size_t>(i)] * (m.dot(i, w.data()) + b);
    }
};

struct Result {
    std::vector<double> z, h, gradient, gram;
    NewtonSums sums;
};

Result evaluate(const std::string& loss, const Block& block, const Setting& at, const double* shift,
                StopToken& token) {
    const auto n = static_cast<std::size_t>(at.n), d = static_cast<std::size_t>(at.d);
    Result r{std::vector<double>(n, -1.0),
             std::vector<double>(n, -1.0),
             std::vector<double>(d, 0.0),
             std::vector<double>((d + 1) * (d + 1), 0.0),
             {}};
    Gram gram(at.d, shift);
    const NewtonPoint point{at.w.data(), at.b, at.sign.data(), at.cost.data(), r.z.data(), r.h.data()};
    CHECK(newton_evaluate(loss, block, point, r.gradient.data(), &gram, r.sums, token));
    gram.finish(r.gram.data());
    return r;
}

}  // namespace

TEST("a Newton pass agrees with plain loops in every storage") {
    const std::int64_t n = 700, d = 9;
    const Matrix m(n, d);
    const Setting at(n, d);
    const std::vector<double> shift(static_cast<std::size_t>(d), 0.5);
    const auto size = static_cast<std::size_t>(d + 1);
    for (const std::string loss : kLosses) {
        double total = 0, slope = 0, curvature = 0;
        std::vector<double> gradient(static_cast<std::size_t>(d), 0.0), gram(size * size, 0.0);
        for (std::int64_t i = 0; i < n; ++i) {
            const double c = at.cost[static_cast<std::size_t>(i)], s = at.sign[static_cast<std::size_t>(i)];
            const double agreement = at.agreement(m, i), h = c * curvature_of(loss, agreement);
            total += c * value_of(loss, agreement);
            slope += s * c * slope_of(loss, agreement);
            curvature += h;
            for (std::size_t j = 0; j < size; ++j) {
                const auto column = static_cast<std::int64_t>(j);
                if (column < d) gradient[j] += s * c * slope_of(loss, agreement) * m.at(i, column);
                for (std::size_t k = 0; k < size; ++k) {
                    const auto other = static_cast<std::int64_t>(k);
                    gram[j * size + k] += h * (column < d ? m.at(i, column) - 0.5 : 1.0) *
                                          (other < d ? m.at(i, other) - 0.5 : 1.0);
                }
            }
        }
        for (const Stored& stored : every_storage(m)) {
            NeverStop never;
            const Result r = evaluate(loss, stored.block, at, shift.data(), never);
            CHECK(r.sums.complete);
            CHECK_CLOSE(r.sums.loss, total, 1e-13);
            CHECK_CLOSE(r.sums.slope, slope, 1e-13);
            CHECK_CLOSE(r.sums.curvature, curvature, 1e-13);
            for (std::size_t j = 0; j < gradient.size(); ++j) CHECK_CLOSE(r.gradient[j], gradient[j], 1e-12);
            for (std::size_t j = 0; j < gram.size(); ++j) CHECK_CLOSE(r.gram[j], gram[j], 1e-12);
            for (std::int64_t i = 0; i < n; ++i) {
                const auto k = static_cast<std::size_t>(i);
                CHECK_CLOSE(r.z[k], m.dot(i, at.w.data()), 1e-13);
                CHECK_CLOSE(r.h[k], at.cost[k] * curvature_of(loss, at.agreement(m, i)), 1e-13);
            }
        }
    }
}

TEST("the gradient and the Hessian are the derivatives of the losses") {
    const std::int64_t n = 300, d = 5;
    const Matrix m(n, d);
    const Stored stored = dense<double>("", m, Scalar::f64, d, 1);
    NeverStop never;
    for (const std::string loss : kLosses) {
        Setting at(n, d);
        const Result here = evaluate(loss, stored.block, at, nullptr, never);
        const double step = 1e-6;
        for (std::int64_t j = 0; j <= d; ++j) {
            const auto k = static_cast<std::size_t>(j);
            Setting low = at, high = at;
            (j < d ? low.w[k] : low.b) -= step;
            (j < d ? high.w[k] : high.b) += step;
            const Result below = evaluate(loss, stored.block, low, nullptr, never);
            const Result above = evaluate(loss, stored.block, high, nullptr, never);
            const double slope = (above.sums.loss - below.sums.loss) / (2 * step);
            CHECK_CLOSE(slope, j < d ? here.gradient[k] : here.sums.slope, 1e-7);
            for (std::int64_t i = 0; i < d; ++i) {
                const auto l = static_cast<std::size_t>(i);
                const double bend = (above.gradient[l] - below.gradient[l]) / (2 * step);
                CHECK_CLOSE(bend, here.gram[l * static_cast<std::size_t>(d + 1) + k], 1e-6);
            }
        }
    }
}

TEST("the Hessian's product is the Gram matrix times the direction, in every storage") {
    const std::int64_t n = 500, d = 8;
    const Matrix m(n, d);
    const Setting at(n, d);
    std::vector<double> direction;
    for (std::int64_t j = 0; j < d; ++j) direction.push_back(0.1 * small_integer(j + 5));
    const double e = -0.7;
    const auto size = static_cast<std::size_t>(d + 1);
    for (const Stored& stored : every_storage(m)) {
        NeverStop never;
        const Result r = evaluate("logistic", stored.block, at, nullptr, never);
        std::vector<double> product(static_cast<std::size_t>(d), 0.0);
        double last = 0;
        CHECK(hessian_product(stored.block, r.h.data(), direction.data(), e, product.data(), last, never));
        for (std::size_t j = 0; j < size; ++j) {
            double expected = r.gram[j * size + size - 1] * e;
            for (std::size_t k = 0; k + 1 < size; ++k) expected += r.gram[j * size + k] * direction[k];
            CHECK_CLOSE(j + 1 < size ? product[j] : last, expected, 1e-12);
        }
    }
}

TEST("the Hessian's diagonal is that of the Gram matrix, in every storage") {
    const std::int64_t n = 500, d = 8;
    const Matrix m(n, d);
    const Setting at(n, d);
    const auto size = static_cast<std::size_t>(d + 1);
    for (const Stored& stored : every_storage(m)) {
        NeverStop never;
        const Result r = evaluate("logistic", stored.block, at, nullptr, never);
        std::vector<double> squares(size - 1, 0.0), sums(size - 1, 0.0);
        CHECK(hessian_diagonal(stored.block, r.h.data(), squares.data(), sums.data(), never));
        for (std::size_t j = 0; j + 1 < size; ++j) {
            CHECK_CLOSE(squares[j], r.gram[j * size + j], 1e-12);
            CHECK_CLOSE(sums[j], r.gram[j * size + size - 1], 1e-12);
        }
    }
}

TEST("a Newton pass ends soon after its token says so") {
    const Matrix m(4000, 600);
    const Setting at(4000, 600);
    const Stored stored = dense<double>("", m, Scalar::f64, 600, 1);
    StopAt second(2);
    std::vector<double> z(4000, 1e300), gradient(600, 0.0), h(4000, 1.0);
    NewtonSums sums;
    const NewtonPoint point{at.w.data(), at.b, at.sign.data(), at.cost.data(), z.data(), nullptr};
    CHECK(newton_evaluate("logistic", stored.block, point, gradient.data(), nullptr, sums, second));
    CHECK(!sums.complete);
    CHECK(z.front() != 1e300);
    CHECK(z.back() == 1e300);
    StopAt first(1);
    double last = 0;
    CHECK(!hessian_product(stored.block, h.data(), at.w.data(), 0.0, gradient.data(), last, first));
}

TEST("sums along a line: both ends, and slopes by differences") {
    const std::vector<double> z{-2.0, -0.5, 0.1, 1.5, 3.0, 40.0}, to{1.0, -3.0, 0.1, 2.5, -1.0, -40.0};
    const std::vector<double> cost{1.0, 0.5, 2.0, 0.0, 1.0, 0.25};
    const std::vector<std::int8_t> sign{1, -1, 1, -1, -1, 1};
    const ScoredRows rows{z.data(), sign.data(), cost.data(), 6};
    for (const std::string loss : kLosses) {
        const auto at = [&](double t) {
            LineSums sums;
            CHECK(line_sums(loss, rows, 0.3, {to.data(), -0.2}, t, sums));
            return sums;
        };
        double begin = 0, end = 0;
        for (std::size_t i = 0; i < z.size(); ++i) {
            begin += cost[i] * value_of(loss, sign[i] * (z[i] + 0.3));
            end += cost[i] * value_of(loss, sign[i] * (to[i] - 0.2));
        }
        CHECK_CLOSE(at(0).loss, begin, 1e-14);
        CHECK_CLOSE(at(1).loss, end, 1e-14);
        for (const double t : {0.1, 0.37, 0.8}) {
            CHECK_CLOSE((at(t + 1e-6).loss - at(t - 1e-6).loss) / 2e-6, at(t).slope, 1e-6);
            CHECK_CLOSE((at(t + 1e-6).slope - at(t - 1e-6).slope) / 2e-6, at(t).curvature, 1e-5);
        }
    }
}

TEST("predicted duals are those of the scores where nothing moved, and feasible where much did") {
    const std::vector<double> z{-2.0, -0.5, 0.1, 1.5, 3.0}, far{90.0, 80.0, -70.0, -60.0, 50.0};
    const std::vector<double> cost{1.0, 0.5, 2.0, 0.0, 1.0};
    const std::vector<std::int8_t> sign{1, -1, 1, -1, -1};
    const ScoredRows rows{z.data(), sign.data(), cost.data(), 5};
    for (const std::string loss : kLosses) {
        std::vector<double> h(5), alpha(5, -1.0);
        for (std::size_t i = 0; i < 5; ++i) h[i] = cost[i] * curvature_of(loss, sign[i] * (z[i] + 0.3));
        PredictionSums still, moved;
        CHECK(predicted_duals(loss, rows, 0.3, h.data(), {z.data(), 0.3}, alpha.data(), still));
        for (std::size_t i = 0; i < 5; ++i)
            CHECK_CLOSE(alpha[i], -cost[i] * slope_of(loss, sign[i] * (z[i] + 0.3)), 1e-15);
        CHECK_CLOSE(still.gap, 0.0, 1e-15);
        CHECK(still.clipped == 0 && still.error < 1e-15);
        CHECK(predicted_duals(loss, rows, 0.3, h.data(), {far.data(), 0.3}, alpha.data(), moved));
        CHECK(moved.gap >= 0 && moved.clipped > 0 && moved.error > 0);
        for (std::size_t i = 0; i < 5; ++i) {
            CHECK(alpha[i] >= 0);
            if (loss == "logistic" || cost[i] == 0) CHECK(alpha[i] <= cost[i]);
        }
    }
}

TEST("losses without curvature are refused") {
    const Matrix m(3, 2);
    const Setting at(3, 2);
    const Stored stored = dense<double>("", m, Scalar::f64, 2, 1);
    std::vector<double> z(3), gradient(2);
    const NewtonPoint point{at.w.data(), 0, at.sign.data(), at.cost.data(), z.data(), nullptr};
    const ScoredRows rows{z.data(), at.sign.data(), at.cost.data(), 3};
    NeverStop never;
    for (const char* name : {"hinge", "zero_one", "nonsense"}) {
        NewtonSums sums;
        LineSums line;
        PredictionSums predicted;
        CHECK(!newton_evaluate(name, stored.block, point, gradient.data(), nullptr, sums, never));
        CHECK(!line_sums(name, rows, 0, {z.data(), 0}, 0.5, line));
        CHECK(!predicted_duals(name, rows, 0, z.data(), {z.data(), 0}, z.data(), predicted));
    }
}
