// Random order from numbers that name it: the same (seed, pass, block) always gives the same order.
#pragma once

#include <cstdint>
#include <utility>

namespace maxmargin {

class Random {
  public:
    Random(std::uint64_t seed, std::uint64_t pass, std::uint64_t block) noexcept
        : state_(mix(mix(mix(seed + kStep) ^ pass) + block)) {}

    std::uint64_t next() noexcept { return mix(state_ += kStep); }

    // Uniform in [0, bound) by multiplication; the bias is below bound / 2^64.
    std::int64_t below(std::int64_t bound) noexcept {
        return static_cast<std::int64_t>((static_cast<Wide>(next()) * static_cast<Wide>(bound)) >> 64);
    }

    template <class Item>
    void shuffle(Item* items, std::int64_t n) noexcept {
        for (std::int64_t k = n - 1; k > 0; --k) std::swap(items[k], items[below(k + 1)]);
    }

  private:
    __extension__ using Wide = unsigned __int128;
    static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;

    // The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit.
    static std::uint64_t mix(std::uint64_t z) noexcept {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

}  // namespace maxmargin
