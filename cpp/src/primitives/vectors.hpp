// Vectors of one instruction set, for the files of this folder that are compiled once per set. What is said
// at the top of kernels.cpp holds: an unnamed namespace, nothing of the standard library.
#pragma once

namespace maxmargin {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif

using Doubles = double __attribute__((vector_size(kLanes * sizeof(double))));
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));  // as many, half as wide

using WideFloats = float __attribute__((vector_size(2 * kLanes * sizeof(float))));  // as wide

template <class Number>
struct VectorOf;

template <>
struct VectorOf<double> {
    using Type = Doubles;
    static constexpr int lanes = kLanes;
};

template <>
struct VectorOf<float> {
    using Type = WideFloats;
    static constexpr int lanes = 2 * kLanes;
};

template <class Vector, class Value>
inline Vector load_as(const Value* p) {
    Vector v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

inline Doubles load(const double* p) {
    Doubles v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

inline Doubles load(const float* p) {
    Floats v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Doubles);
}

inline void store(double* p, Doubles v) { __builtin_memcpy(p, &v, sizeof v); }

inline double sum(Doubles v) {
    double total = 0;
    for (int lane = 0; lane < kLanes; ++lane) total += v[lane];
    return total;
}

}  // namespace
}  // namespace maxmargin
