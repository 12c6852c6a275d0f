// The Gram matrix of sparse rows: each row touches only the entries where two of its numbers meet.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/rows.hpp"

namespace maxmargin {

// Σ h (x − shift, 1)(x − shift, 1)ᵀ: the sums of the rows as they are stored are kept, and the shift is
// worked into them at the end.
class SparseGram {
  public:
    SparseGram(std::int64_t n_columns, const double* shift);

    // Rows with h == 0 are not read.
    template <class Value, class Index>
    void add(const SparseRows<Value, Index>& rows, std::int64_t first, std::int64_t count, const double* h);

    // Adds the matrix to `total`, both triangles.
    void finish(double* total) const;

  private:
    std::int64_t n_columns_;
    double weight_ = 0;
    std::vector<double> shift_;     // empty: none
    std::vector<double> sums_;      // Σ h xxᵀ: entry (i, j) is the sum of both triangles' (i, j) and (j, i)
    std::vector<double> row_sums_;  // Σ h x
};

}  // namespace maxmargin
