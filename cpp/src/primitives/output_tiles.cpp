// Products with several outputs for one instruction set; what is said at the top of kernels.cpp holds here
// too.
//
// A tile keeps kHeight × kVectors sums in registers. For scores it runs along the columns: one number of each
// of kHeight rows, times the packed weights of a panel. For combinations it runs down the rows: the residuals
// of kHeight outputs, times kVectors vectors of the row. Nothing but the weights is packed.
#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "maxmargin/output_tiles.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

#if defined(__AVX512F__)
constexpr int kHeight = 8;
#else
constexpr int kHeight = 4;
#endif
constexpr int kVectors = 3;

template <class Number>
using Vector = typename VectorOf<Number>::Type;

template <class Number>
constexpr int kWide = VectorOf<Number>::lanes;

constexpr std::int64_t kDepth = 512;  // columns of a panel that are read again and again: 100 KiB at most

template <class Number>
inline void put(Number* p, Vector<Number> v) {
    __builtin_memcpy(p, &v, sizeof v);
}

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// ---------------------------------------------------------------- scores

template <class Number>
void pack(const double* W, std::int64_t n_outputs, std::int64_t n_columns, Number* packed) {
    constexpr std::int64_t width = kVectors * kWide<Number>;
    for (std::int64_t first = 0; first < n_outputs; first += width) {
        const std::int64_t count = least(width, n_outputs - first);
        for (std::int64_t j = 0; j < n_columns; ++j, packed += width) {
            for (std::int64_t k = 0; k < count; ++k)
                packed[k] = static_cast<Number>(W[(first + k) * n_columns + j]);
            for (std::int64_t k = count; k < width; ++k) packed[k] = 0;
        }
    }
}

// kRows rows beside kCount vectors of outputs, over `depth` columns.
template <int kRows, int kCount, class Number>
void score_tile(const Number* x, std::int64_t row_stride, const Number* packed, std::int64_t depth,
                bool go_on, Number* z, std::int64_t stride) {
    constexpr int lanes = kWide<Number>;
    Vector<Number> sum[kRows][kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v)
            sum[i][v] = go_on ? load_as<Vector<Number>>(z + i * stride + v * lanes) : Vector<Number>{};
    }
    for (std::int64_t j = 0; j < depth; ++j) {
        Vector<Number> right[kCount];
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) right[v] = load_as<Vector<Number>>(packed + v * lanes);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
            const Number left = x[i * row_stride + j];
#pragma GCC unroll 8
            for (int v = 0; v < kCount; ++v) sum[i][v] += left * right[v];
        }
        packed += kVectors * lanes;
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) put(z + i * stride + v * lanes, sum[i][v]);
    }
}

template <int kRows, class Number>
void score_rows(std::int64_t rows, int vectors, const Number* x, std::int64_t row_stride,
                const Number* packed, std::int64_t depth, bool go_on, Number* z, std::int64_t stride) {
    if (rows == kRows) {
        if (vectors == 3) return score_tile<kRows, 3>(x, row_stride, packed, depth, go_on, z, stride);
        if (vectors == 2) return score_tile<kRows, 2>(x, row_stride, packed, depth, go_on, z, stride);
        return score_tile<kRows, 1>(x, row_stride, packed, depth, go_on, z, stride);
    }
    if constexpr (kRows > 1)
        score_rows<kRows - 1>(rows, vectors, x, row_stride, packed, depth, go_on, z, stride);
}

template <class Number>
void score(const Number* x, std::int64_t row_stride, std::int64_t n_rows, const Number* packed,
           std::int64_t n_columns, std::int64_t n_outputs, Number* z, std::int64_t stride) {
    constexpr std::int64_t lanes = kWide<Number>, width = kVectors * lanes;
    for (std::int64_t from = 0; from < n_columns; from += kDepth) {
        const std::int64_t depth = least(kDepth, n_columns - from);
        for (std::int64_t first = 0; first < n_outputs; first += width) {
            const int vectors = static_cast<int>((least(width, n_outputs - first) + lanes - 1) / lanes);
            const Number* panel = packed + first * n_columns + from * width;
            for (std::int64_t i = 0; i < n_rows; i += kHeight)
                score_rows<kHeight>(least(kHeight, n_rows - i), vectors, x + i * row_stride + from,
                                    row_stride, panel, depth, from > 0, z + i * stride + first, stride);
        }
    }
}

