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
    std::vector<std::uint32_t> last_row(static_cast<std::size_t>(n_columns), 0);  // counted from 1
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::uint32_t row = static_cast<std::uint32_t>(i + 1);
        bool twice = false;
        for (std::int64_t k = starts[i]; k < starts[i + 1]; ++k) {
            std::uint32_t& last = last_row[static_cast<std::size_t>(indices[k])];
            twice |= last == row;
            last = row;
        }
        if (twice) return true;
    }
    return false;
}

// starts has n_rows + 1 entries; indices has n_values. Each row is first looked at without branches, which
// the compiler turns into wide instructions; only a row with something wrong is read again.
template <class Index>
CsrStructure check_csr(const Index* starts, std::int64_t n_rows, const Index* indices, std::int64_t n_values,
                       std::int64_t n_columns) {
    const Index limit = static_cast<Index>(n_columns);
    CsrStructure found;
    bool unsorted = false;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const std::int64_t from = starts[i], to = starts[i + 1];
        if (from < 0 || to < from || to > n_values) {
            found.bad_row = i;
            found.bad_starts = true;
            return found;
        }
        Index outside = 0, falling = 0;
        for (std::int64_t k = from; k < to; ++k) {
            outside |= static_cast<Index>(indices[k] < 0) | static_cast<Index>(indices[k] >= limit);
        }
        for (std::int64_t k = from + 1; k < to; ++k)
            falling |= static_cast<Index>(indices[k] <= indices[k - 1]);
        if (outside != 0) {
            std::int64_t k = from;
            while (indices[k] >= 0 && indices[k] < limit) ++k;
            found.bad_row = i;
            found.bad_column = indices[k];
            return found;
        }
        unsorted = unsorted || falling != 0;
    }
    found.repeats = unsorted && has_repeats(starts, n_rows, indices, n_columns);
    return found;
}

}  // namespace maxmargin
