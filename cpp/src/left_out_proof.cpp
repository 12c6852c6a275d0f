#include "maxmargin/kernel/left_out_proof.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace maxmargin {
namespace {

constexpr double kRounding = 1e-9;   // more than the products of rows may be off
constexpr double kSameDual = 1e-15;  // of the cost
constexpr std::int64_t kAhead = 3;   // rows asked for before they are read
constexpr int kTogether = 8;         // points whose changes of w lie side by side: a row is read once for all

// One number for each of the points.
struct Lanes {
    double at[kTogether] = {};
};

template <class Rows>
class Prover {
  public:
    Prover(const ProvenFit& fit, const Rows& rows)
        : fit_(fit), rows_(rows), moved_(static_cast<std::size_t>(fit.rows.n_columns)) {}

    // Values of up to kTogether points. No point's value depends on the others.
    void values(const LeftOutPoint* points, std::int64_t count, LeftOutValue* values) {
        points_ = points;
        count_ = count;
        values_ = values;
        std::fill(values, values + count, LeftOutValue{});
        move();
        double reach = 0;
        for (std::int64_t p = 0; p < count; ++p) {
            const double length = std::sqrt(values[p].moved2) * fit_.largest_norm;
            const double own = (length + std::abs(offset_[p])) * (1.0 + kRounding) + kRounding;
            reach = own > reach ? own : reach;
        }
        bool met[kTogether] = {};
        for (std::int64_t k = 0; k < fit_.n_ordered; ++k) {
            if (k >= fit_.n_near && fit_.distance[k] > reach) break;
            if (k + kAhead < fit_.n_ordered) rows_.prefetch(fit_.order[k + kAhead]);
            const std::int64_t row = fit_.order[k];
            const Lanes scores = dot(row);
            for (std::int64_t p = 0; p < count; ++p) {
                met[p] |= row == points[p].row;
                take(row, k < fit_.n_near ? points[p].changes[k] : 0.0, scores.at[p], p);
            }
        }
        for (std::int64_t p = 0; p < count; ++p) {
            if (!met[p]) take(points[p].row, points[p].changes[fit_.n_near], dot(points[p].row).at[p], p);
        }
    }

  private:
    void move() {
        std::fill(moved_.begin(), moved_.end(), Lanes{});
        for (std::int64_t k = 0; k < fit_.n_near; ++k) {
            if (k + kAhead < fit_.n_near) rows_.prefetch(fit_.order[k + kAhead]);
            Lanes change;
            for (std::int64_t p = 0; p < count_; ++p) change.at[p] = points_[p].changes[k];
            add(fit_.order[k], change);
        }
        for (std::int64_t p = 0; p < count_; ++p) {
            Lanes change;
            change.at[p] = points_[p].changes[fit_.n_near];
            add(points_[p].row, change);
        }
        Lanes square;
        for (const Lanes& w : moved_) {
            for (int p = 0; p < kTogether; ++p) square.at[p] += w.at[p] * w.at[p];
        }
        for (std::int64_t p = 0; p < count_; ++p) {
            values_[p].moved2 = square.at[p];
            offset_[p] = fit_.offset_square > 0 ? fit_.offset_square * values_[p].balance_change
                                                : points_[p].offset_change;
        }
    }

    void add(std::int64_t row, const Lanes& change) {
        bool is_any = false;
        for (std::int64_t p = 0; p < count_; ++p) {
            values_[p].balance_change += change.at[p];
            is_any |= change.at[p] != 0;
        }
        if (!is_any) return;
        for (std::int64_t k = 0; k < rows_.n_values(row); ++k) {
            Lanes& w = moved_[static_cast<std::size_t>(rows_.column(row, k))];
            const double x = rows_.value(row, k);
            for (int p = 0; p < kTogether; ++p) w.at[p] += x * change.at[p];
        }
    }

    Lanes dot(std::int64_t row) const {
        Lanes sum;
        for (std::int64_t k = 0; k < rows_.n_values(row); ++k) {
            const Lanes& w = moved_[static_cast<std::size_t>(rows_.column(row, k))];
            const double x = rows_.value(row, k);
            for (int p = 0; p < kTogether; ++p) sum.at[p] += x * w.at[p];
        }
        return sum;
    }

    // The last bit of a sum must not keep a dual from its bound.
    double dual(std::int64_t row, double change) const {
        const double cost = fit_.cost[row], alpha = fit_.alpha[row] + change;
        return alpha < kSameDual * cost ? 0.0 : cost - alpha < kSameDual * cost ? cost : alpha;
    }

    void take(std::int64_t row, double change, double score, std::int64_t p) {
        LeftOutValue& value = values_[p];
        const double sign = fit_.sign[row], agreement = fit_.agreement[row] + sign * (score + offset_[p]);
        const bool is_left_out = row == points_[p].row;
        const double cost = is_left_out ? points_[p].new_cost : fit_.cost[row];
        const double alpha = is_left_out ? cost : dual(row, sign * change);
        if (is_left_out) value.agreement = agreement;
        if (cost <= 0) return;
        const double excess = agreement - 1.0, rest = std::max(cost - alpha, 0.0);
        value.gap += excess > 0 ? alpha * excess : -rest * excess;
        if ((excess > 0 && alpha > 0) || (excess < 0 && rest > 0))
            value.offset_error = std::max(value.offset_error, std::abs(excess));
        if (alpha > 0 && rest > 0) {
            value.room_below += sign > 0 ? rest : alpha;
            value.room_above += sign > 0 ? alpha : rest;
        }
    }

    const ProvenFit& fit_;
    const Rows& rows_;
    std::vector<Lanes> moved_;
    const LeftOutPoint* points_ = nullptr;
    std::int64_t count_ = 0;
    LeftOutValue* values_ = nullptr;
    double offset_[kTogether] = {};
};

}  // namespace

bool prove_left_out(const ProvenFit& fit, const LeftOutPoint* points, std::int64_t count,
                    LeftOutValue* values, StopToken& token) {
    Chunks chunks(fit.rows);
    if (!chunks.in_place()) throw std::invalid_argument("a proof needs rows of float or double");
    bool complete = true;
    chunks.open(0, [&](const auto& rows, std::int64_t) {
        Prover prover(fit, rows);
        for (std::int64_t k = 0; k < count && complete; k += kTogether) {
            complete = !token.poll();
            if (complete) prover.values(points + k, std::min<std::int64_t>(kTogether, count - k), values + k);
        }
    });
    return complete;
}

}  // namespace maxmargin
