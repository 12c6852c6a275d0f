#include "maxmargin/kernel/interior_passes.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "maxmargin/kernel/gram.hpp"

namespace maxmargin {
namespace {

constexpr std::int64_t kRows = 128;  // at a time: their numbers stay in the first-level cache
constexpr double kSmallest = 1e-300;

struct Chunk {
    alignas(64) double score[kRows], h[kRows], first[kRows], second[kRows];
};

// Step sums kept apart for each place in a chunk: without an order among them the loops use vectors.
struct StepLanes {
    alignas(64) double ratio[kRows]{}, first[kRows]{}, second[kRows]{};

    void add_to(StepSums& sums) const {
        for (std::int64_t k = 0; k < kRows; ++k) {
            sums.largest_ratio = std::max(sums.largest_ratio, ratio[k]);
            sums.first += first[k];
            sums.second += second[k];
        }
    }
};

// Calls f(view, row of the view, row of the block, count) for every chunk; false if it was told to stop.
template <class F>
bool for_each_chunk(const Block& block, StopToken& token, F&& f) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = !token.poll();
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& view, std::int64_t origin) {
            for (std::int64_t first = 0; first < view.n_rows() && go_on; first += kRows) {
                const std::int64_t count = std::min(kRows, view.n_rows() - first);
                f(view, first, origin + first, count);
                std::int64_t values = 0;
                for (std::int64_t k = 0; k < count; ++k) values += view.n_values(first + k) + 8;
                go_on = !pace.stop_after(values);
            }
        });
    }
    return go_on;
}

template <class View>
void scores(const View& view, std::int64_t first, std::int64_t count, const Affine& at, double* score) {
    for (std::int64_t k = 0; k < count; ++k) score[k] = view.dot(first + k, at.w) + at.offset;
}

template <class View>
void add_rows(const View& view, std::int64_t first, std::int64_t count, std::int64_t columns,
              const double* coefficient, double* total) {
    double sum = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        if (coefficient[k] == 0) continue;
        view.add(first + k, coefficient[k], total);
        sum += coefficient[k];
    }
    total[columns] += sum;
}

// The numbers of one row that all passes need. A row of cost 0 is replaced by one that is harmless, and
// `live` = 0 takes it out of the sums.
struct RowState {
    double s, c, alpha, beta, t, xi, live, h, per_alpha, per_beta;
};

inline RowState row_state(const InteriorRows& rows, std::int64_t i) {
    const double c = rows.cost[i], live = c > 0 ? 1.0 : 0.0, ghost = 1.0 - live;
    RowState r;
    r.s = static_cast<double>(rows.sign[i]);
    r.c = c + 2 * ghost;
    r.alpha = rows.alpha[i] + ghost;
    r.beta = rows.beta[i] + ghost;
    r.t = rows.t[i];
    r.xi = rows.xi[i];
    r.live = live;
    r.h = live * (r.alpha * r.beta) / (r.t * r.beta + r.xi * r.alpha);
    r.per_alpha = 1 / r.alpha;
    r.per_beta = 1 / r.beta;
    return r;
}

struct Change {
    double alpha, t, xi;
};

// The directions that change the products by r1 and r2, given the score's change.
inline Change solve_row(const RowState& r, double r1, double r2, double score) {
    const double q = r1 * r.per_alpha - r2 * r.per_beta;
    const double a = r.h * (q - r.s * score);
    return {a, (r1 - r.t * a) * r.per_alpha, (r2 + r.xi * a) * r.per_beta};
}

inline Change predictor(const RowState& r, double a) {
    return {a, -r.t - r.t * (a * r.per_alpha), -r.xi + r.xi * (a * r.per_beta)};
}

// How far products are from where Gondzio's correctors want them.
struct Wish {
    double first, second;
};

inline double wish(double product, double middle) {
    const double inside = std::min(std::max(product, 0.1 * middle), 10 * middle);
    return std::max(inside - product, -10 * middle);
}

inline Wish wish(const RowState& r, const Change& d, const Aim& aim) {
    const double middle = aim.target * r.c;
    return {wish((r.alpha + aim.trial * d.alpha) * (r.t + aim.trial * d.t), middle),
            wish((r.beta - aim.trial * d.alpha) * (r.xi + aim.trial * d.xi), middle)};
}

inline double ratio(const RowState& r, const Change& d) {
    const double duals = std::max(-d.alpha * r.per_alpha, d.alpha * r.per_beta);
    return r.live * std::max(duals, std::max(-d.t / r.t, -d.xi / r.xi));
}

