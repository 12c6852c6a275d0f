#include "maxmargin/condense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pattern_table.hpp"

namespace maxmargin {

std::int64_t PatternStorage::bytes() const noexcept {
    const auto size = [](const auto& vector) { return vector.size() * sizeof(vector[0]); };
    std::size_t total =
        size(dense_columns) + size(binary_columns) + size(pattern) + size(starts) + size(ones);
    std::visit([&](const auto& values) { total += size(values); }, dense);
    return static_cast<std::int64_t>(total);
}

namespace {

// A table of sums per pattern must be small against the rows it stands for, and stay in cache.
constexpr std::int64_t kRowsPerPattern = 32;
constexpr std::int64_t kMostPatterns = 4096;
constexpr std::int64_t kFewestRows = 256;
constexpr std::int64_t kMostColumns = 65536;
constexpr std::int64_t kSampledRows = 256;

enum class Outcome { done, stopped, refused, not_binary };

std::int64_t size_of(Scalar scalar) {
    switch (scalar) {
        case Scalar::boolean:
        case Scalar::i8:
        case Scalar::u8: return 1;
        case Scalar::i16:
        case Scalar::u16:
        case Scalar::f16:
        case Scalar::bf16: return 2;
        case Scalar::i32:
        case Scalar::u32:
        case Scalar::f32: return 4;
        default: return 8;
    }
}

// Whether all values of this type are exact in single precision.
bool fits_float(Scalar scalar) { return size_of(scalar) <= 2 || scalar == Scalar::f32; }

std::int64_t stored_values(const Block& block, const CsrStorage& csr) {
    if (csr.wide_indices) {
        const std::int64_t* starts = static_cast<const std::int64_t*>(csr.starts);
        return starts[block.n_rows] - starts[0];
    }
    const std::int32_t* starts = static_cast<const std::int32_t*>(csr.starts);
    return starts[block.n_rows] - starts[0];
}

// Bytes per row decide. A dense table must shrink by half; numbers that a pass converts count as the
// doubles they become, but the copy may never be larger than the table. A sparse entry costs more time
// than its bytes say, so that a quarter less is enough there.
bool pays(const Block& block, std::int64_t n_dense) {
    if (const auto* dense = std::get_if<DenseStorage>(&block.storage)) {
        const std::int64_t size = size_of(dense->scalar);
        const bool native = dense->scalar == Scalar::f32 || dense->scalar == Scalar::f64;
        const std::int64_t condensed = n_dense * (fits_float(dense->scalar) ? 4 : 8) + 2;
        return 2 * condensed <= block.n_columns * (native ? size : 8) && condensed <= block.n_columns * size;
    }
    const auto& csr = std::get<CsrStorage>(block.storage);
    const std::int64_t condensed = n_dense * (fits_float(csr.scalar) ? 4 : 8) + 2;
    const std::int64_t entry = size_of(csr.scalar) + (csr.wide_indices ? 8 : 4);
    return 4 * condensed * block.n_rows <= 3 * entry * stored_values(block, csr);
}

// Collects which columns hold anything but 0 and 1: v² − v is exactly 0 for these two only.
class Columns {
  public:
    explicit Columns(std::int64_t n) : other_(static_cast<std::size_t>(n), 0.0) {}

    template <class View>
    void look_at(const View& rows, std::int64_t first, std::int64_t count) {
        double* other = other_.data();
        for (std::int64_t i = first; i < first + count; ++i) {
            for (std::int64_t k = 0; k < rows.n_values(i); ++k) {
                const double value = static_cast<double>(rows.value(i, k));
                other[rows.column(i, k)] += std::fabs(value * value - value);
            }
        }
    }

    bool is_dense(std::int64_t column) const { return !(other_[static_cast<std::size_t>(column)] == 0); }
    std::int64_t n_dense() const {
        return std::count_if(other_.begin(), other_.end(), [](double other) { return !(other == 0); });
    }

