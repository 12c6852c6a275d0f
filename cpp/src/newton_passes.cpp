#include "maxmargin/kernel/newton_passes.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "maxmargin/loss/table.hpp"

namespace maxmargin {
namespace {

// Rows are read in strips, once for their scores and again, from cache, for the gradient and the Gram matrix.
constexpr std::int64_t kStripRows = 128;
constexpr std::int64_t kStripValues = 1 << 16;

struct Terms {
    double value, slope, curvature;
};

template <class Loss>
struct AllTerms {
    static Terms of(double m) noexcept { return {Loss::value(m), Loss::slope(m), Loss::curvature(m)}; }
};

// One exponential for all three.
template <>
struct AllTerms<loss::Logistic> {
    static Terms of(double m) noexcept {
        const double e = std::exp(-std::fabs(m)), small = e / (1.0 + e), large = 1.0 / (1.0 + e);
        return {std::log1p(e) + (m > 0.0 ? 0.0 : -m), m > 0.0 ? -small : -large, small * large};
    }
};

// Only losses with a curvature make sense here: the others are not smooth.
template <class Loss>
constexpr bool kIsSmooth = std::is_same_v<Loss, loss::Logistic> || std::is_same_v<Loss, loss::SquaredHinge>;

template <class Visit>
bool with_smooth_loss(std::string_view name, Visit&& visit) {
    bool known = false;
    loss::with_loss(name, [&](auto loss) {
        if constexpr (kIsSmooth<decltype(loss)>) {
            known = true;
            visit(loss);
        }
    });
    return known;
}

template <class Rows>
std::int64_t end_of_strip(const Rows& rows, std::int64_t first) {
    std::int64_t end = first, values = 0;
    while (end < rows.n_rows() && end - first < kStripRows && values < kStripValues)
        values += rows.n_values(end++);
    return end;
}

// What one strip leaves behind for the second reading: the coefficients of the gradient and of the Gram
// matrix.
struct Strip {
    double coefficient[kStripRows], h[kStripRows];
};

// `start` is the first row of the strip within the block; z holds its scores.
template <class Loss>
void fill_strip(const NewtonPoint& point, std::int64_t start, std::int64_t count, Strip& strip,
                NewtonSums& sums) {
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t i = start + k;
        const double c = point.cost[i];
        strip.coefficient[k] = strip.h[k] = 0;
        if (c == 0) continue;
        const double s = point.sign[i];
        const Terms terms = AllTerms<Loss>::of(s * (point.z[i] + point.b));
        strip.coefficient[k] = s * c * terms.slope;
        strip.h[k] = c * terms.curvature;
        sums.loss += c * terms.value;
        sums.slope += strip.coefficient[k];
        sums.curvature += strip.h[k];
    }
    if (point.h != nullptr) std::copy(strip.h, strip.h + count, point.h + start);
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
                std::int64_t end;
                for (std::int64_t row = 0; row < rows.n_rows() && sums.complete; row = end) {
                    end = end_of_strip(rows, row);
                    std::int64_t values = 0;
                    for (std::int64_t i = row; i < end; ++i) {
                        point.z[first + i] = rows.dot(i, point.w);
                        values += rows.n_values(i);
                    }
                    fill_strip<Loss>(point, first + row, end - row, strip, sums);
                    for (std::int64_t i = row; i < end; ++i) {
                        if (strip.coefficient[i - row] != 0)
                            rows.add(i, strip.coefficient[i - row], gradient);
                    }
                    if (gram != nullptr) gram->add(rows, row, end - row, strip.h);
                    sums.complete = !pace.stop_after(values);
                }
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
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; ++i) {
                if (h[first + i] == 0) continue;
                const double t = h[first + i] * (rows.dot(i, d) + e);
                rows.add(i, t, product);
                product_b += t;
                go_on = !pace.stop_after(rows.n_values(i));
            }
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
        for (std::int64_t i = 0; i < rows.n; ++i) {
            const double c = rows.cost[i];
            if (c == 0) continue;
            const double p = rows.z[i] + b, change = rows.sign[i] * (to.z[i] + to.b - p);
            const Terms terms = AllTerms<decltype(loss)>::of(rows.sign[i] * p + t * change);
            sums.loss += c * terms.value;
            sums.slope += c * terms.slope * change;
            sums.curvature += c * terms.curvature * change * change;
        }
    });
}

bool predicted_duals(std::string_view name, const ScoredRows& rows, double b, const double* h,
                     const OtherScores& to, double* alpha, PromisedSums& sums) {
    return with_smooth_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        for (std::int64_t i = 0; i < rows.n; ++i) {
            const double c = rows.cost[i];
            alpha[i] = 0;
            if (c == 0) continue;
            const double m = rows.sign[i] * (rows.z[i] + b), reached = rows.sign[i] * (to.z[i] + to.b);
            const double promised = Loss::best_alpha(m, c) - h[i] * (reached - m);
            alpha[i] = std::clamp(promised, 0.0, Loss::largest_alpha(c));
            sums.gap += Loss::fenchel_gap(reached, alpha[i], c);
            sums.missed += std::fabs(Loss::best_alpha(reached, c) - promised);
            sums.clipped += std::fabs(alpha[i] - promised);
        }
    });
}

}  // namespace maxmargin
