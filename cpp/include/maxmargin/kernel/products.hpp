// The two products with the data that everything but coordinate descent is made of, and a look at the
// rows before a fit: z = X w, v = Xᵀa, squared norms and the first value that is not finite.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// Each returns false if it was stopped. Any of the two outputs may be left out with a null pointer:
// z_i = x_i·w and v += Σ a_i x_i, both in one reading of the block.
bool multiply(const Block& block, const double* w, double* z, const double* a, double* v, StopToken& token);

// z_ik = x_i·w_k for all of n_outputs weight vectors, one after the other in w, in one reading of the block;
// z has n_outputs numbers for each row. Every score has the bits that `multiply` would give it.
bool multiply_many(const Block& block, const double* w, std::int64_t n_outputs, double* z, StopToken& token);

// What a certificate takes from the rows, in one reading: z = X w, v += Σ s α x, and sums over α.
struct CertificateRows {
    const std::int8_t* sign;
    const double* cost;
    const double* alpha;
};

struct DualSums {
    double linear = 0, balance = 0;  // Σ α, Σ s α
    double square = 0;               // Σ α²/c

    DualSums operator+(const DualSums& other) const noexcept {
        return {linear + other.linear, balance + other.balance, square + other.square};
    }
};

bool score_and_pull(const Block& block, const double* w, double* z, const CertificateRows& rows, double* v,
                    DualSums& sums, StopToken& token);

// v += Σ s α x and total += Σ s α for α = −c ℓ′(m), the dual variables that the agreements m = s(z + b)
// imply. `known` becomes false when no dual loss has that name.
struct ImpliedPull {
    const double* z;
    const std::int8_t* sign;
    const double* cost;
    double b;
};

bool implied_pull(std::string_view loss, const Block& block, const ImpliedPull& rows, double* v,
                  double& total, bool& known, StopToken& token);

struct Inspection {
    bool complete = true;
    std::int64_t n_rows = 0;
    std::int64_t bad_row = -1, bad_column = -1;  // the first value that is not finite
    double bad_value = 0;
    std::int64_t overflow_row = -1;  // the first row whose squared norm is not finite
    double largest_norm2 = 0;

    // Of these rows and the ones after them; rows are counted from the first of both.
    Inspection operator+(const Inspection& next) const noexcept {
        Inspection both = *this;
        both.complete = complete && next.complete;
        both.n_rows += next.n_rows;
        if (bad_row < 0 && next.bad_row >= 0) {
            both.bad_row = n_rows + next.bad_row;
            both.bad_column = next.bad_column;
            both.bad_value = next.bad_value;
        }
        if (overflow_row < 0 && next.overflow_row >= 0) both.overflow_row = n_rows + next.overflow_row;
        both.largest_norm2 = std::max(largest_norm2, next.largest_norm2);
        return both;
    }
};

// norm2_i = ‖x_i‖².
Inspection inspect(const Block& block, double* norm2, StopToken& token);

}  // namespace maxmargin