// ---------------------------------------------------------------- combinations

inline void add_to(double* to, const double* numbers) { store(to, load(to) + load(numbers)); }

inline void add_to(double* to, const float* numbers) {
    store(to, load(to) + load(numbers));
    store(to + kLanes, load(to + kLanes) + load(numbers + kLanes));
}

// kRows outputs beside kCount vectors of columns. The last vector starts `back` columns early, so that
// nothing behind the row is read; its first numbers have been added already.
template <int kRows, int kCount, class Number>
void combine_tile(const Number* x, std::int64_t row_stride, std::int64_t n_rows, const Number* r,
                  std::int64_t stride, std::int64_t back, double* sums, std::int64_t n_columns) {
    constexpr int lanes = kWide<Number>;
    Vector<Number> sum[kRows][kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) sum[i][v] = Vector<Number>{};
    }
    const std::int64_t last = (kCount - 1) * lanes - back;
    for (std::int64_t row = 0; row < n_rows; ++row) {
        Vector<Number> right[kCount];
#pragma GCC unroll 8
        for (int v = 0; v + 1 < kCount; ++v) right[v] = load_as<Vector<Number>>(x + v * lanes);
        right[kCount - 1] = load_as<Vector<Number>>(x + last);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
            const Number left = r[i];
#pragma GCC unroll 8
            for (int v = 0; v < kCount; ++v) sum[i][v] += left * right[v];
        }
        x += row_stride;
        r += stride;
    }
    Number tile[kRows][kCount * lanes];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) put(tile[i] + v * lanes, sum[i][v]);
    }
    for (int i = 0; i < kRows; ++i) {
        double* to = sums + i * n_columns;
        Number* repeated = tile[i] + (kCount - 1) * lanes;
        for (std::int64_t k = 0; k < back; ++k) repeated[k] = 0;
        for (int v = 0; v + 1 < kCount; ++v) add_to(to + v * lanes, tile[i] + v * lanes);
        add_to(to + last, repeated);
    }
}

template <int kRows, class Number>
void combine_outputs(std::int64_t rows, int vectors, const Number* x, std::int64_t row_stride,
                     std::int64_t n_rows, const Number* r, std::int64_t stride, std::int64_t back,
                     double* sums, std::int64_t n_columns) {
    if (rows == kRows) {
        if (vectors == 3)
            return combine_tile<kRows, 3>(x, row_stride, n_rows, r, stride, back, sums, n_columns);
        if (vectors == 2)
            return combine_tile<kRows, 2>(x, row_stride, n_rows, r, stride, back, sums, n_columns);
        return combine_tile<kRows, 1>(x, row_stride, n_rows, r, stride, back, sums, n_columns);
    }
    if constexpr (kRows > 1)
        combine_outputs<kRows - 1>(rows, vectors, x, row_stride, n_rows, r, stride, back, sums, n_columns);
}

// With many outputs a panel of columns is read again and again: it is copied first, so that its rows are
// adjacent, and so are the residuals of a strip. Otherwise every row would be in a page of memory of its own.
constexpr std::int64_t kManyStrips = 8;

