// The duals of a hinge fit after one row has lost cost, all rows that are not near the margin held.
//
// Newton's method on the roles of the rows: with some free and the others at their bounds the duals and the
// offset follow from a small system, of one equation for each row whose role is not that of the full fit;
// free rows that end beyond a bound go there, rows at a bound that end on the wrong side of the margin become
// free, until nothing changes. After some steps only the worst row changes, so that it cannot cycle for long.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/near_system.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// One number for each near row.
struct NearFit {
    const double *sign, *cost, *alpha, *agreement;
    double balance;  // Σ sα over all rows: what a free offset wants to be 0
};

struct NearRemoval {
    std::int64_t row;    // among all rows
    std::int64_t place;  // among the near ones; −1 if it is not near
    double sign, alpha;
    double new_cost;  // what it costs afterwards; its dual goes there
};

class NearRemovals {
  public:
    NearRemovals(const NearSystem& system, const NearFit& fit);

    // For each removal the changes of sα: of the near rows and, last, of the row itself if it is not near;
    // the change of the offset, of a free one only; and whether the roles came to rest. False if it was
    // stopped.
    bool solve(const NearRemoval* removals, std::int64_t count, double* changes, double* offset_changes,
               bool* solved, StopToken& token) const;

  private:
    friend class NearSearch;

    const NearSystem& system_;
    NearFit fit_;
    // The answer to what the fit itself left undone: agreements of free rows that are not quite 1, a balance
    // that is not quite 0.
    std::vector<double> polish_;
    double offset_polish_ = 0;
};

}  // namespace maxmargin