inline void store(const NewDirection& to, std::int64_t i, const Change& d) {
    to.alpha[i] = d.alpha;
    to.t[i] = d.t;
    to.xi[i] = d.xi;
}

inline void count(StepLanes& lanes, std::int64_t k, const RowState& r, const Change& d) {
    lanes.ratio[k] = std::max(lanes.ratio[k], ratio(r, d));
    lanes.first[k] += r.live * (r.alpha * d.t + r.t * d.alpha + r.beta * d.xi - r.xi * d.alpha);
    lanes.second[k] += r.live * d.alpha * (d.t - d.xi);
}

// The row at its new point: of each pair the smaller keeps its digits, and the larger follows from it.
inline CentredRow moved_row(const RowState& r, const InteriorDirection& along, std::int64_t i, double step,
                            double e) {
    CentredRow n;
    n.alpha = std::max(r.alpha + step * along.alpha[i], kSmallest * r.c);
    n.beta = std::max(r.beta - step * along.alpha[i], kSmallest * r.c);
    n.t = std::max(r.t + step * along.t[i], kSmallest);
    n.xi = std::max(r.xi + step * along.xi[i], kSmallest);
    if (n.alpha < n.beta)
        n.beta = r.c - n.alpha;
    else
        n.alpha = r.c - n.beta;
    if (e >= 0)
        n.t = n.xi + e;
    else
        n.xi = n.t - e;
    return n;
}

void move_chunk(const InteriorRows& rows, const Move& move, std::int64_t origin, std::int64_t length,
                const NewState& after, Chunk& work, PointSums& sums) {
    for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t i = origin + k;
        const RowState r = row_state(rows, i);
        const double e = r.s * work.score[k] - 1.0;
        const CentredRow n =
            move.along != nullptr ? moved_row(r, *move.along, i, move.step, e) : centre_row(e, r.c, move.mu);
        after.alpha[i] = r.live * n.alpha;
        after.beta[i] = r.live * n.beta;
        after.t[i] = n.t;
        after.xi[i] = n.xi;
        const double h = r.live * (n.alpha * n.beta) / (n.t * n.beta + n.xi * n.alpha);
        work.h[k] = h;
        work.first[k] = r.live * r.s * n.alpha;
        work.second[k] = r.s * h * (n.xi - n.t);
        sums.loss += r.live * r.c * std::max(0.0, -e);
        sums.gap += r.live * (e >= 0 ? n.alpha * e : -n.beta * e);
        sums.dual += r.live * n.alpha;
        sums.balance += work.first[k];
        sums.complementarity += r.live * (n.alpha * n.t + n.beta * n.xi);
    }
}

}  // namespace

CentredRow centre_row(double e, double cost, double mu) noexcept {
    const double size = std::fabs(e);
    const double root = std::sqrt(size * size + 4 * mu * mu);
    const double big = 0.5 * (size + 2 * mu + root), small = mu * big / (big - mu);
    const double t = e >= 0 ? big : small, xi = e >= 0 ? small : big;
    return {cost * mu / t, cost * mu / xi, t, xi};
}

PointSums interior_move(const Block& block, const InteriorRows& rows, const Affine& at, const Move& move,
                        const NewState& after, const Assembly& assembly, StopToken& token) {
    PointSums sums;
    Chunk work;
    const std::int64_t columns = block.n_columns;
    std::unique_ptr<Gram> gram;
    if (assembly.matrix != nullptr) gram = std::make_unique<Gram>(columns, assembly.shift);
    sums.complete = for_each_chunk(
        block, token, [&](const auto& view, std::int64_t first, std::int64_t origin, std::int64_t length) {
            scores(view, first, length, at, work.score);
            move_chunk(rows, move, origin, length, after, work, sums);
            add_rows(view, first, length, columns, work.first, assembly.dual_sum);
            add_rows(view, first, length, columns, work.second, assembly.predictor_side);
            if (gram) gram->add(view, first, length, work.h);
        });
    if (gram && sums.complete) gram->finish(assembly.matrix);
    return sums;
}

