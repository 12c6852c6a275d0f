// A block of rows of any storage, opened as views that kernels understand.
//
// float and double rows with adjacent columns, and CSR with float or double values, are read where they
// are. Everything else (other number types, Fortran order, strides) is converted a chunk of rows at a
// time into a buffer that stays in cache: there is never a second copy of the data. Only a block that was
// condensed owns its numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <variant>
#include <vector>

#include "maxmargin/pattern.hpp"
#include "maxmargin/rows.hpp"

namespace maxmargin {

enum class Scalar { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };

// Strides are counted in elements and may be any number, zero and negative ones included.
struct DenseStorage {
    const void* data;
    Scalar scalar;
    std::int64_t row_stride, column_stride;
};

// indices and starts have the same integer type, 32 or 64 bits.
struct CsrStorage {
    const void* values;
    Scalar scalar;
    const void* indices;
    const void* starts;
    bool wide_indices;
};

using SharedPatterns = std::shared_ptr<const PatternStorage>;

struct Block {
    std::variant<DenseStorage, CsrStorage, SharedPatterns> storage;
    std::int64_t n_rows, n_columns;
};

// Converts `rows` rows from row `first` on into a contiguous buffer.
void gather_dense(const DenseStorage& from, std::int64_t first, std::int64_t rows, std::int64_t columns,
                  double* to);

// The same for rows that are listed, in that order.
void gather_listed(const DenseStorage& from, const std::uint32_t* listed, std::int64_t rows,
                   std::int64_t columns, double* to);

// Converts `count` values from position `first` on.
void gather_values(const void* values, Scalar scalar, std::int64_t first, std::int64_t count, double* to);

// Opens a block chunk by chunk. What is read in place is one chunk; `open` calls f(view, first row), and
// `open_listed` f(view) for some rows gathered in the order of a list, where they must be converted anyway.
class Chunks {
  public:
    explicit Chunks(const Block& block) : block_(block), rows_per_chunk_(block.n_rows) {
        if (const auto* dense = std::get_if<DenseStorage>(&block.storage)) {
            const bool native = dense->scalar == Scalar::f32 || dense->scalar == Scalar::f64;
            if (!native || (dense->column_stride != 1 && block.n_columns > 1)) stage(block.n_columns);
        } else if (const auto* csr = std::get_if<CsrStorage>(&block.storage)) {
            if (csr->scalar != Scalar::f32 && csr->scalar != Scalar::f64) stage(kStagedValues / 64);
        }
    }

    std::int64_t count() const noexcept {
        return block_.n_rows == 0 ? 0 : (block_.n_rows + rows_per_chunk_ - 1) / rows_per_chunk_;
    }

    template <class F>
    void open(std::int64_t chunk, F&& f) {
        const std::int64_t first = chunk * rows_per_chunk_;
        const std::int64_t rows = std::min(rows_per_chunk_, block_.n_rows - first);
        if (const auto* dense = std::get_if<DenseStorage>(&block_.storage))
            return open_dense(*dense, first, rows, f);
        if (const auto* patterns = std::get_if<SharedPatterns>(&block_.storage))
            return open_patterns(**patterns, [&](const auto& view) { f(view, 0); });
        const auto& csr = std::get<CsrStorage>(block_.storage);
        if (csr.wide_indices) return open_csr<std::int64_t>(csr, first, rows, f);
        return open_csr<std::int32_t>(csr, first, rows, f);
    }

    bool in_place() const noexcept { return !staged_; }
    std::int64_t rows_per_chunk() const noexcept { return rows_per_chunk_; }

    template <class F>
    void open_listed(const std::uint32_t* listed, std::int64_t rows, F&& f) {
        if (const auto* dense = std::get_if<DenseStorage>(&block_.storage)) {
            const std::int64_t columns = block_.n_columns;
            buffer_.resize(static_cast<std::size_t>(rows * columns));
            gather_listed(*dense, listed, rows, columns, buffer_.data());
            return f(DenseRows<double>(buffer_.data(), rows, columns, columns));
        }
        if (const auto* patterns = std::get_if<SharedPatterns>(&block_.storage))
            return open_patterns(**patterns,
                                 [&](const auto& view) { open_listed_patterns(view, listed, rows, f); });
        const auto& csr = std::get<CsrStorage>(block_.storage);
        if (csr.wide_indices) return open_listed_csr<std::int64_t>(csr, listed, rows, f);
        return open_listed_csr<std::int32_t>(csr, listed, rows, f);
    }

