// The Gram matrix of sparse rows: each row touches only the entries where two of its numbers meet.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/symmetric.hpp"
#include "maxmargin/rows.hpp"

namespace maxmargin {

// Σ h (x − shift, 1)(x − shift, 1)ᵀ: the sums of the rows as they are stored are kept, and the shift is
// worked into them at the end.
class SparseGram {
  public:
    SparseGram(std::int64_t n_columns, const double* shift);

    template <class Value, class Index>
    void add(const SparseRows<Value, Index>& rows, std::int64_t row, double h);

    // Adds the matrix to `total`, both triangles.
    void finish(double* total) const;

  private:
    std::int64_t size_;          // n_columns + 1: every row ends in a 1
    std::vector<double> shift_;  // empty: none
    Zeros sums_;  // Σ h (x, 1)(x, 1)ᵀ; what belongs to (i, j) may stand at (j, i): rows need not be sorted
};

}  // namespace maxmargin
