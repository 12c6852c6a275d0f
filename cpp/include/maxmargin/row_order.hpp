// A random order of rows that is kind to caches and page tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "maxmargin/random.hpp"

namespace maxmargin {

// Groups of neighbours are drawn at random, and rows are shuffled within a window of groups. Rows of one
// group share memory pages; rows visited one after the other come from all over the data, as labels sorted by
// class require.
inline std::vector<std::uint32_t> shuffled_by_groups(const std::vector<std::uint32_t>& rows, Random& random) {
    constexpr std::int64_t kGroupRows = 16, kWindowRows = 64 * kGroupRows;
    const auto count = static_cast<std::int64_t>(rows.size());
    std::vector<std::uint32_t> groups(static_cast<std::size_t>((count + kGroupRows - 1) / kGroupRows)), order;
    std::iota(groups.begin(), groups.end(), 0U);
    random.shuffle(groups.data(), static_cast<std::int64_t>(groups.size()));
    order.reserve(rows.size());
    for (const std::int64_t group : groups) {
        const auto from = rows.begin() + group * kGroupRows;
        order.insert(order.end(), from, from + std::min(kGroupRows, count - group * kGroupRows));
    }
    for (std::int64_t from = 0; from < count; from += kWindowRows) {
        random.shuffle(order.data() + from, std::min(kWindowRows, count - from));
    }
    return order;
}

}  // namespace maxmargin
