#include "maxmargin/kernel/smooth_left_out.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "maxmargin/kernel/row_products.hpp"
#include "smooth_terms.hpp"

namespace maxmargin {
namespace {

// A strip of rows at one of the points: scores in, coefficients of the gradient out.
template <class Loss>
double visit_strip(const LeftOutRows& rows, std::int64_t start, std::int64_t count, double b,
                   std::int64_t left_out, double* scores, double* least) {
    Terms terms;
    const std::int8_t* sign = rows.scored.sign + start;
    const double* cost = rows.scored.cost + start;
    for (std::int64_t k = 0; k < count; ++k) terms.agreement[k] = sign[k] * (scores[k] + b);
    fill_terms<Loss>(terms, count);
    double slope = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t row = start + k;
        if (row == left_out || cost[k] == 0) {
            scores[k] = 0;
            continue;
        }
        if constexpr (std::is_same_v<Loss, loss::Logistic>) {
            least[0] = std::min(least[0], -std::fabs(scores[k] + b - (rows.scored.z[row] + rows.b)));
        } else if (rows.core[row] != 0) {
            double& lowest = least[rows.core[row]];
            lowest = std::min(lowest, (1 - terms.agreement[k]) / rows.size[row]);
        }
        scores[k] = sign[k] * (cost[k] * terms.slope[k]);
        slope += scores[k];
    }
    return slope;
}

template <class Loss, class View>
void visit_view(const View& view, std::int64_t first, const LeftOutRows& rows, const LeftOutPoints& points,
                std::int64_t d, const LeftOutSums& sums, bool& complete, Pace& pace) {
    std::vector<RowScores<View>> scores;
    std::vector<RowSums<View>> pulls;
    for (std::int64_t p = 0; p < points.count; ++p) {
        scores.emplace_back(view, points.w + p * d);
        pulls.emplace_back(view, sums.gradient + p * (d + 1));
    }
    double strip[kStripRows];
    std::int64_t end;
    for (std::int64_t row = 0; row < view.n_rows() && complete; row = end) {
        std::int64_t values = 0;
        end = end_of_strip(view, row, values);
        for (std::int64_t p = 0; p < points.count && complete; ++p) {
            const std::size_t at = static_cast<std::size_t>(p);
            scores[at].fill(row, end - row, strip);
            sums.gradient[p * (d + 1) + d] += visit_strip<Loss>(
                rows, first + row, end - row, points.b[p], points.row[p], strip, sums.least + p * kCores);
            pulls[at].add(row, end - row, strip);
            complete = !pace.stop_after(2 * values);
        }
    }
    for (RowSums<View>& pull : pulls) pull.finish();
}

}  // namespace

bool left_out_gradients(std::string_view name, const Block& block, const LeftOutRows& rows,
                        const LeftOutPoints& points, const LeftOutSums& sums, bool& complete,
                        StopToken& token) {
    return with_smooth_loss(name, [&](auto loss) {
        Chunks chunks(block);
        Pace pace(token);
        for (std::int64_t chunk = 0; chunk < chunks.count() && complete; ++chunk) {
            chunks.open(chunk, [&](const auto& view, std::int64_t first) {
                visit_view<decltype(loss)>(view, first, rows, points, block.n_columns, sums, complete, pace);
            });
        }
    });
}

}  // namespace maxmargin
