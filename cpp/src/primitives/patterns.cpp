// The inner loops over condensed rows for one instruction set; what is said at the top of kernels.cpp holds
// here too.
#include "maxmargin/pattern_primitives.hpp"

#include <cstdint>

#include "maxmargin/primitives.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

constexpr int kMost = kLanes > 2 ? 3 : 6;  // vectors that a kernel keeps in registers

inline std::int64_t vectors_of(std::int64_t n) { return n > kLanes ? (n + kLanes - 1) / kLanes : 1; }

// A pass reads faster than the processor guesses; what lies behind the last row is asked for in vain.
constexpr std::int64_t kRowsAhead = 64;

template <class Value>
inline void prefetch(const Value* from, std::int64_t n) {
    constexpr std::int64_t kValuesPerLine = 64 / sizeof(Value);
    for (std::int64_t k = 0; k < n; k += kValuesPerLine) __builtin_prefetch(from + k);
}

// The sums of four vectors, in one order for all four.
inline void sum_four(const Doubles (&v)[4], double* sums) {
#if defined(__AVX__)
    using Quad = double __attribute__((vector_size(4 * sizeof(double))));
#if defined(__AVX512F__)
    Quad q[4];
    for (int k = 0; k < 4; ++k)
        q[k] =
            __builtin_shufflevector(v[k], v[k], 0, 1, 2, 3) + __builtin_shufflevector(v[k], v[k], 4, 5, 6, 7);
#else
    const Doubles(&q)[4] = v;
#endif
    const Quad low =
        __builtin_shufflevector(q[0], q[1], 0, 4, 2, 6) + __builtin_shufflevector(q[0], q[1], 1, 5, 3, 7);
    const Quad high =
        __builtin_shufflevector(q[2], q[3], 0, 4, 2, 6) + __builtin_shufflevector(q[2], q[3], 1, 5, 3, 7);
    const Quad all =
        __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
    __builtin_memcpy(sums, &all, sizeof all);
#else
    for (int k = 0; k < 4; ++k) sums[k] = v[k][0] + v[k][1];
#endif
}

// ---------------------------------------------------------------- products

// kCount vectors of each row, or as many as it takes where kCount is 0.
template <int kCount, class Value>
void scores_of(const PatternPiece<Value>& rows, const double* w, const double* base, double* z) {
    const std::int64_t n = rows.n, vectors = kCount > 0 ? kCount : vectors_of(n);
    for (std::int64_t k = 0; k < rows.count; k += 4) {
        prefetch(rows.x + (k + kRowsAhead) * n, 4 * n);
        // Behind the last row the same one is read again: every row is summed in the same way.
        const std::int64_t left = rows.count - k < 4 ? rows.count - k : 4;
        const Value* row[4];
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) row[u] = rows.x + (k + (u < left ? u : left - 1)) * n;
        Doubles total[4] = {};
#pragma GCC unroll 6
        for (std::int64_t v = 0; v < vectors; ++v) {
            const Doubles weights = load(w + v * kLanes);
#pragma GCC unroll 4
            for (int u = 0; u < 4; ++u) total[u] += load(row[u] + v * kLanes) * weights;
        }
        double sums[4];
        sum_four(total, sums);
        const std::uint16_t* pattern = rows.pattern + k;
        if (left == 4) {
#pragma GCC unroll 4
            for (int u = 0; u < 4; ++u) z[k + u] = base[pattern[u]] + sums[u];
        } else {
            for (int u = 0; u < left; ++u) z[k + u] = base[pattern[u]] + sums[u];
        }
    }
}

template <int kCount, class Value>
void scores_by_count(const PatternPiece<Value>& rows, const double* w, const double* base, double* z) {
    if (kCount == 0 || vectors_of(rows.n) == kCount) return scores_of<kCount>(rows, w, base, z);
    if constexpr (kCount > 0) scores_by_count<kCount - 1>(rows, w, base, z);
}

template <class Value>
void scores(const PatternPiece<Value>& rows, const double* w, const double* base, double* z) {
    scores_by_count<kMost>(rows, w, base, z);
}

