#include "maxmargin/kernel/class_hinge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace maxmargin {
namespace {

// θ with Σ max(p − θ, 0) + a = total, where a is −θ if `own` is 1 and 0 if it is 0: found from a θ that is
// too small by leaving out what is below, until nothing is.
double threshold(const double* p, std::int64_t n, double theta, double total, std::int64_t own) noexcept {
    std::int64_t count = 0;
    for (std::int64_t most = n; most > 0; --most) {
        double above = 0;
        std::int64_t left = 0;
        for (std::int64_t k = 0; k < n; ++k) {
            if (p[k] > theta) {
                above += p[k];
                ++left;
            }
        }
        if (left == 0 || left == count) break;
        count = left;
        theta = (above - total) / static_cast<double>(left + own);
    }
    return theta;
}

double mass_of(const ClassRow& row, const double* r, std::int64_t k) noexcept {
    return k == row.label ? std::max(row.cost - r[k], 0.0) : -r[k];
}

// Duals from a ≥ 0 with the sum c.
void set_duals(const ClassRow& row, const double* a, std::int64_t n_outputs, double* r) noexcept {
    double others = 0;
    for (std::int64_t k = 0; k < n_outputs; ++k) {
        if (k == row.label) continue;
        others += a[k];
        r[k] = a[k] > 0 ? -a[k] : 0.0;
    }
    // A class that is not in use has no rounding for a mass.
    r[row.label] = a[row.label] > 0 ? others : row.cost;
}

}  // namespace

void project_duals(const ClassRow& row, double step, std::int64_t n_outputs, const double* r, double* u,
                   double* changed) noexcept {
    const double c = row.cost;
    if (!(c > 0)) {
        std::fill_n(changed, n_outputs, 0.0);
        return;
    }
    if (std::isinf(step)) {
        const std::int64_t best = std::max_element(u, u + n_outputs) - u;
        std::fill_n(changed, n_outputs, 0.0);
        if (best != row.label) {
            changed[best] = -c;
            changed[row.label] = c;
        }
        return;
    }
    // The class of the row takes what the others leave: with c itself no digits of a small α are lost.
    const double own = u[row.label], others = std::min(r[row.label], c);
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t k = 0; k < n_outputs; ++k) {
        if (k == row.label) continue;
        u[k] = step * (u[k] - own) - r[k];
        largest = std::max(largest, u[k]);
    }
    u[row.label] = -std::numeric_limits<double>::infinity();
    double theta = threshold(u, n_outputs, -others, others, 1);
    const double left = c - (others + theta);
    if (!(left > 0)) {  // nothing
        for (std::int64_t k = 0; k < n_outputs; ++k) u[k] -= largest;
        theta = threshold(u, n_outputs, -c, c, 0);
    }
    for (std::int64_t k = 0; k < n_outputs; ++k) u[k] = std::max(u[k] - theta, 0.0);
    u[row.label] = std::max(left, 0.0);
    set_duals(row, u, n_outputs, changed);
    // Rounding of large numbers must not take more than there is.
    if (changed[row.label] > c) {
        const double scale = c / changed[row.label];
        for (std::int64_t k = 0; k < n_outputs; ++k) changed[k] *= scale;
        changed[row.label] = c;
    }
}

void feasible_duals(const ClassPiece& rows, const double* given, double* duals, double* mass) {
    const std::int64_t K = rows.n_outputs;
    constexpr double most = 1e9;  // of α: beyond, digits of the others are lost
    const double rounding = 4.0 * static_cast<double>(K) * std::numeric_limits<double>::epsilon();
    std::vector<double> zero(static_cast<std::size_t>(K), 0.0), a(static_cast<std::size_t>(K));
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const ClassRow row{rows.label[i], rows.cost[i]};
        const double *from = given + i * K, limit = most * row.cost;
        double* to = duals + i * K;
        // −r is a − c e_y: with r° = 0, whose a is c e_y, and step 1.
        double others = 0;
        bool is_feasible = row.cost > 0;
        for (std::int64_t k = 0; k < K; ++k) {
            const double r = std::isnan(from[k]) ? 0.0 : std::clamp(from[k], -limit, limit);
            a[static_cast<std::size_t>(k)] = -r;
            is_feasible = is_feasible && from[k] == r && (k == row.label || r <= 0);
            if (k != row.label) others -= r;
        }
        const bool is_whole =
            from[row.label] == row.cost && std::abs(others - row.cost) <= rounding * row.cost;
        if (is_feasible && (is_whole || (others == from[row.label] && others <= row.cost))) {
            if (to != from) std::copy_n(from, K, to);
        } else {
            project_duals(row, 1.0, K, zero.data(), a.data(), to);
        }
        for (std::int64_t k = 0; k < K; ++k) mass[k] += mass_of(row, to, k);
    }
}

void move_duals(const ClassPiece& rows, const double* shrink, const double* fill, double* duals) {
    const std::int64_t K = rows.n_outputs;
    std::vector<double> a(static_cast<std::size_t>(K));
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const ClassRow row{rows.label[i], rows.cost[i]};
        if (!(row.cost > 0)) continue;
        double* r = duals + i * K;
        double moved = 0;
        for (std::int64_t k = 0; k < K; ++k) moved += shrink[k] * mass_of(row, r, k);
        if (moved == 0) continue;
        for (std::int64_t k = 0; k < K; ++k)
            a[static_cast<std::size_t>(k)] = mass_of(row, r, k) * (1.0 - shrink[k]) + moved * fill[k];
        set_duals(row, a.data(), K, r);
        r[row.label] = std::min(r[row.label], row.cost);
    }
}

