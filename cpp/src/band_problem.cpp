#include "maxmargin/kernel/band_problem.hpp"

#include <algorithm>
#include <cmath>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

constexpr double kFirstSlack = 0.5;      // margins are counted in units of 1, and the rows are near it
constexpr double kBoundary = 0.995;      // how far towards the boundary a step may go
constexpr double kSmallestPivot = 1e-6;  // of an update of the shared factor: below, digits are lost
constexpr double kShortestStep = 1e-12;
// σ‖x‖² of the first updates of the multipliers, and how it grows; more than 1e7 would cost digits.
constexpr double kFirstStiffness = 1e3, kStiffer = 100;
constexpr int kUpdatesEach = 5, kUpdates = 3 * kUpdatesEach;
constexpr double kRounding = 1e-10;  // of the objective: far more than all rounding errors together

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

// A row's share of the duality gap.
double hinge_gap(double alpha, double room, double excess) noexcept {
    return excess > 0 ? alpha * excess : -room * excess;
}

}  // namespace

BandProblem::BandProblem(const Band& band)
    : band_(band), n_(band.rows.n_rows()), d_(band.rows.n_columns()), matrix_(d_ + 1), first_(d_ + 1) {
    for (auto* rows : {&sign_, &cost_, &target_, &a_, &room_, &z_, &xi_, &m_, &theta_, &right_, &da_, &dz_,
                       &dxi_, &signed_, &candidate_, &rz_, &rx_})
        rows->assign(at(n_ + kExtraRows), 0.0);
    for (auto* columns : {&w_, &held_, &point_}) columns->assign(at(d_), 0.0);
    solution_.assign(at(d_ + 1), 0.0);
    std::copy(band.sign, band.sign + n_, sign_.begin());
    std::fill(target_.begin(), target_.end(), 1.0);
    target_[at(n_ + 1)] = 0;
    factorise_first();
}

void BandProblem::start(const ChangedRow& row, double reach) {
    row_ = row;
    std::copy(band_.cost, band_.cost + n_, cost_.begin());
    std::copy(band_.held, band_.held + d_, held_.begin());
    held_balance_ = band_.held_balance;
    if (row.place >= 0) {
        cost_[at(row.place)] = 0;
    } else {
        primitives().dense_f64.add(held_.data(), -row.alpha * row.sign, row.x, d_);
        held_balance_ -= row.alpha * row.sign;
    }
    sign_[at(n_)] = row.sign;
    sign_[at(n_ + 1)] = -row.sign;
    cost_[at(n_)] = row.cost;
    cost_[at(n_ + 1)] = reach;
    x_columns_.clear();
    x_nonzero_.clear();
    for (std::int64_t j = 0; j < d_; ++j) {
        if (row.x[j] == 0) continue;
        x_columns_.push_back(static_cast<std::int32_t>(j));
        x_nonzero_.push_back(row.x[j]);
    }
    n_live_ = 0;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) {
        a_[at(j)] = room_[at(j)] = 0.5 * cost_[at(j)];
        z_[at(j)] = xi_[at(j)] = cost_[at(j)] > 0 ? kFirstSlack : 0;
        n_live_ += cost_[at(j)] > 0;
    }
    b_ = band_.b;
    is_first_ = true;
    refresh();
}

// v += Σ a s x over the band and both own rows.
void BandProblem::combine_all(const double* a, double* v) noexcept {
    const double own = a[n_] * sign_[at(n_)] + a[n_ + 1] * sign_[at(n_ + 1)];
    for (std::int64_t j = 0; j < n_; ++j) signed_[at(j)] = a[j] * sign_[at(j)];
    band_.rows.combine(signed_.data(), v);
    for (std::size_t k = 0; k < x_columns_.size(); ++k) v[x_columns_[k]] += own * x_nonzero_[k];
}

// Weights and agreements that belong to a.
void BandProblem::refresh() {
    std::copy(held_.begin(), held_.end(), w_.begin());
    combine_all(a_.data(), w_.data());
    band_.rows.scores(w_.data(), m_.data());
    double own = 0;
    for (std::size_t k = 0; k < x_columns_.size(); ++k) own += w_[at(x_columns_[k])] * x_nonzero_[k];
    m_[at(n_)] = m_[at(n_ + 1)] = own;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) m_[at(j)] = sign_[at(j)] * (m_[at(j)] + b_);
}