// kCount vectors of every row, from vector `from` on; even and odd rows have sums of their own.
template <int kCount, class Value>
void combine_panel(const PatternPiece<Value>& rows, std::int64_t from, const double* a, double* even) {
    const std::int64_t n = rows.n;
    const Value* x = rows.x + from * kLanes;
    even += from * kLanes;
    double* odd = even + vectors_of(n) * kLanes;
    Doubles sum[2][kCount];
    for (int v = 0; v < kCount; ++v) {
        sum[0][v] = load(even + v * kLanes);
        sum[1][v] = load(odd + v * kLanes);
    }
    std::int64_t k = 0;
    for (; k + 2 <= rows.count; k += 2) {
#pragma GCC unroll 2
        for (int u = 0; u < 2; ++u) {
#pragma GCC unroll 6
            for (int v = 0; v < kCount; ++v) sum[u][v] += a[k + u] * load(x + (k + u) * n + v * kLanes);
        }
    }
    if (k < rows.count) {
#pragma GCC unroll 6
        for (int v = 0; v < kCount; ++v) sum[0][v] += a[k] * load(x + k * n + v * kLanes);
    }
    for (int v = 0; v < kCount; ++v) {
        store(even + v * kLanes, sum[0][v]);
        store(odd + v * kLanes, sum[1][v]);
    }
}

template <int kCount, class Value>
void combine_by_count(const PatternPiece<Value>& rows, std::int64_t from, const double* a, double* v) {
    if (vectors_of(rows.n) - from >= kCount) return combine_panel<kCount>(rows, from, a, v);
    if constexpr (kCount > 1) combine_by_count<kCount - 1>(rows, from, a, v);
}

template <class Value>
void combine(const PatternPiece<Value>& rows, const double* a, double* v, double* sums) {
    for (std::int64_t from = 0; from < vectors_of(rows.n); from += kMost)
        combine_by_count<kMost>(rows, from, a, v);
    for (std::int64_t k = 0; k < rows.count; ++k)
        sums[kSumsPerPattern * rows.pattern[k] + k % kSumsPerPattern] += a[k];
}

// ---------------------------------------------------------------- Gram matrices

// Sums of kCount vectors by pattern, from vector `from` on. A run of one pattern is summed in registers.
// `centred` and `scaled`, if they are kept, receive x − shift and weight · (x − shift).
template <int kCount, bool kKeep, class Value>
void collect_panel(const Value* x, std::int64_t n, const WeightedRows& rows, const PatternSums& sums,
                   std::int64_t from, std::int64_t stride, double* centred, double* scaled) {
    Doubles shift[kCount], run[kCount];
    for (int v = 0; v < kCount; ++v) {
        shift[v] = load(sums.shift + (from + v) * kLanes);
        run[v] = Doubles{};
    }
    double run_weight = 0;
    const auto end_run = [&](std::int64_t pattern) {
        double* to = sums.values + pattern * stride + from * kLanes;
        if (from == 0) sums.weights[pattern] += run_weight;
        run_weight = 0;
#pragma GCC unroll 6
        for (int v = 0; v < kCount; ++v) {
            store(to + v * kLanes, load(to + v * kLanes) + run[v]);
            run[v] = Doubles{};
        }
    };
    std::int64_t pattern = rows.count > 0 ? sums.pattern[rows.row[0]] : 0;
    for (std::int64_t k = 0; k < rows.count; ++k) {
        const std::int64_t row = rows.row[k];
        if (sums.pattern[row] != pattern) {
            end_run(pattern);
            pattern = sums.pattern[row];
        }
        const Value* values = x + row * n + from * kLanes;
        __builtin_prefetch(values + kRowsAhead * n);
        __builtin_prefetch(values + kRowsAhead * n + (kCount - 1) * kLanes);
        run_weight += rows.weight[k];
#pragma GCC unroll 6
        for (int v = 0; v < kCount; ++v) {
            const Doubles c = load(values + v * kLanes) - shift[v], s = rows.weight[k] * c;
            run[v] += s;
            if constexpr (kKeep) {
                store(centred + (k * kCount + v) * kLanes, c);
                store(scaled + (k * kCount + v) * kLanes, s);
            }
        }
    }
    if (rows.count > 0) end_run(pattern);
}