StepSums interior_predict(const Block& block, const InteriorRows& rows, const Affine& change, double* alpha,
                          double* centring, double* second_order, StopToken& token) {
    StepSums sums;
    StepLanes lanes;
    Chunk work;
    const std::int64_t columns = block.n_columns;
    sums.complete = for_each_chunk(
        block, token, [&](const auto& view, std::int64_t first, std::int64_t origin, std::int64_t length) {
            scores(view, first, length, change, work.score);
            for (std::int64_t k = 0; k < length; ++k) {
                const RowState r = row_state(rows, origin + k);
                const Change d = predictor(r, r.h * (r.xi - r.t - r.s * work.score[k]));
                alpha[origin + k] = d.alpha;
                count(lanes, k, r, d);
                work.first[k] = r.s * r.h * r.c * (r.per_alpha - r.per_beta);
                work.second[k] = -r.s * r.h * d.alpha * (d.t * r.per_alpha + d.xi * r.per_beta);
            }
            add_rows(view, first, length, columns, work.first, centring);
            add_rows(view, first, length, columns, work.second, second_order);
        });
    lanes.add_to(sums);
    return sums;
}

StepSums interior_correct(const Block& block, const InteriorRows& rows, const Affine& change,
                          const NewDirection& along, const Aim& aim, double* pull_back, StopToken& token) {
    StepSums sums;
    StepLanes lanes;
    Chunk work;
    const std::int64_t columns = block.n_columns;
    sums.complete = for_each_chunk(
        block, token, [&](const auto& view, std::int64_t first, std::int64_t origin, std::int64_t length) {
            scores(view, first, length, change, work.score);
            for (std::int64_t k = 0; k < length; ++k) {
                const RowState r = row_state(rows, origin + k);
                const Change p = predictor(r, along.alpha[origin + k]);
                const double middle = aim.target * r.c;
                const double r1 = middle - r.alpha * r.t - p.alpha * p.t;
                const double r2 = middle - r.beta * r.xi + p.alpha * p.xi;
                const Change d = solve_row(r, r1, r2, work.score[k]);
                store(along, origin + k, d);
                count(lanes, k, r, d);
                const Wish g = wish(r, d, aim);
                work.first[k] = r.s * r.h * (g.first * r.per_alpha - g.second * r.per_beta);
            }
            add_rows(view, first, length, columns, work.first, pull_back);
        });
    lanes.add_to(sums);
    return sums;
}

StepSums interior_refine(const Block& block, const InteriorRows& rows, const Affine& change,
                         const InteriorDirection& along, const NewDirection& better, const Aim& aim,
                         double next_trial, double* pull_back, StopToken& token) {
    StepSums sums;
    StepLanes lanes;
    Chunk work;
    const std::int64_t columns = block.n_columns;
    const Aim next{aim.target, next_trial};
    sums.complete = for_each_chunk(
        block, token, [&](const auto& view, std::int64_t first, std::int64_t origin, std::int64_t length) {
            scores(view, first, length, change, work.score);
            for (std::int64_t k = 0; k < length; ++k) {
                const std::int64_t i = origin + k;
                const RowState r = row_state(rows, i);
                const Change old{along.alpha[i], along.t[i], along.xi[i]};
                const Wish g = wish(r, old, aim);
                const Change more = solve_row(r, g.first, g.second, work.score[k]);
                const Change d{old.alpha + more.alpha, old.t + more.t, old.xi + more.xi};
                store(better, i, d);
                count(lanes, k, r, d);
                const Wish after = wish(r, d, next);
                work.first[k] = r.s * r.h * (after.first * r.per_alpha - after.second * r.per_beta);
            }
            add_rows(view, first, length, columns, work.first, pull_back);
        });
    lanes.add_to(sums);
    return sums;
}

void interior_least_products(std::int64_t n, const InteriorRows& rows, const InteriorDirection& along,
                             const TriedStep* tried, std::int64_t n_tried, double* least) noexcept {
    for (std::int64_t i = 0; i < n; ++i) {
        const RowState r = row_state(rows, i);
        if (r.live == 0) continue;
        const Change d{along.alpha[i], along.t[i], along.xi[i]};
        for (std::int64_t k = 0; k < n_tried; ++k) {
            const double step = tried[k].step;
            const double first = (r.alpha + step * d.alpha) * (r.t + step * d.t);
            const double second = (r.beta - step * d.alpha) * (r.xi + step * d.xi);
            least[k] = std::min(least[k], std::min(first, second) / (tried[k].mean * r.c));
        }
    }
}

double interior_smooth_slope(std::int64_t n, const InteriorRows& rows, const double* change, double step,
                             double mu) noexcept {
    double slope = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const RowState r = row_state(rows, i);
        const double moved = r.s * change[i];
        slope -= r.live * centre_row(r.t - r.xi + step * moved, r.c, mu).alpha * moved;
    }
    return slope;
}

}  // namespace maxmargin
