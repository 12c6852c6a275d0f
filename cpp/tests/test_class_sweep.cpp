// Coordinate descent in the duals of all classes: each step is the best one, and weights and balance are what
// the duals say at any moment.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/class_hinge.hpp"
#include "maxmargin/kernel/class_softmax.hpp"
#include "maxmargin/kernel/class_sweep.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

// α of a row's duals r = c (e_y − α).
std::vector<double> alpha_of(const ClassRow& row, const double* r, std::int64_t K) {
    std::vector<double> alpha(at(K));
    for (std::int64_t k = 0; k < K; ++k) alpha[at(k)] = (k == row.label ? 1.0 : 0.0) - r[k] / row.cost;
    return alpha;
}

double entropy_of(const std::vector<double>& alpha) {
    double sum = 0;
    for (const double a : alpha) sum -= a > 0 ? a * std::log(a) : 0.0;
    return sum;
}

// A fit in the middle: the numbers beside the rows of a matrix, and the state they imply.
struct Fit {
    const Matrix& m;
    std::int64_t K, stride;
    bool is_softmax;
    std::vector<double> W, balance, center, cost, norm2, duals;
    std::vector<std::int32_t> label;
    std::vector<std::uint8_t> calm, skips, in_use, rests;
    double gamma, worthwhile = 0;

    Fit(const Matrix& matrix, std::int64_t n_outputs, double given_gamma, bool softmax)
        : m(matrix), K(n_outputs), stride((K + 7) / 8 * 8), is_softmax(softmax), W(at(m.columns * stride)),
          balance(at(K)), center(at(K)), norm2(at(m.rows)), duals(at(m.rows * K)), calm(at(m.rows)),
          skips(calm), in_use(calm), rests(calm), gamma(given_gamma) {
        for (std::int64_t k = 0; k < K; ++k) center[at(k)] = 0.1 * static_cast<double>(k % 3);
        for (std::int64_t i = 0; i < m.rows; ++i) {
            label.push_back(static_cast<std::int32_t>(i % K));
            cost.push_back(i % 7 == 5 ? 0.0 : 0.01 * (1.0 + static_cast<double>(i % 4)));
            for (std::int64_t j = 0; j < m.columns; ++j) norm2[at(i)] += m.at(i, j) * m.at(i, j);
            for (std::int64_t k = 0; k < K && (softmax || k < 3); ++k) give(i, (label.back() + k) % K);
        }
        const Implied now = implied();
        W = now.W;
        balance = now.balance;
    }

    // Gives a class a share of the row's α.
    void give(std::int64_t i, std::int64_t k) {
        const double share = 0.5 / static_cast<double>(K) * cost[at(i)];
        if (k == label[at(i)]) return;
        duals[at(i * K + k)] -= share;
        duals[at(i * K + label[at(i)])] += share;
    }

    struct Implied {
        std::vector<double> W, balance;
    };

    Implied implied() const {
        Implied now{std::vector<double>(W.size()), std::vector<double>(at(K))};
        for (std::int64_t i = 0; i < m.rows; ++i) {
            for (std::int64_t k = 0; k < K; ++k) {
                const double r = duals[at(i * K + k)];
                now.balance[at(k)] += r;
                for (std::int64_t j = 0; j < m.columns; ++j) now.W[at(j * stride + k)] += r * m.at(i, j);
            }
        }
        return now;
    }

    void check_consistent() const {
        const Implied now = implied();
        for (std::size_t j = 0; j < W.size(); ++j) CHECK_CLOSE(W[j], now.W[j], 1e-11);
        for (std::size_t k = 0; k < balance.size(); ++k) CHECK_CLOSE(balance[k], now.balance[k], 1e-12);
        for (std::int64_t i = 0; i < m.rows; ++i) {
            double sum = 0;
            for (std::int64_t k = 0; k < K; ++k) {
                const double r = duals[at(i * K + k)];
                CHECK(k == label[at(i)] ? r >= 0 && r <= cost[at(i)] : r <= 0);
                sum += r;
            }
            CHECK_CLOSE(sum, 0.0, 1e-15);
        }
    }

    // Σ r_y, for softmax the entropies, − ½‖W‖² − b₀·κ − γ/2 ‖κ‖².
    double dual_value() const {
        const Implied now = implied();
        double value = 0;
        for (std::int64_t i = 0; i < m.rows; ++i) {
            const ClassRow row{label[at(i)], cost[at(i)]};
            const double* r = duals.data() + i * K;
            if (!(row.cost > 0)) continue;
            value += is_softmax ? row.cost * entropy_of(alpha_of(row, r, K)) : r[row.label];
        }
        for (const double w : now.W) value -= 0.5 * w * w;
        for (std::int64_t k = 0; k < K; ++k) {
            const double kappa = now.balance[at(k)];
            value -= center[at(k)] * kappa + 0.5 * gamma * kappa * kappa;
        }
        return value;
    }

