#include "maxmargin/kernel/class_sweep.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "maxmargin/kernel/class_hinge.hpp"
#include "maxmargin/kernel/class_softmax.hpp"
#include "maxmargin/random.hpp"
#include "maxmargin/row_order.hpp"

namespace maxmargin {
namespace {

constexpr std::uint8_t kMostSkips = 255, kRest = 2;
constexpr std::int64_t kRowsAhead = 2;
constexpr std::int64_t kColumnsAhead = 6;  // whose weights are loaded before they are needed
// Where there is a class for each cache line of a column, all classes cost no more than those.
constexpr std::int64_t kLine = 8;

class Sweep {
  public:
    Sweep(const ClassSweepRows& numbers, const ClassSweepState& state)
        : numbers_(numbers), state_(state), scores_(static_cast<std::size_t>(state.stride)),
          u_(scores_.size()), old_(scores_.size()), next_(scores_.size()), classes_(scores_.size()),
          changed_(scores_.size()), softmax_(state.n_outputs) {}

    // Changes the duals of row `row`, which is row i of the view; returns about how many values it read.
    template <class View>
    std::int64_t visit(const View& view, std::int64_t i, std::int64_t row, DualSweepRecord& record) {
        const bool all = numbers_.skips[row] == 0;
        if (!all) --numbers_.skips[row];
        const std::int64_t count = all ? every_class() : classes_in_use(row);
        if (all) {
            score_all(view, i);
        } else if (kLine * count >= state_.stride) {
            score_all(view, i);  // whose classes are listed in rising order
            for (std::int64_t t = 0; t < count; ++t) scores_[at(t)] = scores_[at(classes_[at(t)])];
        } else {
            score_some(view, i, count);
        }
        const bool is_calm = state_.is_softmax ? improve_softmax(row, record) : improve(row, count, record);
        if (all && !state_.is_softmax) {
            if (is_calm) {
                if (numbers_.calm[row] < kMostSkips) ++numbers_.calm[row];
            } else {
                numbers_.calm[row] = 0;
            }
            numbers_.skips[row] = numbers_.calm[row];
        }
        ++record.visited;
        add_changes(view, i, row, count, record);
        return view.n_values(i) * (1 + count / 8);
    }

  private:
    double* duals(std::int64_t row) const noexcept { return numbers_.duals + row * state_.n_outputs; }

    std::int64_t every_class() noexcept {
        for (std::int64_t k = 0; k < state_.n_outputs; ++k) classes_[at(k)] = k;
        return state_.n_outputs;
    }

    // Those with α > 0, and the row's own.
    std::int64_t classes_in_use(std::int64_t row) noexcept {
        const double* r = duals(row);
        std::int64_t count = 0;
        for (std::int64_t k = 0; k < state_.n_outputs; ++k) {
            if (k == numbers_.label[row] || r[k] < 0) classes_[at(count++)] = k;
        }
        return count;
    }

    double offset(std::int64_t k) const noexcept {
        return state_.center[k] + state_.gamma * state_.balance[k];
    }

    template <class View>
    void score_all(const View& view, std::int64_t i) noexcept {
        for (std::int64_t k = 0; k < state_.n_outputs; ++k) scores_[at(k)] = offset(k);
        std::fill(scores_.begin() + state_.n_outputs, scores_.end(), 0.0);
        view.scores(i, state_.W, state_.stride, scores_.data());
    }

    template <class View>
    void score_some(const View& view, std::int64_t i, std::int64_t count) noexcept {
        for (std::int64_t t = 0; t < count; ++t) scores_[at(t)] = offset(classes_[at(t)]);
        const std::int64_t n = view.n_values(i);
        for (std::int64_t j = 0; j < n; ++j) {
            if (j + kColumnsAhead < n) {
                const double* later = weights(view.column(i, j + kColumnsAhead));
                for (std::int64_t t = 0; t < count; ++t) __builtin_prefetch(later + classes_[at(t)], 1);
            }
            const auto value = static_cast<double>(view.value(i, j));
            const double* w = weights(view.column(i, j));
            for (std::int64_t t = 0; t < count; ++t) scores_[at(t)] += value * w[classes_[at(t)]];
        }
    }

    // Finds the best duals of the classes listed, whose scores are known; true if none came into use.
    bool improve(std::int64_t row, std::int64_t count, DualSweepRecord& record) noexcept {
        const std::int32_t label = numbers_.label[row];
        const double c = numbers_.cost[row], q = numbers_.norm2[row] + state_.gamma;
        const double* r = duals(row);
        std::int32_t own = 0;  // the label's place among the classes listed
        double largest = -std::numeric_limits<double>::infinity(), smallest = -largest, mean = 0;
        for (std::int64_t t = 0; t < count; ++t) {
            const std::int64_t k = classes_[at(t)];
            if (k == label) own = static_cast<std::int32_t>(t);
            u_[at(t)] = scores_[at(t)] + (k == label ? 0.0 : 1.0);
            old_[at(t)] = r[k];
            largest = std::max(largest, u_[at(t)]);
        }
        for (std::int64_t t = 0; t < count; ++t) {
            const double mass = t == own ? c - old_[at(t)] : -old_[at(t)];
            if (mass > 0) {
                smallest = std::min(smallest, u_[at(t)]);
                mean += mass * (largest - u_[at(t)]);
            }
        }
        record.gap += mean;
        numbers_.rests[row] = mean < state_.worthwhile ? kRest : 0;
        record.highest = std::max(record.highest, largest - smallest);
        if (!(largest > smallest)) {  // all classes in use are the largest
            std::copy_n(old_.data(), count, next_.data());
            return true;
        }
        project_duals({own, c}, 1.0 / q, count, old_.data(), u_.data(), next_.data());
        bool is_calm = true;
        for (std::int64_t t = 0; t < count; ++t) {
            const bool was = t == own ? old_[at(t)] < c : old_[at(t)] < 0;
            const bool is = t == own ? next_[at(t)] < c : next_[at(t)] < 0;
            is_calm = is_calm && (was || !is);
        }
        return is_calm;
    }

