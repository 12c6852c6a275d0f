#include "maxmargin/kernel/output_passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace maxmargin {
namespace {

constexpr std::int64_t kChunkBytes = 1 << 19;  // of rows: half of a second-level cache
constexpr std::int64_t kLeastRows = 32, kMostRows = 256;

std::int64_t rounded_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

template <class Number>
using Buffer = std::vector<Number>;

template <class Number>
Buffer<Number> buffer_of(std::int64_t n) {
    return Buffer<Number>(static_cast<std::size_t>(n));
}

// Some dense rows, adjacent numbers of the type that products are made in.
template <class Number>
struct DenseChunk {
    const Number* x;
    std::int64_t row_stride, n_rows;
};

// Dense rows of any type, a chunk at a time: in place if they are of that type, else converted.
template <class Number>
class DenseReader {
  public:
    DenseReader(const DenseStorage& storage, std::int64_t n_rows, std::int64_t n_columns,
                std::int64_t least_columns)
        : storage_(storage), n_rows_(n_rows), n_columns_(n_columns),
          width_(std::max(n_columns, least_columns)),
          rows_(std::clamp<std::int64_t>(kChunkBytes / static_cast<std::int64_t>(sizeof(Number)) / width_ /
                                             8 * 8,
                                         kLeastRows, kMostRows)) {
        constexpr Scalar native = sizeof(Number) == 8 ? Scalar::f64 : Scalar::f32;
        in_place_ =
            storage.scalar == native && (storage.column_stride == 1 || n_columns == 1) && width_ == n_columns;
        if (!in_place_) converted_ = buffer_of<Number>(rows_ * width_);
    }

    std::int64_t width() const noexcept { return width_; }
    std::int64_t rows_per_chunk() const noexcept { return rows_; }
    std::int64_t count() const noexcept { return (n_rows_ + rows_ - 1) / rows_; }

    DenseChunk<Number> open(std::int64_t chunk) {
        const std::int64_t first = chunk * rows_, rows = std::min(rows_, n_rows_ - first);
        if (in_place_) {
            const Number* data = static_cast<const Number*>(storage_.data);
            return {data + first * storage_.row_stride, storage_.row_stride, rows};
        }
        convert(first, rows);
        return {converted_.data(), width_, rows};
    }

  private:
    void convert(std::int64_t first, std::int64_t rows) {
        if (storage_.column_stride == 1 && storage_.scalar == Scalar::f32)
            return convert_from<float>(first, rows);
        if (storage_.column_stride == 1 && storage_.scalar == Scalar::f64)
            return convert_from<double>(first, rows);
        if constexpr (std::is_same_v<Number, float>) {
            const bool is_half = storage_.scalar == Scalar::f16, is_brain = storage_.scalar == Scalar::bf16;
            if ((is_half || is_brain) && storage_.column_stride == 1) {
                const auto widen =
                    is_half ? primitives().outputs->widen_half : primitives().outputs->widen_brain;
                const auto* data =
                    static_cast<const std::uint16_t*>(storage_.data) + first * storage_.row_stride;
                for (std::int64_t i = 0; i < rows; ++i)
                    widen(data + i * storage_.row_stride, n_columns_, converted_.data() + i * width_);
                return;
            }
        }
        wide_.resize(static_cast<std::size_t>(rows * n_columns_));
        gather_dense(storage_, first, rows, n_columns_, wide_.data());
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < n_columns_; ++j)
                converted_[static_cast<std::size_t>(i * width_ + j)] =
                    static_cast<Number>(wide_[static_cast<std::size_t>(i * n_columns_ + j)]);
        }
    }

    template <class Stored>
    void convert_from(std::int64_t first, std::int64_t rows) {
        const Stored* data = static_cast<const Stored*>(storage_.data) + first * storage_.row_stride;
        for (std::int64_t i = 0; i < rows; ++i) {
            const Stored* from = data + i * storage_.row_stride;
            Number* to = converted_.data() + i * width_;
            for (std::int64_t j = 0; j < n_columns_; ++j) to[j] = static_cast<Number>(from[j]);
        }
    }

    DenseStorage storage_;
    std::int64_t n_rows_, n_columns_, width_, rows_;
    bool in_place_;
    Buffer<Number> converted_;  // zeros behind the last column
    std::vector<double> wide_;
};

