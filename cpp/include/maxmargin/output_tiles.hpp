// Products of rows with the weights of several outputs, in register tiles, and the softmax of their scores;
// one implementation per instruction set.
//
// Rows are dense and contiguous, of the same number type as the products: `row_stride` numbers from one to
// the next, and at least `lanes` columns. Weights are packed before scores are made: panels of `width`
// outputs, each column after column, zeros behind the last output. Scores and residuals have rows of `stride`
// numbers, a multiple of `lanes` that holds all outputs; what is behind the last output is written, too.
#pragma once

#include <cstdint>

namespace maxmargin {

// What softmax leaves of a row, for the logarithm: the largest score, and Σ exp(score − largest) without
// its 1.
struct SoftmaxRow {
    double largest, rest;
};

template <class Number>
struct OutputTiles {
    std::int64_t lanes;  // numbers of a vector
    std::int64_t width;  // outputs of a panel

    // W has n_outputs rows of n_columns numbers.
    void (*pack)(const double* W, std::int64_t n_outputs, std::int64_t n_columns, Number* packed);

    // z = X Wᵀ.
    void (*score)(const Number* x, std::int64_t row_stride, std::int64_t n_rows, const Number* packed,
                  std::int64_t n_columns, std::int64_t n_outputs, Number* z, std::int64_t stride);

    // sums += RᵀX, with n_outputs rows of n_columns numbers. The sums of the rows given are made in `Number`.
    // `scratch` has room for n_rows · (n_outputs + 2 · width) numbers.
    void (*combine)(const Number* x, std::int64_t row_stride, std::int64_t n_rows, std::int64_t n_columns,
                    const Number* r, std::int64_t stride, std::int64_t n_outputs, Number* scratch,
                    double* sums);

    // z += b, and then p = exp(z − largest) / Σ in its place; b is −∞ behind the last output.
    void (*softmax)(Number* z, std::int64_t stride, std::int64_t n_rows, const Number* b, SoftmaxRow* rows);

    // c (p − e_label) in the place of p; its entries add up to 0 up to rounding of the smaller ones.
    void (*residuals)(Number* p, std::int64_t stride, std::int64_t n_rows, const std::int32_t* label,
                      const double* cost);

    // c p ∘ (u + b − p·(u + b)) in the place of u: the change of the residuals with the scores; b is 0 behind
    // the last output.
    void (*curve)(const Number* p, Number* u, std::int64_t stride, std::int64_t n_rows, const Number* b,
                  const double* cost);
};

struct Outputs {
    OutputTiles<float> f32;
    OutputTiles<double> f64;
    void (*widen_half)(const std::uint16_t* from, std::int64_t n, float* to);
    void (*widen_brain)(const std::uint16_t* from, std::int64_t n, float* to);
};

inline const OutputTiles<float>& tiles_of(const Outputs& outputs, const float*) { return outputs.f32; }
inline const OutputTiles<double>& tiles_of(const Outputs& outputs, const double*) { return outputs.f64; }

}  // namespace maxmargin
