// Parts of LIBSVM text put together: compressed rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <variant>

#include "maxmargin/read/growing_array.hpp"
#include "maxmargin/read/libsvm.hpp"

namespace maxmargin::read {

template <class T>
struct OwnedArray {
    std::unique_ptr<T[], Free> data;
    std::size_t size;
};

// Row i holds values[starts[i] .. starts[i + 1]), in columns counted from zero.
template <class Index>
struct SparseTable {
    OwnedArray<double> labels, values;
    OwnedArray<Index> columns, starts;
    std::int64_t n_columns;
    bool zero_based;  // how the file counted
};

using AnySparseTable = std::variant<SparseTable<std::int32_t>, SparseTable<std::int64_t>>;

// Where a part goes: behind so many rows and values; and what its indices count from.
struct PartPlace {
    std::size_t row, value;
    std::int32_t first_index;
};

class LibsvmTable {
  public:
    // n_bytes: the length of the whole text, if it is known; only so that memory is asked for once.
    explicit LibsvmTable(const LibsvmOptions& options, std::optional<std::size_t> n_bytes = {});

    const LibsvmOptions& options() const noexcept { return options_; }

    // In the order of the text, by one thread: makes room for the part. Throws ReadError for a line that
    // cannot be read, unless they are skipped.
    PartPlace reserve(const LibsvmPart& part);

    // In any order, several at once and beside reserve: writing to new memory takes as long as parsing.
    void fill(const LibsvmPart& part, const PartPlace& place);

    // Once, after all parts. 32-bit indices when rows, columns and values can all be counted with them.
    AnySparseTable finish();

    std::int64_t n_bad_lines() const noexcept { return n_bad_lines_; }
    // The first of them, its line counted from the start of the text.
    const std::optional<LineError>& first_bad_line() const noexcept { return first_bad_line_; }

  private:
    template <class Index>
    struct Indices {
        GrowingArray<Index> columns, starts;
    };

    LibsvmOptions options_;
    std::shared_mutex moving_;  // held alone while arrays move, and with others while they are written to
    std::optional<std::size_t> n_bytes_;
    std::size_t n_bytes_read_ = 0;
    GrowingArray<double> labels_, values_;
    std::variant<Indices<std::int32_t>, Indices<std::int64_t>> indices_;
    std::int64_t n_lines_ = 0, n_bad_lines_ = 0, largest_index_ = -1;
    std::optional<LineError> first_bad_line_;
    std::optional<Position> edge_;
    bool counts_from_zero_;       // known, or by what has been read
    std::size_t n_from_one_ = 0;  // how many values were taken to be in columns counted from 1

    std::size_t expected(std::size_t have, std::size_t more) const noexcept;
    void note(const PartSummary& part);
    void widen();
    bool has_room_for(const PartSummary& part) const;
    void extend(const PartSummary& part);
    template <class Index>
    SparseTable<Index> take(Indices<Index>& indices, std::int64_t n_columns);
};

}  // namespace maxmargin::read
