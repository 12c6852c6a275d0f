// A matrix of doubles for tests, and blocks that hold the same numbers in every storage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin::testing {

// Numbers of mixed sign, small enough to be exact in every type from int8 to double.
inline double small_integer(std::int64_t k) { return static_cast<double>((k * 37 + 11) % 23 - 11); }

struct Matrix {
    std::int64_t rows, columns;
    std::vector<double> values;  // row by row

    Matrix(std::int64_t n, std::int64_t d) : rows(n), columns(d), values(static_cast<std::size_t>(n * d)) {
        for (std::size_t k = 0; k < values.size(); ++k) {
            values[k] = k % 3 == 2 ? 0.0 : small_integer(static_cast<std::int64_t>(k));
        }
    }

    double at(std::int64_t i, std::int64_t j) const {
        return values[static_cast<std::size_t>(i * columns + j)];
    }
    double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }

    double dot(std::int64_t i, const double* w) const {
        double total = 0;
        for (std::int64_t j = 0; j < columns; ++j) total += at(i, j) * w[j];
        return total;
    }
};

// A block and the memory it reads.
struct Stored {
    std::string name;
    Block block;
    std::vector<std::shared_ptr<void>> memory;
};

template <class Value>
std::shared_ptr<std::vector<Value>> room(std::int64_t size, Value fill) {
    return std::make_shared<std::vector<Value>>(static_cast<std::size_t>(size), fill);
}

// With the strides given in elements; what lies between the numbers is `fill` and must not be read as one.
template <class Value>
Stored dense(const std::string& name, const Matrix& m, Scalar scalar, std::int64_t row_stride,
             std::int64_t column_stride, Value fill = Value(99)) {
    const auto reach = [](std::int64_t count, std::int64_t stride) {
        return count > 0 ? (count - 1) * stride : 0;
    };
    const std::int64_t down = reach(m.rows, row_stride), across = reach(m.columns, column_stride);
    const std::int64_t before = -std::min<std::int64_t>(down, 0) - std::min<std::int64_t>(across, 0);
    const std::int64_t after = std::max<std::int64_t>(down, 0) + std::max<std::int64_t>(across, 0);
    auto memory = room<Value>(before + after + 1, fill);
    Value* origin = memory->data() + before;
    for (std::int64_t i = 0; i < m.rows; ++i) {
        for (std::int64_t j = 0; j < m.columns; ++j) {
            origin[i * row_stride + j * column_stride] = static_cast<Value>(m.at(i, j));
        }
    }
    return {name, {DenseStorage{origin, scalar, row_stride, column_stride}, m.rows, m.columns}, {memory}};
}

// Only the entries that are not zero, in a slice that starts behind entries of other rows.
template <class Value, class Index>
Stored csr(const std::string& name, const Matrix& m, Scalar scalar) {
    auto values = room<Value>(3, Value(99));
    auto indices = room<Index>(3, Index(0));
    auto starts = room<Index>(0, Index(0));
    for (std::int64_t i = 0; i < m.rows; ++i) {
        starts->push_back(static_cast<Index>(values->size()));
        for (std::int64_t j = 0; j < m.columns; ++j) {
            if (m.at(i, j) == 0) continue;
            values->push_back(static_cast<Value>(m.at(i, j)));
            indices->push_back(static_cast<Index>(j));
        }
    }
    starts->push_back(static_cast<Index>(values->size()));
    const CsrStorage storage{values->data(), scalar, indices->data(), starts->data(), sizeof(Index) == 8};
    return {name, {storage, m.rows, m.columns}, {values, indices, starts}};
}

// The matrix in every storage: its numbers must be small integers.
inline std::vector<Stored> every_storage(const Matrix& m) {
    const std::int64_t n = m.rows, d = m.columns;
    std::vector<Stored> all;
    all.push_back(dense<double>("double", m, Scalar::f64, d, 1));
    all.push_back(dense<float>("float", m, Scalar::f32, d, 1));
    all.push_back(dense<double>("double, rows apart", m, Scalar::f64, d + 3, 1));
    all.push_back(dense<float>("float, rows apart", m, Scalar::f32, d + 3, 1));
    all.push_back(dense<double>("double, Fortran order", m, Scalar::f64, 1, n));
    all.push_back(dense<float>("float, Fortran order", m, Scalar::f32, 1, n));
    all.push_back(dense<double>("double, rows backwards", m, Scalar::f64, -d, 1));
    all.push_back(dense<double>("double, columns backwards", m, Scalar::f64, d, -1));
    all.push_back(dense<float>("float, all backwards and apart", m, Scalar::f32, -2 * d - 1, -2));
    all.push_back(dense<std::int8_t>("int8", m, Scalar::i8, d, 1));
    all.push_back(dense<std::int16_t>("int16, Fortran order", m, Scalar::i16, 1, n));
    all.push_back(dense<std::int32_t>("int32, apart", m, Scalar::i32, 3 * d, 3));
    all.push_back(dense<std::int64_t>("int64, rows backwards", m, Scalar::i64, -d, 1));
    all.push_back(csr<double, std::int32_t>("CSR double, int32", m, Scalar::f64));
    all.push_back(csr<double, std::int64_t>("CSR double, int64", m, Scalar::f64));
    all.push_back(csr<float, std::int32_t>("CSR float, int32", m, Scalar::f32));
    all.push_back(csr<float, std::int64_t>("CSR float, int64", m, Scalar::f32));
    all.push_back(csr<std::int8_t, std::int32_t>("CSR int8, int32", m, Scalar::i8));
    all.push_back(csr<std::int64_t, std::int64_t>("CSR int64, int64", m, Scalar::i64));
    return all;
}

// Asks to stop at the given question.
class StopAt final : public StopToken {
  public:
    explicit StopAt(int question) : left_(question) {}
    bool poll() noexcept override { return --left_ <= 0; }

  private:
    int left_;
};

}  // namespace maxmargin::testing
