// Coordinate descent on a quadratic with an L1 term: optimality, a known solution, columns without curvature.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "maxmargin/kernel/l1_quadratic.hpp"

using namespace maxmargin;

namespace {

using Numbers = std::vector<double>;

struct Problem {
    std::int64_t n;
    Numbers H, g, x0;
};

// H = A Aᵀ / n + ridge, from numbers that look random.
Problem some_problem(std::int64_t n, double ridge) {
    Problem problem{n, Numbers(static_cast<std::size_t>(n * n)), Numbers(static_cast<std::size_t>(n)),
                    Numbers(static_cast<std::size_t>(n))};
    Numbers a(static_cast<std::size_t>(n * n));
    for (std::int64_t k = 0; k < n * n; ++k)
        a[static_cast<std::size_t>(k)] = std::sin(static_cast<double>(k % 9973) * 12.9898);
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
            double sum = i == j ? ridge : 0;
            for (std::int64_t k = 0; k < n; ++k)
                sum += a[static_cast<std::size_t>(i * n + k)] * a[static_cast<std::size_t>(j * n + k)] /
                       static_cast<double>(n);
            problem.H[static_cast<std::size_t>(i * n + j)] = sum;
        }
        problem.g[static_cast<std::size_t>(i)] = 3 * std::sin(2.3 * static_cast<double>(i + 1));
        problem.x0[static_cast<std::size_t>(i)] = i % 3 == 0 ? std::cos(static_cast<double>(i)) : 0;
    }
    return problem;
}

// The largest violation of the conditions of optimality, with the gradient computed afresh.
double violation(const Problem& problem, double r, const Numbers& x) {
    double largest = 0;
    for (std::int64_t i = 0; i < problem.n; ++i) {
        double q = problem.g[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; j < problem.n; ++j)
            q += problem.H[static_cast<std::size_t>(i * problem.n + j)] *
                 (x[static_cast<std::size_t>(j)] - problem.x0[static_cast<std::size_t>(j)]);
        const double at = x[static_cast<std::size_t>(i)];
        const double off = at == 0 ? std::fmax(std::fabs(q) - r, 0.0) : std::fabs(q + std::copysign(r, at));
        largest = std::fmax(largest, off);
    }
    return largest;
}

}  // namespace

TEST("a quadratic with an L1 term is minimised") {
    for (const std::int64_t n : {1, 2, 7, 40}) {
        for (const double r : {0.0, 0.3, 1.0, 2.9}) {
            const Problem problem = some_problem(n, 0.1);
            Numbers x = problem.x0, q = problem.g;
            L1Descent found;
            NeverStop token;
            CHECK(descend_l1_quadratic(problem.H.data(), n, r, x.data(), q.data(), {0.0, 100'000}, found,
                                       token));
            CHECK(violation(problem, r, x) < 1e-8);
            CHECK(found.gained >= 0);
        }
    }
}

TEST("a large L1 term leaves zeros") {
    const Problem problem = some_problem(12, 1.0);
    Numbers x = problem.x0, q = problem.g;
    L1Descent found;
    NeverStop token;
    CHECK(descend_l1_quadratic(problem.H.data(), 12, 1e6, x.data(), q.data(), {0.0, 1'000}, found, token));
    for (const double entry : x) CHECK(entry == 0);
}

TEST("a coordinate without curvature stays where it is") {
    const Numbers H{2, 0, 0, 0};
    Numbers x{0, 5}, q{-3, 0};
    L1Descent found;
    NeverStop token;
    CHECK(descend_l1_quadratic(H.data(), 2, 1.0, x.data(), q.data(), {0.0, 10}, found, token));
    CHECK(x[0] == 1);
    CHECK(x[1] == 5);
    CHECK(found.gained == 1);
}

TEST("columns that are weighted rows give what their matrix gives") {
    constexpr std::int64_t n = 9, rows = 25;
    Numbers A(n * rows), h(rows), g(n), start(n);
    for (std::int64_t k = 0; k < n * rows; ++k)
        A[static_cast<std::size_t>(k)] = std::sin(1.3 * static_cast<double>(k * k % 97));
    for (std::int64_t i = 0; i < rows; ++i)
        h[static_cast<std::size_t>(i)] = 0.1 + 0.05 * static_cast<double>(i % 4);
    for (std::int64_t j = 0; j < n; ++j) {
        g[static_cast<std::size_t>(j)] = 2 * std::cos(static_cast<double>(3 * j));
        start[static_cast<std::size_t>(j)] = j % 2 == 0 ? 0.5 : 0;
    }
    constexpr double ridge = 0.2, stiffness = 0.3, slope = 0.7, r = 0.4;
    for (const bool has_offset : {false, true}) {
        // The matrix with the offset eliminated.
        Numbers H(n * n), q = g;
        double total = stiffness;
        for (const double weight : h) total += weight;
        Numbers sums(n);
        for (std::int64_t j = 0; j < n; ++j) {
            for (std::int64_t i = 0; i < rows; ++i)
                sums[static_cast<std::size_t>(j)] +=
                    h[static_cast<std::size_t>(i)] * A[static_cast<std::size_t>(j * rows + i)];
        }
        for (std::int64_t j = 0; j < n; ++j) {
            if (has_offset)
                q[static_cast<std::size_t>(j)] -= sums[static_cast<std::size_t>(j)] * slope / total;
            for (std::int64_t k = 0; k < n; ++k) {
                double sum = j == k ? ridge : 0;
                for (std::int64_t i = 0; i < rows; ++i)
                    sum += h[static_cast<std::size_t>(i)] * A[static_cast<std::size_t>(j * rows + i)] *
                           A[static_cast<std::size_t>(k * rows + i)];
                if (has_offset)
                    sum -= sums[static_cast<std::size_t>(j)] * sums[static_cast<std::size_t>(k)] / total;
                H[static_cast<std::size_t>(j * n + k)] = sum;
            }
        }
        Numbers expected = start, x = start;
        L1Descent found;
        NeverStop token;
        const L1Limits limits{0.0, 100'000};
        CHECK(descend_l1_quadratic(H.data(), n, r, expected.data(), q.data(), limits, found, token));
        const Block block{DenseStorage{A.data(), Scalar::f64, rows, 1}, n, rows};
        L1Offset offset{has_offset, slope, stiffness, 0};
        L1Descent other;
        CHECK(
            descend_l1_columns(block, h.data(), ridge, r, g.data(), x.data(), offset, limits, other, token));
        double change = has_offset ? -slope : 0;
        for (std::int64_t j = 0; j < n; ++j) {
            const std::size_t at = static_cast<std::size_t>(j);
            CHECK_CLOSE(x[at], expected[at], 1e-9);
            if (has_offset) change -= sums[at] * (x[at] - start[at]);
        }
        CHECK_CLOSE(other.gained, found.gained, 1e-9);
        CHECK(std::fabs(offset.change - change / total) < 1e-9);
    }
}