template <int kCount = kMost, class Value>
void collect_by_count(std::int64_t vectors, const Value* x, std::int64_t n, const WeightedRows& rows,
                      const PatternSums& sums, std::int64_t from, std::int64_t stride) {
    if (vectors >= kCount)
        return collect_panel<kCount, false>(x, n, rows, sums, from, stride, nullptr, nullptr);
    if constexpr (kCount > 1) collect_by_count<kCount - 1>(vectors, x, n, rows, sums, from, stride);
}

template <class Value>
void collect(const Value* x, std::int64_t n, const WeightedRows& rows, const PatternSums& sums) {
    const std::int64_t vectors = vectors_of(n);
    for (std::int64_t from = 0; from < vectors; from += kMost)
        collect_by_count(vectors - from, x, n, rows, sums, from, vectors * kLanes);
}

// A strip of kLanes columns times the kCount vectors from its own on. One vector has too few chains of sums
// to hide the latency of the multiply-add, so that two rows run side by side.
template <int kCount>
void strip(const double* centred, const double* scaled, std::int64_t count, std::int64_t stride,
           double* total) {
    constexpr int kRows = kLanes * kCount >= 8 ? 1 : 2;
    Doubles sum[kRows][kLanes][kCount] = {};
    const auto add_row = [&](Doubles(&to)[kLanes][kCount], std::int64_t k) {
        Doubles right[kCount];
#pragma GCC unroll 6
        for (int v = 0; v < kCount; ++v) right[v] = load(scaled + k * stride + v * kLanes);
#pragma GCC unroll 8
        for (int i = 0; i < kLanes; ++i) {
            const double left = centred[k * stride + i];
#pragma GCC unroll 6
            for (int v = 0; v < kCount; ++v) to[i][v] += left * right[v];
        }
    };
    std::int64_t k = 0;
    for (; k + kRows <= count; k += kRows) {
#pragma GCC unroll 2
        for (int u = 0; u < kRows; ++u) add_row(sum[u], k + u);
    }
    if (k < count) add_row(sum[0], k);
    for (int i = 0; i < kLanes; ++i) {
        for (int v = 0; v < kCount; ++v) {
            Doubles all = sum[0][i][v];
            for (int u = 1; u < kRows; ++u) all += sum[u][i][v];
            double* to = total + i * stride + v * kLanes;
            store(to, load(to) + all);
        }
    }
}

template <int kCount>
void strips(const double* centred, const double* scaled, std::int64_t count, std::int64_t stride,
            double* total) {
    strip<kCount>(centred, scaled, count, stride, total);
    if constexpr (kCount > 1)
        strips<kCount - 1>(centred + kLanes, scaled + kLanes, count, stride, total + (stride + 1) * kLanes);
}

template <int kCount = kMost, class Value>
void gram_by_count(std::int64_t vectors, const Value* x, std::int64_t n, const WeightedRows& rows,
                   const PatternSums& sums, double* total) {
    if (vectors == kCount) {
        double centred[WeightedRows::kRowsAtOnce * kCount * kLanes],
            scaled[WeightedRows::kRowsAtOnce * kCount * kLanes];
        collect_panel<kCount, true>(x, n, rows, sums, 0, kCount * kLanes, centred, scaled);
        return strips<kCount>(centred, scaled, rows.count, kCount * kLanes, total);
    }
    if constexpr (kCount > 1) gram_by_count<kCount - 1>(vectors, x, n, rows, sums, total);
}

template <class Value>
void gram(const Value* x, std::int64_t n, const WeightedRows& rows, const PatternSums& sums, double* total) {
    gram_by_count(vectors_of(n), x, n, rows, sums, total);
}

template <class Value>
constexpr PatternPrimitives<Value> primitives_for{scores<Value>, combine<Value>, collect<Value>, gram<Value>};

}  // namespace

namespace MAXMARGIN_ISA {

extern const PatternKernels patterns;
const PatternKernels patterns{kLanes, kMost * kLanes, primitives_for<float>, primitives_for<double>};

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
