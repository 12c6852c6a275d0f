// Row operations for one instruction set: this file is compiled once per set, with that set's flags and
// MAXMARGIN_ISA naming it. Everything is in an unnamed namespace and uses nothing of the standard
// library: a weak copy made here could replace the portable one and crash an older processor.
#include <cstdint>

#include "maxmargin/primitives.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

// Four accumulators hide the latency of the fused multiply-add; their sum has one fixed order.
template <class Value>
double dense_dot(const Value* x, const double* w, std::int64_t n) {
    Doubles a0{}, a1{}, a2{}, a3{};
    std::int64_t k = 0;
    for (; k + 4 * kLanes <= n; k += 4 * kLanes) {
        a0 += load(x + k) * load(w + k);
        a1 += load(x + k + kLanes) * load(w + k + kLanes);
        a2 += load(x + k + 2 * kLanes) * load(w + k + 2 * kLanes);
        a3 += load(x + k + 3 * kLanes) * load(w + k + 3 * kLanes);
    }
    for (; k + kLanes <= n; k += kLanes) a0 += load(x + k) * load(w + k);
    double total = sum((a0 + a1) + (a2 + a3));
    for (; k < n; ++k) total += static_cast<double>(x[k]) * w[k];
    return total;
}

template <class Value>
void dense_add(double* w, double scale, const Value* x, std::int64_t n) {
    const Doubles scales = Doubles{} + scale;
    std::int64_t k = 0;
    for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
        store(w + k, load(w + k) + scales * load(x + k));
        store(w + k + kLanes, load(w + k + kLanes) + scales * load(x + k + kLanes));
    }
    for (; k < n; ++k) w[k] += scale * static_cast<double>(x[k]);
}

template <class Value>
double dense_norm2(const Value* x, std::int64_t n) {
    Doubles a0{}, a1{};
    std::int64_t k = 0;
    for (; k + 2 * kLanes <= n; k += 2 * kLanes) {
        const Doubles low = load(x + k), high = load(x + k + kLanes);
        a0 += low * low;
        a1 += high * high;
    }
    double total = sum(a0 + a1);
    for (; k < n; ++k) total += static_cast<double>(x[k]) * static_cast<double>(x[k]);
    return total;
}

template <class Value, class Index>
double sparse_dot(const Value* values, const Index* indices, std::int64_t n, const double* w) {
    double a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        a0 += static_cast<double>(values[k]) * w[indices[k]];
        a1 += static_cast<double>(values[k + 1]) * w[indices[k + 1]];
        a2 += static_cast<double>(values[k + 2]) * w[indices[k + 2]];
        a3 += static_cast<double>(values[k + 3]) * w[indices[k + 3]];
    }
    double total = (a0 + a1) + (a2 + a3);
    for (; k < n; ++k) total += static_cast<double>(values[k]) * w[indices[k]];
    return total;
}

template <class Value, class Index>
void sparse_add(double* w, double scale, const Value* values, const Index* indices, std::int64_t n) {
    for (std::int64_t k = 0; k < n; ++k) w[indices[k]] += scale * static_cast<double>(values[k]);
}

// Of several outputs W has a line of `stride` numbers for each column. So many vectors of lines are in
// registers at a time.
constexpr int kMostAtOnce = kLanes == 8 ? 16 : 8;

template <int count>
struct Lines {
    // z += Wᵀx
    template <class Value, class Column>
    static void scores(const Value* values, Column column, std::int64_t n, const double* W,
                       std::int64_t stride, double* z) {
        Doubles sums[count];
        for (int v = 0; v < count; ++v) sums[v] = load(z + v * kLanes);
        for (std::int64_t k = 0; k < n; ++k) {
            const Doubles x = Doubles{} + static_cast<double>(values[k]);
            const double* w = W + column(k) * stride;
            for (int v = 0; v < count; ++v) sums[v] += x * load(w + v * kLanes);
        }
        for (int v = 0; v < count; ++v) store(z + v * kLanes, sums[v]);
    }