// The weights of the outputs, packed, and their offsets, padded.
template <class Number>
class PackedPoint {
  public:
    PackedPoint(const OutputTiles<Number>& tiles, const OutputPoint& point, std::int64_t n_columns,
                std::int64_t width, std::int64_t stride, Number behind)
        : offsets_(static_cast<std::size_t>(stride), behind),
          packed_(buffer_of<Number>(rounded_up(point.n_outputs, tiles.width) * width)) {
        for (std::int64_t k = 0; k < point.n_outputs; ++k)
            offsets_[static_cast<std::size_t>(k)] = static_cast<Number>(point.b[k]);
        if (width == n_columns) {
            tiles.pack(point.W, point.n_outputs, n_columns, packed_.data());
            return;
        }
        std::vector<double> padded(static_cast<std::size_t>(point.n_outputs * width));
        for (std::int64_t k = 0; k < point.n_outputs; ++k)
            std::copy_n(point.W + k * n_columns, n_columns, padded.begin() + k * width);
        tiles.pack(padded.data(), point.n_outputs, width, packed_.data());
    }

    const Number* weights() const noexcept { return packed_.data(); }
    const Number* offsets() const noexcept { return offsets_.data(); }

  private:
    Buffer<Number> offsets_, packed_;
};

// Passes over chunks of dense or of sparse rows have the same functions: `each` opens chunk after chunk,
// `score` makes the scores of its rows, `combine` adds their residuals' products with the rows to `Sums`.

template <class N>
class DensePass {
  public:
    using Number = N;
    using Chunk = DenseChunk<Number>;

    DensePass(const DenseStorage& storage, const Block& block, std::int64_t n_outputs)
        : tiles_(tiles_of(*primitives().outputs, static_cast<const Number*>(nullptr))),
          reader_(storage, block.n_rows, block.n_columns, tiles_.lanes), n_columns_(block.n_columns),
          n_outputs_(n_outputs), stride_(rounded_up(n_outputs, tiles_.lanes)),
          scratch_(buffer_of<Number>(reader_.rows_per_chunk() * (n_outputs + 2 * tiles_.width))) {}

    const OutputTiles<Number>& tiles() const noexcept { return tiles_; }
    std::int64_t n_outputs() const noexcept { return n_outputs_; }
    std::int64_t stride() const noexcept { return stride_; }
    Buffer<Number> scores() const { return buffer_of<Number>(reader_.rows_per_chunk() * stride_); }

    PackedPoint<Number> packed(const OutputPoint& point, Number behind) const {
        return {tiles_, point, n_columns_, reader_.width(), stride_, behind};
    }

    void score(const Chunk& chunk, const PackedPoint<Number>& point, Number* z) const {
        tiles_.score(chunk.x, chunk.row_stride, chunk.n_rows, point.weights(), reader_.width(), n_outputs_, z,
                     stride_);
    }

    // Σ r xᵀ, one row for each output.
    class Sums {
      public:
        Sums(const DensePass& pass, double* sums)
            : pass_(pass), sums_(sums),
              padded_(pass.is_padded() ? static_cast<std::size_t>(pass.n_outputs_ * pass.reader_.width())
                                       : 0) {}
        double* target() noexcept { return padded_.empty() ? sums_ : padded_.data(); }
        void finish() {
            if (padded_.empty()) return;
            for (std::int64_t k = 0; k < pass_.n_outputs_; ++k) {
                for (std::int64_t j = 0; j < pass_.n_columns_; ++j)
                    sums_[k * pass_.n_columns_ + j] +=
                        padded_[static_cast<std::size_t>(k * pass_.reader_.width() + j)];
            }
        }

