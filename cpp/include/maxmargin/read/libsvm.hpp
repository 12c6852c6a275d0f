// LIBSVM text to compressed rows.
//
//     line    = [label {blank index:value}] [# comment]
//     label   = number                 index = digits, strictly increasing within a line
//     value   = number                 blank = one or more of space, tab, carriage return
//
// Labels and values are finite; lines without a label (blank, comment only) are skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "maxmargin/read/text.hpp"

namespace maxmargin::read {

// How the file counts its columns. `detect`: from zero if any index is 0, else from one.
enum class IndexBase { detect, zero, one };

struct LibsvmOptions {
    IndexBase base = IndexBase::detect;
    std::optional<std::int64_t> n_columns;  // a larger column is an error; without it, as many as are used
};

// Row i holds values[starts[i] .. starts[i + 1]), in columns counted from zero.
template <class Index>
struct SparseTable {
    std::vector<double> labels;
    std::vector<double> values;
    std::vector<Index> columns;
    std::vector<Index> starts;
    std::int64_t n_columns;
    bool zero_based;  // how the file counted
};

using AnySparseTable = std::variant<SparseTable<std::int32_t>, SparseTable<std::int64_t>>;

// 32-bit indices when rows, columns and values can all be counted with them. Throws ReadError.
AnySparseTable read_libsvm(std::string_view text, const LibsvmOptions& options);

}  // namespace maxmargin::read
