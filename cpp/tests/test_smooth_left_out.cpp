// Gradients without one of the rows against Newton's pass with that row's cost at 0, in every storage.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/newton_passes.hpp"
#include "maxmargin/kernel/smooth_left_out.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

constexpr std::int64_t kRows = 150, kPoints = 5;
using Numbers = std::vector<double>;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Setting {
    std::int64_t d;
    Numbers w, b, z, cost, size;
    std::vector<std::int8_t> sign;
    std::vector<std::uint8_t> core;
    std::vector<std::int64_t> left_out{3, 149, -1, 10, 1000};

    explicit Setting(std::int64_t columns) : d(columns) {
        for (std::int64_t k = 0; k < kPoints * d; ++k) w.push_back(0.01 * small_integer(3 * k + 1));
        for (std::int64_t k = 0; k < kPoints; ++k) b.push_back(0.1 * small_integer(k));
        for (std::int64_t i = 0; i < kRows; ++i) {
            z.push_back(0.05 * small_integer(5 * i));
            sign.push_back(i % 3 == 0 ? 1 : -1);
            cost.push_back(i % 7 == 2 ? 0.0 : 0.25 * static_cast<double>(1 + i % 5));
            size.push_back(0.5 + 0.01 * static_cast<double>(i));
            core.push_back(static_cast<std::uint8_t>(i % 4));
        }
    }
};

struct Found {
    Numbers gradient, least;
    bool complete = true;
};

Found run(const std::string& loss, const Block& block, const Setting& s, StopToken& token) {
    Found found{Numbers(at(kPoints * (s.d + 1)), 0.0),
                Numbers(at(kPoints * kCores), std::numeric_limits<double>::infinity())};
    const LeftOutRows rows{
        {s.z.data(), s.sign.data(), s.cost.data(), kRows}, 0.2, s.size.data(), s.core.data()};
    const LeftOutPoints points{kPoints, s.w.data(), s.b.data(), s.left_out.data()};
    CHECK(left_out_gradients(loss, block, rows, points, {found.gradient.data(), found.least.data()},
                             found.complete, token));
    return found;
}

// The least of what row i contributes, by the definition.
void lower(const std::string& loss, const Setting& s, std::int64_t point, std::int64_t i, double score,
           double* least) {
    const double reached = score + s.b[at(point)];
    if (loss == "logistic") {
        least[0] = std::min(least[0], -std::fabs(reached - (s.z[at(i)] + 0.2)));
    } else if (s.core[at(i)] != 0) {
        double& lowest = least[s.core[at(i)]];
        lowest = std::min(lowest, (1 - s.sign[at(i)] * reached) / s.size[at(i)]);
    }
}

}  // namespace

TEST("gradients without a row are those of a cost of 0, at many points at once") {
    for (const std::string loss : {"logistic", "squared_hinge"}) {
        for (const std::int64_t d : {1, 7, 30}) {
            const Matrix matrix(kRows, d);
            const Setting s(d);
            for (const Stored& stored : every_storage(matrix)) {
                NeverStop never;
                const Found found = run(loss, stored.block, s, never);
                CHECK(found.complete);
                for (std::int64_t p = 0; p < kPoints; ++p) {
                    Numbers cost = s.cost, z(at(kRows)), gradient(at(d), 0.0);
                    const std::int64_t row = s.left_out[at(p)];
                    if (row >= 0 && row < kRows) cost[at(row)] = 0;
                    NewtonSums sums;
                    const NewtonPoint point{s.w.data() + p * d, s.b[at(p)], s.sign.data(),
                                            cost.data(),        z.data(),   nullptr};
                    newton_evaluate(loss, stored.block, point, gradient.data(), nullptr, sums, never);
                    for (std::int64_t j = 0; j < d; ++j)
                        CHECK_CLOSE(found.gradient[at(p * (d + 1) + j)], gradient[at(j)], 1e-10);
                    CHECK_CLOSE(found.gradient[at(p * (d + 1) + d)], sums.slope, 1e-10);
                    Numbers least(at(kCores), std::numeric_limits<double>::infinity());
                    for (std::int64_t i = 0; i < kRows; ++i) {
                        if (cost[at(i)] != 0)
                            lower(loss, s, p, i, matrix.dot(i, s.w.data() + p * d), least.data());
                    }
                    for (std::int64_t c = 0; c < kCores; ++c) {
                        const double there = found.least[at(p * kCores + c)];
                        CHECK(there == least[at(c)] || std::fabs(there - least[at(c)]) < 1e-10);
                    }
                }
            }
        }
    }
}

TEST("left-out gradients know smooth losses only, and stop when they are told to") {
    const Matrix matrix(kRows, 3);
    const Stored stored = dense<double>("", matrix, Scalar::f64, 3, 1);
    const Setting s(3);
    NeverStop never;
    bool complete = true;
    CHECK(!left_out_gradients("hinge", stored.block, {}, {}, {}, complete, never));
    // Half a million values are read before the token is asked, so the few rows are read many times over.
    const std::int64_t many = 4000;
    const Numbers w(at(many * 3), 0.1), b(at(many), 0.0);
    const std::vector<std::int64_t> none(at(many), -1);
    Numbers gradient(at(many * 4), 0.0), least(at(many * kCores), 0.0);
    const LeftOutRows rows{
        {s.z.data(), s.sign.data(), s.cost.data(), kRows}, 0.0, s.size.data(), s.core.data()};
    StopAt first(1);
    CHECK(left_out_gradients("logistic", stored.block, rows, {many, w.data(), b.data(), none.data()},
                             {gradient.data(), least.data()}, complete, first));
    CHECK(!complete);
}
