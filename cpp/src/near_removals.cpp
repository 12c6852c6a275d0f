#include "maxmargin/kernel/near_removals.hpp"

#include <algorithm>
#include <cmath>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

constexpr double kBeyond = 1e-10;         // of the cost, or of the margin: less is rounding
constexpr double kSmallestPivot = 1e-11;  // of what the row's own entry was at first
constexpr int kMostSteps = 200, kAllAtOnce = 12;
constexpr std::size_t kMostChanges = 1500;  // roles that differ from those of the full fit

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

enum class Role : std::uint8_t { free, zero, cost };

// Solves a system with a matrix that is positive definite on some unknowns and negative definite on the
// others, so that elimination needs no other pivots than its diagonal; false where rounding spoils that.
bool solve_quasidefinite(std::vector<double>& matrix, std::vector<double>& x,
                         const std::vector<bool>& is_positive) {
    const std::size_t n = x.size();
    const DensePrimitives<double>& use = primitives().dense_f64;
    std::vector<double> smallest(n);
    for (std::size_t k = 0; k < n; ++k) smallest[k] = kSmallestPivot * std::abs(matrix[k * n + k]);
    for (std::size_t k = 0; k < n; ++k) {
        const double* row = matrix.data() + k * n;
        const double pivot = row[k];
        if (!((is_positive[k] ? pivot : -pivot) > smallest[k])) return false;
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = row[i] / pivot;
            if (factor == 0) continue;
            use.add(matrix.data() + i * n + i, -factor, row + i, static_cast<std::int64_t>(n - i));
            x[i] -= factor * x[k];
        }
    }
    for (std::size_t k = n; k-- > 0;) {
        const double* row = matrix.data() + k * n;
        const double known = use.dot(row + k + 1, x.data() + k + 1, static_cast<std::int64_t>(n - k - 1));
        x[k] = (x[k] - known) / row[k];
    }
    return true;
}

}  // namespace

// One removal at a time: the roles of the near rows, and what follows from them.
class NearSearch {
  public:
    explicit NearSearch(const NearRemovals& all)
        : all_(all), fit_(all.fit_), system_(all.system_), n_(system_.size()), first_(at(n_)), last_(at(n_)),
          role_(at(n_)) {}

    bool run(const NearRemoval& removal, const double* column, double offset_answer) {
        removal_ = removal;
        offset_ = all_.offset_polish_;
        first_ = all_.polish_;
        if (removal.place < 0) {
            const double input = -removal.sign * (removal.new_cost - removal.alpha);
            primitives().dense_f64.add(first_.data(), input, column, n_);
            offset_ += input * offset_answer;
        }
        for (std::int64_t k = 0; k < n_; ++k)
            role_[at(k)] = k < system_.n_free() ? Role::free : fit_.alpha[k] > 0 ? Role::cost : Role::zero;
        if (removal.place >= 0) role_[at(removal.place)] = Role::zero;
        for (int step = 0; step < kMostSteps; ++step) {
            if (!follow_from_roles()) return false;
            if (!change_roles(step >= kAllAtOnce)) return true;
        }
        return false;
    }

    void write(double* changes, double& offset_change) const {
        for (std::int64_t k = 0; k < n_; ++k) {
            const double alpha = std::clamp(dual(k), 0.0, is_leaving(k) ? fixed(k) : fit_.cost[k]);
            changes[k] = fit_.sign[k] * (alpha - fit_.alpha[k]);
        }
        changes[n_] = removal_.place < 0 ? removal_.sign * (removal_.new_cost - removal_.alpha) : 0.0;
        offset_change = offset_;
        for (std::size_t k = 0; k < others_.size(); ++k)
            offset_change += unknown_[k] * system_.offset_answer()[at(others_[k])];
        for (const std::int64_t k : moved_) offset_change += held_input(k) * system_.offset_answer()[at(k)];
    }

  private:
    bool is_leaving(std::int64_t k) const { return k == removal_.place; }
    bool was_free(std::int64_t k) const { return k < system_.n_free(); }

    // The dual of a row that is not free.
    double fixed(std::int64_t k) const {
        return is_leaving(k) ? removal_.new_cost : role_[at(k)] == Role::cost ? fit_.cost[k] : 0.0;
    }

    // What a row of B that is held at another bound than before puts in.
    double held_input(std::int64_t k) const { return -fit_.sign[k] * (fixed(k) - fit_.alpha[k]); }

    double dual(std::int64_t k) const {
        if (role_[at(k)] != Role::free) return fixed(k);
        const double change = was_free(k) ? last_[at(k)] : -last_[at(k)];
        return fit_.alpha[k] + fit_.sign[k] * change;
    }

