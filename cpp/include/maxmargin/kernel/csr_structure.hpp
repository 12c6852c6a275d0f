// Whether the index arrays of a CSR matrix can be trusted: nothing else reads them before this has.
#pragma once

#include <cstdint>
#include <vector>

namespace maxmargin {

struct CsrStructure {
    std::int64_t bad_row = -1;     // the first row whose entries lie outside the arrays or the columns
    std::int64_t bad_column = -1;  // the column index found there, when that is what is wrong
    bool bad_starts = false;       // the row starts decrease or leave the arrays
    bool repeats = false;          // some row names a column twice
};

// Whether any row names a column twice, whatever its order; all indices must be inside the matrix.
template <class Index>
bool has_repeats(const Index* starts, std::int64_t n_rows, const Index* indices, std::int64_t n_columns) {
    std::vector<std::int64_t> last_row(static_cast<std::size_t>(n_columns), -1);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            std::int64_t& last = last_row[static_cast<std::size_t>(indices[k])];
            if (last == i) return true;
            last = i;
        }
    }
    return false;
}

// starts has n_rows + 1 entries; indices has n_values.
template <class Index>
CsrStructure check_csr(const Index* starts, std::int64_t n_rows, const Index* indices, std::int64_t n_values,
                       std::int64_t n_columns) {
    CsrStructure found;
    bool increasing = true;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        if (starts[i] < 0 || starts[i + 1] < starts[i] || starts[i + 1] > n_values) {
            found.bad_row = i;
            found.bad_starts = true;
            return found;
        }
        Index previous = -1;
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            if (indices[k] < 0 || indices[k] >= n_columns) {
                found.bad_row = i;
                found.bad_column = indices[k];
                return found;
            }
            increasing = increasing && indices[k] > previous;
            previous = indices[k];
        }
    }
    found.repeats = !increasing && has_repeats(starts, n_rows, indices, n_columns);
    return found;
}

}  // namespace maxmargin
