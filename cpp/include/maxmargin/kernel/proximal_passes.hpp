// The passes of the semismooth Newton method for the hinge.
//
// The method of multipliers keeps an anchor α₀ for every row and minimises, for a stiffness κ,
//
//     ½‖w‖² + Σ ψ(e),   ψ′(e) = −α(e),   α(e) = clip(α₀ − κ c e, 0, c),   e = s(x·w + b) − 1 :
//
// a hinge whose corner is rounded. Its curvature is κc on the free rows, 0 < α < c, and 0 elsewhere, so the
// Gram matrix of a Newton step is one of the free rows alone. Every row keeps e and, during a step, the
// change q = s(x·dw + db) of e for a full step; so a line search reads no rows.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// The per-row arrays of a block; a pass that changes any of them is told where to write.
struct ProximalRows {
    const std::int8_t* sign;
    const double* cost;
    const double* anchor;
    const double* excess;  // e
    const double* change;  // q
};

// What a pass saw of a block; sums over rows that cost anything.
struct ProximalSums {
    double loss = 0;        // Σ c max(0, −e)
    double alpha = 0;       // Σ α
    double balance = 0;     // Σ sα
    double gap = 0;         // Σ (c − α) max(0, −e) + α max(0, e): what separates the primal from the dual
    double moved = 0;       // Σ (α − α₀)² / (2κc): how far the multipliers are from their anchor
    std::int64_t free = 0;  // rows with 0 < α < c

    ProximalSums operator+(const ProximalSums& other) const noexcept {
        return {loss + other.loss, alpha + other.alpha, balance + other.balance,
                gap + other.gap,   moved + other.moved, free + other.free};
    }
};

// e = s(x·w + b) − 1 from the rows themselves.
bool proximal_excess(const Block& block, const double* w, double b, const std::int8_t* sign, double* excess,
                     StopToken& token);

// What is done to α(e) in `proximal_move`.
struct ProximalMove {
    double step;          // e += step · q
    double before;        // κ up to now; 0: α counts as 0 so far, and all of it is added up
    double after;         // κ from now on
    bool anchor;          // first make the multipliers the new anchors: α₀ = α(e)
    const double* shift;  // of the Gram matrix; may be null
};

// Where a move writes; mostly what it reads. `anchor` may be null if it stays.
struct ProximalAfter {
    double* anchor;
    double* excess;
};

// Carries out a move: v += Σ s(α_new − α_old)x over the rows whose α changes, gram += Σ_free κc(x − shift, 1)
// (x − shift, 1)ᵀ, and the sums at the new point. `gram` may be null.
bool proximal_move(const Block& block, const ProximalMove& move, const ProximalRows& rows,
                   const ProximalAfter& after, double* v, double* gram, ProximalSums& sums, StopToken& token);

// How many steps along a direction are tried at once.
constexpr int kProximalSteps = 4;

// q = s(x·dw + db), written to `change`, and slopes[k] += Σ −α(e + steps[k] q) q for that many steps.
bool proximal_direction(const Block& block, const double* dw, double db, double stiffness,
                        const ProximalRows& rows, double* change, const double* steps, double* slopes,
                        StopToken& token);

// The slopes alone, from the stored numbers.
void proximal_slopes(std::int64_t n, double stiffness, const ProximalRows& rows, const double* steps,
                     double* slopes);

// α(e) of every row.
void proximal_alpha(std::int64_t n, double stiffness, const ProximalRows& rows, double* alpha);

}  // namespace maxmargin
