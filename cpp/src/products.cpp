#include "maxmargin/kernel/products.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <vector>

#include "maxmargin/kernel/row_products.hpp"
#include "maxmargin/loss/table.hpp"

namespace maxmargin {

bool multiply(const Block& block, const double* w, double* z, const double* a, double* v, StopToken& token) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            using View = std::decay_t<decltype(rows)>;
            std::optional<RowScores<View>> scores;
            std::optional<RowSums<View>> sums;
            if (z != nullptr) scores.emplace(rows, w);
            if (v != nullptr) sums.emplace(rows, v);
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; i += kRowsAtOnce<View>) {
                const std::int64_t count = std::min(kRowsAtOnce<View>, rows.n_rows() - i);
                if (scores) scores->fill(i, count, z + first + i);
                if (sums) sums->add(i, count, a + first + i);
                go_on = !pace.stop_after(count * rows.n_values(i));
            }
            if (sums) sums->finish();
        });
    }
    return go_on;
}

bool multiply_many(const Block& block, const double* w, std::int64_t n_outputs, double* z, StopToken& token) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            using View = std::decay_t<decltype(rows)>;
            std::vector<RowScores<View>> scores;
            scores.reserve(static_cast<std::size_t>(n_outputs));
            for (std::int64_t k = 0; k < n_outputs; ++k) scores.emplace_back(rows, w + k * block.n_columns);
            std::array<double, kRowsAtOnce<View>> column;
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; i += kRowsAtOnce<View>) {
                const std::int64_t count = std::min(kRowsAtOnce<View>, rows.n_rows() - i);
                for (std::int64_t k = 0; k < n_outputs; ++k) {
                    scores[static_cast<std::size_t>(k)].fill(i, count, column.data());
                    for (std::int64_t j = 0; j < count; ++j) {
                        z[(first + i + j) * n_outputs + k] = column[static_cast<std::size_t>(j)];
                    }
                }
                go_on = !pace.stop_after(n_outputs * count * rows.n_values(i));
            }
        });
    }
    return go_on;
}

bool score_and_pull(const Block& block, const double* w, double* z, const CertificateRows& rows, double* v,
                    DualSums& sums, StopToken& token) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& view, std::int64_t first) {
            for (std::int64_t k = 0; k < view.n_rows() && go_on; ++k) {
                const std::int64_t i = first + k;
                const double alpha = rows.alpha[i], s = rows.sign[i];
                z[i] = view.dot(k, w);
                if (alpha != 0) {
                    view.add(k, s * alpha, v);
                    sums.linear += alpha;
                    sums.balance += s * alpha;
                    sums.square += alpha * (alpha / rows.cost[i]);
                }
                go_on = !pace.stop_after(view.n_values(k));
            }
        });
    }
    return go_on;
}

bool implied_pull(std::string_view name, const Block& block, const ImpliedPull& rows, double* v,
                  double& total, bool& known, StopToken& token) {
    known = false;
    bool go_on = true;
    loss::with_loss(name, [&](auto loss) {
        using Loss = decltype(loss);
        if constexpr (loss::DualLoss<Loss>) {
            known = true;
            Chunks chunks(block);
            Pace pace(token);
            for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
                chunks.open(chunk, [&](const auto& view, std::int64_t first) {
                    for (std::int64_t k = 0; k < view.n_rows() && go_on; ++k) {
                        const std::int64_t i = first + k;
                        const double s = rows.sign[i];
                        const double pull = s * Loss::best_alpha(s * (rows.z[i] + rows.b), rows.cost[i]);
                        total += pull;
                        if (pull != 0) view.add(k, pull, v);
                        go_on = !pace.stop_after(view.n_values(k));
                    }
                });
            }
        }
    });
    return go_on;
}

namespace {

template <class Rows>
void find_bad_value(const Rows& rows, std::int64_t i, std::int64_t first, Inspection& found) {
    for (std::int64_t k = 0; k < rows.n_values(i); ++k) {
        const double value = static_cast<double>(rows.value(i, k));
        if (std::isfinite(value)) continue;
        found.bad_row = first + i;
        found.bad_column = rows.column(i, k);
        found.bad_value = value;
        return;
    }
    if (found.overflow_row < 0) found.overflow_row = first + i;
}

}  // namespace

Inspection inspect(const Block& block, double* norm2, StopToken& token) {
    Inspection found;
    found.n_rows = block.n_rows;
    Chunks chunks(block);
    Pace pace(token);
    for (std::int64_t chunk = 0; chunk < chunks.count() && found.complete && found.bad_row < 0; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            for (std::int64_t i = 0; i < rows.n_rows() && found.complete && found.bad_row < 0; ++i) {
                const double square = rows.norm2(i);
                norm2[first + i] = square;
                if (!std::isfinite(square)) {
                    find_bad_value(rows, i, first, found);
                } else if (square > found.largest_norm2) {
                    found.largest_norm2 = square;
                }
                found.complete = !pace.stop_after(rows.n_values(i));
            }
        });
    }
    return found;
}

}  // namespace maxmargin