double smoothed_hinge(const ClassPiece& rows, const double* z, const double* b, const double* centre,
                      double sigma, double* duals, double* balance, double* curvature) {
    const std::int64_t K = rows.n_outputs;
    std::vector<double> u(static_cast<std::size_t>(K)), p(static_cast<std::size_t>(K));
    std::vector<std::int64_t> active(static_cast<std::size_t>(K));
    double value = 0;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const ClassRow row{rows.label[i], rows.cost[i]};
        const double *scores = z + i * K, *from = centre + i * K;
        double* to = duals + i * K;
        if (!(row.cost > 0)) {
            std::fill_n(to, K, 0.0);
            continue;
        }
        const double own = scores[row.label] + b[row.label];
        for (std::int64_t k = 0; k < K; ++k)
            u[static_cast<std::size_t>(k)] = k == row.label ? 0.0 : 1.0 + (scores[k] + b[k] - own);
        std::copy(u.begin(), u.end(), p.begin());
        project_duals(row, sigma * row.cost, K, from, p.data(), to);
        double linear = 0, square = 0;
        std::int64_t count = 0;
        for (std::int64_t k = 0; k < K; ++k) {
            const double change = from[k] - to[k];
            linear -= k == row.label ? 0.0 : u[static_cast<std::size_t>(k)] * to[k];
            square += change * change;
            balance[k] += to[k];
            if (mass_of(row, to, k) > 0) active[static_cast<std::size_t>(count++)] = k;
        }
        value += linear - square / (2.0 * sigma * row.cost);
        if (curvature == nullptr || count < 2) continue;
        const double step = sigma * row.cost, share = step / static_cast<double>(count);
        for (std::int64_t s = 0; s < count; ++s) {
            double* line = curvature + active[static_cast<std::size_t>(s)] * K;
            for (std::int64_t t = 0; t < count; ++t) line[active[static_cast<std::size_t>(t)]] -= share;
            line[active[static_cast<std::size_t>(s)]] += step;
        }
    }
    return value;
}

void curve_duals(const ClassPiece& rows, const double* duals, double sigma, double* u) {
    const std::int64_t K = rows.n_outputs;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const ClassRow row{rows.label[i], rows.cost[i]};
        const double* r = duals + i * K;
        double *change = u + i * K, sum = 0;
        std::int64_t count = 0;
        for (std::int64_t k = 0; k < K; ++k) {
            if (mass_of(row, r, k) > 0) {
                sum += change[k];
                ++count;
            }
        }
        const double mean = count > 0 ? sum / static_cast<double>(count) : 0.0;
        for (std::int64_t k = 0; k < K; ++k)
            change[k] = mass_of(row, r, k) > 0 ? sigma * row.cost * (change[k] - mean) : 0.0;
    }
}

HingeTerms hinge_terms(const ClassPiece& rows, const double* z, const double* b, const double* duals,
                       double* balance) {
    const std::int64_t K = rows.n_outputs;
    HingeTerms terms;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const std::int32_t label = rows.label[i];
        if (!(rows.cost[i] > 0)) continue;
        const double *scores = z + i * K, *r = duals + i * K, own = scores[label] + b[label];
        double loss = 0;
        bool is_number = true;
        for (std::int64_t k = 0; k < K; ++k) {
            const double size = std::abs(scores[k]);
            if (k != label) loss = std::max(loss, 1.0 + (scores[k] + b[k] - own));
            is_number = is_number && size <= std::numeric_limits<double>::max();
            terms.largest_score = std::max(terms.largest_score, size);
            balance[k] += r[k];
        }
        terms.loss += is_number ? rows.cost[i] * loss : std::numeric_limits<double>::infinity();
        terms.dual += r[label];
        terms.total += 2.0 * r[label];
    }
    return terms;
}

bool hinge_hessian(const Block& block, const ClassPiece& rows, const double* duals, double sigma,
                   const double* shift, double* hessian, StopToken& token) {
    const std::int64_t K = rows.n_outputs, width = block.n_columns + 1, size = K * width;
    const auto add = primitives().dense_f64.add;
    std::vector<double> x(static_cast<std::size_t>(width));
    std::vector<std::int64_t> active(static_cast<std::size_t>(K));
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& view, std::int64_t first) {
            for (std::int64_t i = 0; i < view.n_rows() && go_on; ++i) {
                const ClassRow row{rows.label[first + i], rows.cost[first + i]};
                const double* r = duals + (first + i) * K;
                std::int64_t count = 0;
                for (std::int64_t k = 0; k < K; ++k) {
                    if (mass_of(row, r, k) > 0) active[static_cast<std::size_t>(count++)] = k;
                }
                if (count < 2) continue;
                std::fill(x.begin(), x.end(), 0.0);
                view.add(i, 1.0, x.data());
                if (shift != nullptr) {
                    for (std::int64_t j = 0; j < block.n_columns; ++j)
                        x[static_cast<std::size_t>(j)] -= shift[j];
                }
                x.back() = 1.0;
                const double step = sigma * row.cost, share = step / static_cast<double>(count);
                for (std::int64_t s = 0; s < count; ++s) {
                    for (std::int64_t t = 0; t <= s; ++t) {
                        const std::int64_t of_row = active[static_cast<std::size_t>(s)] * width,
                                           of_column = active[static_cast<std::size_t>(t)] * width;
                        const double weight = s == t ? step - share : -share;
                        for (std::int64_t j = 0; j < width; ++j) {
                            if (x[static_cast<std::size_t>(j)] != 0)
                                add(hessian + (of_row + j) * size + of_column,
                                    weight * x[static_cast<std::size_t>(j)], x.data(), width);
                        }
                    }
                }
                go_on = !pace.stop_after(count * count * width * width / 16);
            }
        });
    }
    return go_on;
}

}  // namespace maxmargin
