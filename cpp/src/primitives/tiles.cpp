// Register tiles for one instruction set; what is said at the top of kernels.cpp holds here too.
//
// A tile holds kHeight × (vectors of a panel) sums in registers while it runs down the packed rows: for each
// row, the vectors of one panel are loaded, and each number of a strip of kHeight columns is multiplied by
// all of them. Sixteen registers hold twelve sums, three vectors and one number.
#include <cstdint>

#include "maxmargin/primitives.hpp"
#include "maxmargin/tiles.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

#if defined(__AVX512F__)
constexpr int kHeight = 8, kHeightSingle = 8, kVectors = 3, kVectorsSingle = 3;
#elif defined(__AVX__)
constexpr int kHeight = 4, kHeightSingle = 4, kVectors = 3, kVectorsSingle = 3;
#else
constexpr int kHeight = 2, kHeightSingle = 4, kVectors = 6, kVectorsSingle = 3;
#endif

template <class Packed>
struct Shape;

template <>
struct Shape<double> {
    using Vector = Doubles;
    static constexpr int lanes = kLanes, height = kHeight, vectors = kVectors, width = lanes * vectors;
};

template <>
struct Shape<float> {
    using Vector = WideFloats;
    static constexpr int lanes = 2 * kLanes, height = kHeightSingle, vectors = kVectorsSingle,
                         width = lanes * vectors;
};

inline void store(float* p, Doubles v) {
    const Floats narrow = __builtin_convertvector(v, Floats);
    __builtin_memcpy(p, &narrow, sizeof narrow);
}

// ---------------------------------------------------------------- packing

double take_roots(const double* numbers, std::int64_t n, double* roots) {
    Doubles sums{};
    std::int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) sums += load(numbers + k);
    double total = sum(sums);
    for (; k < n; ++k) total += numbers[k];
    for (k = 0; k < n; ++k) roots[k] = __builtin_sqrt(numbers[k]);
    return total;
}

// kCount vectors of a panel; the last one starts `back` columns early. Their sums stay in registers.
template <int kCount, class Value, class Packed>
void pack_vectors(const Value* const* rows, const RowsToPack& how, std::int64_t column, std::int64_t back,
                  Packed* to) {
    Doubles shift[kCount], sum[kCount];
    for (int v = 0; v < kCount; ++v) {
        shift[v] = load(how.shift + column + v * kLanes);
        sum[v] = load(how.sums + column + v * kLanes);
    }
    for (std::int64_t r = 0; r < how.count; ++r) {
        const Value* x = rows[r] + column;
        const Doubles root = Doubles{} + how.root[r];
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) {
            const Value* from = v + 1 < kCount ? x + v * kLanes : x + v * kLanes - back;
            const Doubles scaled = root * (load(from) - shift[v]);
            sum[v] += root * scaled;
            store(to + v * kLanes, scaled);
        }
        to += Shape<Packed>::width;
    }
    for (int v = 0; v < kCount; ++v) store(how.sums + column + v * kLanes, sum[v]);
}

template <int kCount, class Value, class Packed>
void pack_panel(std::int64_t vectors, const Value* const* rows, const RowsToPack& how, std::int64_t column,
                std::int64_t back, Packed* to) {
    if (vectors >= kCount) return pack_vectors<kCount>(rows, how, column, back, to);
    if constexpr (kCount > 1) pack_panel<kCount - 1>(vectors, rows, how, column, back, to);
}

template <class Value, class Packed>
void pack(const Value* const* rows, const RowsToPack& how, Packed* to) {
    constexpr std::int64_t width = Shape<Packed>::width;
    const std::int64_t vectors = (how.n_columns + kLanes - 1) / kLanes,
                       back = vectors * kLanes - how.n_columns;
    for (std::int64_t column = 0; column < how.n_columns; column += width) {
        const bool last = column + width >= how.n_columns;
        pack_panel<width / kLanes>(vectors - column / kLanes, rows, how, column, last ? back : 0,
                                   to + column / width * how.panel_stride);
    }
}

template <class Packed>
const Packed* place(const Packed* packed, std::int64_t panel_stride, std::int64_t position) {
    constexpr std::int64_t width = Shape<Packed>::width;
    return packed + position / width * panel_stride + position % width;
}

// ---------------------------------------------------------------- multiplying

template <class Vector>
inline void add_vector(double* to, double sign, Vector v) {
    constexpr int count = sizeof(Vector) / sizeof(v[0]);
    if constexpr (count == kLanes) {
        store(to, load(to) + sign * v);
    } else {
        float numbers[count];
        __builtin_memcpy(numbers, &v, sizeof v);
        store(to, load(to) + sign * load(numbers));
        store(to + kLanes, load(to + kLanes) + sign * load(numbers + kLanes));
    }
}

