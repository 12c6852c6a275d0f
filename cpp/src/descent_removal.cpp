#include "maxmargin/kernel/descent_removal.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace maxmargin {
namespace {

constexpr int kMostSweeps = 40;
constexpr double kHope = 8;          // how many times the gain of the last sweep may still be to come
constexpr double kRounding = 1e-10;  // of the objective: far more than all rounding errors together

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

double hinge_gap(double alpha, double cost, double excess) noexcept {
    return excess > 0 ? alpha * excess : (alpha - cost) * excess;
}

// One removal after the other; the memory is used again.
template <class View>
class Descent {
  public:
    Descent(const WideFit& fit, const View& view, StopToken& token)
        : fit_(fit), view_(view), pace_(token), column_(std::sqrt(fit.offset_square)),
          r_(at(fit.rows.n_columns)), alpha_(fit.alpha, fit.alpha + fit.rows.n_rows),
          cost_(fit.cost, fit.cost + fit.rows.n_rows) {}

    // Whether a V > 0 was found that holds with Σ s α' = μ.
    bool is_certain(const Removal& removal) {
        start(removal);
        if (!(fit_.agreement[g_] > 0) || !balance()) return false;
        double v = value(false);
        for (int k = 0; k < kMostSweeps && !stopped_; ++k) {
            const double gained = sweep();
            v += gained;
            if (v > 0 && balance() && value(true) > price_of_imbalance()) return true;
            if (k > 0 && v + kHope * gained < 0) return false;
        }
        return false;
    }

    bool stopped() const noexcept { return stopped_; }

  private:
    // Everything as in the full fit, but the row leaves, down to what it still costs, and μ is as large as
    // what leaves: half of all that could be certified need no more.
    void start(const Removal& removal) {
        for (std::int64_t k = 0; k < fit_.n_candidates; ++k) {
            const std::uint32_t j = fit_.candidates[k];
            alpha_[j] = fit_.alpha[j];
            cost_[j] = fit_.cost[j];
        }
        if (g_ >= 0) {
            alpha_[at(g_)] = fit_.alpha[g_];
            cost_[at(g_)] = fit_.cost[g_];
        }
        g_ = removal.row;
        std::copy(fit_.residual, fit_.residual + r_.size(), r_.begin());
        tail_ = fit_.tail;
        offset_moved_ = 0;
        const double leaves = std::max(fit_.alpha[g_] - removal.cost, 0.0);
        cost_[at(g_)] = removal.cost;
        alpha_[at(g_)] -= leaves;
        mu_ = leaves;
        shift(g_, 2 * leaves * fit_.sign[g_]);
    }

    // r += step · (x, κ).
    void shift(std::int64_t row, double step) noexcept {
        view_.add(row, step, r_.data());
        tail_ += column_ * step;
    }

    double slope(std::int64_t row) const noexcept {
        return view_.dot(row, r_.data()) + column_ * tail_ + offset_moved_;
    }

    // Raises V by one row; returns by how much.
    double visit(std::int64_t j) noexcept {
        const double square = fit_.norm2[j] + fit_.offset_square;
        if (j == g_ || cost_[at(j)] <= 0 || square <= 0) return 0;
        const double gradient = fit_.sign[j] * slope(j) + 1 - fit_.agreement[j];
        const double wanted = std::clamp(alpha_[at(j)] + gradient / square, 0.0, cost_[at(j)]);
        const double step = wanted - alpha_[at(j)];
        if (step == 0) return 0;
        alpha_[at(j)] = wanted;
        shift(j, -step * fit_.sign[j]);
        return step * (gradient - 0.5 * square * step);
    }

    // The same for μ.
    double visit_penalty() noexcept {
        const double square = fit_.norm2[g_] + fit_.offset_square;
        if (square <= 0) return 0;
        const double gradient = fit_.agreement[g_] - fit_.sign[g_] * slope(g_);
        const double step = std::max(0.0, mu_ + gradient / square) - mu_;
        mu_ += step;
        shift(g_, step * fit_.sign[g_]);
        return step * (gradient - 0.5 * square * step);
    }

