// Runs of decimal digits, eight bytes at a time.
//
// A byte b is a digit if and only if x = b ^ '0' is below 10; adding 118 to the lower seven bits of x sets
// the eighth exactly if it is not, and no byte carries into the next. So one addition judges eight bytes,
// without a branch that the length of the run would make unpredictable.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace maxmargin::read {

inline bool is_digit(char c) noexcept { return static_cast<unsigned char>(c - '0') < 10; }

namespace detail {

inline constexpr std::ptrdiff_t kWordBytes = 8;

// The first byte of the text is the lowest one of the word; other machines go digit by digit.
inline constexpr bool kReadsWords = std::endian::native == std::endian::little;

inline constexpr std::array<std::uint64_t, 9> kWholePowersOfTen = {1,      10,      100,      1000,     10000,
                                                                   100000, 1000000, 10000000, 100000000};

inline std::uint64_t load_word(const char* p) noexcept {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}

// The number of digits at the start of a word of text, 0 to 8.
inline int leading_digits(std::uint64_t word) noexcept {
    const std::uint64_t x = word ^ 0x3030303030303030U;
    const std::uint64_t others =
        (((x & 0x7F7F7F7F7F7F7F7FU) + 0x7676767676767676U) | x) & 0x8080808080808080U;
    return std::countr_zero(others) >> 3;
}

// The value of the first n digits of a word, 1 <= n <= 8. They move to the high end, zeros in front of them;
// then neighbours are joined: digits to pairs, pairs to fours, fours to eight.
inline std::uint64_t value_of_digits(std::uint64_t word, int n) noexcept {
    std::uint64_t x = (word ^ 0x3030303030303030U) << (8 * (kWordBytes - n));
    x = x * 10 + (x >> 8);
    constexpr std::uint64_t pairs = 0x000000FF000000FFU;
    constexpr std::uint64_t first_and_third = 100 + (std::uint64_t{1000000} << 32U);
    constexpr std::uint64_t second_and_fourth = 1 + (std::uint64_t{10000} << 32U);
    return ((x & pairs) * first_and_third + ((x >> 16) & pairs) * second_and_fourth) >> 32U;
}

}  // namespace detail

// Reads digits from p on, no further than last, and appends them to the number; wraps around beyond 19 of
// them. Returns the place of the first byte that is none.
inline const char* take_digits(const char* p, const char* last, std::uint64_t& number) noexcept {
    if constexpr (detail::kReadsWords) {
        while (last - p >= detail::kWordBytes) {
            const std::uint64_t word = detail::load_word(p);
            const int n = detail::leading_digits(word);
            if (n == 0) return p;
            number = number * detail::kWholePowersOfTen[static_cast<std::size_t>(n)] +
                     detail::value_of_digits(word, n);
            p += n;
            if (n < detail::kWordBytes) return p;
        }
    }
    for (; p != last && is_digit(*p); ++p) number = number * 10 + static_cast<std::uint64_t>(*p - '0');
    return p;
}

}  // namespace maxmargin::read