      private:
        const DensePass& pass_;
        double* sums_;
        std::vector<double> padded_;
    };

    void combine(const Chunk& chunk, const Number* r, Sums& sums) {
        tiles_.combine(chunk.x, chunk.row_stride, chunk.n_rows, reader_.width(), r, stride_, n_outputs_,
                       scratch_.data(), sums.target());
    }

    // The rows of a chunk less `shift`, with a 1 behind them, n_columns + 1 numbers each.
    void centre(const Chunk& chunk, const double* shift, Number* rows) const {
        for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
            const Number* x = chunk.x + i * chunk.row_stride;
            Number* row = rows + i * (n_columns_ + 1);
            for (std::int64_t j = 0; j < n_columns_; ++j)
                row[j] = shift == nullptr ? x[j] : static_cast<Number>(static_cast<double>(x[j]) - shift[j]);
            row[n_columns_] = Number(1);
        }
    }

    // Calls f(chunk, first row) for each chunk; false if it was stopped.
    template <class F>
    bool each(StopToken& token, F&& f) {
        Pace pace(token);
        std::int64_t first = 0;
        for (std::int64_t k = 0; k < reader_.count(); ++k) {
            const Chunk chunk = reader_.open(k);
            f(chunk, first);
            first += chunk.n_rows;
            if (pace.stop_after(chunk.n_rows * n_columns_ * (1 + n_outputs_ / 8))) return false;
        }
        return true;
    }

  private:
    bool is_padded() const noexcept { return reader_.width() != n_columns_; }

    const OutputTiles<Number>& tiles_;
    DenseReader<Number> reader_;
    std::int64_t n_columns_, n_outputs_, stride_;
    Buffer<Number> scratch_;
};

// Calls f(k, j) for every output and column: some columns at a time, so that a transpose stays in cache.
template <class F>
void in_tiles(std::int64_t n_outputs, std::int64_t n_columns, F&& f) {
    constexpr std::int64_t kTile = 16;
    for (std::int64_t from = 0; from < n_columns; from += kTile) {
        const std::int64_t until = std::min(from + kTile, n_columns);
        for (std::int64_t k = 0; k < n_outputs; ++k) {
            for (std::int64_t j = from; j < until; ++j) f(k, j);
        }
    }
}

// Sparse rows: the weights of a column are adjacent, so that an entry of a row meets all outputs at once.
class SparsePass {
  public:
    using Number = double;

    SparsePass(const Block& block, std::int64_t n_outputs)
        : tiles_(primitives().outputs->f64), block_(block), n_outputs_(n_outputs),
          stride_(rounded_up(n_outputs, tiles_.lanes)) {}

    template <class View>
    struct Chunk {
        const View& view;
        std::int64_t from, n_rows;
    };

    const OutputTiles<double>& tiles() const noexcept { return tiles_; }
    std::int64_t n_outputs() const noexcept { return n_outputs_; }
    std::int64_t stride() const noexcept { return stride_; }
    Buffer<double> scores() const { return buffer_of<double>(kMostRows * stride_); }

    class Packed {
      public:
        Packed(const OutputPoint& point, std::int64_t n_columns, std::int64_t stride, double behind)
            : offsets_(static_cast<std::size_t>(stride), behind),
              weights_(static_cast<std::size_t>(n_columns * stride)) {
            std::copy_n(point.b, point.n_outputs, offsets_.begin());
            in_tiles(point.n_outputs, n_columns, [&](std::int64_t k, std::int64_t j) {
                weights_[static_cast<std::size_t>(j * stride + k)] = point.W[k * n_columns + j];
            });
        }

        const double* weights() const noexcept { return weights_.data(); }
        const double* offsets() const noexcept { return offsets_.data(); }

      private:
        std::vector<double> offsets_, weights_;
    };

