// Leaving one example after the other out of a hinge fit, judged by coordinate descent in the dual: for rows
// with so many columns that a matrix of them is out of the question.
//
// Any dual point α' of the left-out problem and any μ ≥ 0 give a lower bound for all points that get row g
// wrong, s_g f(x_g) ≤ 0. It is above what the full fit (w, b) with agreements m is worth there by
//
//     V = μ m_g − ½‖r‖² − Σ_j gap_j(α'_j),   r = w − Σ α' s x + μ s_g x_g,
//
// where gap_j is the share of row j of the duality gap at m_j. V is concave and rows are its coordinates:
// α'_j moves by (s_j x_j·r + 1 − m_j)/‖x_j‖². Where V > 0, row g is right in every left-out optimum. A free
// offset is one more column of a moderate value, with a multiplier, until a bound is to be believed: then
// Σ s α' = μ s_g is restored.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct WideFit {
    const Block& rows;
    const std::int8_t* sign;
    const double *cost, *alpha, *agreement;
    const double* norm2;     // ‖x‖²
    const double* residual;  // w − w(α), one number a column
    double tail;             // the same of the offset's column
    double offset_square;    // of the offset's column: of a free one any moderate number; 0 without
    bool has_free_offset;
    double gap_of_rows;  // Σ of the rows' shares of the duality gap
    double objective;
    double offset_reach;              // no offset that matters is larger
    const std::uint32_t* candidates;  // rows that may move, in random order
    std::int64_t n_candidates;
};

struct Removal {
    std::int64_t row;
    double cost;  // what it still costs
};

// decisions[k] = 1 if row k is certainly right when it is left out, else 0. False if it was stopped.
bool decide_by_descent(const WideFit& fit, const Removal* removals, std::int64_t count,
                       std::int8_t* decisions, StopToken& token);

}  // namespace maxmargin
