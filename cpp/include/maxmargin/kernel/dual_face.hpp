// A dual point of the hinge, its free rows, and the moves that leave w as it is.
//
// Rows are known by their products K = X Xᵀ (+ a constant for the offset) alone. Duals are kept as
// 0 ≤ α ≤ c with a note of which bound a row is at. A row that depends on the free ones cannot become free
// beside them: it is exchanged for one of them along the line on which w does not move.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/free_set.hpp"

namespace maxmargin {

enum class Place : std::uint8_t { zero, cost, free, out };

// What does not change while rows come and go. `cost` 0 stands for an absent row.
struct DualRows {
    const double* products;  // n × n
    const std::int8_t* sign;
    const double* cost;
    std::int64_t n_rows;
};

class DualFace {
  public:
    // Rows strictly between their bounds are made free as far as they are independent; the others are moved
    // to a bound, those first that are explained best.
    DualFace(const DualRows& rows, const double* alpha);

    const FreeSet& free() const noexcept { return free_; }
    const std::vector<double>& alpha() const noexcept { return alpha_; }
    Place place(std::int64_t row) const noexcept { return place_[static_cast<std::size_t>(row)]; }

    // +1 for a row at zero, whose agreement must stay above 1; −1 for one at its cost, below; else 0. As
    // numbers, so that a loop over all rows need not branch.
    const std::vector<double>& sides() const noexcept { return side_; }

    // Moves the dual of a row that is free or out; it stays within its bounds.
    void move(std::int64_t row, double change) noexcept;

    // Lets a row at a bound become free, or exchanges it for one that is.
    void enter(std::int64_t row);

    // Puts a free row to the bound that its dual has reached.
    void leave(std::int64_t position, Place bound);

    // Takes a row out of the split altogether; its dual stays for the caller to move.
    void take_out(std::int64_t row);

  private:
    struct Block {
        double step;
        std::int64_t
            position;  // of the free row that stops the move; −1 if the entering row's own bound does
        Place bound;
    };

    void put(std::int64_t row, Place place) noexcept;
    std::vector<std::int64_t> by_independence(const std::vector<std::int64_t>& candidates) const;
    bool depends(std::int64_t row);
    void exchange(std::int64_t row, double direction);
    Block room(std::int64_t row, double direction) const;

    DualRows rows_;
    FreeSet free_;
    std::vector<double> alpha_, side_, y_, combination_;
    std::vector<Place> place_;
    double residual_ = 0;
};

}  // namespace maxmargin
