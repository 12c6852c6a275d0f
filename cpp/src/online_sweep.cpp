#include "maxmargin/kernel/online_sweep.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include "maxmargin/random.hpp"
#include "maxmargin/row_order.hpp"

namespace maxmargin {

double StepSize::at(std::int64_t t) const noexcept {
    if (power == 0) return scale;
    const double time = static_cast<double>(t) + delay;
    return scale / (power == 1 ? time : std::sqrt(time));
}

namespace {

constexpr std::int64_t kRowsAhead = 3;
constexpr double kScaleRange = 1e9;
constexpr double kAveragedRange = 1e3;  // S v − u loses as many digits as v is larger than θ

// What a visit does to the weights: first θ is multiplied by keep, then `pull` times s x is added.
struct Move {
    double keep, pull;
    bool updates;
};

struct MarginRule {
    static constexpr bool shrinks = false;
    static Move at(double m, double eta, const OnlineSettings& settings) noexcept {
        const bool updates = m <= settings.threshold;
        return {1, updates ? eta : 0, updates};
    }
};

struct PegasosRule {
    static constexpr bool shrinks = true;
    static Move at(double m, double eta, const OnlineSettings& settings) noexcept {
        const bool updates = m <= 1;
        return {1 - eta * settings.lambda, updates ? eta : 0, updates};
    }
};

struct LogisticRule {
    static constexpr bool shrinks = false;
    static Move at(double m, double eta, const OnlineSettings&) noexcept {
        return {1, eta / (1 + std::exp(m)), true};  // 1 − P without cancellation
    }
};

// Multiplies θ by keep; where the scale would leave the range in which v is precise, v takes it over.
void shrink(OnlineState& state, double keep, std::int64_t columns) noexcept {
    state.scale *= keep;
    const double size = std::fabs(state.scale), range = state.u != nullptr ? kAveragedRange : kScaleRange;
    if (size >= 1 / range && size <= range) return;
    for (std::int64_t j = 0; j < columns; ++j) {
        if (state.u != nullptr) state.u[j] -= state.scale_sum * state.v[j];
        state.v[j] *= state.scale;
    }
    state.scale_sum = 0;
    state.scale = 1;
}

// One call: the rule, the state, and what is written down.
template <class Rule, bool kTraced>
class Walk {
  public:
    Walk(const OnlineSettings& settings, const std::int8_t* sign, const double* norm2, std::int64_t columns,
         OnlineState& state, const Stretch& stretch, const OnlineLog& log, StopToken& token) noexcept
        : settings_(settings), sign_(sign), norm2_(norm2), columns_(columns), state_(state), log_(log),
          pace_(token), last_update_(state.updates + stretch.updates), first_visit_(state.visits),
          first_update_(state.updates) {}

    // Visits listed rows; `gathered` rows stand in the view in the order of the list. Returns false when it
    // is time to end.
    template <class Rows>
    bool visit_listed(const Rows& rows, const std::uint32_t* listed, std::int64_t n, bool gathered) {
        for (std::int64_t k = 0; k < n; ++k) {
            if (state_.updates >= last_update_) return false;
            if (k + kRowsAhead < n) rows.prefetch(gathered ? k + kRowsAhead : listed[k + kRowsAhead]);
            const std::int64_t i = gathered ? k : listed[k];
            visit(rows, i, listed[k]);
            if (pace_.stop_after(2 * rows.n_values(i))) return false;
        }
        return true;
    }

  private:
    template <class Rows>
    void visit(const Rows& rows, std::int64_t i, std::uint32_t row) noexcept {
        const double s = sign_[row];
        const double m = s * (state_.scale * rows.dot(i, state_.v) + state_.offset);
        const double eta = settings_.step.at((settings_.counts_updates ? state_.updates : state_.visits) + 1);
        const Move move = Rule::at(m, eta, settings_);
        if constexpr (Rule::shrinks) shrink(state_, move.keep, columns_);
        if (move.updates) {
            double pull = s * move.pull;
            if (norm2_ != nullptr) pull /= std::sqrt(norm2_[row] + (settings_.has_offset ? 1 : 0));
            const double change = pull / state_.scale;
            rows.add(i, change, state_.v);
            if (state_.u != nullptr) rows.add(i, state_.scale_sum * change, state_.u);
            if (settings_.has_offset) state_.offset += pull;
            if (log_.updated_rows != nullptr) log_.updated_rows[state_.updates - first_update_] = row;
            ++state_.updates;
        }
        if constexpr (kTraced) {
            const std::int64_t at = state_.visits - first_visit_;
            log_.row[at] = row;
            log_.agreement[at] = m;
            log_.updated[at] = move.updates ? 1 : 0;
            log_.step[at] = eta;
        }
        state_.scale_sum += state_.scale;
        state_.offset_sum += state_.offset;
        ++state_.visits;
    }

