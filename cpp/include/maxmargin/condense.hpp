// Rewrites a block as patterns and dense columns where that makes every later pass clearly cheaper.
#pragma once

#include <optional>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// Leaves `result` empty if it does not pay; returns false if it was stopped. A few hundred rows decide most
// refusals; what they cannot see costs at most three readings of the block, and hardly ever more than one.
bool condense(const Block& block, std::optional<Block>& result, StopToken& token);

}  // namespace maxmargin
