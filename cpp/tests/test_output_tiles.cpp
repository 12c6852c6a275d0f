// Products with several outputs and their softmax, with every set of primitives that this machine can run,
// against plain loops.

#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "maxmargin/output_tiles.hpp"
#include "maxmargin/primitives.hpp"

using namespace maxmargin;

namespace {

constexpr double kWall = 12345.0;

double number(std::int64_t i) { return static_cast<double>((i * 37) % 101 - 50) / 32.0; }

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// Rows of numbers with some that no kernel may read or write between them.
template <class Number>
struct Rows {
    std::int64_t n, width, stride;
    std::vector<Number> numbers;

    Rows(std::int64_t rows, std::int64_t columns, std::int64_t gap, std::int64_t seed)
        : n(rows), width(columns), stride(columns + gap),
          numbers(at(rows * stride + 1), std::numeric_limits<Number>::quiet_NaN()) {
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < width; ++j)
                numbers[at(i * stride + j)] = static_cast<Number>(number(seed + 5 * i + 3 * j));
        }
    }
    double operator()(std::int64_t i, std::int64_t j) const {
        return static_cast<double>(numbers[at(i * stride + j)]);
    }
};

template <class Number>
constexpr double kTolerance = sizeof(Number) == 8 ? 1e-13 : 2e-5;

template <class Number>
void check_products(const OutputTiles<Number>& tiles, std::int64_t n, std::int64_t d, std::int64_t K,
                    std::int64_t gap) {
    const Rows<Number> x(n, d, gap, 1);
    std::vector<double> W(at(K * d));
    for (std::int64_t k = 0; k < K * d; ++k) W[at(k)] = number(7 * k + 2);
    std::vector<Number> packed(at(rounded_up(K, tiles.width) * d) + 1, Number(kWall));
    tiles.pack(W.data(), K, d, packed.data());
    CHECK(packed.back() == Number(kWall));
    const std::int64_t stride = rounded_up(K, tiles.lanes);
    std::vector<Number> z(at(n * stride) + 1, Number(kWall));
    tiles.score(x.numbers.data(), x.stride, n, packed.data(), d, K, z.data(), stride);
    CHECK(z.back() == Number(kWall));
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < K; ++k) {
            double expected = 0;
            for (std::int64_t j = 0; j < d; ++j) expected += x(i, j) * W[at(k * d + j)];
            CHECK_CLOSE(static_cast<double>(z[at(i * stride + k)]), expected, kTolerance<Number> * 10);
        }
    }
    Rows<Number> r(n, stride, 0, 3);
    std::vector<double> sums(at(K * d) + 1, 0.5);
    sums.back() = kWall;
    std::vector<Number> scratch(at(n * (K + 2 * tiles.width)) + 1, Number(kWall));
    tiles.combine(x.numbers.data(), x.stride, n, d, r.numbers.data(), stride, K, scratch.data(), sums.data());
    CHECK(sums.back() == kWall);
    CHECK(scratch.back() == Number(kWall));
    for (std::int64_t k = 0; k < K; ++k) {
        for (std::int64_t j = 0; j < d; ++j) {
            double expected = 0.5;
            for (std::int64_t i = 0; i < n; ++i) expected += r(i, k) * x(i, j);
            CHECK_CLOSE(sums[at(k * d + j)], expected, kTolerance<Number> * 10);
        }
    }
}

