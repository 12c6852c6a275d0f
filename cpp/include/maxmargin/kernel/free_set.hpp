// The rows between their bounds, and equations with the matrix of their products K_FF = L Lᵀ.
//
// Rows come and go one at a time; each costs O(|F|²). A row whose residual against the others is rounding
// must not come in: `residual` tells.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/primitives.hpp"

namespace maxmargin {

class FreeSet {
  public:
    // `products` is a symmetric row-major matrix of all rows with each other, which outlives the set.
    FreeSet(const double* products, std::int64_t n_rows)
        : products_(products), n_(n_rows), use_(primitives().dense_f64) {}

    std::int64_t size() const noexcept { return static_cast<std::int64_t>(members_.size()); }
    std::int64_t operator[](std::int64_t k) const noexcept { return members_[static_cast<std::size_t>(k)]; }
    std::int64_t position(std::int64_t row) const noexcept;  // −1 if it is no member
    const double* products(std::int64_t row) const noexcept { return products_ + row * n_; }

    // Writes y = L⁻¹ K_F,row and returns K_row,row − ‖y‖²: what of the row the others do not explain.
    double residual(std::int64_t row, std::vector<double>& y) const;

    // Takes in a row with the y and the residual, which must be positive, of the line above.
    void append(std::int64_t row, const std::vector<double>& y, double residual);

    void remove(std::int64_t position);

    // x ← K_FF⁻¹ x; and only the second half of it, x ← L⁻ᵀ x.
    void solve(std::vector<double>& x) const;
    void solve_back(std::vector<double>& x) const;

  private:
    double* factor_row(std::int64_t k) noexcept { return factor_.data() + k * stride_; }
    const double* factor_row(std::int64_t k) const noexcept { return factor_.data() + k * stride_; }
    void solve_forward(std::vector<double>& x) const;
    void grow();

    const double* products_;
    std::int64_t n_;
    DensePrimitives<double> use_;
    std::vector<std::int64_t> members_;
    std::vector<double> factor_;  // rows of L, `stride_` apart
    std::int64_t stride_ = 0;
};

}  // namespace maxmargin
