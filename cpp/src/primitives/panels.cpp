// Products with panels for one instruction set; what is said at the top of kernels.cpp holds here too.
#include <cstdint>

#include "maxmargin/panels.hpp"
#include "maxmargin/primitives.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

// As in tiles.cpp: sums of kHeight rows times kVectors vectors stay in registers.
#if defined(__AVX512F__)
constexpr int kHeight = 8, kVectors = 3;
#elif defined(__AVX__)
constexpr int kHeight = 4, kVectors = 3;
#else
constexpr int kHeight = 2, kVectors = 6;
#endif
constexpr std::int64_t kWidth = kVectors * kLanes;

template <int kRows>
void multiply_strip(const double* rows, std::int64_t stride, std::int64_t length, const double* z,
                    double* to) {
    Doubles sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[i][v] = Doubles{};
    }
    for (std::int64_t k = 0; k < length; ++k, z += kWidth) {
        Doubles right[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) right[v] = load(z + v * kLanes);
#pragma GCC unroll 8
        for (int i = 0; i < kRows; ++i) {
            const double left = rows[i * stride + k];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sums[i][v] += left * right[v];
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) store(to + i * kWidth + v * kLanes, sums[i][v]);
    }
}

// All panels take a strip of rows while it is in cache.
void multiply(const double* rows, std::int64_t stride, std::int64_t n_rows, std::int64_t length,
              const double* z, std::int64_t z_stride, std::int64_t n_panels, double* to,
              std::int64_t to_stride) {
    std::int64_t i = 0;
    for (; i + kHeight <= n_rows; i += kHeight) {
        for (std::int64_t p = 0; p < n_panels; ++p)
            multiply_strip<kHeight>(rows + i * stride, stride, length, z + p * z_stride,
                                    to + p * to_stride + i * kWidth);
    }
    for (; i < n_rows; ++i) {
        for (std::int64_t p = 0; p < n_panels; ++p)
            multiply_strip<1>(rows + i * stride, stride, length, z + p * z_stride,
                              to + p * to_stride + i * kWidth);
    }
}

}  // namespace

namespace MAXMARGIN_ISA {

extern const Panels panels;
const Panels panels{kWidth, multiply};

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
