// One example at a time: the steps of the perceptron, hinge SGD, Pegasos and logistic SGD.
//
// With the agreement m = s(x·θ + θ₀) of the row that is visited and the step size η,
//     margin     if m ≤ threshold:  θ ← θ + η s x, θ₀ ← θ₀ + η s       (threshold 0: perceptron, 1: hinge)
//     pegasos    θ ← (1 − ηλ)θ, and if m ≤ 1 then θ ← θ + η s x as well; θ₀ ← θ₀ + η s
//     logistic   θ ← θ + η s (1 − P) x, θ₀ ← θ₀ + η s (1 − P),  P = 1/(1 + exp(−m)) from the old weights
// Where norms are given, η s x is divided by the norm of the row, lifted by a 1 where there is an offset.
//
// θ = scale · v, so that Pegasos' shrinking costs nothing and a step touches the row's own columns only. For
// the average of θ over all steps, let S be the sum of the scales so far: the sum of all θ is S v − u, where
// a change of v by δ adds S δ to u.
#pragma once

#include <cstdint>
#include <string_view>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

enum class Arrangement {
    given,     // the rows as they stand
    shuffled,  // one permutation of all rows per pass
    drawn,     // each row at random, with replacement
};

// η = scale / (t + delay)^power with power 0, ½ or 1; t counts from 1.
struct StepSize {
    double power, scale, delay;
    double at(std::int64_t t) const noexcept;
};

struct OnlineSettings {
    StepSize step;
    double threshold = 0;         // of the margin rule
    double lambda = 0;            // of pegasos
    bool has_offset = false;      // whether θ₀ moves
    bool counts_updates = false;  // t counts updates, not visits
    Arrangement arrangement = Arrangement::given;
};

// What lasts from one call to the next. It is consistent after every visit.
struct OnlineState {
    double* v;
    double* u = nullptr;  // null without averaging
    double scale = 1, scale_sum = 0;
    double offset = 0, offset_sum = 0;
    std::int64_t visits = 0, updates = 0;
};

// The piece of a pass that a call makes: it begins at that position of the pass, and ends after so many
// visits or updates, whichever comes first.
struct Stretch {
    std::uint64_t seed, pass;
    std::int64_t from, visits, updates;
};

// What to write down; null pointers for what is not wanted. Each has room for all visits of the stretch.
struct OnlineLog {
    std::uint32_t* updated_rows = nullptr;  // one entry per update
    std::uint32_t* row = nullptr;           // from here on all or none, one entry per visit
    double* agreement = nullptr;
    std::uint8_t* updated = nullptr;
    double* step = nullptr;
};

// Makes the stretch; returns false when no rule has that name. norm2 is null unless updates are normalised.
bool online_sweep(std::string_view rule, const OnlineSettings& settings, const Block& block,
                  const std::int8_t* sign, const double* norm2, OnlineState& state, const Stretch& stretch,
                  const OnlineLog& log, StopToken& token);

// Writes θ, or the mean of θ after every visit so far where averages are kept; returns the offset.
double online_weights(const OnlineState& state, std::int64_t columns, bool averaged, double* theta);

}  // namespace maxmargin
