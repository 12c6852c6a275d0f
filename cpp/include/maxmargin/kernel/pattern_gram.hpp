// The weighted Gram matrix of a condensed block. Row by row only the dense columns are multiplied, and sums
// of h and of h (x − shift) are kept for each pattern; all that concerns binary columns follows from these
// sums, once, as if each pattern were a row.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/gram.hpp"
#include "maxmargin/pattern.hpp"

namespace maxmargin {

class PatternGram {
  public:
    PatternGram(const PatternStorage& storage, std::int64_t n_columns, const double* shift, bool single);

    const PatternStorage& storage() const noexcept { return storage_; }

    template <class Value>
    void add(const PatternRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h);

    void finish(double* total);

  private:
    void expand(std::int64_t first, std::int64_t count, std::vector<double>& table) const;
    void add_cross(std::int64_t first, std::int64_t count, const std::vector<double>& table,
                   std::vector<double>& cross) const;
    double* sums_of(std::int64_t pattern) noexcept { return sums_.data() + pattern * (n_dense_ + 1); }
    const double* sums_of(std::int64_t pattern) const noexcept {
        return sums_.data() + pattern * (n_dense_ + 1);
    }

    const PatternStorage& storage_;
    std::int64_t n_columns_, n_dense_;
    std::vector<double> dense_shift_, binary_shift_;
    std::vector<double> sums_;        // for each pattern Σ h (x − shift) of the dense columns, then Σ h
    std::vector<std::int32_t> slot_;  // of each binary column among these
    Gram dense_;
};

}  // namespace maxmargin
