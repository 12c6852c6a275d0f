// Coordinate descent in the dual, with shrinking: every active row of a block, once, in random order.
//
//     max over α of  −½‖Σ sα(x − μ)‖² − b₀ κ − γ/2 κ² + Σ dual_value(α),    κ = Σ sα
//
// The state is u = Σ sαx and κ; a row changes its own α by δ, u by sδx and κ by sδ. The offset in use is
// b₀ + γκ: γ is 0 without offset, scale² (and b₀ = 0) for LIBLINEAR's penalised offset, and the step of a
// proximal multiplier for the free one, where κ = 0 in the end. There the columns may be centred at μ
// without changing the problem, and without touching the rows: with p = x·μ kept per row and t = μ·u,
//     (x − μ)·(u − κμ) = x·u − κp − t + κ‖μ‖².
// Source of the steps: Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML
// 2008.
//
// Shrinking: after k consecutive visits that find a row at its bound with the right sign of the gradient, the
// next k sweeps skip it. No row is left out for good, so nothing has to be undone, and rows that keep moving
// are visited in every sweep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "maxmargin/block.hpp"
#include "maxmargin/kernel/dual_step.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// The per-row arrays of the block.
struct DualRows {
    const std::int8_t* sign;
    const double* cost;
    const double* norm2;       // ‖x − μ‖²
    const double* mean_score;  // p = x·μ, or null without centring
    double* alpha;
    std::uint8_t* bound_visits;  // consecutive visits that found the row optimal at a bound
    std::uint8_t* skips;         // sweeps that still skip the row
};

// The state shared by all blocks.
struct DualState {
    double* u;
    double balance = 0;     // κ
    double mean_dot = 0;    // t
    double center = 0;      // b₀
    double gamma = 0;       // γ
    double mean_norm2 = 0;  // ‖μ‖²
};

struct SweepOrder {
    std::uint64_t seed, pass, block;
};

struct DualSweepRecord {
    double lowest = 0, highest = 0;  // range of the violations seen
    double gap = 0;                  // sum of the rows' gaps as each was visited
    std::int64_t visited = 0, moved = 0;
    bool complete = true;

    DualSweepRecord operator+(const DualSweepRecord& other) const noexcept {
        return {std::min(lowest, other.lowest),
                std::max(highest, other.highest),
                gap + other.gap,
                visited + other.visited,
                moved + other.moved,
                complete && other.complete};
    }
};

// Returns false when no dual loss has that name. α and the state agree after every row, so a sweep that was
// stopped has lost nothing.
bool dual_sweep(std::string_view loss, const Block& block, const DualRows& numbers, DualState& state,
                const SweepOrder& order, StopToken& token, DualSweepRecord& record);

}  // namespace maxmargin