double BandProblem::imbalance(const double* a) const noexcept {
    double sum = held_balance_;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) sum += sign_[at(j)] * a[j];
    return sum;
}

double BandProblem::complementarity() const noexcept {
    double sum = 0;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j)
        sum += a_[at(j)] * z_[at(j)] + room_[at(j)] * xi_[at(j)];
    return sum;
}

double BandProblem::left_to_gain() const noexcept {
    double sum = 0;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j)
        sum += hinge_gap(a_[at(j)], room_[at(j)], m_[at(j)] - target_[at(j)]);
    return sum;
}

// E + Σ θ (x, 1)(x, 1)ᵀ over the band, and over row g where there is one, factorised.
bool BandProblem::factorise(const double* theta, UpperFactor& matrix) const {
    matrix.clear();
    for (std::int64_t j = 0; j < d_; ++j) matrix.row(j)[j] = 1;
    band_.rows.add_gram(theta, matrix);
    const double own = theta[n_] + theta[n_ + 1];
    for (std::size_t k = 0; k < x_columns_.size(); ++k) {
        double* row = matrix.row(x_columns_[k]);
        for (std::size_t l = k; l < x_columns_.size(); ++l)
            row[x_columns_[l]] += own * x_nonzero_[k] * x_nonzero_[l];
        row[d_] += own * x_nonzero_[k];
    }
    double* corner = matrix.row(d_);
    corner[d_] += own;
    if (!band_.has_free_offset) {
        for (std::int64_t j = 0; j < d_; ++j) matrix.row(j)[d_] = 0;
        corner[d_] = 1;
    }
    return matrix.factorise();
}

// In the middle of the box θ is c/4 over the first slack, whichever row is g.
void BandProblem::factorise_first() {
    std::vector<double> theta(at(n_ + kExtraRows), 0.0);
    for (std::int64_t j = 0; j < n_; ++j) theta[at(j)] = band_.cost[j] / (4 * kFirstSlack);
    x_columns_.clear();
    x_nonzero_.clear();
    has_first_ = factorise(theta.data(), first_);
    first_solution_.assign(at(d_ + 1), 0.0);
}

// What the matrix of this row g has more of (x_g, 1)(x_g, 1)ᵀ than the shared one; false if it is no use.
bool BandProblem::begin_first_step() {
    if (!has_first_) return false;
    std::fill(first_solution_.begin(), first_solution_.end(), 0.0);
    for (std::size_t k = 0; k < x_columns_.size(); ++k) first_solution_[at(x_columns_[k])] = x_nonzero_[k];
    first_solution_[at(d_)] = band_.has_free_offset ? 1 : 0;
    first_.solve(first_solution_.data());
    double more = theta_[at(n_)] + theta_[at(n_ + 1)];
    if (row_.place >= 0) more -= band_.cost[row_.place] / (4 * kFirstSlack);
    double form = band_.has_free_offset ? first_solution_[at(d_)] : 0;
    for (std::size_t k = 0; k < x_columns_.size(); ++k)
        form += first_solution_[at(x_columns_[k])] * x_nonzero_[k];
    const double pivot = 1 + more * form;
    first_excess_ = more / pivot;
    return pivot > kSmallestPivot;
}

// x ← M⁻¹ x, by the shared factor and the formula of Sherman and Morrison in the first step.
void BandProblem::solve_system(double* x) const noexcept {
    if (!is_first_) return matrix_.solve(x);
    first_.solve(x);
    double along = band_.has_free_offset ? x[d_] : 0;
    for (std::size_t k = 0; k < x_columns_.size(); ++k) along += x[x_columns_[k]] * x_nonzero_[k];
    primitives().dense_f64.add(x, -first_excess_ * along, first_solution_.data(), d_ + 1);
}