    // The same for softmax, where every class is in use.
    bool improve_softmax(std::int64_t row, DualSweepRecord& record) noexcept {
        const double* r = duals(row);
        const double square = numbers_.norm2[row] + state_.gamma;
        const double gap =
            softmax_.take({numbers_.label[row], numbers_.cost[row]}, square, r, scores_.data(), next_.data());
        record.gap += gap;
        record.highest = std::max(record.highest, gap / numbers_.cost[row]);
        numbers_.rests[row] = gap < state_.worthwhile ? kRest : 0;
        return false;
    }

    template <class View>
    void add_changes(const View& view, std::int64_t i, std::int64_t row, std::int64_t count,
                     DualSweepRecord& record) noexcept {
        double* r = duals(row);
        const std::int32_t label = numbers_.label[row];
        std::int64_t n_changed = 0, in_use = 0;
        for (std::int64_t t = 0; t < count; ++t) {
            const std::int64_t k = classes_[at(t)];
            const double change = next_[at(t)] - r[k];
            if (k == label ? next_[at(t)] < numbers_.cost[row] : next_[at(t)] < 0) ++in_use;
            if (change == 0) continue;
            r[k] = next_[at(t)];
            state_.balance[k] += change;
            scores_[at(n_changed)] = change;
            changed_[at(n_changed++)] = k;
        }
        numbers_.in_use[row] = static_cast<std::uint8_t>(std::min<std::int64_t>(in_use, 255));
        if (n_changed == 0) return;
        ++record.moved;
        if (kLine * n_changed >= state_.stride) {
            std::fill(u_.begin(), u_.end(), 0.0);
            for (std::int64_t t = 0; t < n_changed; ++t) u_[at(changed_[at(t)])] = scores_[at(t)];
            view.add_outer(i, u_.data(), state_.stride, state_.W);
            return;
        }
        for (std::int64_t j = 0; j < view.n_values(i); ++j) {
            const auto value = static_cast<double>(view.value(i, j));
            double* w = weights(view.column(i, j));
            for (std::int64_t t = 0; t < n_changed; ++t) w[changed_[at(t)]] += value * scores_[at(t)];
        }
    }

    double* weights(std::int64_t column) const noexcept { return state_.W + column * state_.stride; }
    static std::size_t at(std::int64_t k) noexcept { return static_cast<std::size_t>(k); }

    const ClassSweepRows& numbers_;
    const ClassSweepState& state_;
    std::vector<double> scores_, u_, old_, next_;
    std::vector<std::int64_t> classes_, changed_;
    SoftmaxRowStep softmax_;
};

// The rows that are not skipped, in random order.
std::vector<std::uint32_t> draw_order(const ClassSweepRows& numbers, std::int64_t n, const SweepOrder& name) {
    std::vector<std::uint32_t> active;
    for (std::int64_t i = 0; i < n; ++i) {
        if (!(numbers.cost[i] > 0)) continue;
        if (numbers.rests[i] > 0) {
            --numbers.rests[i];
            continue;
        }
        if (numbers.skips[i] > 0 && numbers.in_use[i] == 1) {
            --numbers.skips[i];
        } else {
            active.push_back(static_cast<std::uint32_t>(i));
        }
    }
    Random random(name.seed, name.pass, name.block);
    return shuffled_by_groups(active, random);
}

}  // namespace

DualSweepRecord class_sweep(const Block& block, const ClassSweepRows& numbers, const ClassSweepState& state,
                            const SweepOrder& order, StopToken& token) {
    DualSweepRecord record;
    Sweep sweep(numbers, state);
    Chunks chunks(block);
    Pace pace(token);
    const std::vector<std::uint32_t> drawn = draw_order(numbers, block.n_rows, order);
    const auto n = static_cast<std::int64_t>(drawn.size());
    const std::int64_t together = chunks.in_place() ? n : chunks.rows_per_chunk();
    for (std::int64_t from = 0; from < n && record.complete; from += together) {
        const std::int64_t count = std::min(together, n - from);
        const std::uint32_t* listed = drawn.data() + from;
        const auto visit_all = [&](const auto& view, bool gathered) {
            for (std::int64_t k = 0; k < count && record.complete; ++k) {
                if (k + kRowsAhead < count)
                    view.prefetch(gathered ? k + kRowsAhead
                                           : static_cast<std::int64_t>(listed[k + kRowsAhead]));
                const std::int64_t values = sweep.visit(view, gathered ? k : listed[k], listed[k], record);
                record.complete = !pace.stop_after(2 * values);
            }
        };
        if (chunks.in_place()) {
            chunks.open(0, [&](const auto& view, std::int64_t) { visit_all(view, false); });
        } else {
            chunks.open_listed(listed, count, [&](const auto& view) { visit_all(view, true); });
        }
    }
    return record;
}

}  // namespace maxmargin
