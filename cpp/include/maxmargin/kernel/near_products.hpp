// Products of any row with some rows that are asked for again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "maxmargin/block.hpp"

namespace maxmargin {

class NearProducts {
  public:
    // `rows` must be read in place and outlive this; throws std::invalid_argument otherwise.
    NearProducts(const Block& rows, std::vector<std::int64_t> near);

    std::int64_t size() const noexcept { return static_cast<std::int64_t>(near_.size()); }
    std::int64_t operator[](std::int64_t k) const noexcept { return near_[static_cast<std::size_t>(k)]; }
    const Block& rows() const noexcept { return rows_; }

    // to[k] = x_row · x_near[k]. `own` is memory of one number a column, zeros before and after.
    void multiply(std::int64_t row, std::vector<double>& own, double* to) const;

  private:
    const Block& rows_;
    std::vector<std::int64_t> near_;
    // Of sparse rows, the near ones by columns: most products of two numbers are 0 and never met.
    std::vector<std::int64_t> starts_;
    std::vector<std::int32_t> places_;
    std::vector<double> values_;
};

}  // namespace maxmargin