// Solves for (dw, db) in `solution_` and writes da = θ (right − dm).
void BandProblem::find_direction(const double* right, double* da) {
    std::fill(solution_.begin(), solution_.end(), 0.0);
    double sum = 0;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) {
        da[j] = theta_[at(j)] * right[j];
        sum += sign_[at(j)] * da[j];
    }
    combine_all(da, solution_.data());
    solution_[at(d_)] = band_.has_free_offset ? sum + imbalance(a_.data()) : 0;
    solve_system(solution_.data());
    std::vector<double>& scores = signed_;
    band_.rows.scores(solution_.data(), scores.data());
    double own = 0;
    for (std::size_t k = 0; k < x_columns_.size(); ++k) own += solution_[at(x_columns_[k])] * x_nonzero_[k];
    scores[at(n_)] = scores[at(n_ + 1)] = own;
    const double db = solution_[at(d_)];
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j)
        da[j] = theta_[at(j)] * (right[j] - sign_[at(j)] * (scores[at(j)] + db));
}

// The largest share by which a variable falls in a full step.
double BandProblem::fastest_fall() const noexcept {
    double most = 0;
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) {
        if (cost_[at(j)] <= 0) continue;
        const double change = da_[at(j)] < 0 ? -da_[at(j)] / a_[at(j)] : da_[at(j)] / room_[at(j)];
        most = std::max({most, change, -dz_[at(j)] / z_[at(j)], -dxi_[at(j)] / xi_[at(j)]});
    }
    return most;
}

// dz and dξ that belong to da; `rz` and `rx` are what a z and (c − a) ξ should gain.
void BandProblem::follow(const double* rz, const double* rx) noexcept {
    for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) {
        if (cost_[at(j)] <= 0) continue;
        dz_[at(j)] = (rz[j] - z_[at(j)] * da_[at(j)]) / a_[at(j)];
        dxi_[at(j)] = (rx[j] + xi_[at(j)] * da_[at(j)]) / room_[at(j)];
    }
}

bool BandProblem::step() {
    const std::int64_t n = n_ + kExtraRows;
    for (std::int64_t j = 0; j < n; ++j)
        theta_[at(j)] = cost_[at(j)] > 0 ? 1 / (z_[at(j)] / a_[at(j)] + xi_[at(j)] / room_[at(j)]) : 0;
    is_first_ = is_first_ && begin_first_step();
    if (!is_first_ && !factorise(theta_.data(), matrix_)) return false;
    const double gap = complementarity();
    for (std::int64_t j = 0; j < n; ++j) {
        right_[at(j)] = target_[at(j)] - m_[at(j)];
        rz_[at(j)] = -a_[at(j)] * z_[at(j)];
        rx_[at(j)] = -room_[at(j)] * xi_[at(j)];
    }
    find_direction(right_.data(), da_.data());
    follow(rz_.data(), rx_.data());
    double length = 1 / std::max(1.0, fastest_fall());
    double reached = 0;
    for (std::int64_t j = 0; j < n; ++j)
        reached += (a_[at(j)] + length * da_[at(j)]) * (z_[at(j)] + length * dz_[at(j)]) +
                   (room_[at(j)] - length * da_[at(j)]) * (xi_[at(j)] + length * dxi_[at(j)]);
    const double share = gap > 0 ? reached / gap : 0, mu = share * share * share * gap / (2 * n_live_);
    for (std::int64_t j = 0; j < n; ++j) {
        if (cost_[at(j)] <= 0) continue;
        const double more_z = mu - da_[at(j)] * dz_[at(j)], more_xi = mu + da_[at(j)] * dxi_[at(j)];
        right_[at(j)] += more_z / a_[at(j)] - more_xi / room_[at(j)];
        rz_[at(j)] += more_z;
        rx_[at(j)] += more_xi;
    }
    find_direction(right_.data(), da_.data());
    follow(rz_.data(), rx_.data());
    length = std::min(1.0, kBoundary / fastest_fall());
    if (!(length > kShortestStep)) return false;
    for (std::int64_t j = 0; j < n; ++j) {
        if (cost_[at(j)] <= 0) continue;
        a_[at(j)] += length * da_[at(j)];
        room_[at(j)] -= length * da_[at(j)];
        // The smaller of the two has all its digits; the other one follows.
        if (a_[at(j)] < room_[at(j)]) {
            room_[at(j)] = cost_[at(j)] - a_[at(j)];
        } else {
            a_[at(j)] = cost_[at(j)] - room_[at(j)];
        }
        z_[at(j)] += length * dz_[at(j)];
        xi_[at(j)] += length * dxi_[at(j)];
    }
    b_ += length * solution_[at(d_)];
    is_first_ = false;
    refresh();
    return true;
}

