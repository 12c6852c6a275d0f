// The two products with the data that everything but coordinate descent is made of, and a look at the
// rows before a fit: z = X w, v = Xᵀa, squared norms and the first value that is not finite.
#pragma once

#include <cmath>
#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

// Each returns false if it was stopped. Any of the two outputs may be left out with a null pointer:
// z_i = x_i·w and v += Σ a_i x_i, both in one reading of the block.
bool multiply(const Block& block, const double* w, double* z, const double* a, double* v, StopToken& token);

struct Inspection {
    bool complete = true;
    std::int64_t bad_row = -1, bad_column = -1;  // the first value that is not finite
    double bad_value = 0;
    std::int64_t overflow_row = -1;  // the first row whose squared norm is not finite
    double largest_norm2 = 0;
};

// norm2_i = ‖x_i‖².
Inspection inspect(const Block& block, double* norm2, StopToken& token);

}  // namespace maxmargin
