#include "maxmargin/kernel/newton_passes.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "maxmargin/kernel/row_products.hpp"
#include "smooth_terms.hpp"

namespace maxmargin {
namespace {

// What one strip leaves behind for the second reading: the coefficients of the gradient and of the Gram
// matrix.
struct Strip {
    Terms terms;
    double coefficient[kStripRows], h[kStripRows];
};

// `start` is the first row of the strip within the block; z holds its scores.
template <class Loss>
void fill_strip(const NewtonPoint& point, std::int64_t start, std::int64_t count, Strip& strip,
                NewtonSums& sums) {
    Terms& terms = strip.terms;
    for (std::int64_t k = 0; k < count; ++k)
        terms.agreement[k] = point.sign[start + k] * (point.z[start + k] + point.b);
    fill_terms<Loss>(terms, count);
    double loss = 0, slope = 0, curvature = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const double c = point.cost[start + k];
        const bool is_live = c != 0;
        strip.coefficient[k] = is_live ? point.sign[start + k] * (c * terms.slope[k]) : 0.0;
        strip.h[k] = is_live ? c * terms.curvature[k] : 0.0;
        loss += is_live ? c * terms.value[k] : 0.0;
        slope += strip.coefficient[k];
        curvature += strip.h[k];
    }
    sums.loss += loss;
    sums.slope += slope;
    sums.curvature += curvature;
    if (point.h != nullptr) std::copy(strip.h, strip.h + count, point.h + start);
}

// A row's share of the duality gap at the dual α, where −c ℓ′ would be `own` and c ℓ″ is h. Near `own` the
// quadratic term, a little enlarged, saves the logarithms of the logistic loss.
template <class Loss>
double gap_near(double m, double alpha, double own, double h, double c) noexcept {
    if constexpr (std::is_same_v<Loss, loss::Logistic>) {
        const double d = alpha - own;
        if (std::fabs(d) <= 0.1 * std::min(own, c - own)) return h > 0 ? 0.55 * d * d / h : 0.0;
    }
    return Loss::fenchel_gap(m, alpha, c);
}

}  // namespace

bool newton_evaluate(std::string_view name, const Block& block, const NewtonPoint& point, double* gradient,
                     Gram* gram, NewtonSums& sums, StopToken& token) {
    return with_smooth_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        Chunks chunks(block);
        Pace pace(token);
        Strip strip;
        for (std::int64_t chunk = 0; chunk < chunks.count() && sums.complete; ++chunk) {
            chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
                using View = std::decay_t<decltype(rows)>;
                const RowScores<View> scores(rows, point.w);
                RowSums<View> pulls(rows, gradient);
                std::int64_t end;
                for (std::int64_t row = 0; row < rows.n_rows() && sums.complete; row = end) {
                    std::int64_t values = 0;
                    end = end_of_strip(rows, row, values);
                    scores.fill(row, end - row, point.z + first + row);
                    fill_strip<Loss>(point, first + row, end - row, strip, sums);
                    pulls.add(row, end - row, strip.coefficient);
                    if (gram != nullptr) gram->add(rows, row, end - row, strip.h);
                    sums.complete = !pace.stop_after(values);
                }
                pulls.finish();
            });
        }
    });
}

bool hessian_product(const Block& block, const double* h, const double* d, double e, double* product,
                     double& product_b, StopToken& token) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            using View = std::decay_t<decltype(rows)>;
            static_assert(kRowsAtOnce<View> <= kStripRows);
            const RowScores<View> scores(rows, d);
            RowSums<View> sums(rows, product);
            double t[kStripRows];
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; i += kRowsAtOnce<View>) {
                const std::int64_t count = std::min(kRowsAtOnce<View>, rows.n_rows() - i);
                if (count == 1 && h[first + i] == 0) continue;
                scores.fill(i, count, t);
                for (std::int64_t k = 0; k < count; ++k) {
                    t[k] = h[first + i + k] == 0 ? 0.0 : h[first + i + k] * (t[k] + e);
                    product_b += t[k];
                }
                sums.add(i, count, t);
                go_on = !pace.stop_after(count * rows.n_values(i));
            }
            sums.finish();
        });
    }
    return go_on;
}

bool hessian_diagonal(const Block& block, const double* h, double* squares, double* sums, StopToken& token) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; ++i) {
                const double weight = h[first + i];
                if (weight == 0) continue;
                for (std::int64_t k = 0; k < rows.n_values(i); ++k) {
                    const double value = static_cast<double>(rows.value(i, k));
                    const std::int64_t column = rows.column(i, k);
                    sums[column] += weight * value;
                    squares[column] += weight * value * value;
                }
                go_on = !pace.stop_after(2 * rows.n_values(i));
            }
        });
    }
    return go_on;
}

bool line_sums(std::string_view name, const ScoredRows& rows, double b, const OtherScores& to, double t,
               LineSums& sums) {
    return with_smooth_loss(name, [&](auto loss) {
        Terms terms;
        double change[kStripRows];
        for (std::int64_t first = 0; first < rows.n; first += kStripRows) {
            const std::int64_t count = std::min(kStripRows, rows.n - first);
            for (std::int64_t k = 0; k < count; ++k) {
                const double p = rows.z[first + k] + b, s = rows.sign[first + k];
                change[k] = s * (to.z[first + k] + to.b - p);
                terms.agreement[k] = s * p + t * change[k];
            }
            fill_terms<decltype(loss)>(terms, count);
            LineSums part;
            for (std::int64_t k = 0; k < count; ++k) {
                const double c = rows.cost[first + k];
                if (c == 0) continue;
                part.loss += c * terms.value[k];
                part.slope += c * terms.slope[k] * change[k];
                part.curvature += c * terms.curvature[k] * change[k] * change[k];
            }
            sums.loss += part.loss;
            sums.slope += part.slope;
            sums.curvature += part.curvature;
        }
    });
}

bool predicted_duals(std::string_view name, const ScoredRows& rows, double b, const double* h,
                     const OtherScores& to, double* alpha, PredictionSums& sums) {
    return with_smooth_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        Terms before, after;
        for (std::int64_t first = 0; first < rows.n; first += kStripRows) {
            const std::int64_t count = std::min(kStripRows, rows.n - first);
            for (std::int64_t k = 0; k < count; ++k) {
                before.agreement[k] = rows.sign[first + k] * (rows.z[first + k] + b);
                after.agreement[k] = rows.sign[first + k] * (to.z[first + k] + to.b);
            }
            fill_terms<Loss>(before, count);
            fill_terms<Loss>(after, count);
            PredictionSums part;
            for (std::int64_t k = 0; k < count; ++k) {
                const double c = rows.cost[first + k];
                alpha[first + k] = 0;
                if (c == 0) continue;
                const double m = after.agreement[k], own = -c * after.slope[k];
                const double predicted = -c * before.slope[k] - h[first + k] * (m - before.agreement[k]);
                const double feasible = std::clamp(predicted, 0.0, Loss::largest_alpha(c));
                alpha[first + k] = feasible;
                part.gap += gap_near<Loss>(m, feasible, own, c * after.curvature[k], c);
                part.error += std::fabs(own - predicted);
                part.clipped += std::fabs(feasible - predicted);
            }
            sums.gap += part.gap;
            sums.error += part.error;
            sums.clipped += part.clipped;
        }
    });
}

}  // namespace maxmargin
