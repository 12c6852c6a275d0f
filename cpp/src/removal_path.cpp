#include "maxmargin/kernel/removal_path.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "maxmargin/kernel/hinge_offset.hpp"

namespace maxmargin {
namespace {

using Vector = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCrossed = 1e-9;  // an agreement on the wrong side of 1 by more than rounding
constexpr double kCounts = 1e-14;  // of a sum of n costs, n times: above what counts as equal
constexpr double kStill = 1e-12;   // rates below this share of what they are made of are rounding
constexpr double kUnit = 0x1p-53;  // what rounding does to a number, as a share

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

double sum(const Vector& x) {
    double total = 0;
    for (const double value : x) total += value;
    return total;
}

double middle(const Interval& interval) {
    if (std::isinf(interval.low)) return std::isinf(interval.high) ? 0.0 : interval.high;
    if (std::isinf(interval.high)) return interval.low;
    return interval.low + 0.5 * (interval.high - interval.low);
}

// One row on its way out. The vectors are kept from one row to the next.
class Walk {
  public:
    Walk(const FullFit& fit, const DualFace& start, double radius)
        : fit_(fit), start_(start), face_(start), radius_(radius), n_(fit.rows.n_rows),
          use_(primitives().dense_f64), sign_(fit.rows.sign, fit.rows.sign + n_),
          cost_(fit.rows.cost, fit.rows.cost + n_), total_cost_(static_cast<double>(n_) * sum(cost_)) {}

    // Returns false if it was told to stop.
    bool run(const Removal& removal, LeftOut& result, Pace& pace) {
        if (!follow(removal, fit_.n_watched, result, pace)) return false;
        return has_kept_sides() || follow(removal, n_, result, pace);
    }

  private:
    struct Event {
        double step;
        enum class Kind { end, leaves, enters } kind;
        std::int64_t which = -1;  // the position of a free row, or a row
        Place bound = Place::zero;
    };

    bool follow(const Removal& removal, std::int64_t watched, LeftOut& result, Pace& pace);
    bool has_kept_sides() const;
    bool is_lost(LeftOut& result) noexcept;

    // What is left of its cost must count in a sum of costs: else it is as good as out, where the offset may
    // be another.
    bool is_surely_wrong(const Removal& removal) const noexcept {
        return agreement_[at(row_)] < removal.stop_below && alpha(row_) - target_ > kCounts * total_cost_;
    }

    void begin(const Removal& removal);
    bool slide();
    void find_direction();
    Event next_event() const;
    void look_at_agreements(Event& event) const;
    void advance(const Event& event);
    void recompute_agreements();
    void refine();
    void conclude(LeftOut& result);
    void find_errors();
    double gap_at(double b, double imbalance);

    double sign(std::int64_t j) const noexcept { return sign_[at(j)]; }
    double alpha(std::int64_t j) const noexcept { return face_.alpha()[at(j)]; }
    double norm(std::int64_t j) const noexcept {
        return std::sqrt(std::max(0.0, fit_.rows.products[j * n_ + j] - fit_.constant));
    }

