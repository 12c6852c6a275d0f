// Sums over rows that need only their scores z = x·w: what a certificate and the best offset are made of.
#pragma once

#include <cstdint>
#include <string_view>

namespace maxmargin {

// Per-row numbers of a block: agreement m = sign (z + b), cost c, dual α.
struct ScoredRows {
    const double* z;
    const std::int8_t* sign;
    const double* cost;
    std::int64_t n;
};

struct CertificateTerms {
    double loss = 0;     // Σ c ℓ(m)
    double gap = 0;      // Σ c ℓ(m) + c ℓ*(−α/c) + α m, without cancellation
    double dual = 0;     // −Σ c ℓ*(−α/c)
    double balance = 0;  // Σ s α

    CertificateTerms operator+(const CertificateTerms& other) const noexcept {
        return {loss + other.loss, gap + other.gap, dual + other.dual, balance + other.balance};
    }
};

// Returns false when no dual loss has that name.
bool certificate_terms(std::string_view loss, const ScoredRows& rows, double b, const double* alpha,
                       CertificateTerms& terms);

struct OffsetDerivatives {
    double slope = 0, curvature = 0;  // of Σ c ℓ(s(z + b)) in b

    OffsetDerivatives operator+(const OffsetDerivatives& other) const noexcept {
        return {slope + other.slope, curvature + other.curvature};
    }
};

bool offset_derivatives(std::string_view loss, const ScoredRows& rows, double b,
                        OffsetDerivatives& derivatives);

// max |z| over rows that cost anything; 0 without any.
double largest_score(const double* z, const double* cost, std::int64_t n);

}  // namespace maxmargin
