#include "maxmargin/kernel/row_terms.hpp"

#include <algorithm>
#include <cmath>

#include "maxmargin/loss/table.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {

namespace {

// Rows per partial sum: two levels keep the rounding error of a block's sums near ε.
constexpr std::int64_t kRun = 256;

template <class Loss>
CertificateTerms terms_of(const ScoredRows& rows, std::int64_t first, std::int64_t last, double b,
                          const double* alpha) {
    CertificateTerms terms;
    for (std::int64_t i = first; i < last; ++i) {
        const double c = rows.cost[i];
        if (c == 0) continue;
        const double s = rows.sign[i], m = s * (rows.z[i] + b), a = alpha[i];
        terms.loss += c * Loss::value(m);
        terms.gap += Loss::fenchel_gap(m, a, c);
        terms.dual += Loss::dual_value(a, c);
        terms.balance += s * a;
    }
    return terms;
}

// The logistic loss of many rows at once. Its dual value needs no logarithms of its own where the three
// terms of the gap give it without cancellation: −c ℓ* = c ℓ + α m − gap.
template <>
CertificateTerms terms_of<loss::Logistic>(const ScoredRows& rows, std::int64_t first, std::int64_t last,
                                          double b, const double* alpha) {
    CertificateTerms terms;
    double m[kRun], value[kRun], slope[kRun], curvature[kRun];
    for (std::int64_t i = first; i < last; ++i) m[i - first] = rows.sign[i] * (rows.z[i] + b);
    (*primitives().logistic)(m, last - first, value, slope, curvature);
    for (std::int64_t i = first; i < last; ++i) {
        const double c = rows.cost[i], a = alpha[i], agreement = m[i - first];
        if (c == 0) continue;
        // σ(−m), and its complement with all digits: the curvature is the product of both.
        const double s = -slope[i - first], not_s = agreement > 0 ? 1 - s : curvature[i - first] / s;
        const double gap = loss::Logistic::fenchel_gap(agreement, s, not_s, a, c);
        const double loss = c * value[i - first], both = loss + a * agreement;
        terms.loss += loss;
        terms.gap += gap;
        terms.dual += both >= 0.1 * loss && gap <= 0.5 * both ? both - gap : loss::Logistic::dual_value(a, c);
        terms.balance += rows.sign[i] * a;
    }
    return terms;
}

}  // namespace

bool certificate_terms(std::string_view name, const ScoredRows& rows, double b, const double* alpha,
                       CertificateTerms& terms) {
    bool known = false;
    loss::with_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        if constexpr (loss::DualLoss<Loss>) {
            known = true;
            for (std::int64_t first = 0; first < rows.n; first += kRun) {
                const auto part = terms_of<Loss>(rows, first, std::min(first + kRun, rows.n), b, alpha);
                terms.loss += part.loss;
                terms.gap += part.gap;
                terms.dual += part.dual;
                terms.balance += part.balance;
            }
        }
    });
    return known;
}

namespace {

template <class Loss>
void fill_derivatives(const double* m, std::int64_t n, double* slope, double* curvature) {
    for (std::int64_t k = 0; k < n; ++k) {
        slope[k] = Loss::slope(m[k]);
        curvature[k] = Loss::curvature(m[k]);
    }
}

template <>
void fill_derivatives<loss::Logistic>(const double* m, std::int64_t n, double* slope, double* curvature) {
    (*primitives().logistic)(m, n, nullptr, slope, curvature);
}

}  // namespace

bool offset_derivatives(std::string_view name, const ScoredRows& rows, double b,
                        OffsetDerivatives& derivatives) {
    return loss::with_loss(name, [&](auto loss) {
        double m[kRun], slope[kRun], curvature[kRun];
        for (std::int64_t first = 0; first < rows.n; first += kRun) {
            const std::int64_t count = std::min(kRun, rows.n - first);
            for (std::int64_t k = 0; k < count; ++k) m[k] = rows.sign[first + k] * (rows.z[first + k] + b);
            fill_derivatives<decltype(loss)>(m, count, slope, curvature);
            OffsetDerivatives part;
            for (std::int64_t k = 0; k < count; ++k) {
                const double c = rows.cost[first + k];
                if (c == 0) continue;
                part.slope += c * rows.sign[first + k] * slope[k];
                part.curvature += c * curvature[k];
            }
            derivatives.slope += part.slope;
            derivatives.curvature += part.curvature;
        }
    });
}

double largest_score(const double* z, const double* cost, std::int64_t n) {
    double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, cost[i] != 0 ? std::fabs(z[i]) : 0.0);
    return largest;
}

}  // namespace maxmargin
