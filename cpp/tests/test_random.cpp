// Random orders: permutations that the numbers (seed, pass, block) name for ever.

#include "check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

#include "maxmargin/random.hpp"

using namespace maxmargin;

namespace {

std::vector<int> shuffled(std::uint64_t seed, std::uint64_t pass, std::uint64_t block, std::size_t n) {
    std::vector<int> items(n);
    std::iota(items.begin(), items.end(), 0);
    Random(seed, pass, block).shuffle(items.data(), static_cast<std::int64_t>(n));
    return items;
}

}  // namespace

TEST("a shuffle is a permutation of any length") {
    for (const std::size_t n : {0, 1, 2, 3, 10, 1000}) {
        std::vector<int> items = shuffled(1, 2, 3, n), sorted(n);
        std::iota(sorted.begin(), sorted.end(), 0);
        std::sort(items.begin(), items.end());
        CHECK(items == sorted);
    }
}

TEST("the same name gives the same order, another name another") {
    std::set<std::vector<int>> orders;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        for (std::uint64_t pass = 0; pass < 5; ++pass) {
            for (std::uint64_t block = 0; block < 5; ++block) {
                orders.insert(shuffled(seed, pass, block, 20));
                CHECK(shuffled(seed, pass, block, 20) == shuffled(seed, pass, block, 20));
            }
        }
    }
    CHECK(orders.size() == 125);
}

TEST("orders stay the same from release to release") {
    CHECK(shuffled(0, 0, 0, 8) == std::vector<int>({4, 7, 2, 5, 0, 6, 3, 1}));
    CHECK(shuffled(7, 1, 2, 8) == std::vector<int>({6, 1, 3, 4, 5, 2, 7, 0}));
}

TEST("numbers below a bound are in range, and all of them occur") {
    Random random(4, 5, 6);
    for (const std::int64_t bound : {1, 2, 3, 7, 1000}) {
        std::set<std::int64_t> seen;
        for (int k = 0; k < 20'000; ++k) {
            const std::int64_t drawn = random.below(bound);
            CHECK(drawn >= 0 && drawn < bound);
            seen.insert(drawn);
        }
        CHECK(static_cast<std::int64_t>(seen.size()) == bound);
    }
    const std::int64_t huge = std::int64_t{1} << 62;
    for (int k = 0; k < 100; ++k) CHECK(random.below(huge) < huge);
}

TEST("every order of four items is about equally likely") {
    std::array<int, 256> counts{};
    for (std::uint64_t pass = 0; pass < 24'000; ++pass) {
        const std::vector<int> order = shuffled(3, pass, 0, 4);
        ++counts[static_cast<std::size_t>(order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3])];
    }
    int orders = 0;
    for (const int count : counts) {
        if (count == 0) continue;
        ++orders;
        CHECK(count > 850 && count < 1150);  // 1000 expected, standard deviation 31
    }
    CHECK(orders == 24);
}
