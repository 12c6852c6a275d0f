// The weighted Gram matrix  Σ h (x − shift, 1)(x − shift, 1)ᵀ  of some rows, filled chunk by chunk while
// the rows are in cache. Each kind of row has sums of its own kind, made when the first such row comes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "maxmargin/block.hpp"
#include "maxmargin/kernel/packed_gram.hpp"
#include "maxmargin/kernel/sparse_gram.hpp"
#include "maxmargin/rows.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

class PatternGram;

class Gram {
  public:
    // `shift` may be null; it is read until `finish`. `single` allows products of dense rows in single
    // precision, with totals in double precision.
    Gram(std::int64_t n_columns, const double* shift, bool single = false)
        : n_columns_(n_columns), shift_(shift), single_(single) {}

    // h[k] belongs to row first + k. Rows with h == 0 are not read.
    template <class Value>
    void add(const DenseRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h) {
        single_ ? add_dense(single_sums_, rows, first, count, h)
                : add_dense(double_sums_, rows, first, count, h);
    }

    template <class Value, class Index>
    void add(const SparseRows<Value, Index>& rows, std::int64_t first, std::int64_t count, const double* h) {
        if (!sparse_sums_) sparse_sums_.emplace(n_columns_, shift_);
        for (std::int64_t k = 0; k < count; ++k) {
            if (h[k] == 0) continue;
            if (!rather_dense(rows.n_values(first + k))) {
                sparse_sums_->add(rows, first + k, h[k]);
                continue;
            }
            spread_.resize(spread_.size() + static_cast<std::size_t>(n_columns_), 0.0);
            double* row = spread_.data() + spread_.size() - n_columns_;
            for (std::int64_t v = 0; v < rows.n_values(first + k); ++v)
                row[rows.column(first + k, v)] += static_cast<double>(rows.value(first + k, v));
            spread_h_.push_back(h[k]);
            if (spread_h_.size() == kSpread) add_spread();
        }
        add_spread();
    }

    template <class Value>
    void add(const PatternRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h);

    // Adds the matrix of all rows so far to `total`: n_columns + 1 rows and columns, row-major, both
    // triangles.
    void finish(double* total) {
        for (int sign = 0; sign < 2; ++sign) {
            if (double_sums_[sign]) double_sums_[sign]->finish(sign == 0 ? 1 : -1, total);
            if (single_sums_[sign]) single_sums_[sign]->finish(sign == 0 ? 1 : -1, total);
        }
        if (sparse_sums_) sparse_sums_->finish(total);
        if (!pattern_sums_.empty()) finish_patterns(total);
    }

  private:
    // Rows are scaled by √|h|, so those with a negative h have sums of their own.
    template <class Sums, class Value>
    void add_dense(std::optional<Sums> (&sums)[2], const DenseRows<Value>& rows, std::int64_t first,
                   std::int64_t count, const double* h) {
        std::int64_t positive = 0, negative = 0;
        for (std::int64_t k = 0; k < count; ++k) {
            positive += !(h[k] <= 0);
            negative += h[k] < 0;
        }
        for (int sign = 0; sign < 2; ++sign) {
            if ((sign == 0 ? positive : negative) == 0) continue;
            if (!sums[sign]) sums[sign].emplace(n_columns_, shift_);
            sums[sign]->add(rows, first, count, h, sign == 1);
        }
    }

    // From how many numbers on a sparse row costs less in the register tiles, zeros and all: a tile takes
    // about a tenth of the time for a product, but takes all n_columns² / 2 of them.
    bool rather_dense(std::int64_t n_values) const noexcept {
        return 10 * n_values * n_values > n_columns_ * (n_columns_ + 16);
    }

    void add_spread() {
        const std::int64_t count = static_cast<std::int64_t>(spread_h_.size());
        if (count == 0) return;
        add(DenseRows<double>(spread_.data(), count, n_columns_, n_columns_), 0, count, spread_h_.data());
        spread_.clear();
        spread_h_.clear();
    }

    void finish_patterns(double* total);

    static constexpr std::size_t kSpread = 64;

    std::int64_t n_columns_;
    const double* shift_;
    bool single_;
    std::optional<PackedGram<double>> double_sums_[2];
    std::optional<PackedGram<float>> single_sums_[2];
    std::optional<SparseGram> sparse_sums_;
    std::vector<double> spread_, spread_h_;                   // sparse rows written out, and their weights
    std::vector<std::shared_ptr<PatternGram>> pattern_sums_;  // one for each condensed block
};

// The Gram matrix of a block, added to `total`; false if it was stopped.
bool weighted_gram(const Block& block, const double* h, const double* shift, bool single, double* total,
                   StopToken& token);

}  // namespace maxmargin
