// The weighted Gram matrix  Σ h (x − shift, 1)(x − shift, 1)ᵀ  of some rows, filled chunk by chunk while
// the rows are in cache. Dense rows are centred before they are multiplied; for sparse rows the sums of the
// rows as they are stored are kept, and the shift is worked into them at the end.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/block.hpp"
#include "maxmargin/rows.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

class Gram {
  public:
    // `shift` may be null. `single` allows products in single precision, with totals in double precision.
    Gram(std::int64_t n_columns, const double* shift, bool single = false);

    // h[k] belongs to row first + k. Rows with h == 0 are not read.
    template <class Value>
    void add(const DenseRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h);
    template <class Value, class Index>
    void add(const SparseRows<Value, Index>& rows, std::int64_t first, std::int64_t count, const double* h);

    // Adds the matrix of all rows so far to `total`: n_columns + 1 rows and columns, row-major, both
    // triangles.
    void finish(double* total);

  private:
    double* upper(std::vector<double>& sums);

    std::int64_t n_columns_;
    std::vector<double> shift_;            // empty: none
    std::vector<double> centred_, plain_;  // upper triangles of the sums; empty until they are needed
    std::vector<double> row_;
};

// The Gram matrix of a block, added to `total`; false if it was stopped.
bool weighted_gram(const Block& block, const double* h, const double* shift, bool single, double* total,
                   StopToken& token);

}  // namespace maxmargin
