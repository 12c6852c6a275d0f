// The distinct patterns of a block while it is being condensed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace maxmargin {

// Numbers lists of columns in the order in which they are first seen, up to a limit.
class PatternTable {
  public:
    explicit PatternTable(std::int64_t most) : most_(most) {
        std::size_t slots = 64;
        while (slots < static_cast<std::size_t>(2 * most)) slots *= 2;
        slots_.assign(slots, -1);
    }

    std::int64_t size() const noexcept { return static_cast<std::int64_t>(starts_.size()) - 1; }

    // The number of this pattern; −1 if it is new and there is no room for it.
    std::int32_t find(const std::vector<std::int32_t>& ones) {
        std::size_t slot = hash(ones) & (slots_.size() - 1);
        for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
            if (equals(slots_[slot], ones)) return slots_[slot];
        }
        if (size() >= most_) return -1;
        const std::int32_t number = static_cast<std::int32_t>(size());
        slots_[slot] = number;
        ones_.insert(ones_.end(), ones.begin(), ones.end());
        starts_.push_back(static_cast<std::int32_t>(ones_.size()));
        return number;
    }

    bool equals(std::int32_t number, const std::vector<std::int32_t>& ones) const {
        const auto from = ones_.begin() + starts_[static_cast<std::size_t>(number)];
        const auto to = ones_.begin() + starts_[static_cast<std::size_t>(number) + 1];
        return std::equal(from, to, ones.begin(), ones.end());
    }

    void move_to(std::vector<std::int32_t>& starts, std::vector<std::int32_t>& ones) {
        starts_.shrink_to_fit();
        ones_.shrink_to_fit();
        starts = std::move(starts_);
        ones = std::move(ones_);
    }

  private:
    static std::size_t hash(const std::vector<std::int32_t>& ones) noexcept {
        std::uint64_t h = 0x9E3779B97F4A7C15U;
        for (const std::int32_t column : ones) {
            h = (h ^ static_cast<std::uint64_t>(column)) * 0xBF58476D1CE4E5B9U;
            h ^= h >> 29;
        }
        return static_cast<std::size_t>(h ^ (h >> 32));
    }

    std::int64_t most_;
    std::vector<std::int32_t> slots_, starts_{0}, ones_;
};

}  // namespace maxmargin