template <class Number>
void check_softmax(const OutputTiles<Number>& tiles, std::int64_t n, std::int64_t K, double spread) {
    const std::int64_t stride = rounded_up(K, tiles.lanes);
    std::vector<Number> z(at(n * stride) + 1, Number(0)),
        b(at(stride), -std::numeric_limits<Number>::infinity());
    std::vector<double> scores(at(n * K)), cost(at(n), 0.75);
    std::vector<std::int32_t> label(at(n));
    z.back() = Number(kWall);
    for (std::int64_t k = 0; k < K; ++k) b[at(k)] = static_cast<Number>(number(k));
    for (std::int64_t i = 0; i < n; ++i) {
        label[at(i)] = static_cast<std::int32_t>((3 * i) % K);
        cost[at(i)] = i % 4 == 1 ? 0.0 : 0.25 * static_cast<double>(1 + i % 3);
        for (std::int64_t k = 0; k < K; ++k) {
            z[at(i * stride + k)] = static_cast<Number>(spread * number(11 * i + 13 * k + 1));
            scores[at(i * K + k)] = static_cast<double>(z[at(i * stride + k)] + b[at(k)]);
        }
    }
    std::vector<SoftmaxRow> rows(at(n));
    tiles.softmax(z.data(), stride, n, b.data(), rows.data());
    std::vector<double> p(at(n * K));
    for (std::int64_t i = 0; i < n; ++i) {
        const double largest = *std::max_element(&scores[at(i * K)], &scores[at(i * K)] + K);
        double total = 0;
        for (std::int64_t k = 0; k < K; ++k) total += std::exp(scores[at(i * K + k)] - largest);
        CHECK(rows[at(i)].largest == largest);
        CHECK_CLOSE(rows[at(i)].rest, total - 1.0, kTolerance<Number>);
        for (std::int64_t k = 0; k < K; ++k) {
            p[at(i * K + k)] = std::exp(scores[at(i * K + k)] - largest) / total;
            CHECK_CLOSE(static_cast<double>(z[at(i * stride + k)]), p[at(i * K + k)], kTolerance<Number>);
        }
        for (std::int64_t k = K; k < stride; ++k) CHECK(z[at(i * stride + k)] == Number(0));
    }
    // The change of the residuals along scores u + e.
    std::vector<Number> u(at(n * stride), Number(0)), e(at(stride), Number(0));
    for (std::int64_t k = 0; k < K; ++k) e[at(k)] = static_cast<Number>(number(k + 4));
    for (std::int64_t i = 0; i < n * stride; ++i) u[at(i)] = static_cast<Number>(number(i + 9));
    const std::vector<Number> before = u;
    tiles.curve(z.data(), u.data(), stride, n, e.data(), cost.data());
    tiles.residuals(z.data(), stride, n, label.data(), cost.data());
    CHECK(z.back() == Number(kWall));
    for (std::int64_t i = 0; i < n; ++i) {
        double mean = 0, sum = 0;
        for (std::int64_t k = 0; k < K; ++k)
            mean += p[at(i * K + k)] * static_cast<double>(before[at(i * stride + k)] + e[at(k)]);
        for (std::int64_t k = 0; k < K; ++k) {
            const double q = static_cast<double>(before[at(i * stride + k)] + e[at(k)]) - mean;
            CHECK_CLOSE(static_cast<double>(u[at(i * stride + k)]), cost[at(i)] * p[at(i * K + k)] * q,
                        10 * kTolerance<Number>);
            const double own = k == label[at(i)] ? 1.0 : 0.0, r = static_cast<double>(z[at(i * stride + k)]);
            CHECK_CLOSE(r, cost[at(i)] * (p[at(i * K + k)] - own), kTolerance<Number>);
            sum += r;
        }
        CHECK_CLOSE(sum, 0.0, kTolerance<Number>);
    }
}

template <class Number>
void check_all(const OutputTiles<Number>& tiles) {
    for (const std::int64_t K : {1, 2, 3, 4, 5, 8, 12, 13, 24, 31, 47, 70, 200}) {
        for (const std::int64_t n : {1, 2, 3, 7, 8, 9, 33})
            check_products(tiles, n, tiles.lanes + n % 3, K, n % 2 == 0 ? 0 : 5);
        for (const double spread : {0.0, 1.0, 30.0, 1e4}) check_softmax(tiles, 9, K, spread);
    }
    for (const std::int64_t d : {1, 2, 3, 5, 17, 48, 49, 100, 511, 512, 513, 1100})
        check_products(tiles, 11, std::max(d, tiles.lanes), 7, d % 3);
    check_products(tiles, 5, tiles.lanes, 1000, 1);
    check_softmax(tiles, 3, 1000, 1.0);
}

float widened(const Outputs& outputs, std::uint16_t bits, bool brain) {
    float to[9];
    std::uint16_t from[9];
    std::fill_n(from, 9, bits);  // one vector, and one number behind it
    (brain ? outputs.widen_brain : outputs.widen_half)(from, 9, to);
    for (const float each : to) CHECK(each == to[0] || (std::isnan(each) && std::isnan(to[0])));
    return to[8];
}

}  // namespace

TEST("output tiles agree with plain loops") {
    for (const std::string& name : available_primitives()) {
        const Outputs& outputs = *primitives_named(name).outputs;
        check_all(outputs.f32);
        check_all(outputs.f64);
    }
}

TEST("half precision is widened without rounding") {
    for (const std::string& name : available_primitives()) {
        const Outputs& outputs = *primitives_named(name).outputs;
        CHECK(widened(outputs, 0x0000, false) == 0.0F);
        CHECK(std::signbit(widened(outputs, 0x8000, false)));
        CHECK(widened(outputs, 0x3C00, false) == 1.0F);
        CHECK(widened(outputs, 0xC000, false) == -2.0F);
        CHECK(widened(outputs, 0x7BFF, false) == 65504.0F);
        CHECK(widened(outputs, 0x0001, false) == 0x1p-24F);  // the smallest of all
        CHECK(widened(outputs, 0x03FF, false) == 1023 * 0x1p-24F);
        CHECK(std::isinf(widened(outputs, 0x7C00, false)));
        CHECK(std::isnan(widened(outputs, 0x7E00, false)));
        CHECK(widened(outputs, 0x3F80, true) == 1.0F);
        CHECK(widened(outputs, 0xC040, true) == -3.0F);
        CHECK(std::isinf(widened(outputs, 0x7F80, true)));
    }
}
