#include "maxmargin/kernel/near_system.hpp"

#include <algorithm>
#include <stdexcept>

#include "maxmargin/kernel/upper_factor.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

constexpr double kDependent = 1e-11;    // of the largest diagonal: a smaller pivot is rounding
constexpr std::int64_t kAtATime = 128;  // rows of W whose panels stay in cache

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

}  // namespace

// One column more than rows: that of ones, which gives η and p.
NearSystem::NearSystem(const NearProducts& products, std::int64_t n_free, double constant,
                       bool has_free_offset)
    : products_(products), n_(products.size()), n_free_(n_free), stride_(round_up(n_ + 1, kTriangleStep)),
      constant_(constant), has_free_offset_(has_free_offset), matrix_(zeros(stride_ * stride_)),
      offset_answer_(at(n_), 0.0) {
    if (n_free < (has_free_offset ? 1 : 0) || n_free > n_)
        throw std::invalid_argument("near rows must be free, some of them if the offset is");
}

NearSystem::Outcome NearSystem::make(StopToken& token) {
    if (!multiply_rows(token)) return Outcome::stopped;
    const Outcome outcome = n_free_ > 0 ? reduce(token) : negate();
    if (outcome != Outcome::made) return outcome;
    if (has_free_offset_) take_out_offset();
    mirror();
    return outcome;
}

bool NearSystem::multiply_rows(StopToken& token) {
    std::vector<double> own(at(products_.rows().n_columns)), product(at(n_));
    Pace pace(token);
    for (std::int64_t k = 0; k < n_; ++k) {
        products_.multiply(products_[k], own, product.data());
        double* to = matrix_.get();
        for (std::int64_t j = 0; j <= k; ++j)
            to[k * stride_ + j] = to[j * stride_ + k] = product[at(j)] + constant_;
        if (pace.stop_after(16 * n_)) return false;
    }
    return true;
}

// Without free rows that is all.
NearSystem::Outcome NearSystem::negate() {
    double* matrix = matrix_.get();
    for (std::int64_t k = n_free_ * stride_; k < n_ * stride_; ++k) matrix[k] = -matrix[k];
    return Outcome::made;
}

NearSystem::Outcome NearSystem::reduce(StopToken& token) {
    const Triangles& triangles = *primitives().triangles;
    const GramTile<double>& tile = primitives().tiles->f64;
    const std::int64_t width = tile.width, depth = UpperFactor::padded(n_free_), panel = depth * width;
    if (triangles.width != width) throw std::logic_error("panels of factors and of tiles differ");
    double* matrix = matrix_.get();
    // W in panels, as both the triangles and the tiles read it.
    Zeros w = zeros(round_up(stride_, width) * depth);
    {
        UpperFactor upper(n_free_);
        double largest = 0;
        for (std::int64_t i = 0; i < n_free_; ++i) {
            const double* from = matrix + i * stride_;
            std::copy(from + i, from + n_free_, upper.row(i) + i);
            largest = std::max(largest, from[i]);
            const auto put = [&](std::int64_t j, double value) {
                w[at(j / width * panel + i * width + j % width)] = value;
            };
            put(i, 1.0);
            for (std::int64_t j = n_free_; j < n_; ++j) put(j, from[j]);
            put(n_, 1.0);
        }
        const bool is_whole = upper.factorise(&token);
        if (token.poll()) return Outcome::stopped;
        if (!is_whole || !(upper.smallest_pivot() > kDependent * largest)) return Outcome::dependent;
        const std::int64_t some = 8 * width;
        for (std::int64_t first = 0; first < stride_; first += some) {
            if (token.poll()) return Outcome::stopped;
            triangles.solve_transposed(upper.triangle(0, depth), w.get() + first / width * panel, width,
                                       panel, std::min(some, stride_ - first));
        }
    }
    std::fill(matrix, matrix + n_free_ * stride_, 0.0);
    negate();
    for (std::int64_t first = 0; first < n_free_; first += kAtATime) {
        if (token.poll()) return Outcome::stopped;
        tile.add(w.get() + first * width, panel, std::min(kAtATime, n_free_ - first), stride_, 1.0, matrix,
                 stride_, {});
    }
    return Outcome::made;
}

void NearSystem::take_out_offset() {
    double* matrix = matrix_.get();
    std::vector<double> p(at(n_));
    for (std::int64_t k = 0; k < n_; ++k) p[at(k)] = matrix[k * stride_ + n_] - (k < n_free_ ? 0.0 : 1.0);
    inverse_eta_ = 1.0 / matrix[n_ * stride_ + n_];
    for (std::int64_t k = 0; k < n_; ++k) {
        offset_answer_[at(k)] = p[at(k)] * inverse_eta_;
        primitives().dense_f64.add(matrix + k * stride_ + k, -offset_answer_[at(k)], p.data() + k, n_ - k);
    }
}

// The triangle below the diagonal, in tiles: their lines stay in cache until all their numbers are written.
void NearSystem::mirror() {
    constexpr std::int64_t kTile = 32;
    double* matrix = matrix_.get();
    for (std::int64_t row = 0; row < n_; row += kTile) {
        for (std::int64_t column = row; column < n_; column += kTile) {
            for (std::int64_t i = row; i < std::min(row + kTile, n_); ++i) {
                for (std::int64_t j = std::max(i + 1, column); j < std::min(column + kTile, n_); ++j)
                    matrix[j * stride_ + i] = matrix[i * stride_ + j];
            }
        }
    }
}

void NearSystem::columns_of(const std::int64_t* rows, std::int64_t count, double* columns,
                            double* offset_answers) const {
    const Panels& panels = *primitives().panels;
    const std::int64_t width = panels.width, n_panels = (count + width - 1) / width;
    const DensePrimitives<double>& use = primitives().dense_f64;
    std::vector<double> own(at(products_.rows().n_columns)), z(at(n_panels * n_free_ * width)),
        answers(at(n_panels * n_ * width));
    for (std::int64_t c = 0; c < count; ++c) {
        double* column = columns + c * n_;
        products_.multiply(rows[c], own, column);
        for (std::int64_t k = 0; k < n_; ++k) column[k] += constant_;
        double* to = z.data() + c / width * n_free_ * width + c % width;
        for (std::int64_t k = 0; k < n_free_; ++k) to[k * width] = column[k];
        offset_answers[c] = use.dot(offset_answer_.data(), column, n_free_) - inverse_eta_;
    }
    panels.multiply(matrix_.get(), stride_, n_, n_free_, z.data(), n_free_ * width, n_panels, answers.data(),
                    n_ * width);
    for (std::int64_t c = 0; c < count; ++c) {
        double* column = columns + c * n_;
        const double* from = answers.data() + c / width * n_ * width + c % width;
        for (std::int64_t k = 0; k < n_; ++k)
            column[k] = from[k * width] - (k < n_free_ ? 0.0 : column[k]) + offset_answer_[at(k)];
    }
}

}  // namespace maxmargin
