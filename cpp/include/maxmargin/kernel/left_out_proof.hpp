// What a left-out solution near a hinge fit is worth on all rows: its duality gap, without cancellation, and
// how far its offset may be from the best one for its weights.
//
// The weights move by δw = Σ δβ x. A row whose agreement is further from 1 than ‖x‖‖δw‖ + |δb| stays on its
// side of the margin and has no share of the gap, so only rows up to that distance are read.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct ProvenFit {
    const Block& rows;  // read in place
    const std::int8_t* sign;
    const double *cost, *alpha, *agreement;
    // Rows that cost anything: the near ones, whose duals may change, and then the others in the order of
    // `distance`: |1 − agreement|, or 0 for a row that is on the wrong side of the margin for its dual.
    const std::int64_t* order;
    const double* distance;
    std::int64_t n_ordered, n_near;
    double largest_norm;   // of a row
    double offset_square;  // of a penalised offset's column, else 0
};

struct LeftOutPoint {
    std::int64_t row;
    double new_cost;        // of that row; its dual is there too
    const double* changes;  // of sα: of the near rows, and of the row itself if it is not near
    double offset_change;   // of a free offset
};

struct LeftOutValue {
    double agreement = 0;
    double gap = 0;             // the shares of all rows
    double balance_change = 0;  // Σ δβ
    double moved2 = 0;          // ‖δw‖²
    double offset_error = 0;    // the largest distance of a row from where its dual wants it
    // A free offset is within that error of all best ones if both exceed 0: how much cost separates the rows
    // between their bounds from those on either side.
    double room_below = 0, room_above = 0;
};

// False if it was stopped; values before the first that is missing are complete.
bool prove_left_out(const ProvenFit& fit, const LeftOutPoint* points, std::int64_t count,
                    LeftOutValue* values, StopToken& token);

}  // namespace maxmargin
