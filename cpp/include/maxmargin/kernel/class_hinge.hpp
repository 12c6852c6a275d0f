// The hinge of Crammer and Singer, max over k of u_k − u_y with u_k = 1[k ≠ y] + z_k + b_k, on stored scores.
//
// A row's duals are r = c (e_y − α) with α in the simplex of K entries: r_k = −c α_k for k ≠ y, and r_y is
// the sum of the others' sizes, so that none of its digits are lost. Arrays of scores and duals have K
// numbers for each row.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct ClassRow {
    std::int32_t label;
    double cost;
};

// The a = cα nearest to a(r) + step·u, as duals: the best step of the row's dual problem if `step` is 1/‖x‖².
// An infinite step gives all cost to the first class of the largest u. `u` is overwritten; `changed` may be
// r.
void project_duals(const ClassRow& row, double step, std::int64_t n_outputs, const double* r, double* u,
                   double* changed) noexcept;

struct ClassPiece {
    const std::int32_t* label;
    const double* cost;
    std::int64_t n_rows, n_outputs;
};

// The nearest feasible duals, whatever numbers are given; returns in `mass` c α of each class, added up.
void feasible_duals(const ClassPiece& rows, const double* given, double* duals, double* mass);

// α = α ∘ (1 − shrink) + (Σ shrink α) fill in the place of the duals.
void move_duals(const ClassPiece& rows, const double* shrink, const double* fill, double* duals);

// The hinge smoothed about `centre` with steps σc: duals maximise Σ a u − |a − a°|²/(2 σ c), and the value is
// that, less c u_y. balance += Σ r; curvature += Σ σ c (diag 1_A − 1_A 1_Aᵀ/|A|), where A are the classes
// with a > 0: the Hessian in b; it may be null.
double smoothed_hinge(const ClassPiece& rows, const double* z, const double* b, const double* centre,
                      double sigma, double* duals, double* balance, double* curvature);

// q = σ c (u_A − the mean of u_A) on A, 0 elsewhere, in the place of u: the change of −r with the scores.
void curve_duals(const ClassPiece& rows, const double* duals, double sigma, double* u);

// Σ c loss at z + b, Σ r_y, Σ |r|, and the largest |z| of rows that cost anything; balance += Σ r.
struct HingeTerms {
    double loss = 0, dual = 0, total = 0, largest_score = 0;
};

HingeTerms hinge_terms(const ClassPiece& rows, const double* z, const double* b, const double* duals,
                       double* balance);

// Σ σ c (diag 1_A − 1_A 1_Aᵀ/|A|) ⊗ x̃x̃ᵀ with x̃ = (x − shift, 1), on and below the diagonal; a null shift is
// 0.
bool hinge_hessian(const Block& block, const ClassPiece& rows, const double* duals, double sigma,
                   const double* shift, double* hessian, StopToken& token);

}  // namespace maxmargin