    DualSweepRecord sweep(const Block& block, std::uint64_t pass, StopToken& token) {
        const ClassSweepRows rows{label.data(), cost.data(),  norm2.data(),  duals.data(),
                                  calm.data(),  skips.data(), in_use.data(), rests.data()};
        const ClassSweepState state{W.data(),      stride, K,          balance.data(),
                                    center.data(), gamma,  worthwhile, is_softmax};
        return class_sweep(block, rows, state, {1, pass, 0}, token);
    }
};

// The best duals of one row by bisection: a = max(p − θ, 0) with Σ a = c, for p = a° + u/q.
std::vector<double> best_masses(std::vector<double> p, double c) {
    double low = *std::min_element(p.begin(), p.end()) - c, high = *std::max_element(p.begin(), p.end());
    for (int step = 0; step < 200; ++step) {
        const double theta = 0.5 * (low + high);
        double sum = 0;
        for (const double x : p) sum += std::max(x - theta, 0.0);
        (sum > c ? low : high) = theta;
    }
    for (double& x : p) x = std::max(x - high, 0.0);
    return p;
}

}  // namespace

TEST("the projection of a row's duals is the one that bisection finds") {
    std::mt19937_64 random(3);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    for (int round = 0; round < 2'000; ++round) {
        const std::int64_t K = 2 + round % 6;
        const ClassRow row{static_cast<std::int32_t>(round % K), std::pow(10.0, 4 * uniform() - 2)};
        const double step = std::pow(10.0, 4 * uniform() - 2);
        std::vector<double> a(at(K)), u(at(K)), r(at(K)), changed(at(K)), p(at(K));
        double total = 0;
        for (double& x : a) total += x = uniform() < 0.3 ? 0.0 : uniform();
        a[0] += total == 0 ? 1.0 : 0.0;
        total += total == 0 ? 1.0 : 0.0;
        for (std::int64_t k = 0; k < K; ++k) {
            a[at(k)] *= row.cost / total;
            u[at(k)] = 4 * uniform() - 2;
            p[at(k)] = a[at(k)] + step * u[at(k)];
            r[at(k)] = (k == row.label ? row.cost : 0.0) - a[at(k)];
        }
        project_duals(row, step, K, r.data(), u.data(), changed.data());
        const std::vector<double> wanted = best_masses(p, row.cost);
        double others = 0;
        for (std::int64_t k = 0; k < K; ++k) {
            const double mass = (k == row.label ? row.cost : 0.0) - changed[at(k)];
            CHECK_CLOSE(mass, wanted[at(k)], 1e-12 * std::max(1.0, 1.0 / row.cost));
            others -= k == row.label ? 0.0 : changed[at(k)];
        }
        CHECK_CLOSE(others, changed[at(row.label)], 1e-14);
    }
}

TEST("an infinite step gives all to the class of the largest score") {
    const double r[] = {0.5, -0.5, 0.0};
    double u[] = {1.0, 0.0, 3.0}, changed[3];
    project_duals({0, 2.0}, INFINITY, 3, r, u, changed);
    CHECK(changed[0] == 2.0 && changed[1] == 0.0 && changed[2] == -2.0);
}

TEST("the best step for softmax leaves log α + aα level with the scores") {
    std::mt19937_64 random(5);
    const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    for (int round = 0; round < 500; ++round) {
        const std::int64_t K = 2 + round % 6;
        const ClassRow row{static_cast<std::int32_t>(round % K), 0.1 + uniform()};
        const double square = 0.1 + 20 * uniform();
        std::vector<double> before(at(K)), u(at(K)), r(at(K)), changed(at(K));
        double total = 0, log_sum = 0, divergence = 0;
        for (double& x : before) total += x = 0.05 + uniform();
        for (std::int64_t k = 0; k < K; ++k) {
            before[at(k)] /= total;
            u[at(k)] = 4 * uniform() - 2;
            log_sum += std::exp(u[at(k)]);
            r[at(k)] = row.cost * ((k == row.label ? 1.0 : 0.0) - before[at(k)]);
        }
        SoftmaxRowStep step(K);
        const double gap = step.take(row, square, r.data(), u.data(), changed.data());
        const std::vector<double> alpha = alpha_of(row, changed.data(), K);
        const auto level = [&](std::int64_t k) {
            return std::log(alpha[at(k)]) - u[at(k)] + row.cost * square * (alpha[at(k)] - before[at(k)]);
        };
        for (std::int64_t k = 0; k < K; ++k) {
            CHECK_CLOSE(level(k), level(0), 1e-2);
            divergence += before[at(k)] * (std::log(before[at(k)]) - u[at(k)] + std::log(log_sum));
        }
        CHECK_CLOSE(gap, row.cost * divergence, 1e-12);
    }
}

