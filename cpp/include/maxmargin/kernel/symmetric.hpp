// Large symmetric matrices: memory for their sums, and writing both triangles of one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace maxmargin {

struct FreeMemory {
    void operator()(double* numbers) const noexcept { std::free(numbers); }
};

using Zeros = std::unique_ptr<double[], FreeMemory>;

// The system hands out pages of zeros when they are first touched: half a matrix costs half its memory.
inline Zeros zeros(std::int64_t count) {
    Zeros numbers(static_cast<double*>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(double))));
    if (numbers == nullptr) throw std::bad_alloc();
    return numbers;
}

// total += value(i, j) for i <= j < size, and the same for (j, i). In tiles: a column of the lower triangle
// is written while its lines are in cache.
template <class Value>
void add_both_triangles(std::int64_t size, Value&& value, double* total, std::int64_t stride) {
    constexpr std::int64_t kTile = 32;
    for (std::int64_t row = 0; row < size; row += kTile) {
        for (std::int64_t column = row; column < size; column += kTile) {
            const std::int64_t last_row = std::min(row + kTile, size),
                               last_column = std::min(column + kTile, size);
            for (std::int64_t i = row; i < last_row; ++i) {
                for (std::int64_t j = std::max(i, column); j < last_column; ++j) {
                    const double term = value(i, j);
                    total[i * stride + j] += term;
                    if (i != j) total[j * stride + i] += term;
                }
            }
        }
    }
}

}  // namespace maxmargin
