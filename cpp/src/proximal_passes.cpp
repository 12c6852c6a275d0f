#include "maxmargin/kernel/proximal_passes.hpp"

#include <algorithm>

#include "maxmargin/kernel/gram.hpp"

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
    bool any_free;
};

void move_chunk(const ProximalMove& move, const ProximalRows& rows, std::int64_t first, std::int64_t count,
                Chunk& chunk, ProximalSums& sums) noexcept {
    const std::int64_t free_before = sums.free;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = first + k;
        const double c = rows.cost[i], s = rows.sign[i];
        double old = alpha_of(rows.anchor[i], move.before, c, rows.excess[i]);
        if (move.before == 0) old = 0;
        if (move.anchor) rows.anchor[i] = old;
        const double e = rows.excess[i] + (move.step != 0 ? move.step * rows.change[i] : 0.0);
        rows.excess[i] = e;
        const double alpha = alpha_of(rows.anchor[i], move.after, c, e);
        const bool is_free = alpha > 0 && alpha < c;
        const double curvature = move.after * c;
        chunk.change[k] = s * (alpha - old);
        chunk.weight[k] = is_free ? curvature : 0.0;
        sums.free += is_free ? 1 : 0;
        const double short_of = std::max(-e, 0.0), beyond = std::max(e, 0.0);
        const double apart = alpha - rows.anchor[i];
        sums.loss += c * short_of;
        sums.alpha += alpha;
        sums.balance += s * alpha;
        // Rows without cost may lie anywhere; 0 · ∞ is not possible because e is finite.
        sums.gap += (c - alpha) * short_of + alpha * beyond;
        sums.moved += curvature > 0 ? apart * apart / (2.0 * curvature) : 0.0;
    }
    chunk.any_free = sums.free > free_before;
}

// The chunk's share of Σ −α(e + t q) q for each of the steps t.
void add_slopes(double stiffness, const ProximalRows& rows, std::int64_t first, std::int64_t count,
                const double* steps, double* slopes, std::int64_t n_steps) noexcept {
    for (std::int64_t t = 0; t < n_steps; ++t) {
        const double step = steps[t];
        double slope = 0;
        for (std::int64_t i = first; i < first + count; ++i) {
            const double q = rows.change[i];
            slope -= alpha_of(rows.anchor[i], stiffness, rows.cost[i], rows.excess[i] + step * q) * q;
        }
        slopes[t] += slope;
    }
}

// Calls f(view, first row in the view, first row in the block, count) for chunks of the block.
template <class F>
bool for_chunks(const Block& block, StopToken& token, F&& f) {
    Pace pace(token);
    bool complete = true;
    Chunks opened(block);
    for (std::int64_t piece = 0; piece < opened.count() && complete; ++piece) {
        opened.open(piece, [&](const auto& view, std::int64_t start) {
            for (std::int64_t k = 0; k < view.n_rows() && complete; k += kChunkRows) {
                const std::int64_t count = std::min(kChunkRows, view.n_rows() - k);
                f(view, k, start + k, count);
                complete = !pace.stop_after(count * std::max<std::int64_t>(view.n_values(k), 8));
            }
        });
    }
    return complete;
}

}  // namespace

bool proximal_excess(const Block& block, const double* w, double b, const ProximalRows& rows,
                     StopToken& token) {
    return for_chunks(block, token,
                      [&](const auto& view, std::int64_t k, std::int64_t i, std::int64_t count) {
                          for (std::int64_t j = 0; j < count; ++j) {
                              rows.excess[i + j] = rows.sign[i + j] * (view.dot(k + j, w) + b) - 1.0;
                          }
                      });
}

bool proximal_move(const Block& block, const ProximalMove& move, const ProximalRows& rows, double* v,
                   double* gram, ProximalSums& sums, StopToken& token) {
    Chunk chunk;
    Gram free_rows(block.n_columns, move.shift);
    const bool complete =
        for_chunks(block, token, [&](const auto& view, std::int64_t k, std::int64_t i, std::int64_t count) {
            move_chunk(move, rows, i, count, chunk, sums);
            for (std::int64_t j = 0; j < count; ++j) {
                if (chunk.change[j] != 0) view.add(k + j, chunk.change[j], v);
            }
            if (gram != nullptr && chunk.any_free) free_rows.add(view, k, count, chunk.weight);
        });
    if (gram != nullptr) free_rows.finish(gram);
    return complete;
}

bool proximal_direction(const Block& block, const double* dw, double db, double stiffness,
                        const ProximalRows& rows, const double* steps, double* slopes, std::int64_t n_steps,
                        StopToken& token) {
    return for_chunks(block, token,
                      [&](const auto& view, std::int64_t k, std::int64_t i, std::int64_t count) {
                          for (std::int64_t j = 0; j < count; ++j) {
                              rows.change[i + j] = rows.sign[i + j] * (view.dot(k + j, dw) + db);
                          }
                          add_slopes(stiffness, rows, i, count, steps, slopes, n_steps);
                      });
}

void proximal_slopes(std::int64_t n, double stiffness, const ProximalRows& rows, const double* steps,
                     double* slopes, std::int64_t n_steps) {
    for (std::int64_t first = 0; first < n; first += kChunkRows) {
        add_slopes(stiffness, rows, first, std::min(kChunkRows, n - first), steps, slopes, n_steps);
    }
}

void proximal_alpha(std::int64_t n, double stiffness, const ProximalRows& rows, double* alpha) {
    for (std::int64_t i = 0; i < n; ++i) {
        alpha[i] = alpha_of(rows.anchor[i], stiffness, rows.cost[i], rows.excess[i]);
    }
}

}  // namespace maxmargin
