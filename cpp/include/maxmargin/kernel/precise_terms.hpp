// What a certificate is made of, in twice the precision and in one reading of the rows: for certificates that
// double precision cannot make, because scores of tiny objectives or of shifted columns cancel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"
#include "maxmargin/twofold.hpp"

namespace maxmargin {

struct PreciseRows {
    const std::int8_t* sign;
    const double* cost;
    const double* alpha;
};

struct PreciseTerms {
    Twofold loss;      // Σ c ℓ(m) with m = s(x·w + b)
    Twofold dual;      // −Σ c ℓ*(−α/c)
    Twofold balance;   // Σ s α
    double total = 0;  // Σ α
    // Of the rows that cost anything: the smallest agreement, the range of their scores x·w, the smallest
    // score of sign +1 and the largest one of sign −1.
    double least_agreement = kNoRow, least_score = kNoRow, most_score = -kNoRow;
    double least_positive = kNoRow, most_negative = -kNoRow;
    double furthest2 = 0;  // the largest ‖x − origin‖²; at least that for sparse rows

    static constexpr double kNoRow = std::numeric_limits<double>::infinity();

    PreciseTerms operator+(const PreciseTerms& other) const noexcept {
        return {loss + other.loss,
                dual + other.dual,
                balance + other.balance,
                total + other.total,
                std::min(least_agreement, other.least_agreement),
                std::min(least_score, other.least_score),
                std::max(most_score, other.most_score),
                std::min(least_positive, other.least_positive),
                std::max(most_negative, other.most_negative),
                std::max(furthest2, other.furthest2)};
    }
};

struct PrecisePoint {
    const double* w;
    double b;
    const double* origin;  // from where distances are measured
};

// Adds to the terms and to v = Σ s α x, a high and a low part for each column. Returns false if it was
// stopped; `known` becomes false when no dual loss has that name.
bool precise_terms(std::string_view loss, const Block& block, const PrecisePoint& point,
                   const PreciseRows& rows, PreciseTerms& terms, double* v_high, double* v_low, bool& known,
                   StopToken& token);

struct PreciseOutputs {
    std::int64_t n_outputs;
    const double* W;  // n_outputs × n_columns
    const double* b;
    const double* origin;  // from where distances are measured
    const std::int32_t* label;
    const double* cost;
    const double* duals;  // n_rows × n_outputs
};

// Fills z with W x + b, rounded once, of rows that cost anything, and with 0 for the others; adds Σ r xᵀ and
// Σ r of the duals r, high and low parts apart. That of a row's own class is taken to be minus the sum of the
// others, which it is before it is rounded. `furthest2` becomes at least the largest ‖x − origin‖² of rows
// that cost anything. Returns false if it was stopped.
bool precise_outputs(const Block& block, const PreciseOutputs& point, double* z, double* V_high,
                     double* V_low, double* balance_high, double* balance_low, double& furthest2,
                     StopToken& token);

// Σ (v − factor · shift)² over n columns; v is high + low, and `low` and `shift` may be null.
Twofold precise_norm2(const double* high, const double* low, const double* shift, Twofold factor,
                      std::int64_t n);

}  // namespace maxmargin
