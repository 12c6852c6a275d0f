// Coordinate descent in the dual: each step is the best one, and u, κ and t are what α says at any moment.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/dual_sweep.hpp"
#include "maxmargin/loss/hinge.hpp"
#include "maxmargin/loss/squared_hinge.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

// A fit in the middle: the numbers beside the rows of a matrix, and the state they imply.
struct Fit {
    const Matrix& m;
    std::vector<double> mean, u, cost, norm2, mean_score, alpha;
    std::vector<std::int8_t> sign;
    std::vector<std::uint8_t> bound_visits, skips;
    DualState state;

    Fit(const Matrix& matrix, double gamma, bool centred)
        : m(matrix), mean(static_cast<std::size_t>(m.columns), 0.0), u(mean) {
        const std::size_t n = static_cast<std::size_t>(m.rows);
        for (std::int64_t j = 0; j < m.columns && centred; ++j) {
            for (std::int64_t i = 0; i < m.rows; ++i) {
                mean[static_cast<std::size_t>(j)] += m.at(i, j) / static_cast<double>(m.rows);
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t row = static_cast<std::int64_t>(i);
            sign.push_back(i % 3 == 0 ? -1 : 1);
            cost.push_back(i % 7 == 5 ? 0.0 : 0.5 + static_cast<double>(i % 4));
            alpha.push_back(0.25 * cost.back());
            bound_visits.push_back(0);
            skips.push_back(0);
            mean_score.push_back(m.dot(row, mean.data()));
            norm2.push_back(0.0);
            for (std::int64_t j = 0; j < m.columns; ++j) {
                const double x = m.at(row, j) - mean[static_cast<std::size_t>(j)];
                norm2.back() += x * x;
            }
        }
        state.u = u.data();
        state.center = 0.3;
        state.gamma = gamma;
        for (const double x : mean) state.mean_norm2 += x * x;
        const Implied now = implied();
        u = now.u;
        state.u = u.data();
        state.balance = now.balance;
        state.mean_dot = now.mean_dot;
    }

    struct Implied {
        std::vector<double> u;
        double balance = 0, mean_dot = 0;
    };

    Implied implied() const {
        Implied now{std::vector<double>(static_cast<std::size_t>(m.columns), 0.0)};
        for (std::int64_t i = 0; i < m.rows; ++i) {
            const double a = sign[static_cast<std::size_t>(i)] * alpha[static_cast<std::size_t>(i)];
            for (std::int64_t j = 0; j < m.columns; ++j) now.u[static_cast<std::size_t>(j)] += a * m.at(i, j);
            now.balance += a;
        }
        for (std::size_t j = 0; j < mean.size(); ++j) now.mean_dot += mean[j] * now.u[j];
        return now;
    }

    void check_consistent() const {
        const Implied now = implied();
        for (std::size_t j = 0; j < u.size(); ++j) CHECK_CLOSE(u[j], now.u[j], 1e-9);
        CHECK_CLOSE(state.balance, now.balance, 1e-10);
        CHECK_CLOSE(state.mean_dot, now.mean_dot, 1e-9);
    }

    DualRows numbers() {
        return {sign.data(),  cost.data(),         norm2.data(), mean_score.data(),
                alpha.data(), bound_visits.data(), skips.data()};
    }

    DualSweepRecord sweep(const char* loss, const Block& block, std::uint64_t pass, StopToken& token) {
        DualSweepRecord record;
        CHECK(dual_sweep(loss, block, numbers(), state, {1, pass, 0}, token, record));
        return record;
    }
};

// What one coordinate minimises, up to a constant: (m)(a − α) + q/2 (a − α)² − dual value of a.
template <class Loss>
double coordinate_value(double a, double m, double alpha, double c, double q) {
    return m * (a - alpha) + 0.5 * q * (a - alpha) * (a - alpha) - Loss::dual_value(a, c);
}

template <class Loss>
void check_steps(double largest) {
    std::mt19937_64 random(7);
    const auto uniform = [&](double low, double high) {
        return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
    };
    for (int round = 0; round < 20'000; ++round) {
        const double c = std::pow(10.0, uniform(-3, 3)), q = std::pow(10.0, uniform(-3, 3));
        const double m = uniform(-5, 5);
        const double alpha = c * largest * uniform(1e-6, 1 - 1e-6);
        const double found = DualStep<Loss>::take(m, alpha, c, q).alpha;
        const double here = coordinate_value<Loss>(found, m, alpha, c, q);
        const double unit = 1e-12 * (1 + c + std::fabs(m * (found - alpha)) + q * found * found);
        CHECK(found >= 0 && found <= Loss::largest_alpha(c));
        for (const double step : {-1.0, -1e-2, -1e-4, 1e-4, 1e-2, 1.0}) {
            const double other =
                std::clamp(found + step * c, 0.0, std::fmin(Loss::largest_alpha(c), 1e6 * c));
            CHECK(here <= coordinate_value<Loss>(other, m, alpha, c, q) + unit);
        }
    }
}

}  // namespace

