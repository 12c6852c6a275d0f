// The Gram matrix of dense rows: they are centred, scaled by √|h| and packed, and every so many rows the
// register tiles add their products to the sums.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/symmetric.hpp"
#include "maxmargin/rows.hpp"
#include "maxmargin/tiles.hpp"

namespace maxmargin {

// Σ |h| (x − shift, 1)(x − shift, 1)ᵀ over rows with h of one sign. `Packed` is the number type of products;
// totals are always double.
template <class Packed>
class PackedGram {
  public:
    PackedGram(std::int64_t n_columns, const double* shift);

    // Rows whose h has the other sign, or is 0, are passed over.
    template <class Value>
    void add(const DenseRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h,
             bool negative);

    // Adds sign times the matrix to `total`, both triangles.
    void finish(double sign, double* total);

  private:
    template <class Value>
    void pack(const Value* const* rows, const double* root, std::int64_t count);
    void flush(const RowsAhead& ahead);
    std::int64_t position(std::int64_t column) const noexcept {
        return column < early_ ? column : column + back_;
    }

    const GramTile<Packed>& tile_;
    std::int64_t n_columns_;
    std::int64_t early_, back_;  // columns from `early_` on stand `back_` positions further
    std::int64_t n_positions_;
    std::int64_t filled_ = 0;
    double weight_ = 0;
    std::vector<double> shift_, row_sums_;  // by position
    Zeros sums_;                            // by position, upper triangle
    std::vector<Packed> packed_;
    std::vector<double> root_;
};

}  // namespace maxmargin
