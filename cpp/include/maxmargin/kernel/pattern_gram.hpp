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
    template <class Value>
    void add_listed(const PatternRows<Value>& rows, const WeightedRows& listed);
    void expand(std::int64_t first, std::int64_t count, std::vector<double>& table) const;
    void add_cross(std::int64_t first, std::int64_t count, const std::vector<double>& table,
                   std::vector<double>& cross) const;
    std::vector<double> narrow_matrix() const;

    const PatternStorage& storage_;
    std::int64_t n_columns_, n_dense_;
    std::int64_t room_;  // of a dense row in whole vectors
    bool narrow_;        // few enough dense columns for one kernel that does everything
    std::vector<double> dense_shift_, binary_shift_;
    std::vector<double> sums_, weights_;  // for each pattern Σ h (x − shift) of the dense columns, and Σ h
    std::vector<double> total_;           // of the dense columns if they are narrow
    std::vector<std::int32_t> slot_;      // of each binary column among these
    Gram dense_;                          // of the dense columns if they are not
};

}  // namespace maxmargin