    Packed packed(const OutputPoint& point, double behind) const {
        return {point, block_.n_columns, stride_, behind};
    }

    template <class View>
    void score(const Chunk<View>& chunk, const Packed& point, double* z) const {
        std::fill_n(z, chunk.n_rows * stride_, 0.0);
        for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
            chunk.view.scores(chunk.from + i, point.weights(), stride_, z + i * stride_);
        }
    }

    class Sums {
      public:
        Sums(const SparsePass& pass, double* sums)
            : pass_(pass), sums_(sums),
              by_column_(sums == nullptr ? 0
                                         : static_cast<std::size_t>(pass.block_.n_columns * pass.stride_)) {}
        double* by_column() noexcept { return by_column_.data(); }
        void finish() {
            if (sums_ == nullptr) return;
            const std::int64_t d = pass_.block_.n_columns;
            in_tiles(pass_.n_outputs_, d, [&](std::int64_t k, std::int64_t j) {
                sums_[k * d + j] += by_column_[static_cast<std::size_t>(j * pass_.stride_ + k)];
            });
        }

      private:
        const SparsePass& pass_;
        double* sums_;
        std::vector<double> by_column_;  // one row of `stride` numbers for each column
    };

    template <class View>
    void combine(const Chunk<View>& chunk, const double* r, Sums& sums) const {
        for (std::int64_t i = 0; i < chunk.n_rows; ++i)
            chunk.view.add_outer(chunk.from + i, r + i * stride_, stride_, sums.by_column());
    }

    template <class View>
    void centre(const Chunk<View>& chunk, const double* shift, double* rows) const {
        const std::int64_t d = block_.n_columns;
        for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
            double* row = rows + i * (d + 1);
            for (std::int64_t j = 0; j < d; ++j) row[j] = shift == nullptr ? 0.0 : -shift[j];
            for (std::int64_t k = 0; k < chunk.view.n_values(chunk.from + i); ++k)
                row[chunk.view.column(chunk.from + i, k)] +=
                    static_cast<double>(chunk.view.value(chunk.from + i, k));
            row[d] = 1.0;
        }
    }

    template <class F>
    bool each(StopToken& token, F&& f) {
        Chunks chunks(block_);
        Pace pace(token);
        bool go_on = true;
        for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
            chunks.open(chunk, [&](const auto& view, std::int64_t first) {
                for (std::int64_t i = 0; i < view.n_rows() && go_on; i += kMostRows) {
                    const std::int64_t rows = std::min(kMostRows, view.n_rows() - i);
                    f(Chunk<std::remove_cvref_t<decltype(view)>>{view, i, rows}, first + i);
                    std::int64_t values = 0;
                    for (std::int64_t k = 0; k < rows; ++k) values += view.n_values(i + k);
                    go_on = !pace.stop_after(values * (1 + n_outputs_ / 8));
                }
            });
        }
        return go_on;
    }

  private:
    const OutputTiles<double>& tiles_;
    const Block& block_;
    std::int64_t n_outputs_, stride_;
};

// Calls f with the pass that suits the rows; sparse ones are multiplied in double precision.
template <class F>
bool with_pass(const Block& block, std::int64_t n_outputs, bool single, F&& f) {
    const auto* dense = std::get_if<DenseStorage>(&block.storage);
    if (dense == nullptr) return f(SparsePass(block, n_outputs));
    if (single) return f(DensePass<float>(*dense, block, n_outputs));
    return f(DensePass<double>(*dense, block, n_outputs));
}

template <class Number>
constexpr Number minus_infinity = -std::numeric_limits<Number>::infinity();

template <class Number>
void add_balance(const Number* r, std::int64_t stride, std::int64_t n_rows, std::int64_t n_outputs,
                 double* balance) {
    for (std::int64_t i = 0; i < n_rows; ++i) {
        for (std::int64_t k = 0; k < n_outputs; ++k) balance[k] += static_cast<double>(r[i * stride + k]);
    }
}

