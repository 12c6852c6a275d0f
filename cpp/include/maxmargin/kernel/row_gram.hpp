// Products of rows with each other, X Xᵀ.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// Writes products[k · n + j] and its mirror image for first ≤ k < last and j ≤ k. Calls for other ranges may
// run at the same time. Throws std::invalid_argument for a block that is not read in place. False if it was
// stopped.
bool row_gram(const Block& block, std::int64_t first, std::int64_t last, double* products, StopToken& token);

}  // namespace maxmargin
