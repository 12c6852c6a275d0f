// Every set of primitives that this machine can run, against plain loops.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "maxmargin/loss/logistic.hpp"
#include "maxmargin/primitives.hpp"

using namespace maxmargin;

namespace {

// Lengths around every unrolled step of every set, and a long row.
std::vector<std::int64_t> lengths() {
    std::vector<std::int64_t> all{1000};
    for (std::int64_t n = 0; n <= 70; ++n) all.push_back(n);
    return all;
}

// Numbers of mixed sign that are exact in float.
double number(std::int64_t i) { return static_cast<double>((i * 37) % 101 - 50) / 8.0; }

std::vector<double> weights(std::int64_t n) {
    std::vector<double> w(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j) w[static_cast<std::size_t>(j)] = number(3 * j + 1);
    return w;
}

// The row starts `shift` elements into its memory, so that vector loads are not aligned.
template <class Value>
void check_dense(const DensePrimitives<Value>& dense, std::int64_t n, std::size_t shift) {
    std::vector<Value> memory(static_cast<std::size_t>(n) + shift);
    const Value* x = memory.data() + shift;
    std::vector<double> w = weights(n), sum = w;
    double dot = 0, norm2 = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
        memory[shift + j] = static_cast<Value>(number(static_cast<std::int64_t>(j)));
        const double value = static_cast<double>(memory[shift + j]);
        dot += value * w[j];
        norm2 += value * value;
        sum[j] += 0.75 * value;
    }
    CHECK_CLOSE(dense.dot(x, w.data(), n), dot, 1e-13);
    CHECK_CLOSE(dense.norm2(x, n), norm2, 1e-13);
    w.push_back(123.0);  // a wall that nothing may touch
    dense.add(w.data(), 0.75, x, n);
    for (std::size_t j = 0; j < sum.size(); ++j) CHECK_CLOSE(w[j], sum[j], 1e-15);
    CHECK(w.back() == 123.0);
}

template <class Value, class Index>
void check_sparse(const SparsePrimitives<Value, Index>& sparse, std::int64_t n) {
    std::vector<Value> values(static_cast<std::size_t>(n));
    std::vector<Index> indices(values.size());
    std::vector<double> w = weights(3 * n + 1), sum = w;
    double dot = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
        values[k] = static_cast<Value>(number(static_cast<std::int64_t>(k)));
        indices[k] = static_cast<Index>(3 * k + k % 2);
        dot += static_cast<double>(values[k]) * w[static_cast<std::size_t>(indices[k])];
        sum[static_cast<std::size_t>(indices[k])] -= 1.5 * static_cast<double>(values[k]);
    }
    CHECK_CLOSE(sparse.dot(values.data(), indices.data(), n, w.data()), dot, 1e-13);
    sparse.add(w.data(), -1.5, values.data(), indices.data(), n);
    for (std::size_t j = 0; j < w.size(); ++j) CHECK_CLOSE(w[j], sum[j], 1e-15);
}

// Scores of several outputs and an outer product, where the row's k-th value stands in column column(k).
template <class Value, class Column, class Scores, class AddOuter>
void check_outputs(std::int64_t n, std::int64_t stride, Column column, Scores scores, AddOuter add_outer) {
    std::vector<Value> x(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < x.size(); ++k)
        x[k] = static_cast<Value>(number(static_cast<std::int64_t>(k)));
    std::vector<double> W = weights((3 * n + 1) * stride), z = weights(stride + 1), r = weights(stride);
    std::vector<double> wanted_W = W, wanted_z = z;  // the last of z is a wall that nothing may touch
    for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t t = 0; t < stride; ++t) {
            const auto place = static_cast<std::size_t>(column(k) * stride + t);
            const double value = static_cast<double>(x[static_cast<std::size_t>(k)]);
            wanted_z[static_cast<std::size_t>(t)] += value * W[place];
            wanted_W[place] += value * r[static_cast<std::size_t>(t)];
        }
    }
    scores(x.data(), W.data(), z.data());
    add_outer(W.data(), r.data(), x.data());
    for (std::size_t t = 0; t < z.size(); ++t) CHECK_CLOSE(z[t], wanted_z[t], 1e-13);
    for (std::size_t at = 0; at < W.size(); ++at) CHECK_CLOSE(W[at], wanted_W[at], 1e-13);
}

template <class Value>
void check_dense_outputs(const DensePrimitives<Value>& use, std::int64_t n, std::int64_t stride) {
    check_outputs<Value>(
        n, stride, [](std::int64_t k) { return k; },
        [&](const Value* x, const double* W, double* z) { use.scores(x, n, W, stride, z); },
        [&](double* W, const double* r, const Value* x) { use.add_outer(W, stride, r, x, n); });
}

template <class Value, class Index>
void check_sparse_outputs(const SparsePrimitives<Value, Index>& use, std::int64_t n, std::int64_t stride) {
    std::vector<Index> indices(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < indices.size(); ++k) indices[k] = static_cast<Index>(3 * k + k % 2);
    const Index* listed = indices.data();
    check_outputs<Value>(
        n, stride, [=](std::int64_t k) { return static_cast<std::int64_t>(listed[k]); },
        [&](const Value* x, const double* W, double* z) { use.scores(x, listed, n, W, stride, z); },
        [&](double* W, const double* r, const Value* x) { use.add_outer(W, stride, r, x, listed, n); });
}

}  // namespace

