// Products of matrices in register tiles, one implementation per instruction set: what Gram matrices and
// Cholesky factors spend their time in.
//
// Rows are packed before they are multiplied: panels of `width` columns, each panel row after row. Columns
// fill vectors of `pack_lanes`; when the last one is not full it starts early and repeats columns of the
// vector before, so that nothing behind the row is ever read. Positions count the columns with these
// repetitions.
#pragma once

#include <cstdint>

namespace maxmargin {

struct RowsToPack {
    std::int64_t count, n_columns;  // n_columns >= pack_lanes
    const double* root;             // one factor a row
    const double* shift;            // by position
    std::int64_t panel_stride;      // numbers from a panel to the next
    double* sums;                   // by position: += Σ root · packed
};

// Rows that will be read soon: asked for while there is arithmetic to do.
struct RowsAhead {
    const void* const* rows = nullptr;
    std::int64_t count = 0, bytes = 0;  // bytes of a row
};

template <class Packed>
struct GramTile {
    std::int64_t pack_lanes;  // positions come in vectors of this size,
    std::int64_t lanes;       // and `add` wants a multiple of this one, zeros behind
    std::int64_t width;

    // to = root · (row − shift), for each row that `rows` points to.
    void (*pack_f32)(const float* const* rows, const RowsToPack& how, Packed* to);
    void (*pack_f64)(const double* const* rows, const RowsToPack& how, Packed* to);

    // sums += sign · Σ p pᵀ over the packed rows p: vectors on and above the diagonal.
    void (*add)(const Packed* packed, std::int64_t panel_stride, std::int64_t n_rows,
                std::int64_t n_positions, double sign, double* sums, std::int64_t stride,
                const RowsAhead& ahead);
};

struct Tiles {
    // Square roots of n numbers; returns the sum of the numbers.
    double (*roots)(const double* numbers, std::int64_t n, double* roots);
    GramTile<double> f64;
    GramTile<float> f32;
};

}  // namespace maxmargin
