#include "maxmargin/kernel/mixed_losses.hpp"

#include <algorithm>

#include "maxmargin/loss/table.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {

namespace {

// Rows per partial sum: they stay in cache for all shares, and rounding errors of sums stay near ε.
constexpr std::int64_t kRun = 256;

template <class Loss>
double total_of(const double* m, const double* cost, std::int64_t n) {
    double total = 0;
    for (std::int64_t k = 0; k < n; ++k) total += cost[k] == 0 ? 0.0 : cost[k] * Loss::value(m[k]);
    return total;
}

// Sums in eight strands, which a compiler may keep in vectors.
template <>
double total_of<loss::Hinge>(const double* m, const double* cost, std::int64_t n) {
    double strands[8] = {};
    std::int64_t k = 0;
    for (; k + 8 <= n; k += 8)
        for (int j = 0; j < 8; ++j) strands[j] += cost[k + j] * loss::Hinge::value(m[k + j]);
    for (; k < n; ++k) strands[0] += cost[k] * loss::Hinge::value(m[k]);
    double total = 0;
    for (const double strand : strands) total += strand;
    return total;
}

template <>
double total_of<loss::Logistic>(const double* m, const double* cost, std::int64_t n) {
    double value[kRun], slope[kRun], curvature[kRun], total = 0;
    (*primitives().logistic)(m, n, value, slope, curvature);
    for (std::int64_t k = 0; k < n; ++k) total += cost[k] == 0 ? 0.0 : cost[k] * value[k];
    return total;
}

}  // namespace

bool mixed_losses(std::string_view name, const TwoScores& rows, const double* shares, std::int64_t n_shares,
                  double* totals) {
    return loss::with_loss(name, [&](auto loss) {
        double start[kRun], change[kRun], m[kRun];
        for (std::int64_t first = 0; first < rows.n; first += kRun) {
            const std::int64_t n = std::min(kRun, rows.n - first);
            for (std::int64_t k = 0; k < n; ++k) {
                const double s = rows.sign[first + k];
                start[k] = s * (rows.first[first + k] + rows.first_offset);
                change[k] = s * (rows.second[first + k] + rows.second_offset) - start[k];
            }
            for (std::int64_t j = 0; j < n_shares; ++j) {
                for (std::int64_t k = 0; k < n; ++k) m[k] = start[k] + shares[j] * change[k];
                totals[j] += total_of<decltype(loss)>(m, rows.cost + first, n);
            }
        }
    });
}

}  // namespace maxmargin