// kCount vectors beside a strip. Few vectors are too few chains of sums to hide the latency of the
// multiply-add: then kRows rows run side by side.
template <int kCount, class Packed>
void tile(const Packed* a, const Packed* b, std::int64_t n_rows, double sign, double* sums,
          std::int64_t stride) {
    using S = Shape<Packed>;
    using Vector = typename S::Vector;
    constexpr int kRows = S::height * kCount >= 8 ? 1 : 8 / (S::height * kCount);
    Vector sum[kRows][S::height][kCount];
#pragma GCC unroll 8
    for (int u = 0; u < kRows; ++u) {
#pragma GCC unroll 8
        for (int i = 0; i < S::height; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < kCount; ++v) sum[u][i][v] = Vector{};
        }
    }
    // The sums may be far away; they are wanted when the rows are through.
    for (int i = 0; i < S::height; ++i) {
        __builtin_prefetch(sums + i * stride, 1);
        __builtin_prefetch(sums + i * stride + kCount * S::lanes - 1, 1);
    }
    std::int64_t r = 0;
    for (; r + kRows <= n_rows; r += kRows) {
#pragma GCC unroll 8
        for (int u = 0; u < kRows; ++u) {
            Vector right[kCount];
#pragma GCC unroll 8
            for (int v = 0; v < kCount; ++v) right[v] = load_as<Vector>(b + u * S::width + v * S::lanes);
#pragma GCC unroll 8
            for (int i = 0; i < S::height; ++i) {
                const Packed left = a[u * S::width + i];
#pragma GCC unroll 8
                for (int v = 0; v < kCount; ++v) sum[u][i][v] += left * right[v];
            }
        }
        a += kRows * S::width;
        b += kRows * S::width;
    }
    if constexpr (kRows > 1) {
        for (; r < n_rows; ++r, a += S::width, b += S::width) {
#pragma GCC unroll 8
            for (int i = 0; i < S::height; ++i) {
#pragma GCC unroll 8
                for (int v = 0; v < kCount; ++v) sum[0][i][v] += a[i] * load_as<Vector>(b + v * S::lanes);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < S::height; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) {
#pragma GCC unroll 8
            for (int u = 1; u < kRows; ++u) sum[0][i][v] += sum[u][i][v];
            add_vector(sums + i * stride + v * S::lanes, sign, sum[0][i][v]);
        }
    }
}

template <class Packed, int kCount>
void tile_of(std::int64_t vectors, const Packed* a, const Packed* b, std::int64_t n_rows, double sign,
             double* sums, std::int64_t stride) {
    if (vectors == kCount) return tile<kCount>(a, b, n_rows, sign, sums, stride);
    if constexpr (kCount > 1) tile_of<Packed, kCount - 1>(vectors, a, b, n_rows, sign, sums, stride);
}

// Asks for the rows that will be packed next, a share of them before every tile.
class Prefetch {
  public:
    Prefetch(const RowsAhead& ahead, std::int64_t tiles) : ahead_(ahead) {
        const std::int64_t lines = ahead.count * (ahead.bytes / kLine + 1);
        share_ = tiles > 0 ? lines / tiles + 1 : 0;
    }

    void some() {
        for (std::int64_t k = 0; k < share_ && row_ < ahead_.count; ++k) {
            const char* start = static_cast<const char*>(ahead_.rows[row_]);
            __builtin_prefetch(start + at_, 0, 2);
            at_ += kLine;
            if (at_ < ahead_.bytes) continue;
            __builtin_prefetch(start + ahead_.bytes - 1, 0, 2);
            at_ = 0;
            ++row_;
        }
    }

  private:
    static constexpr std::int64_t kLine = 64;
    const RowsAhead& ahead_;
    std::int64_t share_, row_ = 0, at_ = 0;
};

// Strips are taken in groups that fit the second-level cache; each panel passes over the whole group.
template <class Packed>
void add_packed(const Packed* packed, std::int64_t panel_stride, std::int64_t n_rows,
                std::int64_t n_positions, double sign, double* sums, std::int64_t stride,
                const RowsAhead& ahead) {
    using S = Shape<Packed>;
    constexpr std::int64_t kGroup = 12 * S::width;
    const std::int64_t strips = n_positions / S::height, panels = (n_positions + S::width - 1) / S::width;
    Prefetch prefetch(ahead, strips * (panels + 1) / 2);
    for (std::int64_t group = 0; group < n_positions; group += kGroup) {
        for (std::int64_t panel = group; panel < n_positions; panel += S::width) {
            const std::int64_t end = panel + S::width < n_positions ? panel + S::width : n_positions;
            const std::int64_t last = group + kGroup < end ? group + kGroup : end;
            for (std::int64_t i = group; i < last; i += S::height) {
                const std::int64_t from = i > panel ? i / S::lanes * S::lanes : panel;
                prefetch.some();
                tile_of<Packed, S::vectors>((end - from) / S::lanes, place(packed, panel_stride, i),
                                            place(packed, panel_stride, from), n_rows, sign,
                                            sums + i * stride + from, stride);
            }
        }
    }
}

template <class Packed>
constexpr GramTile<Packed> gram_tile{kLanes,
                                     Shape<Packed>::lanes,
                                     Shape<Packed>::width,
                                     pack<float, Packed>,
                                     pack<double, Packed>,
                                     add_packed<Packed>};

}  // namespace

namespace MAXMARGIN_ISA {

extern const Tiles tiles;
const Tiles tiles{take_roots, gram_tile<double>, gram_tile<float>};

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