// The multipliers of the margin are updated by a ← clip(a − σ (m − 1), 0, c): rows that are not free go to
// their bound exactly, and each step finds the (w, b) that the update of the others leads to.
void BandProblem::polish() {
    const std::int64_t n = n_ + kExtraRows;
    double best = left_to_gain();
    is_first_ = false;
    best_a_ = a_;
    best_b_ = b_;
    bool is_factorised = false;
    const double unit = kFirstStiffness / band_.rows.largest_norm2();
    for (int update = 0; update < kUpdates; ++update) {
        const double stiffness = unit * std::pow(kStiffer, update / kUpdatesEach);
        for (std::int64_t j = 0; j < n; ++j) {
            const double cost = cost_[at(j)];
            const double wanted = a_[at(j)] + stiffness * (target_[at(j)] - m_[at(j)]);
            const double theta = wanted > 0 && wanted < cost ? stiffness : 0;
            if (theta == 0) a_[at(j)] = wanted > 0 ? cost : 0;
            is_factorised = is_factorised && theta == theta_[at(j)];
            theta_[at(j)] = theta;
        }
        if (!is_factorised && !factorise(theta_.data(), matrix_)) break;
        is_factorised = true;
        refresh();
        for (std::int64_t j = 0; j < n; ++j) right_[at(j)] = target_[at(j)] - m_[at(j)];
        find_direction(right_.data(), da_.data());
        for (std::int64_t j = 0; j < n; ++j) {
            a_[at(j)] = std::clamp(a_[at(j)] + da_[at(j)], 0.0, cost_[at(j)]);
            room_[at(j)] = cost_[at(j)] - a_[at(j)];
        }
        b_ += solution_[at(d_)];
        refresh();
        const double gain = left_to_gain() + std::fabs(imbalance(a_.data())) * band_.offset_reach;
        if (!(gain < best)) continue;
        best = gain;
        best_a_ = a_;
        best_b_ = b_;
    }
    a_ = best_a_;
    b_ = best_b_;
    for (std::int64_t j = 0; j < n; ++j) room_[at(j)] = cost_[at(j)] - a_[at(j)];
    refresh();
}

// Moves duals in proportion to their room until Σ s a = −β; false if there is not enough of it.
bool BandProblem::balance(std::vector<double>& a) const noexcept {
    for (int round = 0; round < 3; ++round) {
        const double excess = imbalance(a.data());
        if (excess == 0) return true;
        double room = 0;
        for (std::int64_t j = 0; j < n_ + kExtraRows; ++j)
            room += sign_[at(j)] * excess > 0 ? a[at(j)] : cost_[at(j)] - a[at(j)];
        const double share = std::fabs(excess) / room;
        if (!(share <= 1)) return false;
        for (std::int64_t j = 0; j < n_ + kExtraRows; ++j) {
            if (sign_[at(j)] * excess > 0) {
                a[at(j)] -= share * a[at(j)];
            } else {
                a[at(j)] += share * (cost_[at(j)] - a[at(j)]);
            }
        }
    }
    return true;
}

double BandProblem::certified_value() {
    candidate_ = a_;
    double allowance = kRounding * band_.objective;
    if (band_.has_free_offset) {
        if (!balance(candidate_)) return -HUGE_VAL;
        allowance += 2 * std::fabs(imbalance(candidate_.data())) * band_.offset_reach;
    }
    std::copy(held_.begin(), held_.end(), point_.begin());
    combine_all(candidate_.data(), point_.data());
    double square = 0;
    for (std::int64_t j = 0; j < d_; ++j) {
        const double difference = band_.w[j] - point_[at(j)];
        square += difference * difference;
    }
    double lost = 0.5 * square + band_.held_gap;
    for (std::int64_t j = 0; j < n_; ++j)
        lost += hinge_gap(candidate_[at(j)], cost_[at(j)] - candidate_[at(j)], band_.agreement[j] - 1);
    lost += hinge_gap(candidate_[at(n_)], cost_[at(n_)] - candidate_[at(n_)], row_.agreement - 1);
    return candidate_[at(n_ + 1)] * row_.agreement - lost - allowance;
}

}  // namespace maxmargin
