#include "maxmargin/kernel/band_rows.hpp"

#include <algorithm>

#include "maxmargin/kernel/packed_gram.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

// Scattered products take several times as long as those in register tiles, but there are fewer of them.
constexpr double kSparse = 0.3;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

BandRows::BandRows(const double* table, std::int64_t n_rows, std::int64_t n_columns)
    : n_rows_(n_rows), n_columns_(n_columns) {
    const std::int64_t size = n_rows * n_columns;
    for (std::int64_t i = 0; i < n_rows; ++i)
        largest_norm2_ =
            std::max(largest_norm2_, 1 + primitives().dense_f64.norm2(table + i * n_columns, n_columns));
    const auto filled = size - std::count(table, table + size, 0.0);
    if (static_cast<double>(filled) > kSparse * static_cast<double>(size)) {
        values_.assign(table, table + size);
        return;
    }
    values_.reserve(at(filled));
    columns_.reserve(at(filled));
    starts_.reserve(at(n_rows + 1));
    starts_.push_back(0);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        for (std::int64_t j = 0; j < n_columns; ++j) {
            if (table[i * n_columns + j] == 0) continue;
            values_.push_back(table[i * n_columns + j]);
            columns_.push_back(static_cast<std::int32_t>(j));
        }
        starts_.push_back(static_cast<std::int64_t>(values_.size()));
    }
}

void BandRows::scores(const double* w, double* z) const noexcept {
    if (!is_sparse()) {
        const DensePrimitives<double>& use = primitives().dense_f64;
        for (std::int64_t i = 0; i < n_rows_; ++i)
            z[i] = use.dot(values_.data() + i * n_columns_, w, n_columns_);
        return;
    }
    for (std::int64_t i = 0; i < n_rows_; ++i) {
        double sum = 0;
        for (std::int64_t k = starts_[at(i)]; k < starts_[at(i + 1)]; ++k)
            sum += values_[at(k)] * w[columns_[at(k)]];
        z[i] = sum;
    }
}

void BandRows::combine(const double* a, double* v) const noexcept {
    if (!is_sparse()) {
        const DensePrimitives<double>& use = primitives().dense_f64;
        for (std::int64_t i = 0; i < n_rows_; ++i)
            if (a[i] != 0) use.add(v, a[i], values_.data() + i * n_columns_, n_columns_);
        return;
    }
    for (std::int64_t i = 0; i < n_rows_; ++i) {
        if (a[i] == 0) continue;
        for (std::int64_t k = starts_[at(i)]; k < starts_[at(i + 1)]; ++k)
            v[columns_[at(k)]] += a[i] * values_[at(k)];
    }
}

void BandRows::add_gram(const double* h, UpperFactor& matrix) const {
    if (is_sparse()) {
        add_sparse_gram(h, matrix);
    } else {
        add_dense_gram(h, matrix);
    }
}

void BandRows::add_sparse_gram(const double* h, UpperFactor& matrix) const noexcept {
    for (std::int64_t i = 0; i < n_rows_; ++i) {
        if (h[i] == 0) continue;
        const std::int64_t last = starts_[at(i + 1)];
        for (std::int64_t k = starts_[at(i)]; k < last; ++k) {
            const double factor = h[i] * values_[at(k)];
            double* row = matrix.row(columns_[at(k)]);
            for (std::int64_t l = k; l < last; ++l) row[columns_[at(l)]] += factor * values_[at(l)];
            row[n_columns_] += factor;
        }
        matrix.row(n_columns_)[n_columns_] += h[i];
    }
}

void BandRows::add_dense_gram(const double* h, UpperFactor& matrix) const {
    PackedGram<double> sums(n_columns_, nullptr);
    sums.add(DenseRows<double>(values_.data(), n_rows_, n_columns_, n_columns_), 0, n_rows_, h, false);
    const std::int64_t size = n_columns_ + 1;
    std::vector<double> total(at(size * size), 0.0);
    sums.finish(1, total.data());
    for (std::int64_t i = 0; i < size; ++i) {
        double* row = matrix.row(i);
        for (std::int64_t j = i; j < size; ++j) row[j] += total[at(i * size + j)];
    }
}

}  // namespace maxmargin
