#include "maxmargin/kernel/dual_sweep.hpp"

#include <vector>

#include "maxmargin/loss/table.hpp"
#include "maxmargin/random.hpp"
#include "maxmargin/row_order.hpp"

namespace maxmargin {
namespace {

constexpr std::int64_t kRowsAhead = 3;
constexpr std::uint8_t kMostSkips = 255;

template <class Loss, class Rows>
void visit(const Rows& rows, std::int64_t i, std::int64_t row, const DualRows& numbers, DualState& state,
           DualSweepRecord& record) noexcept {
    const double sign = numbers.sign[row], alpha = numbers.alpha[row];
    const double p = numbers.mean_score != nullptr ? numbers.mean_score[row] : 0.0;
    const double offset =
        state.center + state.balance * (state.gamma + state.mean_norm2 - p) - state.mean_dot;
    const double m = sign * (rows.dot(i, state.u) + offset);
    const double q = numbers.norm2[row] + state.gamma;
    const CoordinateStep step = DualStep<Loss>::take(m, alpha, numbers.cost[row], q);
    ++record.visited;
    record.gap += step.gap;
    record.lowest = std::min(record.lowest, step.violation);
    record.highest = std::max(record.highest, step.violation);
    if (step.violation == 0) {
        if (numbers.bound_visits[row] < kMostSkips) ++numbers.bound_visits[row];
        numbers.skips[row] = numbers.bound_visits[row];
        return;
    }
    numbers.bound_visits[row] = 0;
    const double change = sign * (step.alpha - alpha);
    if (change == 0) return;
    numbers.alpha[row] = step.alpha;
    rows.add(i, change, state.u);
    state.balance += change;
    state.mean_dot += change * p;
    ++record.moved;
}

// Starts loading a row that comes later, with the numbers kept beside it.
template <class Rows>
void prefetch(const Rows& rows, std::int64_t i, std::int64_t row, const DualRows& numbers) noexcept {
    rows.prefetch(i);
    __builtin_prefetch(numbers.alpha + row, 1);
    __builtin_prefetch(numbers.norm2 + row);
    __builtin_prefetch(numbers.cost + row);
}

// The rows that are not skipped, in random order.
std::vector<std::uint32_t> draw_order(const DualRows& numbers, std::int64_t n, const SweepOrder& name) {
    std::vector<std::uint32_t> active;
    for (std::int64_t i = 0; i < n; ++i) {
        if (numbers.skips[i] > 0) {
            --numbers.skips[i];
        } else if (numbers.cost[i] > 0) {
            active.push_back(static_cast<std::uint32_t>(i));
        }
    }
    Random random(name.seed, name.pass, name.block);
    return shuffled_by_groups(active, random);
}

// Visits listed rows; `gathered` rows stand in the view in the order of the list.
template <class Loss, class Rows>
void visit_listed(const Rows& rows, const std::uint32_t* listed, std::int64_t n, bool gathered,
                  const DualRows& numbers, DualState& state, Pace& pace, DualSweepRecord& record) {
    for (std::int64_t k = 0; k < n && record.complete; ++k) {
        if (k + kRowsAhead < n) {
            const std::int64_t later = listed[k + kRowsAhead];
            prefetch(rows, gathered ? k + kRowsAhead : later, later, numbers);
        }
        const std::int64_t i = gathered ? k : listed[k];
        visit<Loss>(rows, i, listed[k], numbers, state, record);
        record.complete = !pace.stop_after(2 * rows.n_values(i));
    }
}

template <class Loss>
void sweep(const Block& block, const DualRows& numbers, DualState& state, const SweepOrder& name,
           StopToken& token, DualSweepRecord& record) {
    Chunks chunks(block);
    Pace pace(token);
    const std::vector<std::uint32_t> order = draw_order(numbers, block.n_rows, name);
    const std::int64_t n = static_cast<std::int64_t>(order.size());
    if (n > 0 && chunks.in_place()) {
        chunks.open(0, [&](const auto& rows, std::int64_t) {
            visit_listed<Loss>(rows, order.data(), n, false, numbers, state, pace, record);
        });
        return;
    }
    for (std::int64_t from = 0; from < n && record.complete; from += chunks.rows_per_chunk()) {
        const std::int64_t count = std::min(chunks.rows_per_chunk(), n - from);
        const std::uint32_t* listed = order.data() + from;
        chunks.open_listed(listed, count, [&](const auto& rows) {
            visit_listed<Loss>(rows, listed, count, true, numbers, state, pace, record);
        });
    }
}

}  // namespace

bool dual_sweep(std::string_view name, const Block& block, const DualRows& numbers, DualState& state,
                const SweepOrder& order, StopToken& token, DualSweepRecord& record) {
    bool known = false;
    loss::with_loss(name, [&](auto loss) {
        if constexpr (loss::DualLoss<decltype(loss)>) {
            sweep<decltype(loss)>(block, numbers, state, order, token, record);
            known = true;
        }
    });
    return known;
}

}  // namespace maxmargin
