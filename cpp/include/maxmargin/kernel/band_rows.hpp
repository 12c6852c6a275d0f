// A few rows, copied, for thousands of small problems on the same rows: products and Gram matrices that
// skip zeros where there are many.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/upper_factor.hpp"

namespace maxmargin {

class BandRows {
  public:
    // Reads a row-major table.
    BandRows(const double* table, std::int64_t n_rows, std::int64_t n_columns);

    std::int64_t n_rows() const noexcept { return n_rows_; }
    std::int64_t n_columns() const noexcept { return n_columns_; }

    double largest_norm2() const noexcept { return largest_norm2_; }  // of (x, 1)

    // z = X w.
    void scores(const double* w, double* z) const noexcept;
    // v += Xᵀ a.
    void combine(const double* a, double* v) const noexcept;
    // The upper triangle of the matrix += Σ h (x, 1)(x, 1)ᵀ, h >= 0; its size is n_columns + 1.
    void add_gram(const double* h, UpperFactor& matrix) const;

  private:
    bool is_sparse() const noexcept { return !starts_.empty(); }
    void add_sparse_gram(const double* h, UpperFactor& matrix) const noexcept;
    void add_dense_gram(const double* h, UpperFactor& matrix) const;

    std::int64_t n_rows_, n_columns_;
    double largest_norm2_ = 1;
    std::vector<double> values_;  // of all entries, or of those that are not 0
    std::vector<std::int32_t> columns_;
    std::vector<std::int64_t> starts_;  // empty if the table is kept as it is
};

}  // namespace maxmargin
