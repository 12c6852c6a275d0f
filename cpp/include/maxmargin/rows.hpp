// A row of the data as the kernels see it: dense or sparse, float or double, read in place.
//
// Every view offers the same operations, so a kernel is written once. `dot` and `add`, and for several
// outputs `scores` and `add_outer`, are what the solvers spend their time in; `prefetch` starts the loads of
// a row that will be visited soon.
#pragma once

#include <cstdint>

#include "maxmargin/primitives.hpp"

namespace maxmargin {

constexpr std::int64_t kCacheLine = 64;

template <class Value>
class DenseRows {
  public:
    DenseRows(const Value* data, std::int64_t n_rows, std::int64_t n_columns,
              std::int64_t row_stride) noexcept
        : data_(data), n_rows_(n_rows), n_columns_(n_columns), row_stride_(row_stride),
          use_(dense_of(primitives(), data)) {}

    std::int64_t n_rows() const noexcept { return n_rows_; }
    std::int64_t n_values(std::int64_t) const noexcept { return n_columns_; }
    double dot(std::int64_t i, const double* w) const noexcept { return use_.dot(row(i), w, n_columns_); }
    void add(std::int64_t i, double scale, double* w) const noexcept {
        use_.add(w, scale, row(i), n_columns_);
    }
    double norm2(std::int64_t i) const noexcept { return use_.norm2(row(i), n_columns_); }
    void scores(std::int64_t i, const double* W, std::int64_t stride, double* z) const noexcept {
        use_.scores(row(i), n_columns_, W, stride, z);
    }
    void add_outer(std::int64_t i, const double* r, std::int64_t stride, double* W) const noexcept {
        use_.add_outer(W, stride, r, row(i), n_columns_);
    }
    Value value(std::int64_t i, std::int64_t k) const noexcept { return row(i)[k]; }
    std::int64_t column(std::int64_t, std::int64_t k) const noexcept { return k; }
    const Value* row(std::int64_t i) const noexcept { return data_ + i * row_stride_; }

    void prefetch(std::int64_t i) const noexcept {
        const char* start = reinterpret_cast<const char*>(row(i));
        const std::int64_t bytes = n_columns_ * static_cast<std::int64_t>(sizeof(Value));
        for (std::int64_t at = 0; at < bytes && at < 8 * kCacheLine; at += kCacheLine)
            __builtin_prefetch(start + at);
    }

  private:
    const Value* data_;
    std::int64_t n_rows_, n_columns_, row_stride_;
    DensePrimitives<Value> use_;
};

template <class Value, class Index>
class SparseRows {
  public:
    // Row i holds the entries starts[i] … starts[i + 1]; values are counted from `base`, so that a
    // converted piece of them can stand in for the whole.
    SparseRows(const Value* values, const Index* indices, const Index* starts, std::int64_t n_rows,
               std::int64_t base = 0) noexcept
        : values_(values), indices_(indices), starts_(starts), n_rows_(n_rows), base_(base),
          use_(sparse_of(primitives(), values, indices)), norm2_(dense_of(primitives(), values).norm2) {}

    std::int64_t n_rows() const noexcept { return n_rows_; }
    std::int64_t n_values(std::int64_t i) const noexcept { return starts_[i + 1] - starts_[i]; }
    double dot(std::int64_t i, const double* w) const noexcept {
        return use_.dot(values(i), indices(i), n_values(i), w);
    }
    void add(std::int64_t i, double scale, double* w) const noexcept {
        use_.add(w, scale, values(i), indices(i), n_values(i));
    }
    double norm2(std::int64_t i) const noexcept { return norm2_(values(i), n_values(i)); }
    void scores(std::int64_t i, const double* W, std::int64_t stride, double* z) const noexcept {
        use_.scores(values(i), indices(i), n_values(i), W, stride, z);
    }
    void add_outer(std::int64_t i, const double* r, std::int64_t stride, double* W) const noexcept {
        use_.add_outer(W, stride, r, values(i), indices(i), n_values(i));
    }
    Value value(std::int64_t i, std::int64_t k) const noexcept { return values(i)[k]; }
    std::int64_t column(std::int64_t i, std::int64_t k) const noexcept { return indices(i)[k]; }
    const Value* values(std::int64_t i) const noexcept { return values_ + (starts_[i] - base_); }
    const Index* indices(std::int64_t i) const noexcept { return indices_ + starts_[i]; }

    // The first lines only: the hardware follows a stream once it has started.
    void prefetch(std::int64_t i) const noexcept {
        prefetch_lines(values(i), n_values(i) * static_cast<std::int64_t>(sizeof(Value)));
        prefetch_lines(indices(i), n_values(i) * static_cast<std::int64_t>(sizeof(Index)));
    }

  private:
    static void prefetch_lines(const void* start, std::int64_t bytes) noexcept {
        const char* from = static_cast<const char*>(start);
        for (std::int64_t at = 0; at < bytes && at < 4 * kCacheLine; at += kCacheLine)
            __builtin_prefetch(from + at);
    }

    const Value* values_;
    const Index* indices_;
    const Index* starts_;
    std::int64_t n_rows_, base_;
    SparsePrimitives<Value, Index> use_;
    double (*norm2_)(const Value*, std::int64_t);
};

}  // namespace maxmargin