    const OnlineSettings settings_;
    const std::int8_t* sign_;
    const double* norm2_;
    std::int64_t columns_;
    OnlineState& state_;
    const OnlineLog log_;
    Pace pace_;
    std::int64_t last_update_, first_visit_, first_update_;
};

// The rows of the stretch, in the order of their visits.
std::vector<std::uint32_t> draw_order(Arrangement arrangement, const Stretch& stretch, std::int64_t n) {
    Random random(stretch.seed, stretch.pass, 0);
    std::vector<std::uint32_t> order(static_cast<std::size_t>(stretch.visits));
    if (arrangement == Arrangement::drawn) {
        for (std::int64_t k = 0; k < stretch.from; ++k) random.next();
        for (auto& row : order) row = static_cast<std::uint32_t>(random.below(n));
    } else if (arrangement == Arrangement::given) {
        std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(stretch.from));
    } else {
        std::vector<std::uint32_t> all(static_cast<std::size_t>(n));
        std::iota(all.begin(), all.end(), 0U);
        all = shuffled_by_groups(all, random);
        if (stretch.visits == n) return all;
        std::copy_n(all.begin() + stretch.from, stretch.visits, order.begin());
    }
    return order;
}

template <class Walker>
void walk_over(Walker& walker, const Block& block, const std::vector<std::uint32_t>& order) {
    Chunks chunks(block);
    const auto n = static_cast<std::int64_t>(order.size());
    if (n > 0 && chunks.in_place()) {
        chunks.open(
            0, [&](const auto& rows, std::int64_t) { walker.visit_listed(rows, order.data(), n, false); });
        return;
    }
    bool goes_on = true;
    for (std::int64_t from = 0; from < n && goes_on; from += chunks.rows_per_chunk()) {
        const std::int64_t count = std::min(chunks.rows_per_chunk(), n - from);
        const std::uint32_t* listed = order.data() + from;
        chunks.open_listed(listed, count, [&](const auto& rows) {
            goes_on = walker.visit_listed(rows, listed, count, true);
        });
    }
}

// Calls f with the rule of that name.
template <class F>
bool with_rule(std::string_view name, F&& f) {
    if (name == "margin") {
        f(MarginRule());
    } else if (name == "pegasos") {
        f(PegasosRule());
    } else if (name == "logistic") {
        f(LogisticRule());
    } else {
        return false;
    }
    return true;
}

}  // namespace

bool online_sweep(std::string_view rule, const OnlineSettings& settings, const Block& block,
                  const std::int8_t* sign, const double* norm2, OnlineState& state, const Stretch& stretch,
                  const OnlineLog& log, StopToken& token) {
    return with_rule(rule, [&](auto kind) {
        using Rule = decltype(kind);
        const auto order = draw_order(settings.arrangement, stretch, block.n_rows);
        if (log.row != nullptr) {
            Walk<Rule, true> walk(settings, sign, norm2, block.n_columns, state, stretch, log, token);
            walk_over(walk, block, order);
        } else {
            Walk<Rule, false> walk(settings, sign, norm2, block.n_columns, state, stretch, log, token);
            walk_over(walk, block, order);
        }
    });
}

double online_weights(const OnlineState& state, std::int64_t columns, bool averaged, double* theta) {
    if (!averaged || state.visits == 0) {
        for (std::int64_t j = 0; j < columns; ++j) theta[j] = state.scale * state.v[j];
        return state.offset;
    }
    const double n = static_cast<double>(state.visits);
    for (std::int64_t j = 0; j < columns; ++j) theta[j] = (state.scale_sum * state.v[j] - state.u[j]) / n;
    return state.offset_sum / n;
}

}  // namespace maxmargin
