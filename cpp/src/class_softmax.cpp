#include "maxmargin/kernel/class_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace maxmargin {
namespace {

constexpr int kMostSteps = 30;
constexpr double kEnough = 1e-3;    // of the change of α
constexpr double kLeast = 1e-300;   // below, a logarithm tells nothing
constexpr double kNothing = 1e-16;  // a change of α that double precision does not show

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

// Fills v with v − log Σ exp v; returns what was taken away.
double to_log_probabilities(double* v, std::int64_t n) {
    const double largest = *std::max_element(v, v + n);
    double sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += std::exp(v[k] - largest);
    const double log_sum = largest + std::log(sum);
    for (std::int64_t k = 0; k < n; ++k) v[k] -= log_sum;
    return log_sum;
}

// The loss of a row, whose exp(u − the largest u) fill `e`, with their sum less 1 in `rest`.
double loss_of(const double* z, const double* b, std::int32_t label, std::int64_t K, std::vector<double>& e,
               double& rest) {
    std::int64_t top = 0;
    for (std::int64_t k = 0; k < K; ++k) {
        e[at(k)] = z[k] + b[k];
        if (e[at(k)] > e[at(top)]) top = k;
    }
    const double largest = e[at(top)], ahead = largest - e[at(label)];
    rest = 0;
    for (std::int64_t k = 0; k < K; ++k) {
        e[at(k)] = std::exp(e[at(k)] - largest);
        rest += k == top ? 0.0 : e[at(k)];
    }
    return std::log1p(rest) + ahead;
}

}  // namespace

SoftmaxRowStep::SoftmaxRowStep(std::int64_t n_outputs)
    : n_outputs_(n_outputs), before_(at(n_outputs)), log_p_(before_), errors_(before_), log_alpha_(before_),
      alpha_(before_) {}

double SoftmaxRowStep::take(const ClassRow& row, double square, const double* r, const double* u,
                            double* changed) noexcept {
    const std::int64_t K = n_outputs_;
    const double c = row.cost, a = c * square;
    std::copy_n(u, K, log_p_.data());
    to_log_probabilities(log_p_.data(), K);
    double divergence = 0;
    for (std::int64_t k = 0; k < K; ++k) {
        before_[at(k)] = k == row.label ? std::max(1.0 - r[k] / c, 0.0) : -r[k] / c;
        if (before_[at(k)] > 0) divergence += before_[at(k)] * (std::log(before_[at(k)]) - log_p_[at(k)]);
    }
    divergence = std::max(divergence, 0.0);
    solve(a);
    double reached = 0, square_of_change = 0;
    for (std::int64_t k = 0; k < K; ++k) {
        const double change = alpha_[at(k)] - before_[at(k)];
        if (alpha_[at(k)] > 0) reached += alpha_[at(k)] * (log_alpha_[at(k)] - log_p_[at(k)]);
        square_of_change += change * change;
    }
    if (!(reached + 0.5 * a * square_of_change <= divergence)) {
        // A share of the way to p, so small that it gains whatever α° is: ‖p − α°‖² ≤ 2 KL.
        for (std::int64_t k = 0; k < K; ++k)
            alpha_[at(k)] = before_[at(k)] + (std::exp(log_p_[at(k)]) - before_[at(k)]) / (1.0 + a);
    }
    double others = 0;
    for (std::int64_t k = 0; k < K; ++k) {
        changed[k] = -c * alpha_[at(k)];
        if (k != row.label) others += c * alpha_[at(k)];
    }
    changed[row.label] = std::min(others, c);
    return c * divergence;
}

// Finds α from α° in `before_` and log p.
void SoftmaxRowStep::solve(double a) noexcept {
    const std::int64_t K = n_outputs_;
    double way = 0;
    for (std::int64_t k = 0; k < K; ++k) {
        const double p = std::exp(log_p_[at(k)]), first = (a * before_[at(k)] + p) / (1.0 + a);
        alpha_[at(k)] = first;
        log_alpha_[at(k)] = first > kLeast ? std::log(first) : log_p_[at(k)];
        way += std::abs(first - before_[at(k)]);
    }
    double level = 0;  // the constant
    for (int step = 0; step < kMostSteps; ++step) {
        double sum = 0, missing = 0, slope = 0;
        for (std::int64_t k = 0; k < K; ++k) {
            const double alpha = alpha_[at(k)], share = alpha / (1.0 + a * alpha);
            sum += alpha;
            slope += share;
            errors_[at(k)] = log_p_[at(k)] + level - log_alpha_[at(k)] + a * (before_[at(k)] - alpha);
            missing += share * errors_[at(k)];
        }
        const double change = (1.0 - sum - missing) / slope;
        double moved = 0;
        for (std::int64_t k = 0; k < K; ++k) {
            const double alpha = alpha_[at(k)];
            const double moves = (errors_[at(k)] + change) / (1.0 + a * alpha);
            log_alpha_[at(k)] = std::min(log_alpha_[at(k)] + moves, 0.0);
            alpha_[at(k)] = std::exp(log_alpha_[at(k)]);
            moved += std::abs(alpha_[at(k)] - alpha);
        }
        level += change;
        if (moved <= kEnough * way + kNothing) break;
    }
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) sum += alpha_[at(k)];
    const double log_sum = std::log(sum);
    for (std::int64_t k = 0; k < K; ++k) {
        alpha_[at(k)] /= sum;
        log_alpha_[at(k)] -= log_sum;
    }
}

double softmax_losses(const ClassPiece& rows, const double* z, const double* b, double* balance) {
    const std::int64_t K = rows.n_outputs;
    std::vector<double> e(at(K));
    double loss = 0;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const double c = rows.cost[i];
        if (!(c > 0)) continue;
        double rest = 0, others = 0;
        loss += c * loss_of(z + i * K, b, rows.label[i], K, e, rest);
        for (std::int64_t k = 0; k < K; ++k) {
            const double p = e[at(k)] / (1.0 + rest);
            if (k == rows.label[i]) continue;
            balance[k] += c * p;
            others += c * p;
        }
        balance[rows.label[i]] -= others;
    }
    return loss;
}

HingeTerms softmax_terms(const ClassPiece& rows, const double* z, const double* b, const double* duals,
                         double* balance) {
    const std::int64_t K = rows.n_outputs;
    std::vector<double> e(at(K));
    HingeTerms terms;
    for (std::int64_t i = 0; i < rows.n_rows; ++i) {
        const std::int32_t label = rows.label[i];
        const double c = rows.cost[i], *scores = z + i * K, *r = duals + i * K;
        if (!(c > 0)) continue;
        double rest = 0, entropy = 0;
        bool is_number = true;
        const double loss = loss_of(scores, b, label, K, e, rest);
        for (std::int64_t k = 0; k < K; ++k) {
            const double size = std::abs(scores[k]);
            is_number = is_number && size <= std::numeric_limits<double>::max();
            terms.largest_score = std::max(terms.largest_score, size);
            balance[k] += r[k];
            const double alpha = -r[k] / c;
            if (k != label && alpha > 0) entropy -= alpha * std::log(alpha);
        }
        // α of the row's own class is what the others leave.
        const double others = r[label] / c;
        if (others > 0 && others < 1) entropy -= (1.0 - others) * std::log1p(-others);
        terms.loss += is_number ? c * loss : std::numeric_limits<double>::infinity();
        terms.dual += c * entropy;
        terms.total += 2.0 * r[label];
    }
    return terms;
}

}  // namespace maxmargin
