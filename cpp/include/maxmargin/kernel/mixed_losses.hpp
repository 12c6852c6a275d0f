// The total loss of mixtures of two points: what a path between two solutions costs in the rows' losses.
//
// Scores are linear in the weights, so the mixture with share t of (w₁, b₁) and (w₂, b₂) has the scores
// (1 − t) z₁ + t z₂, and no row has to be read.
#pragma once

#include <cstdint>
#include <string_view>

namespace maxmargin {

struct TwoScores {
    const double* first;   // z₁ = x·w₁ of each row
    const double* second;  // z₂
    const std::int8_t* sign;
    const double* cost;
    std::int64_t n;
    double first_offset, second_offset;  // b₁, b₂
};

// totals[k] += Σ c ℓ(m) at the share shares[k]; false when no loss has that name.
bool mixed_losses(std::string_view loss, const TwoScores& rows, const double* shares, std::int64_t n_shares,
                  double* totals);

}  // namespace maxmargin