  private:
    std::vector<double> other_;
};

// Writes the rows one after the other into a storage of their own.
class Condenser {
  public:
    Condenser(const Block& block, const Columns& columns)
        : storage_(std::make_shared<PatternStorage>()),
          table_(std::min(kMostPatterns, block.n_rows / kRowsPerPattern)),
          slot_(static_cast<std::size_t>(block.n_columns), -1),
          previous_(static_cast<std::size_t>(block.n_columns), -1.0) {
        for (std::int32_t j = 0; j < block.n_columns; ++j) {
            if (columns.is_dense(j)) {
                slot_[static_cast<std::size_t>(j)] = static_cast<std::int32_t>(storage_->n_dense());
                storage_->dense_columns.push_back(j);
            } else {
                if (runs_.empty() || runs_.back().to != j) runs_.push_back({j, j});
                runs_.back().to = j + 1;
                storage_->binary_columns.push_back(j);
            }
        }
        const std::int64_t values = block.n_rows * storage_->n_dense() + kPatternPadding;
        dense_.assign(static_cast<std::size_t>(values), 0.0);
        storage_->pattern.resize(static_cast<std::size_t>(block.n_rows));
    }

    template <class View>
    Outcome take(const View& rows, std::int64_t first, StopToken& token) {
        Pace pace(token);
        for (std::int64_t i = 0; i < rows.n_rows(); ++i) {
            const Outcome outcome = take_row(rows, i, first + i);
            if (outcome != Outcome::done) return outcome;
            if (pace.stop_after(rows.n_values(i))) return Outcome::stopped;
        }
        return Outcome::done;
    }

    // Values that single precision holds exactly are kept in it.
    SharedPatterns finish() {
        table_.move_to(storage_->starts, storage_->ones);
        const auto exact = [](double v) {
            return std::fabs(v) <= std::numeric_limits<float>::max() &&
                   static_cast<double>(static_cast<float>(v)) == v;
        };
        if (std::all_of(dense_.begin(), dense_.end(), exact)) {
            storage_->dense = std::vector<float>(dense_.begin(), dense_.end());
        } else {
            storage_->dense = std::move(dense_);
        }
        return storage_;
    }

  private:
    struct Run {
        std::int32_t from, to;
    };

    template <class Value>
    Outcome take_row(const DenseRows<Value>& rows, std::int64_t i, std::int64_t row) {
        const std::int64_t n_dense = storage_->n_dense();
        double* to = dense_.data() + row * n_dense;
        double not_finite = 0;
        for (std::int64_t k = 0; k < n_dense; ++k) {
            to[k] = static_cast<double>(rows.value(i, storage_->dense_columns[static_cast<std::size_t>(k)]));
            not_finite += to[k] * 0.0;
        }
        if (!(not_finite == 0)) return Outcome::refused;
        if (is_like_previous(rows, i)) return enter(row);
        ones_.clear();
        for (const Run& run : runs_) {
            for (std::int32_t j = run.from; j < run.to; ++j) {
                const double value = static_cast<double>(rows.value(i, j));
                previous_[static_cast<std::size_t>(j)] = value;
                if (value == 1) {
                    ones_.push_back(j);
                } else if (value != 0) {
                    return Outcome::not_binary;
                }
            }
        }
        pattern_ = table_.find(ones_);
        return enter(row);
    }

    // Neighbouring rows are often alike, and to see that is quick.
    template <class Value>
    bool is_like_previous(const DenseRows<Value>& rows, std::int64_t i) const noexcept {
        const double* previous = previous_.data();
        std::int64_t different = 0;
        for (const Run& run : runs_) {
            for (std::int64_t j = run.from; j < run.to; ++j)
                different |= static_cast<std::int64_t>(static_cast<double>(rows.value(i, j)) != previous[j]);
        }
        return different == 0;
    }