    // W += x rᵀ
    template <class Value, class Column>
    static void add_outer(const Value* values, Column column, std::int64_t n, double* W, std::int64_t stride,
                          const double* r) {
        Doubles rest[count];
        for (int v = 0; v < count; ++v) rest[v] = load(r + v * kLanes);
        for (std::int64_t k = 0; k < n; ++k) {
            const Doubles x = Doubles{} + static_cast<double>(values[k]);
            double* w = W + column(k) * stride;
            for (int v = 0; v < count; ++v) store(w + v * kLanes, load(w + v * kLanes) + x * rest[v]);
        }
    }
};

// Calls f with the Lines of n vectors.
template <int count = kMostAtOnce, class F>
void with_lines(std::int64_t n, F&& f) {
    if (n == count) return f(Lines<count>());
    if constexpr (count > 1) with_lines<count - 1>(n, f);
}

// Calls f with Lines and the number of the first output that they are of, until all outputs had their turn.
template <class F>
void by_lines(std::int64_t stride, F&& f) {
    for (std::int64_t from = 0; from < stride; from += kMostAtOnce * kLanes) {
        const std::int64_t left = (stride - from) / kLanes;
        with_lines(left < kMostAtOnce ? left : kMostAtOnce, [&](auto lines) { f(lines, from); });
    }
}

struct EveryColumn {
    std::int64_t operator()(std::int64_t k) const { return k; }
};

template <class Index>
struct ListedColumns {
    const Index* indices;
    std::int64_t operator()(std::int64_t k) const { return indices[k]; }
};

template <class Value>
void dense_scores(const Value* x, std::int64_t n, const double* W, std::int64_t stride, double* z) {
    by_lines(stride, [=](auto lines, std::int64_t from) {
        lines.scores(x, EveryColumn(), n, W + from, stride, z + from);
    });
}

template <class Value>
void dense_add_outer(double* W, std::int64_t stride, const double* r, const Value* x, std::int64_t n) {
    by_lines(stride, [=](auto lines, std::int64_t from) {
        lines.add_outer(x, EveryColumn(), n, W + from, stride, r + from);
    });
}

template <class Value, class Index>
void sparse_scores(const Value* values, const Index* indices, std::int64_t n, const double* W,
                   std::int64_t stride, double* z) {
    by_lines(stride, [=](auto lines, std::int64_t from) {
        lines.scores(values, ListedColumns<Index>{indices}, n, W + from, stride, z + from);
    });
}

template <class Value, class Index>
void sparse_add_outer(double* W, std::int64_t stride, const double* r, const Value* values,
                      const Index* indices, std::int64_t n) {
    by_lines(stride, [=](auto lines, std::int64_t from) {
        lines.add_outer(values, ListedColumns<Index>{indices}, n, W + from, stride, r + from);
    });
}

template <class Value>
constexpr DensePrimitives<Value> dense{dense_dot<Value>, dense_add<Value>, dense_norm2<Value>,
                                       dense_scores<Value>, dense_add_outer<Value>};

template <class Value, class Index>
constexpr SparsePrimitives<Value, Index> sparse{sparse_dot<Value, Index>, sparse_add<Value, Index>,
                                                sparse_scores<Value, Index>, sparse_add_outer<Value, Index>};

}  // namespace

namespace MAXMARGIN_ISA {

extern const Tiles tiles;                   // in tiles.cpp
extern const Triangles triangles;           // in triangles.cpp
extern const Panels panels;                 // in panels.cpp
extern const PatternKernels patterns;       // in patterns.cpp
extern const LogisticTerms logistic_terms;  // in logistic.cpp
extern const Outputs outputs;               // in output_tiles.cpp
extern const Primitives set;
const Primitives set{
    MAXMARGIN_ISA_NAME,
    dense<float>,
    dense<double>,
    sparse<float, std::int32_t>,
    sparse<float, std::int64_t>,
    sparse<double, std::int32_t>,
    sparse<double, std::int64_t>,
    &tiles,
    &triangles,
    &panels,
    &patterns,
    &logistic_terms,
    &outputs,
};

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
