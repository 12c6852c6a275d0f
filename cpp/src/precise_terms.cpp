#include "maxmargin/kernel/precise_terms.hpp"

#include <algorithm>
#include <cmath>

#include "maxmargin/loss/table.hpp"

namespace maxmargin {

namespace {

template <class View>
Twofold precise_dot(const View& rows, std::int64_t i, const double* w) {
    // Several sums at a time, so that one addition need not wait for the other.
    constexpr int kSums = 4;
    Twofold sums[kSums];
    const std::int64_t n = rows.n_values(i);
    std::int64_t k = 0;
    for (; k + kSums <= n; k += kSums)
        for (int lane = 0; lane < kSums; ++lane)
            sums[lane] = sums[lane] + exact_product(static_cast<double>(rows.value(i, k + lane)),
                                                    w[rows.column(i, k + lane)]);
    for (; k < n; ++k)
        sums[0] = sums[0] + exact_product(static_cast<double>(rows.value(i, k)), w[rows.column(i, k)]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Value and dual value of a row in twice the precision, or, for the logistic loss, as precise as logarithms.
template <class Loss>
struct Precise;

template <>
struct Precise<loss::Hinge> {
    static Twofold value(Twofold m) {
        const Twofold slack = -m + 1.0;
        return is_positive(slack) ? slack : Twofold{};
    }
    static Twofold dual_value(double alpha, double) { return {alpha, 0}; }
};

template <>
struct Precise<loss::SquaredHinge> {
    static Twofold value(Twofold m) {
        const Twofold slack = -m + 1.0;
        return is_positive(slack) ? slack * slack : Twofold{};
    }
    static Twofold dual_value(double alpha, double c) {
        return -(exact_product(alpha, alpha) / (4 * c)) + alpha;
    }
};

template <>
struct Precise<loss::Logistic> {
    static Twofold value(Twofold m) {
        return {loss::Logistic::value(m.high), loss::Logistic::slope(m.high) * m.low};
    }
    static Twofold dual_value(double alpha, double c) { return {loss::Logistic::dual_value(alpha, c), 0}; }
};

template <class Loss>
constexpr bool is_precise = requires(Twofold m) { Precise<Loss>::value(m); };

template <class Loss>
void add_terms(double s, double c, double alpha, Twofold z, double b, PreciseTerms& terms) {
    const Twofold score = z + b, m = s > 0 ? score : -score;
    terms.loss = terms.loss + Precise<Loss>::value(m) * c;
    const double rounded = z.rounded();
    terms.least_agreement = std::min(terms.least_agreement, m.rounded());
    terms.least_score = std::min(terms.least_score, rounded);
    terms.most_score = std::max(terms.most_score, rounded);
    if (s > 0) {
        terms.least_positive = std::min(terms.least_positive, rounded);
    } else {
        terms.most_negative = std::max(terms.most_negative, rounded);
    }
    if (alpha == 0) return;
    terms.dual = terms.dual + Precise<Loss>::dual_value(alpha, c);
    terms.balance = terms.balance + s * alpha;
    terms.total += alpha;
}

// The square of the distance from a point, of which the square is given; at least that for sparse rows.
template <class View>
double distance2_from(const View& rows, std::int64_t i, std::int64_t n_columns, const double* origin,
                      double origin2) {
    const std::int64_t n = rows.n_values(i);
    if (n != n_columns) {
        const double distance = std::sqrt(rows.norm2(i)) + std::sqrt(origin2);
        return distance * distance;
    }
    double distance2 = 0;
    for (std::int64_t k = 0; k < n; ++k) {
        const double away = static_cast<double>(rows.value(i, k)) - origin[rows.column(i, k)];
        distance2 += away * away;
    }
    return distance2;
}

}  // namespace

bool precise_terms(std::string_view name, const Block& block, const PrecisePoint& point,
                   const PreciseRows& rows, PreciseTerms& terms, double* v_high, double* v_low, bool& known,
                   StopToken& token) {
    known = false;
    bool go_on = true;
    const double origin2 = precise_norm2(point.origin, nullptr, nullptr, {}, block.n_columns).rounded();
    loss::with_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        if constexpr (is_precise<Loss>) {
            known = true;
            Chunks chunks(block);
            Pace pace(token);
            for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
                chunks.open(chunk, [&](const auto& view, std::int64_t first) {
                    for (std::int64_t k = 0; k < view.n_rows() && go_on; ++k) {
                        const std::int64_t i = first + k, n = view.n_values(k);
                        const double c = rows.cost[i], alpha = rows.alpha[i], s = rows.sign[i];
                        if (c == 0) continue;
                        add_terms<Loss>(s, c, alpha, precise_dot(view, k, point.w), point.b, terms);
                        const double distance2 =
                            distance2_from(view, k, block.n_columns, point.origin, origin2);
                        terms.furthest2 = std::max(terms.furthest2, distance2);
                        for (std::int64_t at = 0; alpha != 0 && at < n; ++at) {
                            const double x = static_cast<double>(view.value(k, at));
                            const std::int64_t j = view.column(k, at);
                            const Twofold sum = Twofold{v_high[j], v_low[j]} + exact_product(s * alpha, x);
                            v_high[j] = sum.high;
                            v_low[j] = sum.low;
                        }
                        go_on = !pace.stop_after(16 * n);
                    }
                });
            }
        }
    });
    return go_on;
}

bool precise_outputs(const Block& block, const PreciseOutputs& point, double* z, double* V_high,
                     double* V_low, double* balance_high, double* balance_low, double& furthest2,
                     StopToken& token) {
    const std::int64_t K = point.n_outputs, d = block.n_columns;
    const double origin2 = precise_norm2(point.origin, nullptr, nullptr, {}, d).rounded();
    bool go_on = true;
    Chunks chunks(block);
    Pace pace(token);
    const auto add = [](double& high, double& low, Twofold term) {
        const Twofold sum = Twofold{high, low} + term;
        high = sum.high;
        low = sum.low;
    };
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& view, std::int64_t first) {
            for (std::int64_t k = 0; k < view.n_rows() && go_on; ++k) {
                const std::int64_t i = first + k, n = view.n_values(k);
                std::fill_n(z + i * K, K, 0.0);
                if (point.cost[i] == 0) continue;
                furthest2 = std::max(furthest2, distance2_from(view, k, d, point.origin, origin2));
                Twofold others;
                for (std::int64_t m = 0; m < K; ++m) {
                    z[i * K + m] = (precise_dot(view, k, point.W + m * d) + point.b[m]).rounded();
                    if (m != point.label[i]) others = others + point.duals[i * K + m];
                }
                for (std::int64_t m = 0; m < K; ++m) {
                    const Twofold r = m == point.label[i] ? -others : Twofold{point.duals[i * K + m], 0};
                    if (r.high == 0) continue;
                    add(balance_high[m], balance_low[m], r);
                    for (std::int64_t at = 0; at < n; ++at) {
                        const std::int64_t j = m * d + view.column(k, at);
                        add(V_high[j], V_low[j], r * static_cast<double>(view.value(k, at)));
                    }
                }
                go_on = !pace.stop_after(16 * n * K);
            }
        });
    }
    return go_on;
}

Twofold precise_norm2(const double* high, const double* low, const double* shift, Twofold factor,
                      std::int64_t n) {
    Twofold total;
    for (std::int64_t j = 0; j < n; ++j) {
        Twofold v{high[j], low != nullptr ? low[j] : 0.0};
        if (shift != nullptr) v = v - factor * shift[j];
        total = total + v * v;
    }
    return total;
}

}  // namespace maxmargin
