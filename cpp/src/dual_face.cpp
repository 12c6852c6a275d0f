#include "maxmargin/kernel/dual_face.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {
namespace {

constexpr double kDependent = 1e-13;  // of a row's own product with itself: what is left is rounding
constexpr double kStill = 1e-12;      // a dual that moves less than this share of the largest does not move

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

}  // namespace

DualFace::DualFace(const DualRows& rows, const double* alpha)
    : rows_(rows), free_(rows.products, rows.n_rows), alpha_(alpha, alpha + rows.n_rows),
      side_(at(rows.n_rows)), place_(at(rows.n_rows)) {
    std::vector<std::int64_t> between;
    for (std::int64_t j = 0; j < rows.n_rows; ++j) {
        if (alpha[j] > 0 && alpha[j] < rows.cost[j]) {
            between.push_back(j);
        } else {
            put(j, alpha[j] > 0 ? Place::cost : Place::zero);
        }
    }
    for (const std::int64_t j : by_independence(between)) {
        // A step may have brought the row to a bound meanwhile; one that is not yet free counts as out.
        put(j, Place::out);
        if (!depends(j)) {
            free_.append(j, y_, residual_);
            put(j, Place::free);
        } else {
            exchange(j, -1.0);
        }
    }
}

void DualFace::put(std::int64_t row, Place place) noexcept {
    place_[at(row)] = place;
    const bool is_absent = rows_.cost[row] <= 0;
    side_[at(row)] = is_absent ? 0.0 : place == Place::zero ? 1.0 : place == Place::cost ? -1.0 : 0.0;
}

// The order of a Cholesky factorisation with pivoting: what is largest once the earlier ones are explained.
std::vector<std::int64_t> DualFace::by_independence(const std::vector<std::int64_t>& candidates) const {
    const std::size_t count = candidates.size();
    std::vector<std::int64_t> order = candidates;
    std::vector<double> left(count);
    std::vector<std::vector<double>> rows(count);
    for (std::size_t k = 0; k < count; ++k) left[k] = rows_.products[order[k] * rows_.n_rows + order[k]];
    std::vector<double> scale = left;
    for (std::size_t k = 0; k < count; ++k) {
        std::size_t best = k;
        for (std::size_t j = k + 1; j < count; ++j) {
            if (left[j] * scale[best] > left[best] * scale[j]) best = j;
        }
        std::swap(order[k], order[best]);
        std::swap(left[k], left[best]);
        std::swap(scale[k], scale[best]);
        rows[k].swap(rows[best]);
        if (left[k] <= kDependent * scale[k]) break;  // so are all that follow
        const double pivot = std::sqrt(left[k]);
        const double* products = rows_.products + order[k] * rows_.n_rows;
        for (std::size_t j = k + 1; j < count; ++j) {
            double value = products[order[j]];
            for (std::size_t i = 0; i < k; ++i) value -= rows[k][i] * rows[j][i];
            rows[j].push_back(value / pivot);
            left[j] -= rows[j].back() * rows[j].back();
        }
        rows[k].push_back(pivot);
    }
    return order;
}

void DualFace::move(std::int64_t row, double change) noexcept {
    double& alpha = alpha_[at(row)];
    alpha = std::clamp(alpha + change, 0.0, rows_.cost[row]);
}

bool DualFace::depends(std::int64_t row) {
    residual_ = free_.residual(row, y_);
    combination_ = y_;
    free_.solve_back(combination_);
    double largest = 1.0;
    for (const double weight : combination_) largest = std::max(largest, weight * weight);
    return !(residual_ > kDependent * largest * rows_.products[row * rows_.n_rows + row]);
}

void DualFace::enter(std::int64_t row) {
    const double inwards = place(row) == Place::zero ? 1.0 : -1.0;
    if (depends(row)) return exchange(row, inwards);
    free_.append(row, y_, residual_);
    put(row, Place::free);
}

// How far the dual of a row can move in a direction with the free ones making up for it.
DualFace::Block DualFace::room(std::int64_t row, double direction) const {
    const double own = alpha_[at(row)];
    Block block{direction > 0 ? rows_.cost[row] - own : own, -1, direction > 0 ? Place::cost : Place::zero};
    double largest = 0;
    for (const double weight : combination_) largest = std::max(largest, std::fabs(weight));
    for (std::int64_t k = 0; k < free_.size(); ++k) {
        const std::int64_t other = free_[k];
        const double rate = -direction * rows_.sign[row] * rows_.sign[other] * combination_[at(k)];
        if (std::fabs(rate) <= kStill * largest) continue;
        const double room = rate > 0 ? rows_.cost[other] - alpha_[at(other)] : alpha_[at(other)];
        if (room < block.step * std::fabs(rate)) {
            block = {room / std::fabs(rate), k, rate > 0 ? Place::cost : Place::zero};
        }
    }
    return block;
}

// Called with the combination of free rows that the row is.
void DualFace::exchange(std::int64_t row, double direction) {
    for (;;) {
        const Block block = room(row, direction);
        for (std::int64_t k = 0; k < free_.size(); ++k) {
            const std::int64_t other = free_[k];
            move(other, -direction * block.step * rows_.sign[row] * rows_.sign[other] * combination_[at(k)]);
        }
        move(row, direction * block.step);
        if (block.position < 0) {
            alpha_[at(row)] = block.bound == Place::cost ? rows_.cost[row] : 0.0;
            put(row, block.bound);
            return;
        }
        leave(block.position, block.bound);
        if (!depends(row)) {
            free_.append(row, y_, residual_);
            put(row, Place::free);
            return;
        }
    }
}

void DualFace::leave(std::int64_t position, Place bound) {
    const std::int64_t row = free_[position];
    alpha_[at(row)] = bound == Place::cost ? rows_.cost[row] : 0.0;
    put(row, bound);
    free_.remove(position);
}

void DualFace::take_out(std::int64_t row) {
    if (place(row) == Place::free) free_.remove(free_.position(row));
    put(row, Place::out);
}

}  // namespace maxmargin
