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

}  // namespace

Factor::Factor(const double* matrix, std::int64_t size)
    : size_(size), padded_(UpperFactor::padded(size)), matrix_(at(size * size)), upper_(size),
      scale_(at(size), 1.0) {
    read(matrix);
    for (fill(); !upper_.factorise(); fill()) {
        ridge_ = ridge_ == 0 ? kFirstRidge : ridge_ * kRidgeFactor;
        if (ridge_ > kLargestRidge)
            throw NotFactorised("the matrix is far from positive semidefinite: even a tenfold "
                                "diagonal did not let it be factorised");
    }
}

void Factor::read(const double* matrix) {
    for (std::int64_t i = 0; i < size_; ++i) {
        const double* row = matrix + i * size_;
        for (std::int64_t j = 0; j <= i; ++j) {
            if (!std::isfinite(row[j]))
                throw NotFactorised("the matrix is not finite: row " + std::to_string(i) + ", column " +
                                    std::to_string(j) + " (counted from 0)");
        }
        if (row[i] < 0)
            throw NotFactorised("the matrix is not positive semidefinite: entry " + std::to_string(i) +
                                " (counted from 0) of its diagonal is " + std::to_string(row[i]));
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
    upper_.clear();
    for (std::int64_t i = 0; i < size_; ++i) {
        double* row = upper_.row(i);
        for (std::int64_t j = i + 1; j < size_; ++j)
            row[j] = matrix_[at(i * size_ + j)] * scale_[at(i)] * scale_[at(j)];
        row[i] = 1 + ridge_;
    }
}

UpperTriangle Factor::triangle(std::int64_t first, std::int64_t size) const {
    return upper_.triangle(first, size);
}

void Factor::solve(const double* rhs, double* x) const {
    std::fill(x, x + size_, 0.0);
    std::vector<double> residual(rhs, rhs + size_);
    const int refinements = ridge_ > 0 ? 4 : 2;
    for (int step = 0;; ++step) {
        for (std::int64_t i = 0; i < size_; ++i) residual[at(i)] *= scale_[at(i)];
        upper_.solve(residual.data());
        for (std::int64_t i = 0; i < size_; ++i) x[i] += residual[at(i)] * scale_[at(i)];
        if (step == refinements) return;
        for (std::int64_t i = 0; i < size_; ++i)
            residual[at(i)] = rhs[i] - primitives().dense_f64.dot(matrix_.data() + i * size_, x, size_);
    }
}

void Factor::solve_rows(const double* rhs, std::int64_t n_sides, double* x) const {
    if (n_sides < 32) {  // each row of the factor is read once for all of them
        std::copy_n(rhs, n_sides * size_, x);
        for (std::int64_t k = 0; k < n_sides; ++k) {
            for (std::int64_t i = 0; i < size_; ++i) x[k * size_ + i] *= scale_[at(i)];
        }
        upper_.solve_rows(x, n_sides);
        for (std::int64_t k = 0; k < n_sides; ++k) {
            for (std::int64_t i = 0; i < size_; ++i) x[k * size_ + i] *= scale_[at(i)];
        }
        return;
    }
    constexpr std::int64_t kSides = 64;  // at a time, so that they stay in cache
    std::vector<double> sides(at(size_ * std::min(kSides, n_sides)));
    for (std::int64_t first = 0; first < n_sides; first += kSides) {
        const std::int64_t count = std::min(kSides, n_sides - first);
        for (std::int64_t k = 0; k < count; ++k) {
            for (std::int64_t i = 0; i < size_; ++i)
                sides[at(i * count + k)] = rhs[(first + k) * size_ + i] * scale_[at(i)];
        }
        upper_.solve_many(sides.data(), count);
        for (std::int64_t k = 0; k < count; ++k) {
            for (std::int64_t i = 0; i < size_; ++i)
                x[(first + k) * size_ + i] = sides[at(i * count + k)] * scale_[at(i)];
        }
    }
}

void Factor::lower(double* triangle) const {
    for (std::int64_t i = 0; i < size_; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) triangle[i * size_ + j] = upper_.row(j)[i] / scale_[at(i)];
        std::fill(triangle + i * size_ + i + 1, triangle + (i + 1) * size_, 0.0);
    }
}

}  // namespace maxmargin
