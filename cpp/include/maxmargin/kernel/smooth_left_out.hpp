// One reading of the rows for many points, each of a problem without one of the rows:
//
//     gradient  Σ s c ℓ′(m) (x, 1)  over all rows but the one left out,   m = s(x·w + b),
//
// and how far the other rows are from what a bound around the point must not reach: for the logistic loss how
// much scores have changed since they were z, for the squared hinge how far rows are from the end of their
// parabola.
#pragma once

#include <cstdint>
#include <string_view>

#include "maxmargin/block.hpp"
#include "maxmargin/kernel/row_terms.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

constexpr std::int64_t kCores = 4;

struct LeftOutPoints {
    std::int64_t count;
    const double* w;  // count × n_columns
    const double* b;  // count
    const std::int64_t*
        row;  // the row left out, counted within the block; any other number if it is elsewhere
};

// What is known of the rows beforehand; `z` and `b` are the scores that changes are counted from.
struct LeftOutRows {
    ScoredRows scored;
    double b;
    const double* size;        // how far a unit of the bound's radius moves the row's score
    const std::uint8_t* core;  // 0: in no core; else in all cores up to this number, which is below kCores
};

struct LeftOutSums {
    double* gradient;  // count × (n_columns + 1), added to
    double* least;     // count × kCores, lowered: logistic, −|change of the score|, all in core 0; squared
                       // hinge, (1 − m) / size of the rows whose core has that number
};

// False when no smooth loss has that name; `complete` tells whether it ran to the end.
bool left_out_gradients(std::string_view loss, const Block& block, const LeftOutRows& rows,
                        const LeftOutPoints& points, const LeftOutSums& sums, bool& complete,
                        StopToken& token);

}  // namespace maxmargin
