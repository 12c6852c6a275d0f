// Decimal text to double, correctly rounded, without locale.
//
// Short numbers take a fast path: when the digits form an integer up to 2^53 and the power of ten that goes
// with them is at most 22, both are exact doubles, so that one IEEE multiplication or division rounds
// correctly. Everything else goes to std::from_chars.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "maxmargin/read/digits.hpp"

namespace maxmargin::read {

enum class NumberKind { finite, not_finite, too_large, not_a_number };

// end: behind the last character used; the start of the text when there is no number.
struct Number {
    const char* end;
    double value;
    NumberKind kind;
};

namespace detail {

inline constexpr std::array<double, 23> powers_of_ten = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Whether a decimal number that does not fit in a double is too small rather than too large. One that is
// too large has its first digit at 10^308 or beyond, one that is too small at 10^-324 or below, so that
// only the sign of that power is needed.
inline bool is_tiny(const char* p, const char* end) noexcept {
    std::int64_t power = 0;
    bool seen_point = false, seen_digit = false;
    for (; p != end && (is_digit(*p) || *p == '.'); ++p) {
        if (*p == '.') {
            seen_point = true;
            continue;
        }
        seen_digit = seen_digit || *p != '0';
        if (seen_point && !seen_digit) --power;
        if (!seen_point && seen_digit) ++power;
    }
    std::int64_t exponent = 0;
    if (p != end && (*p == 'e' || *p == 'E')) {
        ++p;
        const bool negative = p != end && *p == '-';
        if (p != end && (*p == '-' || *p == '+')) ++p;
        constexpr std::int64_t far = std::int64_t{1} << 50U;
        for (; p != end && is_digit(*p); ++p) exponent = exponent < far ? exponent * 10 + (*p - '0') : far;
        if (negative) exponent = -exponent;
    }
    return power + exponent < 0;
}

// Adds the exponent whose e stands at p to the power and gives the place behind it; nullptr for one that is
// long or has no digits.
inline const char* take_exponent(const char* p, const char* last, std::int64_t& power) noexcept {
    ++p;
    const bool negative = p != last && *p == '-';
    if (negative || (p != last && *p == '+')) ++p;
    std::uint64_t exponent = 0;
    const char* const end = take_digits(p, last, exponent);
    constexpr std::ptrdiff_t most_digits = 4;
    if (end == p || end - p > most_digits) return nullptr;
    power += negative ? -static_cast<std::int64_t>(exponent) : static_cast<std::int64_t>(exponent);
    return end;
}

inline Number parse_long_number(const char* start, const char* unsigned_start, bool negative,
                                const char* last) noexcept {
    // from_chars would read a second minus sign.
    if (unsigned_start == last || *unsigned_start == '-') return {start, 0.0, NumberKind::not_a_number};
    double value = 0.0;
    const auto [end, error] = std::from_chars(unsigned_start, last, value);
    if (error == std::errc::invalid_argument) return {start, 0.0, NumberKind::not_a_number};
    const bool is_decimal = is_digit(*unsigned_start) || *unsigned_start == '.';
    if (error == std::errc::result_out_of_range || (is_decimal && std::isinf(value))) {
        if (!is_tiny(unsigned_start, end)) return {end, 0.0, NumberKind::too_large};
        value = 0.0;
    }
    return {end, negative ? -value : value, is_decimal ? NumberKind::finite : NumberKind::not_finite};
}

}  // namespace detail

// The number at the start of [start, last); what follows it is for the caller to judge.
inline Number parse_number(const char* start, const char* last) noexcept {
    const char* p = start;
    const bool negative = p != last && *p == '-';
    if (negative || (p != last && *p == '+')) ++p;
    const char* const unsigned_start = p;
    std::uint64_t digits = 0;
    // Most numbers with decimals have one digit before the point.
    if (last - p > 1 && is_digit(*p) && p[1] == '.')
        digits = static_cast<std::uint64_t>(*p++ - '0');
    else
        p = take_digits(p, last, digits);
    std::ptrdiff_t n_digits = p - unsigned_start;
    std::int64_t power = 0;
    if (p != last && *p == '.') {
        const char* const decimals = p + 1;
        p = take_digits(decimals, last, digits);
        power = decimals - p;
        n_digits += p - decimals;
    }
    constexpr std::uint64_t exact = std::uint64_t{1} << 53U;
    constexpr std::ptrdiff_t never_wraps = 19;
    if (p != last && (*p == 'e' || *p == 'E')) p = detail::take_exponent(p, last, power);
    if (p == nullptr || n_digits == 0 || n_digits > never_wraps || digits > exact || power < -22 ||
        power > 22)
        return detail::parse_long_number(start, unsigned_start, negative, last);
    const auto whole = static_cast<double>(digits);
    const double value = power < 0 ? whole / detail::powers_of_ten[static_cast<std::size_t>(-power)]
                                   : whole * detail::powers_of_ten[static_cast<std::size_t>(power)];
    return {p, negative ? -value : value, NumberKind::finite};
}

}  // namespace maxmargin::read