template <class Number>
void combine(const Number* x, std::int64_t row_stride, std::int64_t n_rows, std::int64_t n_columns,
             const Number* r, std::int64_t stride, std::int64_t n_outputs, Number* scratch, double* sums) {
    constexpr std::int64_t lanes = kWide<Number>, width = kVectors * lanes;
    // Strips of about equal height: a low one would wait for its own sums.
    const std::int64_t strips = (n_outputs + kHeight - 1) / kHeight;
    const bool copies = strips >= kManyStrips;
    Number* panel = scratch + strips * kHeight * n_rows + lanes;  // the first row may start early
    if (copies) {
        for (std::int64_t row = 0; row < n_rows; ++row) {
            std::int64_t k = 0;
            for (std::int64_t strip = 0; strip < strips; ++strip) {
                const std::int64_t outputs = (n_outputs - k + strips - strip - 1) / (strips - strip);
                Number* to = scratch + (strip * n_rows + row) * kHeight;
                for (std::int64_t i = 0; i < outputs; ++i) to[i] = r[row * stride + k + i];
                k += outputs;
            }
        }
    }
    for (std::int64_t column = 0; column < n_columns; column += width) {
        const std::int64_t columns = least(width, n_columns - column);
        const int vectors = static_cast<int>((columns + lanes - 1) / lanes);
        const std::int64_t back = vectors * lanes - columns;
        const Number* from = x + column;
        std::int64_t from_stride = row_stride;
        if (copies) {
            for (std::int64_t row = 0; row < n_rows; ++row) {
                for (int v = 0; v < vectors; ++v) {
                    const std::int64_t at = v * lanes - (v + 1 == vectors ? back : 0);
                    put(panel + row * width + at, load_as<Vector<Number>>(from + row * row_stride + at));
                }
            }
            from = panel;
            from_stride = width;
        }
        std::int64_t k = 0;
        for (std::int64_t strip = 0; strip < strips; ++strip) {
            const std::int64_t outputs = (n_outputs - k + strips - strip - 1) / (strips - strip);
            double* to = sums + k * n_columns + column;
            for (std::int64_t i = 0; i < outputs; ++i) {
                for (std::int64_t line = 0; line < columns; line += 8)
                    __builtin_prefetch(to + i * n_columns + line, 1);
            }
            combine_outputs<kHeight>(outputs, vectors, from, from_stride, n_rows,
                                     copies ? scratch + strip * n_rows * kHeight : r + k,
                                     copies ? kHeight : stride, back, to, n_columns);
            k += outputs;
        }
    }
}

// ---------------------------------------------------------------- softmax

using Integers = long long __attribute__((vector_size(kLanes * sizeof(long long))));
using WideIntegers = int __attribute__((vector_size(2 * kLanes * sizeof(int))));

