#include "maxmargin/kernel/dual_sweep.hpp"

#include <numeric>
#include <vector>

#include "maxmargin/loss/table.hpp"
#include "maxmargin/random.hpp"

namespace maxmargin {
namespace {

constexpr std::int64_t kRowsAhead = 3;
constexpr std::int64_t kGroupRows = 16;
constexpr std::int64_t kWindowRows = 64 * kGroupRows;

template <class Loss, class Rows>
void visit(const Rows& rows, std::int64_t i, std::int64_t row, const DualRows& numbers, DualState& state,
           const ShrinkLimits& limits, DualSweepRecord& record) noexcept {
    const double sign = numbers.sign[row], alpha = numbers.alpha[row];
    const double p = numbers.mean_score != nullptr ? numbers.mean_score[row] : 0.0;
    const double offset =
        state.center + state.balance * (state.gamma + state.mean_norm2 - p) - state.mean_dot;
    const double m = sign * (rows.dot(i, state.u) + offset);
    const double q = numbers.norm2[row] + state.gamma;
    const CoordinateStep step = DualStep<Loss>::take(m, alpha, numbers.cost[row], q, limits);
    ++record.visited;
    record.gap += step.gap;
    record.lowest = std::min(record.lowest, step.violation);
    record.highest = std::max(record.highest, step.violation);
    if (step.settled) {
        numbers.active[row] = 0;
        ++record.settled;
        return;
    }
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

// The active rows of a chunk in random order, kind to caches and page tables: groups of neighbours are
// drawn at random, and rows are shuffled within a window of groups. Rows of one group share memory pages;
// rows visited one after the other come from all over the chunk, as labels sorted by class require.
class OrderDrawer {
  public:
    const std::vector<std::int32_t>& draw(const DualRows& numbers, std::int64_t first, std::int64_t n,
                                          Random& random) {
        active_.clear();
        for (std::int64_t i = 0; i < n; ++i) {
            const bool live = numbers.active[first + i] != 0 && numbers.cost[first + i] > 0;
            if (live) active_.push_back(static_cast<std::int32_t>(i));
        }
        const std::int64_t count = static_cast<std::int64_t>(active_.size());
        groups_.resize(static_cast<std::size_t>((count + kGroupRows - 1) / kGroupRows));
        std::iota(groups_.begin(), groups_.end(), 0);
        random.shuffle(groups_.data(), static_cast<std::int64_t>(groups_.size()));
        order_.clear();
        for (const std::int64_t group : groups_) {
            const auto from = active_.begin() + group * kGroupRows;
            order_.insert(order_.end(), from, from + std::min(kGroupRows, count - group * kGroupRows));
        }
        for (std::int64_t from = 0; from < count; from += kWindowRows) {
            random.shuffle(order_.data() + from, std::min(kWindowRows, count - from));
        }
        return order_;
    }

  private:
    std::vector<std::int32_t> active_, order_;
    std::vector<std::int64_t> groups_;
};

template <class Loss>
void sweep(const Block& block, const DualRows& numbers, DualState& state, const SweepOrder& name,
           const ShrinkLimits& limits, StopToken& token, DualSweepRecord& record) {
    Chunks chunks(block);
    Pace pace(token);
    Random random(name.seed, name.pass, name.block);
    std::vector<std::int64_t> chunk_order(static_cast<std::size_t>(chunks.count()));
    std::iota(chunk_order.begin(), chunk_order.end(), 0);
    random.shuffle(chunk_order.data(), chunks.count());
    OrderDrawer drawer;
    for (const std::int64_t chunk : chunk_order) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            const std::vector<std::int32_t>& order = drawer.draw(numbers, first, rows.n_rows(), random);
            const std::int64_t n = static_cast<std::int64_t>(order.size());
            for (std::int64_t k = 0; k < n && record.complete; ++k) {
                const std::int64_t i = order[static_cast<std::size_t>(k)];
                if (k + kRowsAhead < n) {
                    const std::int64_t later = order[static_cast<std::size_t>(k + kRowsAhead)];
                    prefetch(rows, later, first + later, numbers);
                }
                visit<Loss>(rows, i, first + i, numbers, state, limits, record);
                record.complete = !pace.stop_after(2 * rows.n_values(i));
            }
        });
        if (!record.complete) return;
    }
}

}  // namespace

bool dual_sweep(std::string_view name, const Block& block, const DualRows& numbers, DualState& state,
                const SweepOrder& order, const ShrinkLimits& limits, StopToken& token,
                DualSweepRecord& record) {
    bool known = false;
    loss::with_loss(name, [&](auto loss) {
        if constexpr (loss::DualLoss<decltype(loss)>) {
            sweep<decltype(loss)>(block, numbers, state, order, limits, token, record);
            known = true;
        }
    });
    return known;
}

}  // namespace maxmargin
