// Products of rows with panels of columns, one implementation per instruction set. A panel holds `width`
// columns, one row after the other.
#pragma once

#include <cstdint>

namespace maxmargin {

struct Panels {
    std::int64_t width;

    // to[i] = Σ_k rows[i · stride + k] z[k] for every column of every panel; panels of z are `z_stride`
    // apart, those of the results `to_stride`.
    void (*multiply)(const double* rows, std::int64_t stride, std::int64_t n_rows, std::int64_t length,
                     const double* z, std::int64_t z_stride, std::int64_t n_panels, double* to,
                     std::int64_t to_stride);
};

}  // namespace maxmargin
