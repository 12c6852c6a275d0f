#include "maxmargin/kernel/upper_factor.hpp"

#include <algorithm>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// An odd number of cache lines apart, the rows of a column fall into different sets of the cache.
std::int64_t odd_lines(std::int64_t n) { return n / kTriangleStep % 2 == 0 ? n + kTriangleStep : n; }

// How many rows are eliminated before the rest of the matrix is touched again.
std::int64_t rows_per_step(std::int64_t n) { return n < 256 ? 32 : n < 1000 ? 64 : 128; }

}  // namespace

UpperFactor::UpperFactor(std::int64_t size)
    : size_(size), padded_(padded(size)), stride_(odd_lines(padded_)), step_(rows_per_step(padded_)),
      upper_(at(padded_ * stride_), 0.0), inverse_diagonal_(at(padded_), 1.0),
      packed_(at(round_up(padded_, primitives().tiles->f64.width) * step_)), zeros_(at(padded_), 0.0),
      ones_(at(step_), 1.0), unused_(at(padded_)), rows_(at(step_)) {
    clear();
}

UpperTriangle UpperFactor::triangle(std::int64_t first, std::int64_t size) const noexcept {
    return {row(first) + first, stride_, size, inverse_diagonal_.data() + first};
}

void UpperFactor::clear() noexcept {
    std::fill(upper_.begin(), upper_.end(), 0.0);
    for (std::int64_t i = size_; i < padded_; ++i) row(i)[i] = 1;
}

bool UpperFactor::factorise(StopToken* token) {
    const Triangles& triangles = *primitives().triangles;
    const GramTile<double>& tile = primitives().tiles->f64;
    const std::int64_t panel_stride = step_ * tile.width;
    smallest_pivot_ = row(0)[0];
    for (std::int64_t first = 0; first < padded_; first += step_) {
        const std::int64_t count = std::min(step_, padded_ - first), rest = first + count,
                           left = padded_ - rest;
        if (token != nullptr && token->poll()) return false;
        double* corner = row(first) + first;
        if (!triangles.factorise(corner, stride_, count, inverse_diagonal_.data() + first, smallest_pivot_))
            return false;
        if (left == 0) return true;
        // Some panels at a time, so that they stay in cache until all rows of the step are through.
        const std::int64_t some = 2 * triangles.width;
        for (std::int64_t column = 0; column < left; column += some)
            triangles.solve_transposed(triangle(first, count), corner + count + column, stride_,
                                       triangles.width, std::min(some, left - column));
        for (std::int64_t k = 0; k < count; ++k) rows_[at(k)] = corner + k * stride_ + count;
        tile.pack_f64(rows_.data(), {count, left, ones_.data(), zeros_.data(), panel_stride, unused_.data()},
                      packed_.data());
        tile.add(packed_.data(), panel_stride, count, left, -1.0, row(rest) + rest, stride_, {});
    }
    return true;
}

void UpperFactor::solve(double* x) const noexcept {
    const DensePrimitives<double>& use = primitives().dense_f64;
    for (std::int64_t i = 0; i < size_; ++i) {
        x[i] *= inverse_diagonal_[at(i)];
        use.add(x + i + 1, -x[i], row(i) + i + 1, size_ - i - 1);
    }
    for (std::int64_t i = size_ - 1; i >= 0; --i) {
        const double known = use.dot(row(i) + i + 1, x + i + 1, size_ - i - 1);
        x[i] = (x[i] - known) * inverse_diagonal_[at(i)];
    }
}

void UpperFactor::solve_rows(double* x, std::int64_t n_sides) const noexcept {
    const DensePrimitives<double>& use = primitives().dense_f64;
    for (std::int64_t i = 0; i < size_; ++i) {
        for (std::int64_t k = 0; k < n_sides; ++k) {
            double* side = x + k * size_;
            side[i] *= inverse_diagonal_[at(i)];
            use.add(side + i + 1, -side[i], row(i) + i + 1, size_ - i - 1);
        }
    }
    for (std::int64_t i = size_ - 1; i >= 0; --i) {
        for (std::int64_t k = 0; k < n_sides; ++k) {
            double* side = x + k * size_;
            const double known = use.dot(row(i) + i + 1, side + i + 1, size_ - i - 1);
            side[i] = (side[i] - known) * inverse_diagonal_[at(i)];
        }
    }
}

void UpperFactor::solve_many(double* x, std::int64_t n_sides) const noexcept {
    const DensePrimitives<double>& use = primitives().dense_f64;
    for (std::int64_t i = 0; i < size_; ++i) {
        double* known = x + i * n_sides;
        for (std::int64_t k = 0; k < n_sides; ++k) known[k] *= inverse_diagonal_[at(i)];
        const double* upper = row(i);
        for (std::int64_t j = i + 1; j < size_; ++j) use.add(x + j * n_sides, -upper[j], known, n_sides);
    }
    for (std::int64_t i = size_ - 1; i >= 0; --i) {
        double* wanted = x + i * n_sides;
        const double* upper = row(i);
        for (std::int64_t j = i + 1; j < size_; ++j) use.add(wanted, -upper[j], x + j * n_sides, n_sides);
        for (std::int64_t k = 0; k < n_sides; ++k) wanted[k] *= inverse_diagonal_[at(i)];
    }
}

}  // namespace maxmargin