    const FullFit& fit_;
    const DualFace& start_;
    DualFace face_;
    double radius_;
    std::int64_t n_, watched_ = 0;
    DensePrimitives<double> use_;
    Vector sign_, cost_, agreement_, rate_, beta_rate_, ones_, z_, error_;
    std::vector<std::int64_t> moved_;  // rows whose duals are not those of the full fit
    double total_cost_;                // times the number of rows, as the rounding of the sum is
    std::int64_t row_ = 0;
    bool has_lost_way_ = false;
    double target_ = 0, b_ = 0, b_rate_ = 0, own_rate_ = 0, noise_ = 0;
};

void Walk::begin(const Removal& removal) {
    cost_[at(row_)] = fit_.rows.cost[row_];
    row_ = removal.row;
    target_ = removal.new_cost;
    face_ = start_;
    face_.take_out(row_);
    agreement_.assign(fit_.agreement, fit_.agreement + n_);
    b_ = fit_.b;
}

// With no free row the offset moves until a row can take over what the leaving one held: of its own class
// one at zero, of the other class one at its cost.
bool Walk::slide() {
    const double side = sign(row_);
    double best = kInfinity;
    std::int64_t found = -1;
    for (std::int64_t j = 0; j < watched_; ++j) {
        const bool is_candidate = face_.place(j) == (sign(j) == side ? Place::zero : Place::cost);
        if (!is_candidate || fit_.rows.cost[j] <= 0) continue;
        const double distance = std::max(0.0, (agreement_[at(j)] - 1.0) * sign(j) * side);
        if (distance < best) {
            best = distance;
            found = j;
        }
    }
    if (found < 0) return false;
    b_ -= side * best;
    for (std::int64_t j = 0; j < watched_; ++j) agreement_[at(j)] -= sign(j) * side * best;
    if (row_ >= watched_) agreement_[at(row_)] -= best;
    face_.enter(found);
    return true;
}

void Walk::find_direction() {
    const FreeSet& free = face_.free();
    const double* own = free.products(row_);
    const double side = sign(row_);
    beta_rate_.resize(at(free.size()));
    for (std::int64_t k = 0; k < free.size(); ++k) beta_rate_[at(k)] = side * own[free[k]];
    free.solve(beta_rate_);
    b_rate_ = 0;
    if (fit_.has_free_offset) {
        ones_.assign(at(free.size()), 1.0);
        free.solve(ones_);
        b_rate_ = (sum(beta_rate_) - side) / sum(ones_);
        use_.add(beta_rate_.data(), -b_rate_, ones_.data(), free.size());
    }
    rate_.assign(at(watched_), b_rate_);
    use_.add(rate_.data(), -side, own, watched_);
    own_rate_ = b_rate_ - side * own[row_];
    double size = std::sqrt(own[row_]);
    for (std::int64_t k = 0; k < free.size(); ++k) {
        const double* products = free.products(free[k]);
        use_.add(rate_.data(), beta_rate_[at(k)], products, watched_);
        own_rate_ += beta_rate_[at(k)] * own[free[k]];
        size += std::fabs(beta_rate_[at(k)]) * std::sqrt(products[free[k]]);
    }
    noise_ = kStill * size;
    for (std::int64_t j = 0; j < watched_; ++j) rate_[at(j)] *= sign(j);
    own_rate_ *= side;
}

Walk::Event Walk::next_event() const {
    Event event{alpha(row_) - target_, Event::Kind::end};
    const FreeSet& free = face_.free();
    double largest = 0;
    for (const double rate : beta_rate_) largest = std::max(largest, std::fabs(rate));
    for (std::int64_t k = 0; k < free.size(); ++k) {
        const std::int64_t j = free[k];
        const double rate = sign(j) * beta_rate_[at(k)];
        if (std::fabs(rate) <= kStill * largest) continue;
        const double room = rate > 0 ? fit_.rows.cost[j] - alpha(j) : alpha(j);
        if (room < event.step * std::fabs(rate)) {
            event = {room / std::fabs(rate), Event::Kind::leaves, k, rate > 0 ? Place::cost : Place::zero};
        }
    }
    look_at_agreements(event);
    return event;
}

void Walk::look_at_agreements(Event& event) const {
    const double* products = fit_.rows.products;
    const double* sides = face_.sides().data();
    for (std::int64_t j = 0; j < watched_; ++j) {
        const double room = std::max(0.0, sides[j] * (agreement_[at(j)] - 1.0));
        const double towards = -sides[j] * rate_[at(j)];
        if (!(room < event.step * towards)) continue;  // as for nearly all, and for 0 < 0
        if (towards <= noise_ * std::sqrt(products[j * n_ + j])) continue;
        event = {room / towards, Event::Kind::enters, j, face_.place(j)};
    }
}

void Walk::advance(const Event& event) {
    const FreeSet& free = face_.free();
    for (std::int64_t k = 0; k < free.size(); ++k) {
        face_.move(free[k], event.step * sign(free[k]) * beta_rate_[at(k)]);
    }
    face_.move(row_, -event.step);
    b_ += event.step * b_rate_;
    use_.add(agreement_.data(), event.step, rate_.data(), watched_);
    if (row_ >= watched_) agreement_[at(row_)] += event.step * own_rate_;
    if (event.kind == Event::Kind::leaves) {
        face_.leave(event.which, event.bound);
    } else if (event.kind == Event::Kind::enters) {
        face_.enter(event.which);
    } else {
        face_.move(row_, target_ - alpha(row_));
    }
}

// From the duals alone, so that the rounding of many steps does not add up.
void Walk::recompute_agreements() {
    rate_.assign(at(n_), b_ - fit_.b);
    for (std::int64_t k = 0; k < n_; ++k) {
        const double change = alpha(k) - fit_.alpha[k];
        if (change != 0) use_.add(rate_.data(), sign(k) * change, fit_.rows.products + k * n_, n_);
    }
    for (std::int64_t j = 0; j < n_; ++j) agreement_[at(j)] = fit_.agreement[j] + sign(j) * rate_[at(j)];
}

// Solves the equations of the free rows once more, for what is missing.
void Walk::refine() {
    const FreeSet& free = face_.free();
    if (free.size() == 0) return;
    beta_rate_.resize(at(free.size()));
    for (std::int64_t k = 0; k < free.size(); ++k) {
        beta_rate_[at(k)] = sign(free[k]) * (1.0 - agreement_[at(free[k])]);
    }
    free.solve(beta_rate_);
    if (fit_.has_free_offset) {
        double imbalance = 0;
        for (std::int64_t j = 0; j < n_; ++j) imbalance += sign(j) * alpha(j);
        ones_.assign(at(free.size()), 1.0);
        free.solve(ones_);
        const double change = (sum(beta_rate_) + imbalance) / sum(ones_);
        use_.add(beta_rate_.data(), -change, ones_.data(), free.size());
        b_ += change;
    }
    for (std::int64_t k = 0; k < free.size(); ++k) face_.move(free[k], sign(free[k]) * beta_rate_[at(k)]);
    recompute_agreements();
}

// How far each agreement may be off: as in the full fit, and by the products that were added since. For rows
// on the margin it is what the gap is made of, so those get the size of every product that was added.
void Walk::find_errors() {
    moved_.clear();
    double of_rows = 0, of_entries = 0;
    for (std::int64_t k = 0; k < n_; ++k) {
        const double change = std::fabs(alpha(k) - fit_.alpha[k]);
        if (change == 0) continue;
        of_rows += change * norm(k);
        of_entries += change * std::sqrt(fit_.rows.products[k * n_ + k]);
        moved_.push_back(k);
    }
    of_rows *= fit_.product_error;
    const double of_sum = static_cast<double>(moved_.size() + 3) * kUnit;
    error_.resize(at(n_));
    for (std::int64_t j = 0; j < n_; ++j) {
        const double* products = fit_.rows.products + j * n_;
        const double own =
            fit_.rounding[j] + of_rows * norm(j) + 4 * kUnit * (std::fabs(agreement_[at(j)]) + std::fabs(b_));
        error_[at(j)] = own + of_sum * of_entries * std::sqrt(products[j]);
        if (std::fabs(agreement_[at(j)] - 1.0) > error_[at(j)]) continue;
        double added = 0;
        for (const std::int64_t k : moved_) added += std::fabs((alpha(k) - fit_.alpha[k]) * products[k]);
        error_[at(j)] = own + of_sum * added;
    }
}

double Walk::gap_at(double b, double imbalance) {
    double gap = 0.5 * fit_.residual2, largest = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
        const double e = sign(j) * (z_[at(j)] + b) - 1.0, off = error_[at(j)];
        gap += std::max({alpha(j) * (e + off), (cost_[at(j)] - alpha(j)) * (off - e), 0.0});
        if (cost_[at(j)] > 0) largest = std::max(largest, std::fabs(z_[at(j)]));
    }
    if (imbalance == 0) return gap;
    // The unbalanced part costs its size times a bound on both offsets, which depends on the gap itself.
    const double slope = imbalance * std::sqrt(2.0) * radius_;
    const double constant = gap + imbalance * (std::fabs(b) + largest + 1.0);
    const double root = 0.5 * (slope + std::sqrt(slope * slope + 4.0 * constant));
    return root * root;
}

void Walk::conclude(LeftOut& result) {
    cost_[at(row_)] = std::max(target_, alpha(row_));
    z_.resize(at(n_));
    double imbalance = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
        z_[at(j)] = sign(j) * agreement_[at(j)] - b_;
        imbalance += sign(j) * alpha(j);
    }
    find_errors();
    double b = b_;
    result.is_out = alpha(row_) <= target_;
    if (fit_.has_free_offset) {
        const Interval best = hinge_offset({z_.data(), fit_.rows.sign, cost_.data(), n_});
        const double worst = sign(row_) > 0 ? best.low : best.high;
        b = result.is_out || std::isinf(worst) ? middle(best) : worst;
    }
    const double gap = gap_at(b, fit_.has_free_offset ? std::fabs(imbalance) : 0.0);
    result.agreement = sign(row_) * (z_[at(row_)] + b);
    result.error_bound = std::sqrt(2.0 * gap) * norm(row_) + error_[at(row_)];
    if (fit_.has_free_offset) {
        result.error_bound += std::sqrt(2.0 * gap) * radius_;
        result.error_bound += *std::max_element(error_.begin(), error_.end());
    }
    if (!std::isfinite(result.agreement) || !std::isfinite(gap)) result.error_bound = kInfinity;
}

