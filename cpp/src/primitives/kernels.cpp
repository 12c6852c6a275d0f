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

template <class Value>
constexpr DensePrimitives<Value> dense{dense_dot<Value>, dense_add<Value>, dense_norm2<Value>};

template <class Value, class Index>
constexpr SparsePrimitives<Value, Index> sparse{sparse_dot<Value, Index>, sparse_add<Value, Index>};

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
