#include "maxmargin/kernel/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace maxmargin {
namespace {

constexpr double kFirstRidge = 1e-15, kRidgeFactor = 100, kLargestRidge = 10;

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t size) {
    return static_cast<std::size_t>(i * size + j);
}

}  // namespace

Factor::Factor(const double* matrix, std::int64_t size)
    : size_(size), matrix_(matrix, matrix + size * size), scale_(static_cast<std::size_t>(size), 1.0) {
    for (std::int64_t i = 0; i < size; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            if (std::isfinite(matrix_[at(i, j, size)])) continue;
            throw std::invalid_argument("the matrix is not finite: row " + std::to_string(i) + ", column " +
                                        std::to_string(j) + " (counted from 0)");
        }
        double& diagonal = matrix_[at(i, i, size)];
        if (diagonal < 0)
            throw std::invalid_argument("the matrix is not positive semidefinite: entry " +
                                        std::to_string(i) + " (counted from 0) of its diagonal is " +
                                        std::to_string(diagonal));
        if (diagonal > 0) {
            scale_[static_cast<std::size_t>(i)] = 1 / std::sqrt(diagonal);
            continue;
        }
        diagonal = 1;
        for (std::int64_t j = 0; j < i; ++j) matrix_[at(i, j, size)] = 0;
        for (std::int64_t j = i + 1; j < size; ++j) matrix_[at(j, i, size)] = 0;
    }
    while (!factorise()) {
        ridge_ = ridge_ == 0 ? kFirstRidge : ridge_ * kRidgeFactor;
        if (ridge_ > kLargestRidge)
            throw std::invalid_argument("the matrix is far from positive semidefinite: even a tenfold "
                                        "diagonal did not let it be factorised");
    }
}

bool Factor::factorise() {
    lower_.resize(matrix_.size());
    smallest_pivot_ = 1;
    for (std::int64_t i = 0; i < size_; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            double value = matrix_[at(i, j, size_)] * scale_[static_cast<std::size_t>(i)] *
                           scale_[static_cast<std::size_t>(j)];
            if (i == j) value = 1 + ridge_;
            for (std::int64_t k = 0; k < j; ++k) value -= lower_[at(i, k, size_)] * lower_[at(j, k, size_)];
            if (i == j && !(value > 0)) return false;
            if (i == j) smallest_pivot_ = std::min(smallest_pivot_, value);
            lower_[at(i, j, size_)] = i == j ? std::sqrt(value) : value / lower_[at(j, j, size_)];
        }
    }
    return true;
}

void Factor::substitute(double* x) const {
    for (std::int64_t i = 0; i < size_; ++i) {
        for (std::int64_t k = 0; k < i; ++k) x[i] -= lower_[at(i, k, size_)] * x[k];
        x[i] /= lower_[at(i, i, size_)];
    }
    for (std::int64_t i = size_ - 1; i >= 0; --i) {
        x[i] /= lower_[at(i, i, size_)];
        for (std::int64_t k = 0; k < i; ++k) x[k] -= lower_[at(i, k, size_)] * x[i];
    }
}

void Factor::solve(const double* rhs, double* x) const {
    std::fill(x, x + size_, 0.0);
    std::vector<double> residual(rhs, rhs + size_);
    const int refinements = ridge_ > 0 ? 4 : 2;
    for (int step = 0;; ++step) {
        for (std::int64_t i = 0; i < size_; ++i)
            residual[static_cast<std::size_t>(i)] *= scale_[static_cast<std::size_t>(i)];
        substitute(residual.data());
        for (std::int64_t i = 0; i < size_; ++i)
            x[i] += residual[static_cast<std::size_t>(i)] * scale_[static_cast<std::size_t>(i)];
        if (step == refinements) return;
        for (std::int64_t i = 0; i < size_; ++i) {
            double value = rhs[i];
            for (std::int64_t j = 0; j < size_; ++j)
                value -= matrix_[i >= j ? at(i, j, size_) : at(j, i, size_)] * x[j];
            residual[static_cast<std::size_t>(i)] = value;
        }
    }
}

bool Factor::quadratic_form_max(const Block& block, const double* cost, const double* shift, double& largest,
                                StopToken& token) const {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    std::vector<double> y(static_cast<std::size_t>(size_));
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            for (std::int64_t row = 0; row < rows.n_rows() && go_on; ++row) {
                if (cost != nullptr && cost[first + row] == 0) continue;
                for (std::int64_t j = 0; j + 1 < size_; ++j)
                    y[static_cast<std::size_t>(j)] = shift == nullptr ? 0.0 : -shift[j];
                y.back() = 1;
                for (std::int64_t k = 0; k < rows.n_values(row); ++k)
                    y[static_cast<std::size_t>(rows.column(row, k))] +=
                        static_cast<double>(rows.value(row, k));
                double form = 0;
                for (std::int64_t i = 0; i < size_; ++i) {
                    const std::size_t here = static_cast<std::size_t>(i);
                    double value = y[here] * scale_[here];
                    for (std::int64_t k = 0; k < i; ++k)
                        value -= lower_[at(i, k, size_)] * y[static_cast<std::size_t>(k)];
                    y[here] = value / lower_[at(i, i, size_)];
                    form += y[here] * y[here];
                }
                if (!(form <= largest)) largest = form;
                go_on = !pace.stop_after(size_ * size_ / 2);
            }
        });
    }
    return go_on;
}

}  // namespace maxmargin
