#include "maxmargin/kernel/proximal_passes.hpp"

#include <algorithm>
#include <cmath>

#include "maxmargin/kernel/gram.hpp"
#include "maxmargin/kernel/row_products.hpp"

namespace maxmargin {
namespace {

constexpr std::int64_t kChunkRows = 512;  // their numbers stay in the first-level cache

double alpha_of(double anchor, double stiffness, double cost, double excess) noexcept {
    return std::min(std::max(anchor - stiffness * cost * excess, 0.0), cost);
}

// One chunk of rows during a move: how much α changes, times the sign, and the weight in the Gram matrix.
struct Chunk {
    double change[kChunkRows];
    double weight[kChunkRows];
    bool any_change, any_free;
};

void move_chunk(const ProximalMove& move, const ProximalRows& rows, const ProximalAfter& after,
                std::int64_t first, std::int64_t count, Chunk& chunk, ProximalSums& sums) noexcept {
    const std::int64_t free_before = sums.free;
    double changes = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = first + k;
        const double c = rows.cost[i], s = rows.sign[i];
        double old = alpha_of(rows.anchor[i], move.before, c, rows.excess[i]);
        if (move.before == 0) old = 0;
        if (move.anchor) after.anchor[i] = old;
        const double anchor = move.anchor ? old : rows.anchor[i];
        const double e = rows.excess[i] + (move.step != 0 ? move.step * rows.change[i] : 0.0);
        after.excess[i] = e;
        const double alpha = alpha_of(anchor, move.after, c, e);
        const bool is_free = alpha > 0 && alpha < c;
        const double curvature = move.after * c;
        chunk.change[k] = s * (alpha - old);
        changes += std::fabs(alpha - old);
        chunk.weight[k] = is_free ? curvature : 0.0;
        sums.free += is_free ? 1 : 0;
        const double short_of = std::max(-e, 0.0), beyond = std::max(e, 0.0);
        const double apart = alpha - anchor;
        sums.loss += c * short_of;
        sums.alpha += alpha;
        sums.balance += s * alpha;
        sums.gap += (c - alpha) * short_of + alpha * beyond;
        if (apart != 0) sums.moved += apart * apart / (2.0 * curvature);
    }
    chunk.any_change = changes > 0;
    chunk.any_free = sums.free > free_before;
}

// The chunk's share of Σ −α(e + t q) q, all steps t side by side so that no sum waits for another.
void add_slopes(double stiffness, const ProximalRows& rows, std::int64_t first, std::int64_t count,
                const double* steps, double* slopes) noexcept {
    double sums[kProximalSteps] = {};
    for (std::int64_t i = first; i < first + count; ++i) {
        const double q = rows.change[i], e = rows.excess[i], anchor = rows.anchor[i], c = rows.cost[i];
        for (int t = 0; t < kProximalSteps; ++t)
            sums[t] -= alpha_of(anchor, stiffness, c, e + steps[t] * q) * q;
    }
    for (int t = 0; t < kProximalSteps; ++t) slopes[t] += sums[t];
}

// Calls f(view, first row in the view, first row in the block, count) for chunks of rows of an open view.
template <class View, class F>
bool for_chunks(const View& view, std::int64_t start, Pace& pace, F&& f) {
    bool go_on = true;
    for (std::int64_t k = 0; k < view.n_rows() && go_on; k += kChunkRows) {
        const std::int64_t count = std::min(kChunkRows, view.n_rows() - k);
        f(k, start + k, count);
        go_on = !pace.stop_after(count * std::max<std::int64_t>(view.n_values(k), 8));
    }
    return go_on;
}

// Calls f(view, first row in the block) for the views of a block until it returns false.
template <class F>
bool for_views(const Block& block, F&& f) {
    bool complete = true;
    Chunks opened(block);
    for (std::int64_t piece = 0; piece < opened.count() && complete; ++piece) {
        opened.open(piece, [&](const auto& view, std::int64_t start) { complete = f(view, start); });
    }
    return complete;
}

}  // namespace

bool proximal_excess(const Block& block, const double* w, double b, const std::int8_t* sign, double* excess,
                     StopToken& token) {
    Pace pace(token);
    return for_views(block, [&](const auto& view, std::int64_t start) {
        RowScores scores(view, w);
        return for_chunks(view, start, pace, [&](std::int64_t k, std::int64_t i, std::int64_t count) {
            double* e = excess + i;
            scores.fill(k, count, e);
            for (std::int64_t j = 0; j < count; ++j) e[j] = sign[i + j] * (e[j] + b) - 1.0;
        });
    });
}

bool proximal_move(const Block& block, const ProximalMove& move, const ProximalRows& rows,
                   const ProximalAfter& after, double* v, double* gram, ProximalSums& sums,
                   StopToken& token) {
    Pace pace(token);
    Chunk chunk;
    Gram free_rows(block.n_columns, move.shift);
    const bool complete = for_views(block, [&](const auto& view, std::int64_t start) {
        RowSums changes(view, v);
        const bool go_on =
            for_chunks(view, start, pace, [&](std::int64_t k, std::int64_t i, std::int64_t count) {
                move_chunk(move, rows, after, i, count, chunk, sums);
                if (chunk.any_change) changes.add(k, count, chunk.change);
                if (gram != nullptr && chunk.any_free) free_rows.add(view, k, count, chunk.weight);
            });
        changes.finish();
        return go_on;
    });
    if (gram != nullptr) free_rows.finish(gram);
    return complete;
}

bool proximal_direction(const Block& block, const double* dw, double db, double stiffness,
                        const ProximalRows& rows, double* change, const double* steps, double* slopes,
                        StopToken& token) {
    Pace pace(token);
    return for_views(block, [&](const auto& view, std::int64_t start) {
        RowScores scores(view, dw);
        return for_chunks(view, start, pace, [&](std::int64_t k, std::int64_t i, std::int64_t count) {
            double* q = change + i;
            scores.fill(k, count, q);
            for (std::int64_t j = 0; j < count; ++j) q[j] = rows.sign[i + j] * (q[j] + db);
            add_slopes(stiffness, rows, i, count, steps, slopes);
        });
    });
}

void proximal_slopes(std::int64_t n, double stiffness, const ProximalRows& rows, const double* steps,
                     double* slopes) {
    for (std::int64_t first = 0; first < n; first += kChunkRows) {
        add_slopes(stiffness, rows, first, std::min(kChunkRows, n - first), steps, slopes);
    }
}

void proximal_alpha(std::int64_t n, double stiffness, const ProximalRows& rows, double* alpha) {
    for (std::int64_t i = 0; i < n; ++i) {
        alpha[i] = alpha_of(rows.anchor[i], stiffness, rows.cost[i], rows.excess[i]);
    }
}

}  // namespace maxmargin