TEST("no other value of a coordinate is better") {
    check_steps<loss::Hinge>(1.0);
    check_steps<loss::SquaredHinge>(5.0);
    check_steps<loss::Logistic>(1.0);
}

TEST("the logistic step solves its equation, however far it starts from the solution") {
    for (const double c : {1e-6, 1.0, 1e3, 1e6}) {
        for (const double share : {1e-15, 1e-8, 0.3, 0.5, 0.999, 1 - 1e-12}) {
            for (const double m : {-50.0, -3.8, -0.1, 0.0, 0.7, 12.0, 300.0}) {
                for (const double q : {1e-6, 0.1, 16.4, 1e4}) {
                    const double found = DualStep<loss::Logistic>::take(m, c * share, c, q).alpha;
                    const double t = m + q * (found - c * share);  // the agreement after the step
                    const double steep = 1 + q * c * loss::Logistic::curvature(t);
                    CHECK(std::fabs(found - c * loss::Logistic::sigma(-t)) <= 1e-8 * c * steep);
                }
            }
        }
    }
}

TEST("a row of zeros without offset goes to the bound its slope points at") {
    CHECK((DualStep<loss::Hinge>::take(0.0, 0.25, 2.0, 0.0).alpha) == 2.0);
    CHECK((DualStep<loss::Hinge>::take(3.0, 0.25, 2.0, 0.0).alpha) == 0.0);
    CHECK((DualStep<loss::Hinge>::take(1.0, 0.25, 2.0, 0.0).alpha) == 0.25);
    CHECK_CLOSE((DualStep<loss::SquaredHinge>::take(0.0, 0.25, 2.0, 0.0).alpha), 4.0, 1e-15);
    CHECK_CLOSE((DualStep<loss::Logistic>::take(0.0, 0.25, 2.0, 0.0).alpha), 1.0, 1e-15);
}

TEST("after a sweep u, κ and t are what α says, in every storage") {
    for (const auto& [n, d] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {60, 5}, {1200, 30}}) {
        const Matrix m(n, d);
        for (const char* loss : {"hinge", "squared_hinge", "logistic"}) {
            for (const bool centred : {false, true}) {
                for (const Stored& stored : every_storage(m)) {
                    NeverStop never;
                    Fit fit(m, 0.7, centred);
                    const auto live =
                        std::count_if(fit.cost.begin(), fit.cost.end(), [](double c) { return c > 0; });
                    const DualSweepRecord record = fit.sweep(loss, stored.block, 0, never);
                    CHECK(record.complete && record.visited == live && record.moved <= record.visited);
                    fit.check_consistent();
                    for (std::size_t i = 0; i < fit.cost.size(); ++i) {
                        CHECK(fit.alpha[i] >= 0);
                        if (loss != std::string("squared_hinge")) CHECK(fit.alpha[i] <= fit.cost[i]);
                        if (fit.cost[i] == 0) CHECK(fit.alpha[i] == 0);
                    }
                }
            }
        }
    }
}

TEST("a sweep that was stopped in the middle has lost nothing") {
    const Matrix m(6000, 100);
    const std::vector<Stored> storages{dense<double>("", m, Scalar::f64, 100, 1),
                                       dense<float>("", m, Scalar::f32, 1, 6000),
                                       csr<double, std::int64_t>("", m, Scalar::f64)};
    for (const Stored& stored : storages) {
        for (const char* loss : {"hinge", "squared_hinge", "logistic"}) {
            for (const bool centred : {false, true}) {
                StopAt first(1);
                Fit fit(m, 0.7, centred);
                const std::vector<double> before = fit.alpha;
                const DualSweepRecord record = fit.sweep(loss, stored.block, 0, first);
                CHECK(!record.complete && record.visited > 0 && record.visited < 5000);
                std::int64_t moved = 0;
                for (std::size_t i = 0; i < before.size(); ++i) moved += fit.alpha[i] != before[i];
                CHECK(moved == record.moved && moved > 0);
                fit.check_consistent();
            }
        }
    }
}