// A logarithm is taken of few duals: what was given up or gained is mostly so small a share of a probability,
// whose logarithm is known, that log(1 + t) needs no more than five terms. Below the least, p has fewer
// digits.
constexpr double kLittle = 1e-3, kLeastProbability = 1e-290;

double log1p_of_little(double t) { return t * (1.0 + t * (-0.5 + t * (1.0 / 3.0 + t * (-0.25 + t * 0.2)))); }

// Scores become probabilities; returns the loss of the rows.
template <class Pass>
double to_probabilities(const Pass& pass, typename Pass::Number* z, std::int64_t n_rows,
                        const typename Pass::Number* offsets, const std::int32_t* label, const double* cost,
                        std::vector<SoftmaxRow>& sums) {
    sums.resize(static_cast<std::size_t>(n_rows));
    std::vector<double> own(static_cast<std::size_t>(n_rows));
    for (std::int64_t i = 0; i < n_rows; ++i)
        own[static_cast<std::size_t>(i)] =
            static_cast<double>(z[i * pass.stride() + label[i]] + offsets[label[i]]);
    pass.tiles().softmax(z, pass.stride(), n_rows, offsets, sums.data());
    double loss = 0;
    for (std::int64_t i = 0; i < n_rows; ++i) {
        if (!(cost[i] > 0)) continue;
        const SoftmaxRow& row = sums[static_cast<std::size_t>(i)];
        loss += cost[i] * (std::log1p(row.rest) + (row.largest - own[static_cast<std::size_t>(i)]));
    }
    return loss;
}

}  // namespace

bool output_scores(const Block& block, const OutputPoint& point, bool single, double* z, StopToken& token) {
    return with_pass(block, point.n_outputs, single, [&](auto pass) {
        using Number = typename decltype(pass)::Number;
        const auto packed = pass.packed(point, Number(0));
        Buffer<Number> scores = pass.scores();
        return pass.each(token, [&](const auto& chunk, std::int64_t first) {
            pass.score(chunk, packed, scores.data());
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                for (std::int64_t k = 0; k < point.n_outputs; ++k)
                    z[(first + i) * point.n_outputs + k] =
                        static_cast<double>(scores[static_cast<std::size_t>(i * pass.stride() + k)]) +
                        point.b[k];
            }
        });
    });
}

bool combine_outputs(const Block& block, const double* r, std::int64_t n_outputs, bool single, double* V,
                     StopToken& token) {
    return with_pass(block, n_outputs, single, [&](auto pass) {
        using Pass = decltype(pass);
        Buffer<typename Pass::Number> of_chunk = pass.scores();
        typename Pass::Sums products(pass, V);
        const bool complete = pass.each(token, [&](const auto& chunk, std::int64_t first) {
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                for (std::int64_t k = 0; k < n_outputs; ++k)
                    of_chunk[static_cast<std::size_t>(i * pass.stride() + k)] =
                        static_cast<typename Pass::Number>(r[(first + i) * n_outputs + k]);
            }
            pass.combine(chunk, of_chunk.data(), products);
        });
        products.finish();
        return complete;
    });
}

bool softmax_gradient(const Block& block, const OutputPoint& point, const ClassRows& rows, bool single,
                      double* gradient, double* balance, double& loss, StopToken& token) {
    return with_pass(block, point.n_outputs, single, [&](auto pass) {
        using Pass = decltype(pass);
        const auto packed = pass.packed(point, minus_infinity<typename Pass::Number>);
        Buffer<typename Pass::Number> z = pass.scores();
        std::vector<SoftmaxRow> sums;
        typename Pass::Sums products(pass, gradient);
        const bool complete = pass.each(token, [&](const auto& chunk, std::int64_t first) {
            pass.score(chunk, packed, z.data());
            loss += to_probabilities(pass, z.data(), chunk.n_rows, packed.offsets(), rows.label + first,
                                     rows.cost + first, sums);
            pass.tiles().residuals(z.data(), pass.stride(), chunk.n_rows, rows.label + first,
                                   rows.cost + first);
            add_balance(z.data(), pass.stride(), chunk.n_rows, point.n_outputs, balance);
            if (gradient != nullptr) pass.combine(chunk, z.data(), products);
        });
        if (gradient != nullptr) products.finish();
        return complete;
    });
}

