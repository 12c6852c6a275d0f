// Coordinate descent in the dual of Crammer and Singer's hinge, or of softmax: every active row of a block,
// once, in random order, all K duals of the row together.
//
//     max over r of  Σ r_y (for softmax Σ c entropy(α)) − ½‖Σ r xᵀ‖² − b₀·κ − γ/2 ‖κ‖²,    κ = Σ r,  r = c
//     (e_y − α), α in the simplex
//
// The state is W = Σ r xᵀ, column after column so that an entry of a row meets its K weights together, and κ.
// The offsets in use are b₀ + γκ: γ is 0 without offset, scale² (and b₀ = 0) for a penalised one, and the
// step of a proximal multiplier for the free one, where κ = 0 in the end. The best duals of a row are those
// nearest to what the scores ask for: a projection onto the simplex (`project_duals`), or for softmax the
// nearest in another sense (`SoftmaxRowStep`).
// Source: Keerthi, Sundararajan, Chang, Hsieh and Lin, "A sequential dual method for large scale multi-class
// linear SVMs", KDD 2008.
//
// Shrinking: after k consecutive visits in which no class came into use, the next k visits of a row look at
// the classes with α > 0 only; a row with one such class is skipped. A row that had less to gain than
// `worthwhile` rests for two sweeps; for softmax, where all classes are in use, that is all. No row or class
// is left out for good.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/kernel/dual_sweep.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// The per-row arrays of the block; duals has n_outputs numbers for each row.
struct ClassSweepRows {
    const std::int32_t* label;
    const double* cost;
    const double* norm2;
    double* duals;
    std::uint8_t* calm;    // consecutive visits in which no class came into use
    std::uint8_t* skips;   // visits that still look at the classes in use only
    std::uint8_t* in_use;  // classes with α > 0, at most 255; 0 if that is not known
    std::uint8_t* rests;   // sweeps that still leave the row out
};

// W has n_columns rows of `stride` numbers, a multiple of 8, of which n_outputs are used and the others are
// 0; the other arrays have n_outputs numbers.
struct ClassSweepState {
    double* W;
    std::int64_t stride, n_outputs;
    double* balance;       // κ
    const double* center;  // b₀
    double gamma;
    double worthwhile;  // a gap
    bool is_softmax;    // else Crammer and Singer's hinge
};

// The record's `highest` is the largest violation, and its `gap` adds up what rows had to gain.
DualSweepRecord class_sweep(const Block& block, const ClassSweepRows& numbers, const ClassSweepState& state,
                            const SweepOrder& order, StopToken& token);

}  // namespace maxmargin
