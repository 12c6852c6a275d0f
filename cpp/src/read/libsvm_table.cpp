#include "maxmargin/read/libsvm_table.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace maxmargin::read {
namespace {

constexpr std::int64_t kLargestNarrow = std::numeric_limits<std::int32_t>::max();

template <class To, class From>
void copy_as(std::span<const From> from, std::span<To> to, To minus) noexcept {
    std::transform(from.begin(), from.end(), to.begin(),
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

void LibsvmTable::append(const LibsvmPart& part) {
    n_bytes_read_ += part.n_bytes();
    note(part.summary());
    const auto labels = part.labels();
    const auto values = part.values();
    const auto n_values = static_cast<std::int64_t>(values_.size() + values.size());
    const auto n_rows = static_cast<std::int64_t>(labels_.size() + labels.size());
    if (part.summary().largest_index > kLargestNarrow || n_values > kLargestNarrow || n_rows > kLargestNarrow)
        widen();
    std::visit([&](auto& indices) { append_indices(indices, part); }, indices_);
    std::ranges::copy(labels, labels_.extend(labels.size(), expected(labels_.size(), labels.size())).begin());
    std::ranges::copy(values, values_.extend(values.size(), expected(values_.size(), values.size())).begin());
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
        copy_as<std::int64_t>(values, to.extend(values.size(), expected(values.size(), 0)), 0);
        from = {};
    };
    move(narrow->starts, wide.starts);
    move(narrow->columns, wide.columns);
    indices_ = std::move(wide);
}

template <class Index>
void LibsvmTable::append_indices(Indices<Index>& indices, const LibsvmPart& part) {
    const auto ends = part.ends();
    auto starts = indices.starts.extend(ends.size(), expected(indices.starts.size(), ends.size()));
    copy_as<Index>(ends, starts, static_cast<Index>(-static_cast<std::int64_t>(values_.size())));
    const std::size_t n_values = part.values().size();
    auto columns = indices.columns.extend(n_values, expected(indices.columns.size(), n_values));
    const Index first = counts_from_zero_ ? 0 : 1;
    if (!counts_from_zero_) n_from_one_ = indices.columns.size();
    std::visit([&](auto from) { copy_as<Index>(from, columns, first); }, part.indices());
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
