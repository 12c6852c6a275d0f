// What the passes over rows share that need slopes and curvatures of a smooth loss.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "maxmargin/loss/table.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {

// Rows are read in strips, once for their scores and again, from cache, for the gradient and the Gram matrix.
constexpr std::int64_t kStripRows = 128;
constexpr std::int64_t kStripValues = 1 << 16;

// Losses, slopes and curvatures of a strip of rows.
struct Terms {
    double agreement[kStripRows], value[kStripRows], slope[kStripRows], curvature[kStripRows];
};

template <class Loss>
void fill_terms(Terms& terms, std::int64_t count) noexcept {
    for (std::int64_t k = 0; k < count; ++k) {
        const double m = terms.agreement[k];
        terms.value[k] = Loss::value(m);
        terms.slope[k] = Loss::slope(m);
        terms.curvature[k] = Loss::curvature(m);
    }
}

template <>
inline void fill_terms<loss::Logistic>(Terms& terms, std::int64_t count) noexcept {
    (*primitives().logistic)(terms.agreement, count, terms.value, terms.slope, terms.curvature);
}

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
std::int64_t end_of_strip(const Rows& rows, std::int64_t first, std::int64_t& values) {
    std::int64_t end = first;
    while (end < rows.n_rows() && end - first < kStripRows && values < kStripValues)
        values += rows.n_values(end++);
    return end;
}

}  // namespace maxmargin