bool softmax_hessian_product(const Block& block, const OutputPoint& point, const OutputPoint& direction,
                             const double* cost, bool single, double* product, double* product_b,
                             StopToken& token) {
    return with_pass(block, point.n_outputs, single, [&](auto pass) {
        using Pass = decltype(pass);
        const auto packed = pass.packed(point, minus_infinity<typename Pass::Number>);
        const auto along = pass.packed(direction, typename Pass::Number(0));
        Buffer<typename Pass::Number> p = pass.scores(), u = pass.scores();
        std::vector<SoftmaxRow> sums(static_cast<std::size_t>(kMostRows));
        typename Pass::Sums products(pass, product);
        const bool complete = pass.each(token, [&](const auto& chunk, std::int64_t first) {
            pass.score(chunk, packed, p.data());
            pass.tiles().softmax(p.data(), pass.stride(), chunk.n_rows, packed.offsets(), sums.data());
            pass.score(chunk, along, u.data());
            pass.tiles().curve(p.data(), u.data(), pass.stride(), chunk.n_rows, along.offsets(),
                               cost + first);
            add_balance(u.data(), pass.stride(), chunk.n_rows, point.n_outputs, product_b);
            pass.combine(chunk, u.data(), products);
        });
        products.finish();
        return complete;
    });
}

bool softmax_probabilities(const Block& block, const OutputPoint& point, bool single, float* p,
                           StopToken& token) {
    return with_pass(block, point.n_outputs, single, [&](auto pass) {
        using Pass = decltype(pass);
        const auto packed = pass.packed(point, minus_infinity<typename Pass::Number>);
        Buffer<typename Pass::Number> z = pass.scores();
        std::vector<SoftmaxRow> sums(static_cast<std::size_t>(kMostRows));
        return pass.each(token, [&](const auto& chunk, std::int64_t first) {
            pass.score(chunk, packed, z.data());
            pass.tiles().softmax(z.data(), pass.stride(), chunk.n_rows, packed.offsets(), sums.data());
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                for (std::int64_t k = 0; k < point.n_outputs; ++k)
                    p[(first + i) * point.n_outputs + k] =
                        static_cast<float>(z[static_cast<std::size_t>(i * pass.stride() + k)]);
            }
        });
    });
}

bool softmax_curvature_product(const Block& block, const float* p, const OutputPoint& direction,
                               const double* cost, bool single, double* product, double* product_b,
                               StopToken& token) {
    return with_pass(block, direction.n_outputs, single, [&](auto pass) {
        using Pass = decltype(pass);
        using Number = typename Pass::Number;
        const auto along = pass.packed(direction, Number(0));
        Buffer<Number> padded = pass.scores(), u = pass.scores();
        typename Pass::Sums products(pass, product);
        const std::int64_t K = direction.n_outputs;
        const bool complete = pass.each(token, [&](const auto& chunk, std::int64_t first) {
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                for (std::int64_t k = 0; k < K; ++k)
                    padded[static_cast<std::size_t>(i * pass.stride() + k)] =
                        static_cast<Number>(p[(first + i) * K + k]);
            }
            pass.score(chunk, along, u.data());
            pass.tiles().curve(padded.data(), u.data(), pass.stride(), chunk.n_rows, along.offsets(),
                               cost + first);
            add_balance(u.data(), pass.stride(), chunk.n_rows, K, product_b);
            pass.combine(chunk, u.data(), products);
        });
        products.finish();
        return complete;
    });
}

