#include "maxmargin/kernel/packed_gram.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

// Two panels of so many rows stay in the first-level cache while their tiles are computed.
constexpr std::int64_t kRows = 128;
constexpr std::int64_t kBytesAhead = 3 << 16;  // a part of the second-level cache

const GramTile<double>& tile_for(const double*) { return primitives().tiles->f64; }
const GramTile<float>& tile_for(const float*) { return primitives().tiles->f32; }

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }
std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Rows that count, in the order of the data.
template <class Value>
struct Batch {
    const Value* rows[kRows];
    double weight[kRows];
    std::int64_t count = 0;

    // Takes rows from number `next` on, and leaves `next` behind the last one looked at.
    void gather(const DenseRows<Value>& from, std::int64_t first, std::int64_t& next, std::int64_t last,
                const double* h, bool negative) {
        count = 0;
        // Without branches: which rows count is hard to predict.
        for (; next < last && count < kRows; ++next) {
            rows[count] = from.row(first + next);
            weight[count] = negative ? -h[next] : h[next];
            count += !(weight[count] <= 0);
        }
    }

    RowsAhead ahead(std::int64_t n_columns) const {
        const std::int64_t bytes = n_columns * static_cast<std::int64_t>(sizeof(Value));
        return {reinterpret_cast<const void* const*>(rows),
                std::min(count, kBytesAhead / std::max<std::int64_t>(bytes, 1)), bytes};
    }
};

}  // namespace

template <class Packed>
PackedGram<Packed>::PackedGram(std::int64_t n_columns, const double* shift)
    : tile_(tile_for(static_cast<const Packed*>(nullptr))), n_columns_(n_columns) {
    const std::int64_t filled = round_up(std::max<std::int64_t>(n_columns, 1), tile_.pack_lanes);
    back_ = n_columns < tile_.pack_lanes ? 0 : filled - n_columns;
    early_ = filled - tile_.pack_lanes;
    n_positions_ = round_up(filled, tile_.lanes);
    shift_.assign(size(n_positions_), 0.0);
    for (std::int64_t p = 0; p < filled && shift != nullptr; ++p) {
        const std::int64_t column = p < early_ ? p : p - back_;
        if (column < n_columns) shift_[size(p)] = shift[column];
    }
    row_sums_.assign(size(n_positions_), 0.0);
    sums_ = zeros(n_positions_ * n_positions_);
    packed_.assign(size(round_up(n_positions_, tile_.width) * kRows), Packed(0));
    root_.resize(size(kRows));
}

template <class Packed>
template <class Value>
void PackedGram<Packed>::add(const DenseRows<Value>& rows, std::int64_t first, std::int64_t count,
                             const double* h, bool negative) {
    Batch<Value> batches[2];
    std::int64_t next = 0;
    batches[0].gather(rows, first, next, count, h, negative);
    for (int now = 0; batches[now].count > 0; now = 1 - now) {
        const Batch<Value>& batch = batches[now];
        Batch<Value>& following = batches[1 - now];
        following.gather(rows, first, next, count, h, negative);
        weight_ += primitives().tiles->roots(batch.weight, batch.count, root_.data());
        const std::int64_t fitting = std::min(batch.count, kRows - filled_);
        pack(batch.rows, root_.data(), fitting);
        if (filled_ < kRows) continue;
        flush(following.ahead(n_columns_));
        pack(batch.rows + fitting, root_.data() + fitting, batch.count - fitting);
    }
}

template <class Packed>
template <class Value>
void PackedGram<Packed>::pack(const Value* const* rows, const double* root, std::int64_t count) {
    const RowsToPack how{
        count,           std::max(n_columns_, tile_.pack_lanes), root, shift_.data(), tile_.width * kRows,
        row_sums_.data()};
    Packed* to = packed_.data() + filled_ * tile_.width;
    filled_ += count;
    const auto pack_rows = [&](const Value* const* from) {
        if constexpr (sizeof(Value) == sizeof(float)) {
            tile_.pack_f32(from, how, to);
        } else {
            tile_.pack_f64(from, how, to);
        }
    };
    if (n_columns_ >= tile_.pack_lanes) return pack_rows(rows);
    // Rows shorter than a vector are copied, with zeros behind them.
    std::vector<Value> wide(size(count * tile_.pack_lanes), Value(0));
    std::vector<const Value*> wide_rows;
    for (std::int64_t r = 0; r < count; ++r) {
        std::copy(rows[r], rows[r] + n_columns_, wide.data() + r * tile_.pack_lanes);
        wide_rows.push_back(wide.data() + r * tile_.pack_lanes);
    }
    pack_rows(wide_rows.data());
}

template <class Packed>
void PackedGram<Packed>::flush(const RowsAhead& ahead) {
    tile_.add(packed_.data(), tile_.width * kRows, filled_, n_positions_, 1.0, sums_.get(), n_positions_,
              ahead);
    filled_ = 0;
}

template <class Packed>
void PackedGram<Packed>::finish(double sign, double* total) {
    flush({});
    const std::int64_t d = n_columns_, stride = d + 1;
    add_both_triangles(
        d,
        [&](std::int64_t i, std::int64_t j) {
            return sign * sums_[size(position(i) * n_positions_ + position(j))];
        },
        total, stride);
    for (std::int64_t i = 0; i < d; ++i) {
        total[i * stride + d] += sign * row_sums_[size(position(i))];
        total[d * stride + i] += sign * row_sums_[size(position(i))];
    }
    total[d * stride + d] += sign * weight_;
}

template class PackedGram<double>;
template class PackedGram<float>;

template void PackedGram<double>::add(const DenseRows<double>&, std::int64_t, std::int64_t, const double*,
                                      bool);
template void PackedGram<double>::add(const DenseRows<float>&, std::int64_t, std::int64_t, const double*,
                                      bool);
template void PackedGram<float>::add(const DenseRows<double>&, std::int64_t, std::int64_t, const double*,
                                     bool);
template void PackedGram<float>::add(const DenseRows<float>&, std::int64_t, std::int64_t, const double*,
                                     bool);

}  // namespace maxmargin
