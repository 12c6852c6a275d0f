#include "maxmargin/kernel/near_products.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace maxmargin {
namespace {

std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

template <class Rows>
constexpr bool is_sparse = requires(const Rows& rows) { rows.indices(0); };

}  // namespace

NearProducts::NearProducts(const Block& rows, std::vector<std::int64_t> near)
    : rows_(rows), near_(std::move(near)) {
    Chunks chunks(rows);
    if (!chunks.in_place()) throw std::invalid_argument("products of rows need rows of float or double");
    if (near_.empty()) return;
    chunks.open(0, [&](const auto& view, std::int64_t) {
        if constexpr (is_sparse<std::decay_t<decltype(view)>>) {
            starts_.assign(at(rows.n_columns + 1), 0);
            for (const std::int64_t row : near_) {
                for (std::int64_t k = 0; k < view.n_values(row); ++k) ++starts_[at(view.column(row, k) + 1)];
            }
            std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
            places_.resize(at(starts_.back()));
            values_.resize(places_.size());
            std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
            for (std::size_t place = 0; place < near_.size(); ++place) {
                for (std::int64_t k = 0; k < view.n_values(near_[place]); ++k) {
                    const std::int64_t to = next[at(view.column(near_[place], k))]++;
                    places_[at(to)] = static_cast<std::int32_t>(place);
                    values_[at(to)] = view.value(near_[place], k);
                }
            }
        }
    });
}

void NearProducts::multiply(std::int64_t row, std::vector<double>& own, double* to) const {
    const SparsePrimitives<double, std::int32_t>& use = primitives().sparse_f64_i32;
    Chunks chunks(rows_);
    chunks.open(0, [&](const auto& view, std::int64_t) {
        if constexpr (is_sparse<std::decay_t<decltype(view)>>) {
            std::fill(to, to + near_.size(), 0.0);
            for (std::int64_t k = 0; k < view.n_values(row); ++k) {
                const std::size_t column = at(view.column(row, k));
                const std::int64_t first = starts_[column], count = starts_[column + 1] - first;
                use.add(to, view.value(row, k), values_.data() + first, places_.data() + first, count);
            }
        } else {
            view.add(row, 1.0, own.data());
            for (std::size_t k = 0; k < near_.size(); ++k) to[k] = view.dot(near_[k], own.data());
            std::fill(own.begin(), own.end(), 0.0);
        }
    });
}

}  // namespace maxmargin