bool softmax_hessian(const Block& block, const OutputPoint& point, const double* cost, const double* shift,
                     bool single, double* hessian, StopToken& token) {
    return with_pass(block, point.n_outputs, single, [&](auto pass) {
        using Pass = decltype(pass);
        using Number = typename Pass::Number;
        const std::int64_t K = point.n_outputs, width = block.n_columns + 1, size = K * width;
        const std::int64_t wide = std::max(width, pass.tiles().lanes),
                           whole = std::max(size, pass.tiles().lanes);
        const auto packed = pass.packed(point, minus_infinity<Number>);
        Buffer<Number> p = pass.scores();
        std::vector<SoftmaxRow> sums(static_cast<std::size_t>(kMostRows));
        // Of a few rows at a time: x̃ = (x − shift, 1), p ⊗ x̃, and c p ⊗ x̃.
        constexpr std::int64_t few = 64;
        const std::int64_t stride = rounded_up(size, pass.tiles().lanes);
        Buffer<Number> centred = buffer_of<Number>(kMostRows * width), plain = buffer_of<Number>(few * wide),
                       outer = buffer_of<Number>(few * whole), weighted = buffer_of<Number>(few * stride),
                       scratch = buffer_of<Number>(few * (size + 2 * pass.tiles().width));
        std::vector<double> diagonal(static_cast<std::size_t>(size * wide)),
            products(static_cast<std::size_t>(size * whole));
        const bool complete = pass.each(token, [&](const auto& chunk, std::int64_t first) {
            pass.score(chunk, packed, p.data());
            pass.tiles().softmax(p.data(), pass.stride(), chunk.n_rows, packed.offsets(), sums.data());
            pass.centre(chunk, shift, centred.data());
            for (std::int64_t from = 0; from < chunk.n_rows; from += few) {
                const std::int64_t rows = std::min(few, chunk.n_rows - from);
                for (std::int64_t i = 0; i < rows; ++i) {
                    const Number* x = centred.data() + (from + i) * width;
                    const Number* own = p.data() + (from + i) * pass.stride();
                    const auto c = static_cast<Number>(cost[first + from + i]);
                    std::copy_n(x, width, plain.data() + i * wide);
                    for (std::int64_t k = 0; k < K; ++k) {
                        Number* of_outer = outer.data() + i * whole + k * width;
                        Number* of_weighted = weighted.data() + i * stride + k * width;
                        for (std::int64_t j = 0; j < width; ++j) {
                            of_outer[j] = own[k] * x[j];
                            of_weighted[j] = c * of_outer[j];
                        }
                    }
                }
                pass.tiles().combine(plain.data(), wide, rows, wide, weighted.data(), stride, size,
                                     scratch.data(), diagonal.data());
                pass.tiles().combine(outer.data(), whole, rows, whole, weighted.data(), stride, size,
                                     scratch.data(), products.data());
            }
        });
        for (std::int64_t a = 0; a < size; ++a) {
            for (std::int64_t b = 0; b < size; ++b)
                hessian[a * size + b] -= products[static_cast<std::size_t>(a * whole + b)];
            for (std::int64_t j = 0; j < width; ++j)
                hessian[a * size + a / width * width + j] += diagonal[static_cast<std::size_t>(a * wide + j)];
        }
        return complete;
    });
}

