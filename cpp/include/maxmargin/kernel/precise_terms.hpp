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

// Σ (v − factor · shift)² over n columns; v is high + low, and `low` and `shift` may be null.
Twofold precise_norm2(const double* high, const double* low, const double* shift, Twofold factor,
                      std::int64_t n);

}  // namespace maxmargin
