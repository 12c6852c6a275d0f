#include "maxmargin/read/libsvm_table.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

namespace maxmargin::read {
namespace {

constexpr std::int64_t kLargestNarrow = std::numeric_limits<std::int32_t>::max();

template <class To, class From>
void copy_as(std::span<const From> from, To* to, To minus) noexcept {
    std::transform(from.begin(), from.end(), to,
                   [minus](From value) { return static_cast<To>(static_cast<To>(value) - minus); });
}

template <class T>
OwnedArray<T> owned(GrowingArray<T>& array) {
    const std::size_t size = array.size();
    return {array.release(), size};
}

}  // namespace

LibsvmTable::LibsvmTable(const LibsvmOptions& options, std::optional<std::size_t> n_bytes)
    : options_(options), n_bytes_(n_bytes), counts_from_zero_(options.base == IndexBase::zero) {
    std::get<0>(indices_).starts.extend(1, 1)[0] = 0;
}

// The rest of the text is taken to be like what has been read; where its end is not known, it may be half as
// long again.
std::size_t LibsvmTable::expected(std::size_t have, std::size_t more) const noexcept {
    const auto needed = static_cast<double>(have + more);
    constexpr double to_spare = 1.02;
    const double growth = n_bytes_ ? to_spare * static_cast<double>(*n_bytes_) /
                                         static_cast<double>(std::max<std::size_t>(n_bytes_read_, 1))
                                   : 1.5;
    return static_cast<std::size_t>(needed * std::max(growth, to_spare));
}

PartPlace LibsvmTable::reserve(const LibsvmPart& part) {
    const PartSummary& found = part.summary();
    n_bytes_read_ += part.n_bytes();
    note(found);
    const PartPlace place{labels_.size(), values_.size(), counts_from_zero_ ? 0 : 1};
    const auto n_values = static_cast<std::int64_t>(place.value + found.n_values);
    const auto n_rows = static_cast<std::int64_t>(place.row + found.n_rows);
    const bool is_wide =
        found.largest_index > kLargestNarrow || n_values > kLargestNarrow || n_rows > kLargestNarrow;
    std::unique_lock alone(moving_, std::defer_lock);
    if (is_wide || !has_room_for(found)) alone.lock();
    if (is_wide) widen();
    extend(found);
    if (!counts_from_zero_) n_from_one_ = values_.size();
    return place;
}

bool LibsvmTable::has_room_for(const PartSummary& part) const {
    const bool has_index_room = std::visit(
        [&](const auto& indices) {
            return indices.columns.has_room_for(part.n_values) && indices.starts.has_room_for(part.n_rows);
        },
        indices_);
    return has_index_room && values_.has_room_for(part.n_values) && labels_.has_room_for(part.n_rows);
}

void LibsvmTable::extend(const PartSummary& part) {
    const auto extend_one = [this](auto& array, std::size_t count) {
        array.extend(count, expected(array.size(), count));
    };
    std::visit(
        [&](auto& indices) {
            extend_one(indices.columns, part.n_values);
            extend_one(indices.starts, part.n_rows);
        },
        indices_);
    extend_one(values_, part.n_values);
    extend_one(labels_, part.n_rows);
}

void LibsvmTable::fill(const LibsvmPart& part, const PartPlace& place) {
    const std::shared_lock nobody_moves(moving_);
    std::ranges::copy(part.labels(), labels_.data() + place.row);
    std::ranges::copy(part.values(), values_.data() + place.value);
    const auto write = [&]<class Index>(Indices<Index>& indices) {
        copy_as<Index>(part.ends(), indices.starts.data() + place.row + 1,
                       static_cast<Index>(-static_cast<std::int64_t>(place.value)));
        std::visit(
            [&](auto from) {
                copy_as<Index>(from, indices.columns.data() + place.value,
                               static_cast<Index>(place.first_index));
            },
            part.indices());
    };
    std::visit(write, indices_);
}

void LibsvmTable::note(const PartSummary& part) {
    const auto placed = [this](Position position) {
        return Position{position.line + n_lines_, position.column};
    };
    if (part.first_error) {
        const Position position = placed(part.first_error->position);
        if (!options_.skip_bad_lines) throw ReadError(position, part.first_error->message);
        if (!first_bad_line_) first_bad_line_ = LineError{position, part.first_error->message};
    }
    if (part.edge && !edge_) edge_ = placed(*part.edge);
    counts_from_zero_ = counts_from_zero_ || part.has_index_zero;
    n_bad_lines_ += part.n_bad_lines;
    n_lines_ += part.n_lines;
    largest_index_ = std::max(largest_index_, part.largest_index);
}

void LibsvmTable::widen() {
    auto* const narrow = std::get_if<Indices<std::int32_t>>(&indices_);
    if (narrow == nullptr) return;
    Indices<std::int64_t> wide;
    const auto move = [this](GrowingArray<std::int32_t>& from, GrowingArray<std::int64_t>& to) {
        const std::span<const std::int32_t> values = from.span();
        copy_as<std::int64_t>(values, to.extend(values.size(), expected(values.size(), 0)).data(), 0);
        from = {};
    };
    move(narrow->starts, wide.starts);
    move(narrow->columns, wide.columns);
    indices_ = std::move(wide);
}

AnySparseTable LibsvmTable::finish() {
    const std::int64_t used = largest_index_ + (counts_from_zero_ ? 1 : 0);
    const std::int64_t n_columns = options_.n_columns.value_or(std::max<std::int64_t>(used, 0));
    if (used > n_columns)
        throw ReadError(*edge_, beyond_columns(largest_index_, n_columns) +
                                    ", which count from 0, because some index is 0");
    if (n_columns > kLargestNarrow) widen();
    return std::visit([&](auto& indices) { return AnySparseTable(take(indices, n_columns)); }, indices_);
}

template <class Index>
SparseTable<Index> LibsvmTable::take(Indices<Index>& indices, std::int64_t n_columns) {
    if (counts_from_zero_)  // seen too late for these
        for (Index& column : indices.columns.span().first(n_from_one_)) ++column;
    return {owned(labels_),        owned(values_), owned(indices.columns),
            owned(indices.starts), n_columns,      counts_from_zero_};
}

}  // namespace maxmargin::read
