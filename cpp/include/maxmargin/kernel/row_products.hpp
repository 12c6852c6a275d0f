// Products with many rows that follow each other, for kernels that pass over a view: what a view can prepare
// for one w, or add up before it is spread over the columns, is done once a pass instead of once a row.
//
//     RowScores scores(rows, w);
//     RowSums sums(rows, v);
//     for (…) { scores.fill(first, count, z); …; sums.add(first, count, a); }
//     sums.finish();
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maxmargin/pattern.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {

// How many rows are best read at once for one product and then for the other. Dense and sparse rows one by
// one: the second reading waits for nothing of the first. Where it helps, an even number.
template <class View>
constexpr std::int64_t kRowsAtOnce = 1;
template <class Value>
constexpr std::int64_t kRowsAtOnce<PatternRows<Value>> = 128;

// z[k] = x·w of row first + k.
template <class View>
class RowScores {
  public:
    RowScores(const View& rows, const double* w) noexcept : rows_(rows), w_(w) {}

    void fill(std::int64_t first, std::int64_t count, double* z) const noexcept {
        for (std::int64_t k = 0; k < count; ++k) z[k] = rows_.dot(first + k, w_);
    }

  private:
    const View& rows_;
    const double* w_;
};

// v += a[k] x of row first + k; v is complete after `finish`. Rows with a[k] = 0 change nothing.
template <class View>
class RowSums {
  public:
    RowSums(const View& rows, double* v) noexcept : rows_(rows), v_(v) {}

    void add(std::int64_t first, std::int64_t count, const double* a) noexcept {
        for (std::int64_t k = 0; k < count; ++k) {
            if (a[k] != 0) rows_.add(first + k, a[k], v_);
        }
    }

    void finish() noexcept {}

  private:
    const View& rows_;
    double* v_;
};

// What the ones of a pattern add to a product is the same for all its rows.
template <class Value>
class RowScores<PatternRows<Value>> {
  public:
    RowScores(const PatternRows<Value>& rows, const double* w)
        : rows_(rows), use_(patterns_of(*primitives().patterns, rows.dense(0))),
          dense_w_(static_cast<std::size_t>(primitives().patterns->whole(rows.n_dense())), 0.0),
          base_(static_cast<std::size_t>(rows.storage().n_patterns()), 0.0) {
        const PatternStorage& storage = rows.storage();
        for (std::size_t j = 0; j < storage.dense_columns.size(); ++j)
            dense_w_[j] = w[storage.dense_columns[j]];
        for (std::size_t p = 0; p < base_.size(); ++p) {
            for (std::int32_t k = storage.starts[p]; k < storage.starts[p + 1]; ++k)
                base_[p] += w[storage.ones[static_cast<std::size_t>(k)]];
        }
    }

    void fill(std::int64_t first, std::int64_t count, double* z) const noexcept {
        use_.scores(rows_.piece(first, count), dense_w_.data(), base_.data(), z);
    }

  private:
    const PatternRows<Value>& rows_;
    const PatternPrimitives<Value>& use_;
    std::vector<double> dense_w_, base_;
};

template <class Value>
class RowSums<PatternRows<Value>> {
  public:
    RowSums(const PatternRows<Value>& rows, double* v)
        : rows_(rows), use_(patterns_of(*primitives().patterns, rows.dense(0))), v_(v),
          room_(static_cast<std::size_t>(primitives().patterns->whole(rows.n_dense()))),
          dense_v_(2 * room_, 0.0),
          sums_(static_cast<std::size_t>(kSumsPerPattern * rows.storage().n_patterns()), 0.0) {}

    void add(std::int64_t first, std::int64_t count, const double* a) noexcept {
        use_.combine(rows_.piece(first, count), a, dense_v_.data(), sums_.data());
    }

    void finish() noexcept {
        const PatternStorage& storage = rows_.storage();
        for (std::size_t j = 0; j < storage.dense_columns.size(); ++j)
            v_[storage.dense_columns[j]] += dense_v_[j] + dense_v_[room_ + j];
        for (std::size_t p = 0; p + 1 < storage.starts.size(); ++p) {
            const double* sums = sums_.data() + kSumsPerPattern * static_cast<std::int64_t>(p);
            const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
            for (std::int32_t k = storage.starts[p]; k < storage.starts[p + 1]; ++k)
                v_[storage.ones[static_cast<std::size_t>(k)]] += sum;
        }
        std::fill(dense_v_.begin(), dense_v_.end(), 0.0);
        std::fill(sums_.begin(), sums_.end(), 0.0);
    }

  private:
    const PatternRows<Value>& rows_;
    const PatternPrimitives<Value>& use_;
    double* v_;
    std::size_t room_;
    std::vector<double> dense_v_, sums_;
};

}  // namespace maxmargin
