// Rows of which most columns hold 0 or 1 in few combinations, as tables with one-hot columns do: a row is
// the number of its combination, its pattern, and the values of the other columns.
//
// Such a block is made from another one by `condense` and owns its numbers, in the same order of rows.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "maxmargin/rows.hpp"

namespace maxmargin {

// Kernels read whole vectors: behind the last row there are zeros to that length.
constexpr std::int64_t kPatternPadding = 8;

struct PatternStorage {
    std::vector<std::int32_t> dense_columns, binary_columns;      // both rising; together all columns
    std::variant<std::vector<float>, std::vector<double>> dense;  // row by row, padded; all finite
    std::vector<std::uint16_t> pattern;                           // one number for each row
    std::vector<std::int32_t> starts, ones;  // pattern p: 1 in columns ones[starts[p]] … ones[starts[p + 1]]

    std::int64_t n_dense() const noexcept { return static_cast<std::int64_t>(dense_columns.size()); }
    std::int64_t n_patterns() const noexcept { return static_cast<std::int64_t>(starts.size()) - 1; }
    std::int64_t n_ones(std::int64_t p) const noexcept {
        return starts[static_cast<std::size_t>(p + 1)] - starts[static_cast<std::size_t>(p)];
    }
    std::int64_t bytes() const noexcept;
};

template <class Value>
class PatternRows {
  public:
    explicit PatternRows(const PatternStorage& storage) noexcept
        : storage_(&storage), dense_(std::get<std::vector<Value>>(storage.dense).data()),
          pattern_(storage.pattern.data()), starts_(storage.starts.data()), ones_(storage.ones.data()),
          columns_(storage.dense_columns.data()), n_rows_(static_cast<std::int64_t>(storage.pattern.size())),
          n_dense_(storage.n_dense()), use_(dense_of(primitives(), dense_)),
          use_apart_(sparse_of(primitives(), dense_, columns_)), add_line_(primitives().dense_f64.add) {
        together_ = n_dense_ == 0 || columns_[n_dense_ - 1] - columns_[0] == n_dense_ - 1;
        first_column_ = n_dense_ == 0 ? 0 : columns_[0];
    }

    std::int64_t n_rows() const noexcept { return n_rows_; }
    std::int64_t n_values(std::int64_t i) const noexcept { return n_dense_ + storage_->n_ones(pattern_[i]); }

    double dot(std::int64_t i, const double* w) const noexcept {
        double total = together_ ? use_.dot(dense(i), w + first_column_, n_dense_)
                                 : use_apart_.dot(dense(i), columns_, n_dense_, w);
        const std::int64_t p = pattern_[i];
        for (std::int32_t k = starts_[p]; k < starts_[p + 1]; ++k) total += w[ones_[k]];
        return total;
    }

    void add(std::int64_t i, double scale, double* w) const noexcept {
        if (together_) {
            use_.add(w + first_column_, scale, dense(i), n_dense_);
        } else {
            use_apart_.add(w, scale, dense(i), columns_, n_dense_);
        }
        const std::int64_t p = pattern_[i];
        for (std::int32_t k = starts_[p]; k < starts_[p + 1]; ++k) w[ones_[k]] += scale;
    }

    void scores(std::int64_t i, const double* W, std::int64_t stride, double* z) const noexcept {
        use_apart_.scores(dense(i), columns_, n_dense_, W, stride, z);
        const std::int64_t p = pattern_[i];
        for (std::int32_t k = starts_[p]; k < starts_[p + 1]; ++k)
            add_line_(z, 1.0, W + ones_[k] * stride, stride);
    }

    void add_outer(std::int64_t i, const double* r, std::int64_t stride, double* W) const noexcept {
        use_apart_.add_outer(W, stride, r, dense(i), columns_, n_dense_);
        const std::int64_t p = pattern_[i];
        for (std::int32_t k = starts_[p]; k < starts_[p + 1]; ++k)
            add_line_(W + ones_[k] * stride, 1.0, r, stride);
    }

    double norm2(std::int64_t i) const noexcept {
        return use_.norm2(dense(i), n_dense_) + static_cast<double>(storage_->n_ones(pattern_[i]));
    }

    // The dense columns come first, then the ones of the pattern.
    Value value(std::int64_t i, std::int64_t k) const noexcept {
        return k < n_dense_ ? dense(i)[k] : Value(1);
    }
    std::int64_t column(std::int64_t i, std::int64_t k) const noexcept {
        return k < n_dense_ ? columns_[k] : ones_[starts_[pattern_[i]] + (k - n_dense_)];
    }

    void prefetch(std::int64_t i) const noexcept {
        const char* start = reinterpret_cast<const char*>(dense(i));
        const std::int64_t bytes = n_dense_ * static_cast<std::int64_t>(sizeof(Value));
        for (std::int64_t at = 0; at < bytes && at < 8 * kCacheLine; at += kCacheLine)
            __builtin_prefetch(start + at);
        __builtin_prefetch(pattern_ + i);
    }

    // What kernels need that treat the two parts apart.
    const PatternStorage& storage() const noexcept { return *storage_; }
    const Value* dense(std::int64_t i) const noexcept { return dense_ + i * n_dense_; }
    const std::uint16_t* patterns() const noexcept { return pattern_; }
    std::int64_t n_dense() const noexcept { return n_dense_; }
    PatternPiece<Value> piece(std::int64_t first, std::int64_t count) const noexcept {
        return {dense(first), n_dense_, count, pattern_ + first};
    }

  private:
    const PatternStorage* storage_;
    const Value* dense_;
    const std::uint16_t* pattern_;
    const std::int32_t *starts_, *ones_, *columns_;
    std::int64_t n_rows_, n_dense_, first_column_;
    bool together_;  // the dense columns are neighbours
    DensePrimitives<Value> use_;
    SparsePrimitives<Value, std::int32_t> use_apart_;
    void (*add_line_)(double*, double, const double*, std::int64_t);
};

}  // namespace maxmargin
