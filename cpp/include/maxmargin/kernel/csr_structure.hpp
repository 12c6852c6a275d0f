// Whether the index arrays of a CSR matrix can be trusted: nothing else reads them before this has.
#pragma once

#include <cstdint>

namespace maxmargin {

struct CsrStructure {
    std::int64_t bad_row = -1;       // the first row whose entries lie outside the arrays or the columns
    std::int64_t bad_column = -1;    // the column index found there, when that is what is wrong
    bool bad_starts = false;         // the row starts decrease or leave the arrays
    bool sorted_and_unique = true;   // no row names a column twice, all in increasing order
};

// starts has n_rows + 1 entries; indices has n_values.
template <class Index>
CsrStructure check_csr(const Index* starts, std::int64_t n_rows, const Index* indices, std::int64_t n_values,
                       std::int64_t n_columns) noexcept {
    CsrStructure found;
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
            if (indices[k] <= previous) found.sorted_and_unique = false;
            previous = indices[k];
        }
    }
    return found;
}

}  // namespace maxmargin
