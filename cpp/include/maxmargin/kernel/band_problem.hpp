// The hinge problem with all rows held but a few: a band of rows near the margin, and one row g whose cost
// has changed. An interior point method solves thousands of them, one row g after the other, on one band.
//
//     max over a of  Σ a t − ½‖w(a)‖²,   w(a) = v + Σ a s x,   0 ≤ a ≤ c,   Σ s a = −β if the offset is free,
//
// over the rows of the band, row g with its new cost, and, if asked for, row g once more with the other
// sign, target t = 0 and cost `reach`: a penalty on s_g f(x_g) > 0. All other targets are 1; v and β are
// what the held rows add. A penalised offset is a column of the rows.
//
// The multipliers z of a ≥ 0 and ξ of a ≤ c make s(x·w + b) − z + ξ = t, a z = (c − a) ξ = 0 at the optimum;
// steps are Mehrotra's predictor and corrector, one (d + 1)² system each.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/kernel/band_rows.hpp"
#include "maxmargin/kernel/upper_factor.hpp"

namespace maxmargin {

// The full fit, seen from the band. Agreements are those of (w, b); arrays of the band have one number a row.
struct Band {
    const BandRows& rows;
    const double *sign, *cost, *alpha, *agreement;
    const double* w;
    double b;             // 0 unless the offset is free
    const double* held;   // w(α) − Σ over the band of α s x
    double held_balance;  // Σ s α over the other rows
    double held_gap;      // their share of the duality gap
    double objective;     // of (w, b)
    double offset_reach;  // no offset that matters is larger
    bool has_free_offset;
};

// Row g and its new cost.
struct ChangedRow {
    const double* x;
    double sign, alpha, agreement, cost;
    std::int64_t place;  // in the band, or −1
};

class BandProblem {
  public:
    explicit BandProblem(const Band& band);

    // Begins in the middle of the box. `reach` 0: without the penalty.
    void start(const ChangedRow& row, double reach);

    // One step; false if rounding leaves nothing to gain.
    bool step();

    // From a nearly optimal point to the optimum, up to rounding; it never gets worse.
    void polish();

    // Σ of a z and (c − a) ξ: an upper bound on what is left to gain, once the targets are met.
    double complementarity() const noexcept;
    // What can still be gained at most: the duality gap of this problem at its own w and b.
    double left_to_gain() const noexcept;

    // The dual value of this point above the objective of the left-out problem at the full fit's (w, b), by
    // terms that do not cancel, less an allowance for rounding. Above 0 it proves that row g is right in
    // every left-out optimum. The duals are made feasible first.
    double certified_value();

    const double* a() const noexcept { return a_.data(); }  // of the band, then row g
    const double* w() const noexcept { return w_.data(); }
    double b() const noexcept { return b_; }

  private:
    static constexpr std::int64_t kExtraRows = 2;  // row g, and row g with the other sign

    void refresh();
    bool factorise(const double* theta, UpperFactor& matrix) const;
    void factorise_first();
    bool begin_first_step();
    void solve_system(double* x) const noexcept;
    void find_direction(const double* rhs_of_row, double* da);
    void follow(const double* rz, const double* rx) noexcept;
    double fastest_fall() const noexcept;
    double imbalance(const double* a) const noexcept;
    bool balance(std::vector<double>& a) const noexcept;
    void combine_all(const double* a, double* v) noexcept;

    const Band& band_;
    std::int64_t n_, d_;
    ChangedRow row_{};
    UpperFactor matrix_;
    // The first step of every removal has the matrix of the whole band, but for a multiple of (x_g, 1).
    UpperFactor first_;
    bool is_first_ = false, has_first_ = false;
    double first_excess_ = 0;
    std::vector<double> first_solution_;
    std::vector<double> sign_, cost_, target_;           // of the band, then row g twice
    std::vector<double> a_, room_, z_, xi_, m_, theta_;  // room = c − a
    std::vector<double> w_, held_, x_nonzero_, solution_;
    std::vector<std::int32_t> x_columns_;
    double b_ = 0, best_b_ = 0, held_balance_ = 0, n_live_ = 0;
    std::vector<double> right_, rz_, rx_, da_, dz_, dxi_, signed_, candidate_, point_, best_a_;
};

}  // namespace maxmargin
