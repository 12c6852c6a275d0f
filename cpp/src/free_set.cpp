#include "maxmargin/kernel/free_set.hpp"

#include <algorithm>
#include <cmath>

namespace maxmargin {

std::int64_t FreeSet::position(std::int64_t row) const noexcept {
    const auto found = std::find(members_.begin(), members_.end(), row);
    return found == members_.end() ? -1 : found - members_.begin();
}

double FreeSet::residual(std::int64_t row, std::vector<double>& y) const {
    y.resize(members_.size());
    const double* own = products(row);
    for (std::size_t k = 0; k < members_.size(); ++k) y[k] = own[members_[k]];
    solve_forward(y);
    return own[row] - use_.norm2(y.data(), size());
}

void FreeSet::append(std::int64_t row, const std::vector<double>& y, double residual) {
    if (size() + 1 > stride_) grow();
    double* last = factor_row(size());
    std::copy(y.begin(), y.end(), last);
    last[size()] = std::sqrt(residual);
    members_.push_back(row);
}

void FreeSet::grow() {
    const std::int64_t stride = std::max<std::int64_t>(16, 2 * stride_);
    std::vector<double> wider(static_cast<std::size_t>(stride * stride));
    for (std::int64_t k = 0; k < size(); ++k) {
        std::copy(factor_row(k), factor_row(k) + k + 1, wider.data() + k * stride);
    }
    factor_.swap(wider);
    stride_ = stride;
}

// Without row p of L the rows below have one column too many; rotations of neighbouring columns, each making
// the upper entry of its pair 0, give a triangle again.
void FreeSet::remove(std::int64_t position) {
    const std::int64_t last = size() - 1;
    for (std::int64_t k = position; k < last; ++k) {
        std::copy(factor_row(k + 1), factor_row(k + 1) + k + 2, factor_row(k));
        members_[static_cast<std::size_t>(k)] = members_[static_cast<std::size_t>(k + 1)];
    }
    members_.pop_back();
    for (std::int64_t k = position; k < last; ++k) {
        double* row = factor_row(k);
        const double length = std::hypot(row[k], row[k + 1]);
        const double cosine = row[k] / length, sine = row[k + 1] / length;
        row[k] = length;
        for (std::int64_t below = k + 1; below < last; ++below) {
            double* other = factor_row(below);
            const double first = other[k], second = other[k + 1];
            other[k] = cosine * first + sine * second;
            other[k + 1] = cosine * second - sine * first;
        }
    }
}

void FreeSet::solve_forward(std::vector<double>& x) const {
    for (std::int64_t k = 0; k < size(); ++k) {
        const double* row = factor_row(k);
        double& own = x[static_cast<std::size_t>(k)];
        own = (own - use_.dot(row, x.data(), k)) / row[k];
    }
}

void FreeSet::solve_back(std::vector<double>& x) const {
    for (std::int64_t k = size() - 1; k >= 0; --k) {
        const double* row = factor_row(k);
        double& own = x[static_cast<std::size_t>(k)];
        own /= row[k];
        use_.add(x.data(), -own, row, k);
    }
}

void FreeSet::solve(std::vector<double>& x) const {
    solve_forward(x);
    solve_back(x);
}

}  // namespace maxmargin
