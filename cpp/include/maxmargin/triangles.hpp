// Triangular factors U with UᵀU = M, one implementation per instruction set. Matrices are row-major; sizes
// are multiples of kTriangleStep, which every instruction set's vectors divide.
#pragma once

#include <cstdint>

namespace maxmargin {

constexpr std::int64_t kTriangleStep = 8;

// An upper triangle; what is below its diagonal is not read.
struct UpperTriangle {
    const double* data;
    std::int64_t stride, size;
    const double* inverse_diagonal;
};

struct Triangles {
    std::int64_t width;  // columns of a panel

    // Turns the upper triangle of a symmetric matrix into U, in place, and writes the inverse diagonal. The
    // smallest pivot is lowered to those met; false at the first that is not positive.
    bool (*factorise)(double* matrix, std::int64_t stride, std::int64_t size, double* inverse_diagonal,
                      double& smallest_pivot);

    // z ← U⁻ᵀ z for `n_columns` columns, a multiple of the step, in panels of `width` columns. Rows of a
    // panel are `stride` apart, panels `panel_stride`.
    void (*solve_transposed)(const UpperTriangle& upper, double* z, std::int64_t stride,
                             std::int64_t panel_stride, std::int64_t n_columns);
};

}  // namespace maxmargin