// Watching all rows may find the way where some were not enough.
bool Walk::is_lost(LeftOut& result) noexcept {
    result.error_bound = kInfinity;
    has_lost_way_ = true;
    return true;
}

bool Walk::has_kept_sides() const {
    if (has_lost_way_) return watched_ == n_;
    const double* sides = face_.sides().data();
    for (std::int64_t j = watched_; j < n_; ++j) {
        if (sides[j] * (agreement_[at(j)] - 1.0) < -kCrossed) return false;
    }
    return true;
}

bool Walk::follow(const Removal& removal, std::int64_t watched, LeftOut& result, Pace& pace) {
    watched_ = watched;
    has_lost_way_ = false;
    begin(removal);
    const std::int64_t most = 4 * n_ + 200;
    result = {};
    while (alpha(row_) - target_ > kStill * fit_.rows.cost[row_] && !is_surely_wrong(removal)) {
        if (pace.stop_after((face_.free().size() + 4) * watched_)) return false;
        if (++result.events > most) return is_lost(result);
        if (fit_.has_free_offset && face_.free().size() == 0) {
            if (slide()) continue;
            return is_lost(result);
        }
        find_direction();
        advance(next_event());
    }
    if (!is_surely_wrong(removal)) face_.move(row_, target_ - alpha(row_));  // but for rounding it is out
    recompute_agreements();
    refine();
    conclude(result);
    return true;
}

}  // namespace

RemovalPath::RemovalPath(const FullFit& fit) : fit_(fit), face_(fit.rows, fit.alpha) {
    for (std::int64_t j = 0; j < fit.rows.n_rows; ++j) {
        const double square = fit.rows.products[j * fit.rows.n_rows + j] - fit.constant;
        if (fit.rows.cost[j] > 0) radius_ = std::max(radius_, std::sqrt(std::max(0.0, square)));
    }
}

bool RemovalPath::follow(const Removal* removals, std::int64_t count, LeftOut* results,
                         StopToken& token) const {
    Walk walk(fit_, face_, radius_);
    Pace pace(token);
    for (std::int64_t k = 0; k < count; ++k) {
        if (!walk.run(removals[k], results[k], pace)) return false;
    }
    return true;
}

}  // namespace maxmargin