bool softmax_certificate(const Block& block, const OutputPoint& point, const SoftmaxDuals& duals,
                         const ClassRows& rows, double* V, double* balance, SoftmaxTerms& terms,
                         StopToken& token) {
    return with_pass(block, point.n_outputs, false, [&](auto pass) {
        using Pass = decltype(pass);
        using Number = typename Pass::Number;
        const std::int64_t K = point.n_outputs;
        const auto packed = pass.packed(point, minus_infinity<Number>);
        const auto packed_duals = pass.packed(duals.point, minus_infinity<Number>);
        const bool is_own = duals.point.W == point.W && duals.point.b == point.b;
        Buffer<Number> z = pass.scores(), of_duals = pass.scores(), below = pass.scores();
        std::vector<SoftmaxRow> sums;
        typename Pass::Sums products(pass, V);
        const bool complete = pass.each(token, [&](const auto& chunk, std::int64_t first) {
            const std::int32_t* label = rows.label + first;
            const double* cost = rows.cost + first;
            pass.score(chunk, packed, z.data());
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                for (std::int64_t k = 0; k < K && cost[i] > 0; ++k)
                    terms.largest_score = std::max(terms.largest_score,
                                                   std::abs(static_cast<double>(z[i * pass.stride() + k])));
            }
            if (!is_own) {
                pass.score(chunk, packed_duals, of_duals.data());
                terms.loss +=
                    to_probabilities(pass, z.data(), chunk.n_rows, packed.offsets(), label, cost, sums);
            }
            Buffer<Number>& p_of_duals = is_own ? z : of_duals;
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                for (std::int64_t k = 0; k < K; ++k) {
                    const std::int64_t at = i * pass.stride() + k;
                    below[at] = p_of_duals[at] + packed_duals.offsets()[k];
                }
            }
            const double loss = to_probabilities(pass, p_of_duals.data(), chunk.n_rows,
                                                 packed_duals.offsets(), label, cost, sums);
            if (is_own) terms.loss += loss;
            for (std::int64_t i = 0; i < chunk.n_rows; ++i) {
                Number* p = p_of_duals.data() + i * pass.stride();
                const SoftmaxRow& row = sums[static_cast<std::size_t>(i)];
                const double log_sum = std::log1p(row.rest);
                double entropy = 0;
                if (!duals.moves) {
                    for (std::int64_t k = 0; k < K; ++k) {
                        const double whole = static_cast<double>(p[k]);
                        if (whole > 0)
                            entropy += whole * (row.largest -
                                                static_cast<double>(below[i * pass.stride() + k]) + log_sum);
                    }
                } else {
                    double moved = 0, largest = 0, others = 0, of_largest = 0;
                    for (std::int64_t k = 0; k < K; ++k) moved += static_cast<double>(p[k]) * duals.shrink[k];
                    for (std::int64_t k = 0; k < K; ++k) {
                        const double whole = static_cast<double>(p[k]);
                        const double change = moved * duals.fill[k] - whole * duals.shrink[k];
                        double alpha = whole * (1.0 - duals.shrink[k]) + moved * duals.fill[k], of_alpha = 0;
                        p[k] = static_cast<Number>(alpha);
                        if (std::abs(change) <= kLittle * whole && whole >= kLeastProbability) {
                            const double log_p =
                                static_cast<double>(below[i * pass.stride() + k]) - row.largest - log_sum;
                            of_alpha = alpha * (log_p + log1p_of_little(change / whole));
                        } else if (alpha > 0) {
                            of_alpha = alpha * std::log(alpha);
                        }
                        if (alpha > largest) {
                            std::swap(alpha, largest);
                            std::swap(of_alpha, of_largest);
                        }
                        others += alpha;
                        entropy -= of_alpha;
                    }
                    // The largest α is what the others leave: near 1 its own digits would not tell how much.
                    entropy -= (1.0 - others) * std::log1p(-others);
                }
                if (cost[i] > 0) terms.dual += cost[i] * entropy;
                // 1 − α of the row's own class is the sum of the others: no digits are lost where it is
                // small.
                double own = 0;
                for (std::int64_t k = 0; k < K; ++k) {
                    const double alpha = static_cast<double>(p[k]);
                    if (k != label[i]) own += alpha;
                    p[k] = static_cast<Number>(-cost[i] * alpha);
                }
                p[label[i]] = static_cast<Number>(cost[i] * own);
                terms.total += 2.0 * cost[i] * own;
            }
            add_balance(p_of_duals.data(), pass.stride(), chunk.n_rows, K, balance);
            pass.combine(chunk, p_of_duals.data(), products);
        });
        products.finish();
        return complete;
    });
}

}  // namespace maxmargin
