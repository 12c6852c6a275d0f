// Sums over the dual variables α of a block, and what makes them feasible: 0 ≤ α ≤ its largest value, and
// Σ sα = 0. Each function adds to its sums, so that blocks can be joined.
#pragma once

#include <cstdint>

namespace maxmargin {

struct SignedCosts {
    const std::int8_t* sign;
    const double* cost;
    std::int64_t n;
};

struct ClassCosts {
    double positive = 0, negative = 0;  // Σ c of each sign
    std::int64_t n_live = 0;            // rows that cost anything

    double total() const noexcept { return positive + negative; }
    ClassCosts operator+(const ClassCosts& other) const noexcept {
        return {positive + other.positive, negative + other.negative, n_live + other.n_live};
    }
};

void class_costs(const SignedCosts& rows, ClassCosts& sums);

// What no optimal α exceeds: c where the loss bounds it, else `reach` √c.
struct LargestDual {
    bool bounded;
    double reach;
};

struct DualBalance {
    double positive = 0, negative = 0;  // Σ α of each sign
    double room = 0;                    // Σ min(α, c − α), where α is bounded

    DualBalance operator+(const DualBalance& other) const noexcept {
        return {positive + other.positive, negative + other.negative, room + other.room};
    }
};

// feasible = α moved into its interval; numbers that are not finite become 0. `feasible` may be `alpha`.
void clamp_dual(const SignedCosts& rows, const double* alpha, const LargestDual& largest, double* feasible,
                DualBalance& sums);

// One of two ways to remove Σ sα: rows between their bounds share it, α −= share · s min(α, c − α), which
// keeps them inside for |share| < 1; or one class shrinks by its factor.
struct Correction {
    double share = 0;
    double positive_factor = 1, negative_factor = 1;
};

void correct_dual(const SignedCosts& rows, const Correction& by, bool bounded, double* alpha,
                  DualBalance& sums);

}  // namespace maxmargin