TEST("after a sweep, weights and balance are what the duals say, in every storage") {
    const Matrix m(60, 7);
    for (const bool is_softmax : {false, true}) {
        for (const Stored& stored : every_storage(m)) {
            for (const std::int64_t K : {3, 40}) {  // of 40, those in use are read one by one
                NeverStop never;
                Fit fit(m, K, 0.7, is_softmax);
                const double before = fit.dual_value();
                for (std::uint64_t pass = 0; pass < 4; ++pass) fit.sweep(stored.block, pass, never);
                fit.check_consistent();
                CHECK(fit.dual_value() > before);
            }
        }
    }
}

TEST("every storage sweeps alike") {
    const Matrix m(60, 7);
    std::vector<double> first;
    for (const Stored& stored : every_storage(m)) {
        NeverStop never;
        Fit fit(m, 5, 0.7, false);
        for (std::uint64_t pass = 0; pass < 3; ++pass) fit.sweep(stored.block, pass, never);
        if (first.empty()) first = fit.duals;
        for (std::size_t k = 0; k < first.size(); ++k) CHECK_CLOSE(fit.duals[k], first[k], 1e-11);
    }
}

TEST("sweeps converge: what rows have to gain vanishes, with rests and without") {
    const Matrix m(90, 6);
    const Stored stored = csr<double, std::int32_t>("", m, Scalar::f64);
    for (const bool is_softmax : {false, true}) {
        std::vector<double> values;
        for (const double share : {0.0, 1.0}) {
            NeverStop never;
            Fit fit(m, 4, 1.0, is_softmax);
            const DualSweepRecord first = fit.sweep(stored.block, 0, never);
            double last = first.gap;
            for (std::uint64_t pass = 1; pass < 3000; ++pass) {
                const DualSweepRecord seen = fit.sweep(stored.block, pass, never);
                if (seen.visited > 0) last = seen.gap;
                fit.worthwhile = seen.visited > 0 ? share * seen.gap / static_cast<double>(seen.visited) : 0;
            }
            CHECK(first.gap > 1e-3);
            CHECK(last < 1e-6 * first.gap);
            values.push_back(fit.dual_value());
        }
        CHECK_CLOSE(values[0], values[1], 1e-7);
    }
}

TEST("a sweep that is stopped has lost nothing") {
    const Matrix m(60, 7);
    const Stored stored = dense<double>("", m, Scalar::f64, 7, 1);
    StopAt first(1);
    Fit fit(m, 5, 0.7, false);
    fit.sweep(stored.block, 0, first);
    fit.check_consistent();
}

TEST("the terms of the certificate are those of plain loops") {
    const Matrix m(40, 6);
    for (const bool is_softmax : {false, true}) {
        const Fit fit(m, 5, 0.0, is_softmax);
        const ClassPiece rows{fit.label.data(), fit.cost.data(), m.rows, fit.K};
        std::vector<double> z(at(m.rows * fit.K)), balance(at(fit.K)), b{0.5, -0.25, 0.0, 1.0, -1.0};
        for (std::size_t k = 0; k < z.size(); ++k) z[k] = small_integer(static_cast<std::int64_t>(k)) / 4;
        const HingeTerms found =
            is_softmax ? softmax_terms(rows, z.data(), b.data(), fit.duals.data(), balance.data())
                       : hinge_terms(rows, z.data(), b.data(), fit.duals.data(), balance.data());
        double loss = 0, dual = 0, total = 0, largest = 0;
        for (std::int64_t i = 0; i < m.rows; ++i) {
            const ClassRow row{fit.label[at(i)], fit.cost[at(i)]};
            if (!(row.cost > 0)) continue;
            const double* r = fit.duals.data() + i * fit.K;
            double most = -INFINITY, sum = 0;
            for (std::int64_t k = 0; k < fit.K; ++k) {
                const double u =
                    z[at(i * fit.K + k)] + b[at(k)] - z[at(i * fit.K + row.label)] - b[at(row.label)];
                most = std::max(most, u + (k == row.label ? 0.0 : 1.0));
                sum += std::exp(u);
                total += std::fabs(r[k]);
                largest = std::max(largest, std::fabs(z[at(i * fit.K + k)]));
            }
            loss += row.cost * (is_softmax ? std::log(sum) : most);
            dual += is_softmax ? row.cost * entropy_of(alpha_of(row, r, fit.K)) : r[row.label];
        }
        CHECK_CLOSE(found.loss, loss, 1e-12);
        CHECK_CLOSE(found.dual, dual, 1e-12);
        CHECK_CLOSE(found.total, total, 1e-12);
        CHECK(found.largest_score == largest);
        const Fit::Implied now = fit.implied();
        for (std::size_t k = 0; k < balance.size(); ++k) CHECK_CLOSE(balance[k], now.balance[k], 1e-13);
    }
}
