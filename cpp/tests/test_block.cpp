// Blocks: every number type and every stride is seen as the same doubles, a chunk at a time.

#include "check.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/block.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

// Every number of the block, put together from its chunks; sparse rows leave zeros.
std::vector<double> read_all(const Block& block) {
    std::vector<double> seen(static_cast<std::size_t>(block.n_rows * block.n_columns), 0.0);
    Chunks chunks(block);
    std::int64_t rows_seen = 0;
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            CHECK(first == rows_seen);
            rows_seen += rows.n_rows();
            for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
                rows.prefetch(i);
                for (std::int64_t k = 0; k < rows.n_values(i); ++k) {
                    const std::int64_t place = (first + i) * block.n_columns + rows.column(i, k);
                    seen[static_cast<std::size_t>(place)] += static_cast<double>(rows.value(i, k));
                }
            }
        });
    }
    CHECK(rows_seen == block.n_rows);
    return seen;
}

template <class Value>
void check_extremes(Scalar scalar) {
    using Limits = std::numeric_limits<Value>;
    const std::vector<Value> values{Limits::lowest(), Value(0), Value(1), Limits::max()};
    double seen[4];
    gather_values(values.data(), scalar, 0, 4, seen);
    for (std::size_t k = 0; k < 4; ++k) CHECK(seen[k] == static_cast<double>(values[k]));
    gather_values(values.data(), scalar, 2, 2, seen);
    CHECK(seen[0] == 1.0 && seen[1] == static_cast<double>(Limits::max()));
}

// What the 16 bits of a half precision number mean, from its definition.
double half(std::uint32_t bits) {
    const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
    const int exponent = static_cast<int>((bits >> 10) & 31U);
    const double fraction = static_cast<double>(bits & 1023U);
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

TEST("every storage holds the same numbers") {
    const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 1},   {5, 3},   {40, 17}, {33, 1},
                                                                    {700, 1}, {3, 900}, {600, 70}};
    for (const auto& [n, d] : shapes) {
        const Matrix m(n, d);
        for (const Stored& stored : every_storage(m)) {
            if (read_all(stored.block) != m.values) check::fail(__FILE__, __LINE__, stored.name);
        }
    }
}

TEST("a converted block is read in chunks, one in place at once") {
    const Matrix m(5000, 30);
    CHECK(Chunks(dense<double>("", m, Scalar::f64, 30, 1).block).count() == 1);
    CHECK(Chunks(dense<double>("", m, Scalar::f64, 1, 5000).block).count() > 1);
    CHECK(Chunks(dense<std::int8_t>("", m, Scalar::i8, 30, 1).block).count() > 1);
    CHECK(Chunks(csr<std::int8_t, std::int32_t>("", m, Scalar::i8).block).count() > 1);
    CHECK(Chunks(csr<float, std::int32_t>("", m, Scalar::f32).block).count() == 1);
}

TEST("a single column needs no conversion, whatever its stride") {
    const Matrix m(50, 1);
    const Stored stored = dense<float>("", m, Scalar::f32, -7, 13);
    CHECK(Chunks(stored.block).count() == 1);
    CHECK(read_all(stored.block) == m.values);
}

TEST("a stride of 0 repeats a row or a column") {
    const double values[3] = {1, 2, 3};
    const Block rows{DenseStorage{values, Scalar::f64, 0, 1}, 4, 3};
    CHECK(read_all(rows) == std::vector<double>({1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
    const Block columns{DenseStorage{values, Scalar::f64, 1, 0}, 3, 2};
    CHECK(read_all(columns) == std::vector<double>({1, 1, 2, 2, 3, 3}));
}

TEST("blocks without rows or without columns") {
    const double value = 1;
    CHECK(Chunks(Block{DenseStorage{&value, Scalar::f64, 3, 1}, 0, 3}).count() == 0);
    CHECK(Chunks(Block{DenseStorage{&value, Scalar::i8, 1, 0}, 0, 3}).count() == 0);
    CHECK(read_all(Block{DenseStorage{&value, Scalar::f64, 0, 1}, 5, 0}).empty());
    CHECK(read_all(Block{DenseStorage{&value, Scalar::u8, 0, 1}, 5, 0}).empty());
}

TEST("the extremes of every number type") {
    check_extremes<std::int8_t>(Scalar::i8);
    check_extremes<std::uint8_t>(Scalar::u8);
    check_extremes<std::int16_t>(Scalar::i16);
    check_extremes<std::uint16_t>(Scalar::u16);
    check_extremes<std::int32_t>(Scalar::i32);
    check_extremes<std::uint32_t>(Scalar::u32);
    check_extremes<std::int64_t>(Scalar::i64);
    check_extremes<std::uint64_t>(Scalar::u64);
    check_extremes<float>(Scalar::f32);
    check_extremes<double>(Scalar::f64);
    const bool truths[3] = {true, false, true};
    double seen[3];
    gather_values(truths, Scalar::boolean, 0, 3, seen);
    CHECK(seen[0] == 1.0 && seen[1] == 0.0 && seen[2] == 1.0);
}

TEST("all numbers of bfloat16") {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const std::uint16_t stored = static_cast<std::uint16_t>(bits);
        double seen;
        gather_values(&stored, Scalar::bf16, 0, 1, &seen);
        const float expected = std::bit_cast<float>(bits << 16);
        CHECK(std::isnan(expected) ? std::isnan(seen) : seen == static_cast<double>(expected));
        if (expected == 0) CHECK(std::signbit(seen) == std::signbit(expected));
    }
}

TEST("all numbers of half precision") {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const std::uint16_t stored = static_cast<std::uint16_t>(bits);
        double seen;
        gather_values(&stored, Scalar::f16, 0, 1, &seen);
        const double expected = half(bits);
        CHECK(std::isnan(expected) ? std::isnan(seen) : seen == expected);
        if (expected == 0) CHECK(std::signbit(seen) == std::signbit(expected));
    }
}