    // Solves for the rows whose role has changed. Afterwards last_ holds, for each row, what it does not
    // keep: δβ of a free one, δu of one at a bound.
    bool follow_from_roles() {
        others_.clear();
        moved_.clear();
        for (std::int64_t k = 0; k < n_; ++k) {
            const bool is_free = role_[at(k)] == Role::free;
            if (is_free != was_free(k)) others_.push_back(k);
            if (!is_free && !was_free(k) && fixed(k) != fit_.alpha[k]) moved_.push_back(k);
        }
        if (others_.size() > kMostChanges) return false;
        last_ = first_;
        const DensePrimitives<double>& use = primitives().dense_f64;
        for (const std::int64_t k : moved_) use.add(last_.data(), held_input(k), system_.row(k), n_);
        if (!solve_for_others()) return false;
        for (std::size_t k = 0; k < others_.size(); ++k)
            use.add(last_.data(), unknown_[k], system_.row(others_[k]), n_);
        for (std::size_t k = 0; k < others_.size(); ++k) {
            const std::int64_t row = others_[k];
            const double missing = fit_.sign[row] * (1.0 - fit_.agreement[row]);
            last_[at(row)] = was_free(row) ? missing + unknown_[k] : unknown_[k];
        }
        return true;
    }

    bool solve_for_others() {
        const std::size_t count = others_.size();
        matrix_.resize(count * count);
        unknown_.resize(count);
        is_positive_.resize(count);
        for (std::size_t k = 0; k < count; ++k) {
            const std::int64_t row = others_[k];
            const double* from = system_.row(row);
            for (std::size_t j = 0; j < count; ++j) matrix_[k * count + j] = from[others_[j]];
            const double target = was_free(row) ? fixed(row) - fit_.alpha[row] : 1.0 - fit_.agreement[row];
            unknown_[k] = fit_.sign[row] * target - last_[at(row)];
            is_positive_[k] = was_free(row);
        }
        return solve_quasidefinite(matrix_, unknown_, is_positive_);
    }

    // The role that a row should have, and how wrong its present one is.
    double fault(std::int64_t k, Role& better) const {
        if (role_[at(k)] == Role::free) {
            const double alpha = dual(k);
            better = alpha < 0 ? Role::zero : Role::cost;
            return std::max(-alpha, alpha - fit_.cost[k]) / fit_.cost[k];
        }
        const double excess = fit_.agreement[k] - 1.0 + fit_.sign[k] * last_[at(k)];
        better = Role::free;
        return role_[at(k)] == Role::zero ? -excess : excess;
    }

    // False if every row is where it should be.
    bool change_roles(bool only_the_worst) {
        double worst = kBeyond;
        std::int64_t chosen = -1;
        Role better{}, chosen_role{};
        bool changed = false;
        for (std::int64_t k = 0; k < n_; ++k) {
            if (is_leaving(k)) continue;
            const double wrong = fault(k, better);
            if (!(wrong > kBeyond)) continue;
            changed = true;
            if (!only_the_worst) {
                role_[at(k)] = better;
            } else if (wrong > worst) {
                worst = wrong;
                chosen = k;
                chosen_role = better;
            }
        }
        if (chosen >= 0) role_[at(chosen)] = chosen_role;
        return changed;
    }

    const NearRemovals& all_;
    const NearFit& fit_;
    const NearSystem& system_;
    std::int64_t n_;
    NearRemoval removal_{};
    double offset_ = 0;
    std::vector<double> first_, last_;
    std::vector<Role> role_;
    std::vector<std::int64_t> others_, moved_;
    std::vector<double> matrix_, unknown_;
    std::vector<bool> is_positive_;
};

NearRemovals::NearRemovals(const NearSystem& system, const NearFit& fit)
    : system_(system), fit_(fit), polish_(at(system.size()), 0.0) {
    const DensePrimitives<double>& use = primitives().dense_f64;
    for (std::int64_t k = 0; k < system.n_free(); ++k) {
        const double missing = fit.sign[k] * (1.0 - fit.agreement[k]);
        use.add(polish_.data(), missing, system.row(k), system.size());
        offset_polish_ += missing * system.offset_answer()[at(k)];
    }
    use.add(polish_.data(), -fit.balance, system.offset_answer().data(), system.size());
    offset_polish_ += fit.balance * system.inverse_eta();
}

bool NearRemovals::solve(const NearRemoval* removals, std::int64_t count, double* changes,
                         double* offset_changes, bool* solved, StopToken& token) const {
    const std::int64_t n = system_.size();
    std::vector<std::int64_t> far, place(at(count), -1);
    for (std::int64_t k = 0; k < count; ++k) {
        if (removals[k].place >= 0) continue;
        place[at(k)] = static_cast<std::int64_t>(far.size());
        far.push_back(removals[k].row);
    }
    std::vector<double> columns(far.size() * at(n)), answers(far.size());
    if (token.poll()) return false;
    system_.columns_of(far.data(), static_cast<std::int64_t>(far.size()), columns.data(), answers.data());
    NearSearch search(*this);
    for (std::int64_t k = 0; k < count; ++k) {
        if (token.poll()) return false;
        const std::int64_t column = place[at(k)];
        solved[k] = column < 0 ? search.run(removals[k], nullptr, 0.0)
                               : search.run(removals[k], columns.data() + column * n, answers[at(column)]);
        search.write(changes + k * (n + 1), offset_changes[k]);
    }
    return true;
}

}  // namespace maxmargin
