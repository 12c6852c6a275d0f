// LIBSVM text, a part at a time: whole lines to labels, columns and values.
//
//     line    = [label {blank index:value}] [# comment]
//     label   = number                 index = digits, strictly increasing within a line
//     value   = number                 blank = one or more of space, tab, carriage return
//
// Labels and values are finite; lines without a label (blank, comment only) are skipped. Parts know nothing
// of each other, so that several are parsed at once; LibsvmTable puts them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "maxmargin/read/text.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin::read {

// How the file counts its columns. `detect`: from zero if any index is 0, else from one.
enum class IndexBase { detect, zero, one };

struct LibsvmOptions {
    IndexBase base = IndexBase::detect;
    std::optional<std::int64_t> n_columns;  // a larger column is an error; without it, as many as are used
    bool skip_bad_lines = false;
};

// Memory for a part, kept for the next one; not initialised, so that room never used costs nothing.
template <class T>
class Scratch {
  public:
    T* room_for(std::size_t count) {
        if (count > capacity_) {
            data_ = std::make_unique_for_overwrite<T[]>(count);
            capacity_ = count;
        }
        return data_.get();
    }
    const T* data() const noexcept { return data_.get(); }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t capacity_ = 0;
};

// A place within a part, or a line that cannot be read; lines count from 1 at the start of the part.
struct LineError {
    Position position;
    std::string message;
};

// What was found in a part. Indices are as in the text.
struct PartSummary {
    std::size_t n_rows = 0, n_values = 0;
    std::int64_t n_lines = 0, n_bad_lines = 0;
    std::int64_t largest_index = -1;
    bool has_index_zero = false;
    std::optional<LineError> first_error;  // without skip_bad_lines, what comes after it is not read
    std::optional<Position> edge;          // of the first index that equals n_columns: beyond, if 0 is used
};

class LibsvmPart {
  public:
    // The text is whole lines, each with its newline. False: the token said stop, and there is no result.
    bool parse(std::string_view text, const LibsvmOptions& options, StopToken& token);

    const PartSummary& summary() const noexcept { return summary_; }
    std::size_t n_bytes() const noexcept { return n_bytes_; }
    std::span<const double> labels() const noexcept { return {labels_.data(), summary_.n_rows}; }
    std::span<const double> values() const noexcept { return {values_.data(), summary_.n_values}; }
    // Where each row ends among the values.
    std::span<const std::size_t> ends() const noexcept { return {ends_.data(), summary_.n_rows}; }
    // 32-bit indices if all of them fit.
    std::variant<std::span<const std::int32_t>, std::span<const std::int64_t>> indices() const noexcept;

  private:
    Scratch<double> labels_, values_;
    Scratch<std::size_t> ends_;
    Scratch<std::int32_t> narrow_;
    Scratch<std::int64_t> wide_;
    bool is_wide_ = false;
    std::size_t n_bytes_ = 0;
    PartSummary summary_;
};

// What to say of an index that the expected columns do not hold.
std::string beyond_columns(std::int64_t index, std::int64_t n_columns);

}  // namespace maxmargin::read
