// The passes of the interior point method for the hinge, each one reading of the rows.
//
// With e = s(x·w + b) − 1 every row has t, ξ > 0, t − ξ = e, and their multipliers α, β > 0, α + β = c. The
// central path is αt = βξ = μc. Near a point of it the Newton step of the whole problem is a system in
// (w, b) alone, with the matrix E + Σ h x̃x̃ᵀ, x̃ = (x, 1):
//
//     h = 1/(t/α + ξ/β),   δα = h(q − s x̃·δ),   δt = (r₁ − t δα)/α,   δξ = (r₂ + ξ δα)/β,   q = r₁/α − r₂/β
//
// where r₁ and r₂ are what αt and βξ should change by. Three choices of them make one iteration: those of
// the end of the path (predictor), those of a point further along it with the predictor's second-order
// error taken out (corrector), and changes that pull single products back towards the others (Gondzio's
// correctors). A pass finds the directions of one choice and, while the rows are in cache, the right-hand
// side of the next. Rows of cost 0 take no part.
#pragma once

#include <algorithm>
#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// One number for each row of the block; a pass that changes any of them is told where to write.
struct InteriorRows {
    const std::int8_t* sign;
    const double* cost;
    const double *alpha, *beta, *t, *xi;
};

struct InteriorDirection {
    const double *alpha, *t, *xi;
};

struct NewDirection {
    double *alpha, *t, *xi;
};

// Where the state after a move goes; everything but α may be the state before it.
struct NewState {
    double *alpha, *beta, *t, *xi;
};

// Weights and offset, or a change of both: a row's score is x·w + offset.
struct Affine {
    const double* w;
    double offset;
};

// The point of the path that has the margins e: all of t, ξ, α, β without cancellation.
struct CentredRow {
    double alpha, beta, t, xi;
};
CentredRow centre_row(double e, double cost, double mu) noexcept;

struct PointSums {
    bool complete = true;
    double loss = 0;             // Σ c max(0, −e)
    double gap = 0;              // Σ of the rows' shares of the duality gap: αe or −βe
    double dual = 0;             // Σ α
    double balance = 0;          // Σ sα
    double complementarity = 0;  // Σ αt + βξ

    PointSums operator+(const PointSums& other) const noexcept {
        return {complete && other.complete, loss + other.loss,       gap + other.gap,
                dual + other.dual,          balance + other.balance, complementarity + other.complementarity};
    }
};

// How a row gets to the point (w, b) that the pass is told.
struct Move {
    const InteriorDirection* along;  // null: to the centred point of `mu`
    double step;
    double mu;
};

// What the pass adds up at the new point; the vectors have one entry more than there are columns.
struct Assembly {
    double* dual_sum;        // Σ sα x̃
    double* predictor_side;  // Σ s h q x̃ of the predictor
    double* matrix;          // Σ h x̃x̃ᵀ of rows less `shift`, or null to leave it out
    const double* shift;     // or null
};

// Moves every row; the new α has a place of its own, so that an interrupted pass leaves the old one.
PointSums interior_move(const Block& block, const InteriorRows& rows, const Affine& at, const Move& move,
                        const NewState& after, const Assembly& sums, StopToken& token);

struct StepSums {
    bool complete = true;
    double largest_ratio = 0;  // 1 / the longest step that keeps everything positive
    double first = 0;          // Σ αt + βξ changes by first·step + second·step²
    double second = 0;

    StepSums operator+(const StepSums& other) const noexcept {
        return {complete && other.complete, std::max(largest_ratio, other.largest_ratio), first + other.first,
                second + other.second};
    }
};

// The predictor. Its δα goes to `alpha`; the corrector's right-hand side is
// `predictor_side` + σμ·`centring` + `second_order`.
StepSums interior_predict(const Block& block, const InteriorRows& rows, const Affine& change, double* alpha,
                          double* centring, double* second_order, StopToken& token);

// Where Gondzio's correctors want the products: between 0.1 and 10 times target·c, at a step of `trial`.
struct Aim {
    double target;
    double trial;
};

// The corrector, from the predictor's δα in `along.alpha`; all directions are written. `pull_back` gets
// the right-hand side of the first of Gondzio's correctors.
StepSums interior_correct(const Block& block, const InteriorRows& rows, const Affine& change,
                          const NewDirection& along, const Aim& aim, double* pull_back, StopToken& token);

// One of Gondzio's correctors: `better` is `along` corrected with `aim`, whose right-hand side gave
// `change`; `pull_back` is for the one after it, at the trial step `next_trial`.
StepSums interior_refine(const Block& block, const InteriorRows& rows, const Affine& change,
                         const InteriorDirection& along, const NewDirection& better, const Aim& aim,
                         double next_trial, double* pull_back, StopToken& token);

// The smallest product αt or βξ after each of some steps, as a share of the mean product of that step times
// c; `least` is only lowered. Reads no rows.
struct TriedStep {
    double step, mean;
};
void interior_least_products(std::int64_t n, const InteriorRows& rows, const InteriorDirection& along,
                             const TriedStep* tried, std::int64_t n_tried, double* least) noexcept;

// The slope of the smoothed loss Σ c φ(e), φ′ = −μ/t on the central path, along a change of the scores: for
// the line search of Newton's method at a fixed μ. Reads no rows.
double interior_smooth_slope(std::int64_t n, const InteriorRows& rows, const double* change, double step,
                             double mu) noexcept;

}  // namespace maxmargin
