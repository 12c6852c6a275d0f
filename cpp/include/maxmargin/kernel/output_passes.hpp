// Passes over rows with the weights of several outputs: z = W x + b.
//
// Rows are read in chunks that stay in cache while their scores are made, turned into residuals, and combined
// with the rows again; nothing of the size of rows × outputs is kept. Dense rows of any type are multiplied
// in single or double precision, sparse ones in double precision. Sums over chunks are in double precision,
// in the order of the rows.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// W has n_outputs rows of n_columns numbers, b one number for each.
struct OutputPoint {
    const double* W;
    const double* b;
    std::int64_t n_outputs;
};

struct ClassRows {
    const std::int32_t* label;  // 0 … n_outputs − 1
    const double* cost;
};

// z = W x + b, one row of n_outputs numbers for each row.
bool output_scores(const Block& block, const OutputPoint& point, bool single, double* z, StopToken& token);

// V += Σ r xᵀ for the numbers r, n_outputs for each row.
bool combine_outputs(const Block& block, const double* r, std::int64_t n_outputs, bool single, double* V,
                     StopToken& token);

// Softmax: p = exp(z) / Σ exp(z), loss c (log Σ exp(z) − z_label), residuals r = c (p − e_label).
//   gradient += Σ r xᵀ, balance += Σ r; returns false if it was stopped. `gradient` may be null.
bool softmax_gradient(const Block& block, const OutputPoint& point, const ClassRows& rows, bool single,
                      double* gradient, double* balance, double& loss, StopToken& token);

// The Hessian of the total loss at `point`, times a direction: with u = D x + e and q = c p ∘ (u − p·u),
//   product += Σ q xᵀ, product_b += Σ q.
bool softmax_hessian_product(const Block& block, const OutputPoint& point, const OutputPoint& direction,
                             const double* cost, bool single, double* product, double* product_b,
                             StopToken& token);

// The same with the probabilities p, one row of n_outputs numbers for each row, as `softmax_probabilities`
// fills them: a third less work where there is room for them.
bool softmax_curvature_product(const Block& block, const float* p, const OutputPoint& direction,
                               const double* cost, bool single, double* product, double* product_b,
                               StopToken& token);
bool softmax_probabilities(const Block& block, const OutputPoint& point, bool single, float* p,
                           StopToken& token);

// The Hessian of the total loss in (w₁, b₁, w₂, b₂, …), of the rows less `shift`, which may be null:
//   hessian += Σ c (diag p − p pᵀ) ⊗ x̃ x̃ᵀ with x̃ = (x − shift, 1).
bool softmax_hessian(const Block& block, const OutputPoint& point, const double* cost, const double* shift,
                     bool single, double* hessian, StopToken& token);

// The duals r = c (e_label − α), where α is the softmax p at a point of which each entry gives up a share,
// and what is given up is distributed: α = p ∘ (1 − shrink) + (Σ shrink p) fill. `moves` if any share is
// above 0.
struct SoftmaxDuals {
    OutputPoint point;
    const double* shrink;
    const double* fill;
    bool moves;
};

// Σ c loss, Σ c entropy(α), Σ |r|, and the largest |W x|.
struct SoftmaxTerms {
    double loss = 0, dual = 0, total = 0, largest_score = 0;
};

// V += Σ r xᵀ, balance += Σ r, in double precision.
bool softmax_certificate(const Block& block, const OutputPoint& point, const SoftmaxDuals& duals,
                         const ClassRows& rows, double* V, double* balance, SoftmaxTerms& terms,
                         StopToken& token);

}  // namespace maxmargin