TEST("rows that are skipped are left alone until their sweeps are over") {
    const Matrix m(100, 6);
    const Stored stored = dense<double>("", m, Scalar::f64, 6, 1);
    NeverStop never;
    Fit fit(m, 0.7, false);
    const std::vector<double> before = fit.alpha;
    for (std::size_t i = 0; i < 100; i += 2) fit.skips[i] = 2;
    for (const std::uint64_t pass : {0, 1}) {
        const DualSweepRecord record = fit.sweep("hinge", stored.block, pass, never);
        CHECK(record.visited < 50 && record.moved > 0);
    }
    for (std::size_t i = 0; i < 100; i += 2) CHECK(fit.alpha[i] == before[i]);
    CHECK(fit.sweep("hinge", stored.block, 2, never).visited >= 43);  // all that cost anything
    fit.check_consistent();
}

TEST("the longer a row has been right at its bound, the longer it rests") {
    const Matrix m(1, 1);
    const Stored stored = dense<double>("", m, Scalar::f64, 1, 1);
    NeverStop never;
    Fit fit(m, 0.0, false);
    fit.sign[0] = 1;
    fit.alpha[0] = 0.0;
    fit.u[0] = 0.0;
    fit.state.balance = fit.state.mean_dot = 0.0;
    fit.state.center = 2.0;  // the agreement is 2: the row belongs to 0
    std::vector<std::uint64_t> visits;
    for (std::uint64_t pass = 0; pass < 40; ++pass) {
        if (fit.sweep("hinge", stored.block, pass, never).visited > 0) visits.push_back(pass);
    }
    CHECK((visits == std::vector<std::uint64_t>{0, 2, 5, 9, 14, 20, 27, 35}));
    fit.state.center = -2.0;  // now it has to move, and is visited again and again
    while (fit.alpha[0] == 0) fit.sweep("hinge", stored.block, 40, never);
    CHECK(fit.bound_visits[0] == 0 && fit.skips[0] == 0);
}

TEST("sweeps converge: the violations and the gap vanish") {
    const Matrix m(200, 5);
    const Stored stored = csr<float, std::int32_t>("", m, Scalar::f32);
    for (const char* loss : {"hinge", "squared_hinge", "logistic"}) {
        NeverStop never;
        Fit fit(m, 1.0, false);
        for (double& c : fit.cost) c *= 1e-3;
        for (std::size_t i = 0; i < 200; ++i) fit.alpha[i] = 0.25 * fit.cost[i];
        const Fit::Implied now = fit.implied();
        std::copy(now.u.begin(), now.u.end(), fit.u.begin());
        fit.state.balance = now.balance;
        const DualSweepRecord first = fit.sweep(loss, stored.block, 0, never);
        DualSweepRecord last;
        for (std::uint64_t pass = 1; pass < 3000; ++pass) last = fit.sweep(loss, stored.block, pass, never);
        CHECK(first.highest - first.lowest > 1e-3);
        CHECK(last.highest - last.lowest < 1e-7);
        CHECK(last.gap < 1e-7 * first.gap);
    }
}

TEST("the order of visits is random, and named by seed, pass and block") {
    const Matrix m(2000, 3);
    const Stored stored = dense<double>("", m, Scalar::f64, 3, 1);
    NeverStop never;
    Fit first(m, 0.7, false), again(m, 0.7, false), other(m, 0.7, false);
    first.sweep("hinge", stored.block, 5, never);
    again.sweep("hinge", stored.block, 5, never);
    other.sweep("hinge", stored.block, 6, never);
    CHECK(first.alpha == again.alpha);
    CHECK(first.alpha != other.alpha);
}

TEST("losses without a dual are refused") {
    const Matrix m(2, 2);
    const Stored stored = dense<double>("", m, Scalar::f64, 2, 1);
    Fit fit(m, 0.7, false);
    NeverStop never;
    DualSweepRecord record;
    CHECK(!dual_sweep("absolute", stored.block, fit.numbers(), fit.state, {0, 0, 0}, never, record));
    CHECK(!dual_sweep("abacus", stored.block, fit.numbers(), fit.state, {0, 0, 0}, never, record));
    CHECK(record.visited == 0);
}