    template <class Value, class Index>
    Outcome take_row(const SparseRows<Value, Index>& rows, std::int64_t i, std::int64_t row) {
        double* to = dense_.data() + row * storage_->n_dense();
        double not_finite = 0;
        ones_.clear();
        for (std::int64_t k = 0; k < rows.n_values(i); ++k) {
            const double value = static_cast<double>(rows.value(i, k));
            const std::int32_t column = static_cast<std::int32_t>(rows.column(i, k));
            const std::int32_t slot = slot_[static_cast<std::size_t>(column)];
            if (slot >= 0) {
                to[slot] += value;
                not_finite += value * 0.0;
            } else if (value == 1) {
                ones_.push_back(column);
            } else if (value != 0) {
                return Outcome::not_binary;
            }
        }
        if (!(not_finite == 0)) return Outcome::refused;
        if (!std::is_sorted(ones_.begin(), ones_.end())) std::sort(ones_.begin(), ones_.end());
        // A column that is named twice would be 2.
        if (std::adjacent_find(ones_.begin(), ones_.end()) != ones_.end()) return Outcome::refused;
        if (pattern_ < 0 || !table_.equals(pattern_, ones_)) pattern_ = table_.find(ones_);
        return enter(row);
    }

    template <class Value>
    Outcome take_row(const PatternRows<Value>&, std::int64_t, std::int64_t) {
        return Outcome::refused;
    }

    Outcome enter(std::int64_t row) {
        if (pattern_ < 0) return Outcome::refused;
        storage_->pattern[static_cast<std::size_t>(row)] = static_cast<std::uint16_t>(pattern_);
        return Outcome::done;
    }

    std::shared_ptr<PatternStorage> storage_;
    std::vector<double> dense_;
    PatternTable table_;
    std::vector<Run> runs_;           // of neighbouring binary columns
    std::vector<std::int32_t> slot_;  // of each column among the dense ones, or −1
    std::vector<double> previous_;    // the row before: its binary columns
    std::vector<std::int32_t> ones_;
    std::int32_t pattern_ = -1;
};

Outcome read_all(const Block& block, const Columns& columns, SharedPatterns& result, StopToken& token) {
    Condenser condenser(block, columns);
    Chunks chunks(block);
    Outcome outcome = Outcome::done;
    for (std::int64_t chunk = 0; chunk < chunks.count() && outcome == Outcome::done; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            outcome = condenser.take(rows, first, token);
        });
    }
    if (outcome == Outcome::done) result = condenser.finish();
    return outcome;
}

Columns look_at_some(const Block& block) {
    Columns columns(block.n_columns);
    std::vector<std::uint32_t> listed;
    for (std::int64_t k = 0; k < kSampledRows; ++k)
        listed.push_back(static_cast<std::uint32_t>(k * block.n_rows / kSampledRows));
    Chunks(block).open_listed(listed.data(), kSampledRows,
                              [&](const auto& rows) { columns.look_at(rows, 0, kSampledRows); });
    return columns;
}

bool look_at_all(const Block& block, Columns& columns, StopToken& token) {
    constexpr std::int64_t kRowsAtOnce = 1024;
    Chunks chunks(block);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t) {
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; i += kRowsAtOnce) {
                columns.look_at(rows, i, std::min(kRowsAtOnce, rows.n_rows() - i));
                go_on = !token.poll();
            }
        });
    }
    return go_on;
}

}  // namespace

bool condense(const Block& block, std::optional<Block>& result, StopToken& token) {
    if (std::holds_alternative<SharedPatterns>(block.storage)) return true;
    if (block.n_rows < kFewestRows || block.n_columns == 0 || block.n_columns > kMostColumns) return true;
    Columns columns = look_at_some(block);
    if (!pays(block, columns.n_dense())) return true;
    SharedPatterns storage;
    Outcome outcome = read_all(block, columns, storage, token);
    if (outcome == Outcome::not_binary) {  // a column that the sample took for binary is not
        if (!look_at_all(block, columns, token)) return false;
        if (!pays(block, columns.n_dense())) return true;
        outcome = read_all(block, columns, storage, token);
    }
    if (outcome == Outcome::done) result = Block{storage, block.n_rows, block.n_columns};
    return outcome != Outcome::stopped;
}

}  // namespace maxmargin
