// Every set of primitives that this machine can run, against plain loops.

#include "check.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "maxmargin/primitives.hpp"

using namespace maxmargin;

namespace {

// Lengths around every unrolled step, and one long row.
const std::vector<std::int64_t> lengths = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 1000};

// Numbers of mixed sign that are exact in float.
double number(std::int64_t i) { return static_cast<double>((i * 37) % 101 - 50) / 8.0; }

std::vector<double> weights(std::int64_t n) {
    std::vector<double> w(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j) {
        w[static_cast<std::size_t>(j)] = number(3 * j + 1);
    }
    return w;
}

template <class Value>
void check_dense(const DensePrimitives<Value>& dense) {
    for (const std::int64_t n : lengths) {
        std::vector<Value> x(static_cast<std::size_t>(n));
        std::vector<double> w = weights(n);
        double dot = 0;
        double norm2 = 0;
        std::vector<double> sum = w;
        for (std::size_t j = 0; j < x.size(); ++j) {
            x[j] = static_cast<Value>(number(static_cast<std::int64_t>(j)));
            dot += static_cast<double>(x[j]) * w[j];
            norm2 += static_cast<double>(x[j]) * static_cast<double>(x[j]);
            sum[j] += 0.75 * static_cast<double>(x[j]);
        }
        CHECK_CLOSE(dense.dot(x.data(), w.data(), n), dot, 1e-13);
        CHECK_CLOSE(dense.norm2(x.data(), n), norm2, 1e-13);
        dense.add(w.data(), 0.75, x.data(), n);
        for (std::size_t j = 0; j < w.size(); ++j) {
            CHECK_CLOSE(w[j], sum[j], 1e-15);
        }
    }
}

template <class Value, class Index>
void check_sparse(const SparsePrimitives<Value, Index>& sparse) {
    for (const std::int64_t n : lengths) {
        std::vector<Value> values(static_cast<std::size_t>(n));
        std::vector<Index> indices(values.size());
        std::vector<double> w = weights(3 * n + 1);
        double dot = 0;
        std::vector<double> sum = w;
        for (std::size_t k = 0; k < values.size(); ++k) {
            values[k] = static_cast<Value>(number(static_cast<std::int64_t>(k)));
            indices[k] = static_cast<Index>(3 * k + k % 2);
            dot += static_cast<double>(values[k]) * w[static_cast<std::size_t>(indices[k])];
            sum[static_cast<std::size_t>(indices[k])] -= 1.5 * static_cast<double>(values[k]);
        }
        CHECK_CLOSE(sparse.dot(values.data(), indices.data(), n, w.data()), dot, 1e-13);
        sparse.add(w.data(), -1.5, values.data(), indices.data(), n);
        for (std::size_t j = 0; j < w.size(); ++j) {
            CHECK_CLOSE(w[j], sum[j], 1e-15);
        }
    }
}

}  // namespace

TEST("dense primitives of every set agree with plain loops") {
    for (const std::string& name : available_primitives()) {
        check_dense(primitives_named(name).dense_f32);
        check_dense(primitives_named(name).dense_f64);
    }
}

TEST("sparse primitives of every set agree with plain loops") {
    for (const std::string& name : available_primitives()) {
        const Primitives& set = primitives_named(name);
        check_sparse(set.sparse_f32_i32);
        check_sparse(set.sparse_f32_i64);
        check_sparse(set.sparse_f64_i32);
        check_sparse(set.sparse_f64_i64);
    }
}

TEST("the baseline can run everywhere and each set answers to its name") {
    const std::vector<std::string> names = available_primitives();
    CHECK(!names.empty() && names.front() == "baseline");
    for (const std::string& name : names) {
        CHECK(primitives_named(name).name == name);
    }
}

TEST("an unknown set is refused with the names that exist") {
    CHECK_THROWS(primitives_named("abacus"), "baseline");
    CHECK_THROWS(primitives_named("abacus"), "\"abacus\"");
}