TEST("dense primitives of every set agree with plain loops") {
    for (const std::string& name : available_primitives()) {
        for (const std::int64_t n : lengths()) {
            for (const std::size_t shift : {0, 1, 3}) {
                check_dense(primitives_named(name).dense_f32, n, shift);
                check_dense(primitives_named(name).dense_f64, n, shift);
            }
        }
    }
}

TEST("sparse primitives of every set agree with plain loops") {
    for (const std::string& name : available_primitives()) {
        const Primitives& set = primitives_named(name);
        for (const std::int64_t n : lengths()) {
            check_sparse(set.sparse_f32_i32, n);
            check_sparse(set.sparse_f32_i64, n);
            check_sparse(set.sparse_f64_i32, n);
            check_sparse(set.sparse_f64_i64, n);
        }
    }
}

TEST("scores and outer products of several outputs agree with plain loops, in every set") {
    for (const std::string& name : available_primitives()) {
        const Primitives& set = primitives_named(name);
        for (const std::int64_t n : {0, 1, 5, 17}) {
            for (const std::int64_t stride : {8, 16, 24, 64, 72, 128, 136, 144, 264}) {
                check_dense_outputs(set.dense_f32, n, stride);
                check_dense_outputs(set.dense_f64, n, stride);
                check_sparse_outputs(set.sparse_f32_i32, n, stride);
                check_sparse_outputs(set.sparse_f32_i64, n, stride);
                check_sparse_outputs(set.sparse_f64_i32, n, stride);
                check_sparse_outputs(set.sparse_f64_i64, n, stride);
            }
        }
    }
}

TEST("a value that is not finite shows in the norm, wherever it is") {
    for (const std::string& name : available_primitives()) {
        for (std::size_t n = 1; n <= 40; ++n) {
            for (std::size_t place = 0; place < n; ++place) {
                std::vector<float> x(n, 1.0F);
                x[place] = std::numeric_limits<float>::quiet_NaN();
                CHECK(std::isnan(
                    primitives_named(name).dense_f32.norm2(x.data(), static_cast<std::int64_t>(n))));
                std::vector<double> y(n, 1.0);
                y[place] = -std::numeric_limits<double>::infinity();
                CHECK(std::isinf(
                    primitives_named(name).dense_f64.norm2(y.data(), static_cast<std::int64_t>(n))));
            }
        }
    }
}

TEST("float rows are squared and summed in double precision") {
    for (const std::string& name : available_primitives()) {
        const std::vector<float> x(37, 1e30F);
        const double expected = 37 * static_cast<double>(1e30F) * static_cast<double>(1e30F);
        CHECK_CLOSE(primitives_named(name).dense_f32.norm2(x.data(), 37) / expected, 1.0, 1e-14);
    }
}

TEST("the baseline can run everywhere and each set answers to its name") {
    const std::vector<std::string> names = available_primitives();
    CHECK(!names.empty() && names.front() == "baseline");
    for (const std::string& name : names) CHECK(primitives_named(name).name == name);
}

TEST("an unknown set is refused with the names that exist") {
    CHECK_THROWS(primitives_named("abacus"), "baseline");
    CHECK_THROWS(primitives_named("abacus"), "\"abacus\"");
}

TEST("the logistic terms of every set agree with the loss") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::vector<double> m{0.0, -0.0, 1e-300, kInfinity, -kInfinity, 1e300, -1e300, 800.0, -800.0};
    for (int k = -400; k <= 400; ++k) m.push_back(0.001 * k * k * k / 100.0);
    for (const std::string& name : available_primitives()) {
        const Primitives& set = primitives_named(name);
        for (const std::size_t n : {m.size(), m.size() - 1, std::size_t{3}, std::size_t{1}}) {
            std::vector<double> value(n), slope(n), curvature(n), again(n);
            (*set.logistic)(m.data(), static_cast<std::int64_t>(n), value.data(), slope.data(),
                            curvature.data());
            (*set.logistic)(m.data(), static_cast<std::int64_t>(n), nullptr, again.data(), curvature.data());
            CHECK(slope == again);
            for (std::size_t i = 0; i < n; ++i) {
                const double far = std::fabs(m[i]) > 700 ? 1e-300 : 0;
                const auto is_near = [&](double found, double expected) {
                    return found == expected ||
                           std::fabs(found - expected) <= 2e-15 * std::fabs(expected) + far;
                };
                CHECK(is_near(value[i], loss::Logistic::value(m[i])));
                CHECK(is_near(slope[i], loss::Logistic::slope(m[i])));
                CHECK(is_near(curvature[i], loss::Logistic::curvature(m[i])));
            }
        }
        double nan = std::nan(""), value = 0, slope = 0, curvature = 0;
        (*set.logistic)(&nan, 1, &value, &slope, &curvature);
        CHECK(std::isnan(value) && std::isnan(slope) && std::isnan(curvature));
    }
}