    double sweep() {
        constexpr std::int64_t kAhead = 3;
        double gained = 0;
        for (std::int64_t k = 0; k < fit_.n_candidates && !stopped_; ++k) {
            if (k + kAhead < fit_.n_candidates) view_.prefetch(fit_.candidates[k + kAhead]);
            gained += visit(fit_.candidates[k]);
            stopped_ = pace_.stop_after(3 * view_.n_values(fit_.candidates[k]));
        }
        gained += visit_penalty();
        return gained + move_offset();
    }

    // The multiplier of Σ s α' = μ s_g goes to where the column's penalty would have it; returns what V, with
    // penalty and multiplier, gains.
    double move_offset() noexcept {
        if (!fit_.has_free_offset) return 0;
        offset_moved_ += column_ * tail_;
        return -tail_ * tail_;
    }

    // V; as a proof it has no part of the column that stands for a free offset.
    double value(bool as_proof) const noexcept {
        double square = as_proof && fit_.has_free_offset ? 0 : tail_ * tail_;
        for (const double x : r_) square += x * x;
        double lost = 0.5 * square + fit_.gap_of_rows + kRounding * fit_.objective;
        for (std::int64_t k = 0; k < fit_.n_candidates; ++k) {
            const std::int64_t j = fit_.candidates[k];
            if (j == g_) continue;
            const double excess = fit_.agreement[j] - 1;
            lost += hinge_gap(alpha_[at(j)], cost_[at(j)], excess) -
                    hinge_gap(fit_.alpha[j], fit_.cost[j], excess);
        }
        lost += hinge_gap(alpha_[at(g_)], cost_[at(g_)], fit_.agreement[g_] - 1);
        return mu_ * fit_.agreement[g_] - lost;
    }

    double price_of_imbalance() const noexcept {
        return fit_.has_free_offset ? 2 * std::fabs(tail_) / column_ * fit_.offset_reach : 0;
    }

    // Moves free duals in proportion to their room until Σ s α' = μ s_g; false if there is not enough of it.
    bool balance() {
        if (!fit_.has_free_offset) return true;
        for (int round = 0; round < 2; ++round) {
            const double missing = tail_ / column_;
            double room = 0;
            for (std::int64_t k = 0; k < fit_.n_candidates; ++k) room += room_of(fit_.candidates[k], missing);
            if (missing == 0) return true;
            const double share = std::fabs(missing) / room;
            if (!(share <= 1)) return false;
            for (std::int64_t k = 0; k < fit_.n_candidates; ++k) {
                const std::int64_t j = fit_.candidates[k];
                const double step = std::copysign(share * room_of(j, missing), fit_.sign[j] * missing);
                if (step == 0) continue;
                alpha_[at(j)] = std::clamp(alpha_[at(j)] + step, 0.0, cost_[at(j)]);
                shift(j, -step * fit_.sign[j]);
            }
        }
        return true;
    }

    double room_of(std::int64_t j, double missing) const noexcept {
        if (j == g_ || alpha_[at(j)] <= 0 || alpha_[at(j)] >= cost_[at(j)]) return 0;
        return fit_.sign[j] * missing > 0 ? cost_[at(j)] - alpha_[at(j)] : alpha_[at(j)];
    }

    const WideFit& fit_;
    const View& view_;
    Pace pace_;
    std::int64_t g_ = -1;
    double column_;  // κ
    std::vector<double> r_, alpha_, cost_;
    double tail_ = 0, offset_moved_ = 0, mu_ = 0;
    bool stopped_ = false;
};

}  // namespace

bool decide_by_descent(const WideFit& fit, const Removal* removals, std::int64_t count,
                       std::int8_t* decisions, StopToken& token) {
    std::fill(decisions, decisions + count, std::int8_t{0});
    bool complete = true;
    Chunks chunks(fit.rows);
    if (!chunks.in_place()) throw std::invalid_argument("rows must be float32 or float64, read in place");
    chunks.open(0, [&](const auto& view, std::int64_t) {
        Descent descent(fit, view, token);
        for (std::int64_t k = 0; k < count && complete; ++k) {
            decisions[k] = descent.is_certain(removals[k]) ? 1 : 0;
            complete = !descent.stopped();
        }
    });
    return complete;
}

}  // namespace maxmargin