  private:
    static constexpr std::int64_t kStagedValues =
        32768;  // 256 KiB of doubles, a part of the second-level cache

    void stage(std::int64_t values_per_row) {
        staged_ = true;
        rows_per_chunk_ =
            std::clamp<std::int64_t>(kStagedValues / std::max<std::int64_t>(values_per_row, 1), 1, 4096);
    }

    template <class F>
    void open_dense(const DenseStorage& dense, std::int64_t first, std::int64_t rows, F& f) {
        const std::int64_t columns = block_.n_columns;
        if (staged_) {
            buffer_.resize(static_cast<std::size_t>(rows * columns));
            gather_dense(dense, first, rows, columns, buffer_.data());
            f(DenseRows<double>(buffer_.data(), rows, columns, columns), first);
        } else if (dense.scalar == Scalar::f32) {
            const float* data = static_cast<const float*>(dense.data) + first * dense.row_stride;
            f(DenseRows<float>(data, rows, columns, dense.row_stride), first);
        } else {
            const double* data = static_cast<const double*>(dense.data) + first * dense.row_stride;
            f(DenseRows<double>(data, rows, columns, dense.row_stride), first);
        }
    }

    // A condensed block is always read in place, in one chunk.
    template <class F>
    static void open_patterns(const PatternStorage& patterns, F&& f) {
        if (std::holds_alternative<std::vector<float>>(patterns.dense)) {
            f(PatternRows<float>(patterns));
        } else {
            f(PatternRows<double>(patterns));
        }
    }

    template <class View, class F>
    void open_listed_patterns(const View& view, const std::uint32_t* listed, std::int64_t rows, F& f) {
        const std::int64_t columns = block_.n_columns;
        buffer_.assign(static_cast<std::size_t>(rows * columns), 0.0);
        for (std::int64_t k = 0; k < rows; ++k) view.add(listed[k], 1.0, buffer_.data() + k * columns);
        f(DenseRows<double>(buffer_.data(), rows, columns, columns));
    }

    template <class Index, class F>
    void open_csr(const CsrStorage& csr, std::int64_t first, std::int64_t rows, F& f) {
        const Index* indices = static_cast<const Index*>(csr.indices);
        const Index* starts = static_cast<const Index*>(csr.starts) + first;
        if (staged_) {
            const std::int64_t from = starts[0], count = starts[rows] - from;
            buffer_.resize(static_cast<std::size_t>(count));
            gather_values(csr.values, csr.scalar, from, count, buffer_.data());
            f(SparseRows<double, Index>(buffer_.data(), indices, starts, rows, from), first);
        } else if (csr.scalar == Scalar::f32) {
            f(SparseRows<float, Index>(static_cast<const float*>(csr.values), indices, starts, rows), first);
        } else {
            f(SparseRows<double, Index>(static_cast<const double*>(csr.values), indices, starts, rows),
              first);
        }
    }

    template <class Index, class F>
    void open_listed_csr(const CsrStorage& csr, const std::uint32_t* listed, std::int64_t rows, F& f) {
        const Index* all_indices = static_cast<const Index*>(csr.indices);
        const Index* all_starts = static_cast<const Index*>(csr.starts);
        std::vector<Index> indices, starts{0};
        buffer_.clear();
        for (std::int64_t k = 0; k < rows; ++k) {
            const Index from = all_starts[listed[k]], to = all_starts[listed[k] + 1];
            indices.insert(indices.end(), all_indices + from, all_indices + to);
            buffer_.resize(indices.size());
            gather_values(csr.values, csr.scalar, from, to - from, buffer_.data() + starts.back());
            starts.push_back(static_cast<Index>(indices.size()));
        }
        f(SparseRows<double, Index>(buffer_.data(), indices.data(), starts.data(), rows));
    }

    const Block& block_;
    std::int64_t rows_per_chunk_;
    bool staged_ = false;
    std::vector<double> buffer_;
};

}  // namespace maxmargin
