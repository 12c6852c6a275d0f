// The few row operations that every kernel is made of, one implementation per instruction set.
//
// The set is chosen once per process: the widest one that this processor has, or the one named by the
// environment variable MAXMARGIN_CPU. Data are float or double; weights and sums are always double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "maxmargin/output_tiles.hpp"
#include "maxmargin/panels.hpp"
#include "maxmargin/pattern_primitives.hpp"
#include "maxmargin/tiles.hpp"
#include "maxmargin/triangles.hpp"

namespace maxmargin {

// x·w, w += scale·x and ‖x‖² of a contiguous row. Of several outputs, whose weights W are column after
// column, `stride` numbers each, whole vectors: z += Wᵀx and W += x rᵀ.
template <class Value>
struct DensePrimitives {
    double (*dot)(const Value* x, const double* w, std::int64_t n);
    void (*add)(double* w, double scale, const Value* x, std::int64_t n);
    double (*norm2)(const Value* x, std::int64_t n);
    void (*scores)(const Value* x, std::int64_t n, const double* W, std::int64_t stride, double* z);
    void (*add_outer)(double* W, std::int64_t stride, const double* r, const Value* x, std::int64_t n);
};

// The same of a sparse row: values[k] stands in column indices[k].
template <class Value, class Index>
struct SparsePrimitives {
    double (*dot)(const Value* values, const Index* indices, std::int64_t n, const double* w);
    void (*add)(double* w, double scale, const Value* values, const Index* indices, std::int64_t n);
    void (*scores)(const Value* values, const Index* indices, std::int64_t n, const double* W,
                   std::int64_t stride, double* z);
    void (*add_outer)(double* W, std::int64_t stride, const double* r, const Value* values,
                      const Index* indices, std::int64_t n);
};

// log(1 + exp(−m)) with slope and curvature for n agreements; the values may be left out with a null pointer.
using LogisticTerms = void (*)(const double* m, std::int64_t n, double* value, double* slope,
                               double* curvature);

struct Primitives {
    const char* name;
    DensePrimitives<float> dense_f32;
    DensePrimitives<double> dense_f64;
    SparsePrimitives<float, std::int32_t> sparse_f32_i32;
    SparsePrimitives<float, std::int64_t> sparse_f32_i64;
    SparsePrimitives<double, std::int32_t> sparse_f64_i32;
    SparsePrimitives<double, std::int64_t> sparse_f64_i64;
    const Tiles* tiles;
    const Triangles* triangles;
    const Panels* panels;
    const PatternKernels* patterns;
    const LogisticTerms* logistic;
    const Outputs* outputs;
};

// The set in use. Throws std::invalid_argument if MAXMARGIN_CPU names one that cannot run here.
const Primitives& primitives();

// The names of the sets that this machine can run, narrowest first.
std::vector<std::string> available_primitives();

// The set of that name; throws std::invalid_argument with the available names.
const Primitives& primitives_named(const std::string& name);

inline const DensePrimitives<float>& dense_of(const Primitives& p, const float*) { return p.dense_f32; }
inline const DensePrimitives<double>& dense_of(const Primitives& p, const double*) { return p.dense_f64; }

inline const SparsePrimitives<float, std::int32_t>& sparse_of(const Primitives& p, const float*,
                                                              const std::int32_t*) {
    return p.sparse_f32_i32;
}
inline const SparsePrimitives<float, std::int64_t>& sparse_of(const Primitives& p, const float*,
                                                              const std::int64_t*) {
    return p.sparse_f32_i64;
}
inline const SparsePrimitives<double, std::int32_t>& sparse_of(const Primitives& p, const double*,
                                                               const std::int32_t*) {
    return p.sparse_f64_i32;
}
inline const SparsePrimitives<double, std::int64_t>& sparse_of(const Primitives& p, const double*,
                                                               const std::int64_t*) {
    return p.sparse_f64_i64;
}

}  // namespace maxmargin
