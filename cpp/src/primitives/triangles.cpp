// Triangular factors for one instruction set; what is said at the top of kernels.cpp holds here too.
#include <cstdint>

#include "maxmargin/primitives.hpp"
#include "maxmargin/triangles.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

// As in tiles.cpp, a strip of kHeight unknowns times kVectors vectors of right sides is kept in registers.
#if defined(__AVX__)
constexpr int kHeight = kLanes, kVectors = 3;
#else
constexpr int kHeight = 2, kVectors = 6;
#endif
constexpr std::int64_t kWidth = kVectors * kLanes;

bool factorise(double* matrix, std::int64_t stride, std::int64_t size, double* inverse_diagonal,
               double& smallest_pivot) {
    for (std::int64_t k = 0; k < size; ++k) {
        double* row = matrix + k * stride;
        const double pivot = row[k];
        if (!(pivot > 0)) return false;
        if (pivot < smallest_pivot) smallest_pivot = pivot;
        const double inverse = 1 / __builtin_sqrt(pivot);
        inverse_diagonal[k] = inverse;
        // From the start of a vector on: what lies below the diagonal may take any value.
        for (std::int64_t j = k / kLanes * kLanes; j < size; j += kLanes)
            store(row + j, inverse * load(row + j));
        row[k] = pivot * inverse;
        for (std::int64_t i = k + 1; i < size; ++i) {
            double* other = matrix + i * stride;
            const double factor = row[i];
            for (std::int64_t j = i / kLanes * kLanes; j < size; j += kLanes)
                store(other + j, load(other + j) - factor * load(row + j));
        }
    }
    return true;
}

// Unknowns first … first + kHeight of kCount vectors of right sides; those before are solved.
template <int kCount>
void solve_strip(const UpperTriangle& upper, std::int64_t first, double* z, std::int64_t stride) {
    Doubles sums[kHeight][kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kHeight; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) sums[i][v] = load(z + (first + i) * stride + v * kLanes);
    }
    const double* factors = upper.data + first;
    const double* solved = z;
    for (std::int64_t k = 0; k < first; ++k, factors += upper.stride, solved += stride) {
        Doubles right[kCount];
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) right[v] = load(solved + v * kLanes);
#pragma GCC unroll 8
        for (int i = 0; i < kHeight; ++i) {
#pragma GCC unroll 8
            for (int v = 0; v < kCount; ++v) sums[i][v] -= factors[i] * right[v];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kHeight; ++i, factors += upper.stride) {
        const double inverse = upper.inverse_diagonal[first + i];
#pragma GCC unroll 8
        for (int v = 0; v < kCount; ++v) {
            sums[i][v] *= inverse;
            store(z + (first + i) * stride + v * kLanes, sums[i][v]);
#pragma GCC unroll 8
            for (int below = i + 1; below < kHeight; ++below) sums[below][v] -= factors[below] * sums[i][v];
        }
    }
}

template <int kCount>
void solve_vectors(std::int64_t vectors, const UpperTriangle& upper, std::int64_t first, double* z,
                   std::int64_t stride) {
    if (vectors >= kCount) return solve_strip<kCount>(upper, first, z, stride);
    if constexpr (kCount > 1) solve_vectors<kCount - 1>(vectors, upper, first, z, stride);
}

// All panels take a strip of U while it is in cache.
void solve_transposed(const UpperTriangle& upper, double* z, std::int64_t stride, std::int64_t panel_stride,
                      std::int64_t n_columns) {
    for (std::int64_t first = 0; first < upper.size; first += kHeight) {
        double* panel = z;
        for (std::int64_t column = 0; column < n_columns; column += kWidth, panel += panel_stride)
            solve_vectors<kVectors>((n_columns - column) / kLanes, upper, first, panel, stride);
    }
}

}  // namespace

namespace MAXMARGIN_ISA {

extern const Triangles triangles;
const Triangles triangles{kWidth, factorise, solve_transposed};

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
