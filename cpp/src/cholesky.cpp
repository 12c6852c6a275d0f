#include "maxmargin/kernel/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

constexpr double kFirstRidge = 1e-15, kRidgeFactor = 100, kLargestRidge = 10;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// An odd number of cache lines apart, the rows of a column fall into different sets of the cache.
std::int64_t odd_lines(std::int64_t n) { return n / kTriangleStep % 2 == 0 ? n + kTriangleStep : n; }

// How many rows are eliminated before the rest of the matrix is touched again.
std::int64_t rows_per_step(std::int64_t n) { return n < 1000 ? 64 : 128; }

}  // namespace

Factor::Factor(const double* matrix, std::int64_t size)
    : size_(size), padded_(round_up(size, kTriangleStep)), stride_(odd_lines(padded_)),
      matrix_(at(size * size)), upper_(at(padded_ * stride_), 0.0), inverse_diagonal_(at(padded_), 1.0),
      scale_(at(size), 1.0) {
    read(matrix);
    for (fill(); !factorise(); fill()) {
        ridge_ = ridge_ == 0 ? kFirstRidge : ridge_ * kRidgeFactor;
        if (ridge_ > kLargestRidge)
            throw std::invalid_argument("the matrix is far from positive semidefinite: even a tenfold "
                                        "diagonal did not let it be factorised");
    }
}

void Factor::read(const double* matrix) {
    for (std::int64_t i = 0; i < size_; ++i) {
        const double* row = matrix + i * size_;
        for (std::int64_t j = 0; j <= i; ++j) {
            if (!std::isfinite(row[j]))
                throw std::invalid_argument("the matrix is not finite: row " + std::to_string(i) +
                                            ", column " + std::to_string(j) + " (counted from 0)");
        }
        if (row[i] < 0)
            throw std::invalid_argument("the matrix is not positive semidefinite: entry " +
                                        std::to_string(i) + " (counted from 0) of its diagonal is " +
                                        std::to_string(row[i]));
        if (row[i] > 0) scale_[at(i)] = 1 / std::sqrt(row[i]);
        std::copy(row, row + i + 1, matrix_.data() + i * size_);
    }
    for (std::int64_t i = 0; i < size_; ++i) {
        if (matrix_[at(i * size_ + i)] != 0) continue;
        for (std::int64_t j = 0; j < i; ++j) matrix_[at(i * size_ + j)] = 0;
        for (std::int64_t j = i; j < size_; ++j) matrix_[at(j * size_ + i)] = i == j ? 1 : 0;
    }
    // The other triangle, in tiles: their lines stay in cache until all their numbers are written.
    constexpr std::int64_t kTile = 32;
    for (std::int64_t row = 0; row < size_; row += kTile) {
        for (std::int64_t column = 0; column <= row; column += kTile) {
            for (std::int64_t j = column; j < std::min(column + kTile, size_); ++j) {
                for (std::int64_t i = std::max(row, j + 1); i < std::min(row + kTile, size_); ++i)
                    matrix_[at(j * size_ + i)] = matrix_[at(i * size_ + j)];
            }
        }
    }
}

void Factor::fill() {
    for (std::int64_t i = 0; i < padded_; ++i) {
        double* row = upper_.data() + i * stride_;
        for (std::int64_t j = i + 1; j < size_; ++j)
            row[j] = matrix_[at(i * size_ + j)] * scale_[at(i)] * scale_[at(j)];
        row[i] = i < size_ ? 1 + ridge_ : 1;
    }
}

UpperTriangle Factor::triangle(std::int64_t first, std::int64_t size) const {
    return {upper_.data() + first * stride_ + first, stride_, size, inverse_diagonal_.data() + first};
}

bool Factor::factorise() {
    const Triangles& triangles = *primitives().triangles;
    const GramTile<double>& tile = primitives().tiles->f64;
    const std::int64_t step = rows_per_step(padded_);
    const std::int64_t panel_stride = step * tile.width;
    std::vector<double> packed(at(round_up(padded_, tile.width) * step)), zeros(at(padded_), 0.0),
        ones(at(step), 1.0), unused(at(padded_));
    std::vector<const double*> rows(at(step));
    smallest_pivot_ = 1;
    for (std::int64_t first = 0; first < padded_; first += step) {
        const std::int64_t count = std::min(step, padded_ - first), rest = first + count,
                           left = padded_ - rest;
        double* corner = upper_.data() + first * stride_ + first;
        if (!triangles.factorise(corner, stride_, count, inverse_diagonal_.data() + first, smallest_pivot_))
            return false;
        if (left == 0) return true;
        // Some panels at a time, so that they stay in cache until all rows of the step are through.
        const std::int64_t some = 2 * triangles.width;
        for (std::int64_t column = 0; column < left; column += some)
            triangles.solve_transposed(triangle(first, count), corner + count + column, stride_,
                                       triangles.width, std::min(some, left - column));
        for (std::int64_t k = 0; k < count; ++k) rows[at(k)] = corner + k * stride_ + count;
        tile.pack_f64(rows.data(), {count, left, ones.data(), zeros.data(), panel_stride, unused.data()},
                      packed.data());
        tile.add(packed.data(), panel_stride, count, left, -1.0, upper_.data() + rest * stride_ + rest,
                 stride_, {});
    }
    return true;
}

// x ← (UᵀU)⁻¹ x, by rows of U.
void Factor::substitute(double* x) const {
    const DensePrimitives<double>& use = primitives().dense_f64;
    for (std::int64_t i = 0; i < size_; ++i) {
        x[i] *= inverse_diagonal_[at(i)];
        use.add(x + i + 1, -x[i], upper_.data() + i * stride_ + i + 1, size_ - i - 1);
    }
    for (std::int64_t i = size_ - 1; i >= 0; --i) {
        const double known = use.dot(upper_.data() + i * stride_ + i + 1, x + i + 1, size_ - i - 1);
        x[i] = (x[i] - known) * inverse_diagonal_[at(i)];
    }
}

void Factor::solve(const double* rhs, double* x) const {
    std::fill(x, x + size_, 0.0);
    std::vector<double> residual(rhs, rhs + size_);
    const int refinements = ridge_ > 0 ? 4 : 2;
    for (int step = 0;; ++step) {
        for (std::int64_t i = 0; i < size_; ++i) residual[at(i)] *= scale_[at(i)];
        substitute(residual.data());
        for (std::int64_t i = 0; i < size_; ++i) x[i] += residual[at(i)] * scale_[at(i)];
        if (step == refinements) return;
        for (std::int64_t i = 0; i < size_; ++i)
            residual[at(i)] = rhs[i] - primitives().dense_f64.dot(matrix_.data() + i * size_, x, size_);
    }
}

void Factor::lower(double* triangle) const {
    for (std::int64_t i = 0; i < size_; ++i) {
        for (std::int64_t j = 0; j <= i; ++j)
            triangle[i * size_ + j] = upper_[at(j * stride_ + i)] / scale_[at(i)];
        std::fill(triangle + i * size_ + i + 1, triangle + (i + 1) * size_, 0.0);
    }
}

}  // namespace maxmargin