inline Integers bits_of(Doubles v) {
    Integers bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

inline WideIntegers bits_of(WideFloats v) {
    WideIntegers bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

// exp(a) for −700 ≤ a ≤ 0, right to about an ulp: 2ᵏ exp(r) with |r| ≤ ½ log 2.
inline Doubles exponential(Doubles a) {
    constexpr double kRound = 0x1.8p52;  // added to a number, its last bits hold the nearest integer
    const Doubles shifted = a * 0x1.71547652b82fep0 + kRound, k = shifted - kRound;
    const Doubles r = (a - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    Doubles p = Doubles{} + 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const Integers scaled = bits_of(p) + (bits_of(shifted) << 52);
    return load_as<Doubles>(&scaled);
}

// The same for −87 ≤ a ≤ 0 in single precision.
inline WideFloats exponential(WideFloats a) {
    constexpr float kRound = 0x1.8p23f;
    const WideFloats shifted = a * 0x1.715476p0f + kRound, k = shifted - kRound;
    const WideFloats r = (a - k * 0x1.62e4p-1f) - k * 0x1.7f7d1cp-20f;
    WideFloats p = WideFloats{} + 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const WideIntegers scaled = bits_of(p) + (bits_of(shifted) << 23);
    return load_as<WideFloats>(&scaled);
}

template <class Number>
constexpr Number kLowest =
    sizeof(Number) == 8 ? Number(-700) : Number(-87);  // its exponential is as good as 0

template <class Number>
inline double sum_of(Vector<Number> v) {
    double total = 0;
    for (int lane = 0; lane < kWide<Number>; ++lane) total += static_cast<double>(v[lane]);
    return total;
}

template <class Number>
void softmax(Number* z, std::int64_t stride, std::int64_t n_rows, const Number* b, SoftmaxRow* rows) {
    using Vec = Vector<Number>;
    constexpr int lanes = kWide<Number>;
    const Vec zero{}, one = zero + 1, lowest = zero + kLowest<Number>;
    for (std::int64_t i = 0; i < n_rows; ++i, z += stride) {
        Vec most = load_as<Vec>(z) + load_as<Vec>(b);
        put(z, most);
        for (std::int64_t k = lanes; k < stride; k += lanes) {
            const Vec v = load_as<Vec>(z + k) + load_as<Vec>(b + k);
            put(z + k, v);
            most = v > most ? v : most;
        }
        Number largest = most[0];
        for (int lane = 1; lane < lanes; ++lane) largest = most[lane] > largest ? most[lane] : largest;
        Vec others{}, tops{};
        for (std::int64_t k = 0; k < stride; k += lanes) {
            const Vec below = load_as<Vec>(z + k) - largest;
            const Vec e = below < lowest ? zero : exponential(below < lowest ? lowest : below);
            put(z + k, e);
            others += below < zero ? e : zero;
            tops += below < zero ? zero : one;
        }
        const double rest = sum_of<Number>(others) + (sum_of<Number>(tops) - 1.0);
        const Number share = static_cast<Number>(1.0 / (1.0 + rest));
        for (std::int64_t k = 0; k < stride; k += lanes) put(z + k, load_as<Vec>(z + k) * share);
        rows[i] = {static_cast<double>(largest), rest};
    }
}

template <class Number>
void residuals(Number* p, std::int64_t stride, std::int64_t n_rows, const std::int32_t* label,
               const double* cost) {
    using Vec = Vector<Number>;
    constexpr int lanes = kWide<Number>;
    for (std::int64_t i = 0; i < n_rows; ++i, p += stride) {
        const Number c = static_cast<Number>(cost[i]);
        p[label[i]] = 0;
        Vec sums{};
        for (std::int64_t k = 0; k < stride; k += lanes) {
            const Vec v = load_as<Vec>(p + k) * c;
            put(p + k, v);
            sums += v;
        }
        p[label[i]] = static_cast<Number>(-sum_of<Number>(sums));
    }
}

template <class Number>
void curve(const Number* p, Number* u, std::int64_t stride, std::int64_t n_rows, const Number* b,
           const double* cost) {
    using Vec = Vector<Number>;
    constexpr int lanes = kWide<Number>;
    for (std::int64_t i = 0; i < n_rows; ++i, p += stride, u += stride) {
        Vec sums{};
        for (std::int64_t k = 0; k < stride; k += lanes) {
            const Vec v = load_as<Vec>(u + k) + load_as<Vec>(b + k);
            put(u + k, v);
            sums += load_as<Vec>(p + k) * v;
        }
        const Number mean = static_cast<Number>(sum_of<Number>(sums)), c = static_cast<Number>(cost[i]);
        for (std::int64_t k = 0; k < stride; k += lanes)
            put(u + k, (load_as<Vec>(p + k) * c) * (load_as<Vec>(u + k) - mean));
    }
}

// ---------------------------------------------------------------- half precision

inline float wide_of(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = (bits >> 10) & 0x1FU,
                        fraction = bits & 0x3FFU;
    if (exponent == 0) {  // zero or subnormal
        const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t word = sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | (fraction << 13);
    return load_as<float>(&word);
}

void widen_half(const std::uint16_t* from, std::int64_t n, float* to) {
    std::int64_t k = 0;
#if defined(__F16C__)
    for (; k + 8 <= n; k += 8) {
        const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + k));
        _mm256_storeu_ps(to + k, _mm256_cvtph_ps(narrow));
    }
#endif
    for (; k < n; ++k) to[k] = wide_of(from[k]);
}

// bfloat16: the upper half of a float.
void widen_brain(const std::uint16_t* from, std::int64_t n, float* to) {
    for (std::int64_t k = 0; k < n; ++k) {
        const std::uint32_t word = static_cast<std::uint32_t>(from[k]) << 16;
        to[k] = load_as<float>(&word);
    }
}

template <class Number>
constexpr OutputTiles<Number> output_tiles{
    kWide<Number>,   kVectors * kWide<Number>, pack<Number>,      score<Number>,
    combine<Number>, softmax<Number>,          residuals<Number>, curve<Number>,
};

}  // namespace

namespace MAXMARGIN_ISA {

extern const Outputs outputs;
const Outputs outputs{output_tiles<float>, output_tiles<double>, widen_half, widen_brain};

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
