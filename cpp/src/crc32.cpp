#include "maxmargin/crc32.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace maxmargin {

namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320;  // without x^32; bit 31 is the coefficient of x^0
constexpr std::uint32_t kOne = 0x80000000;         // the polynomial 1

constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
    std::uint32_t product = 0;
    for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
        if ((a & bit) != 0) product ^= b;
        b = times_x(b);
    }
    return product;
}

// x^n mod P.
constexpr std::uint32_t power_of_x(std::uint64_t n) {
    std::uint32_t power = kOne;
    for (std::uint32_t square = kOne >> 1; n != 0; n >>= 1, square = times(square, square)) {
        if ((n & 1) != 0) power = times(power, square);
    }
    return power;
}

// kTables[k][b]: what the byte b leaves when k more bytes follow it.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t left = byte;
        for (int bit = 0; bit < 8; ++bit) left = times_x(left);
        tables[0][byte] = left;
    }
    for (std::size_t k = 1; k < tables.size(); ++k) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t left = tables[k - 1][byte];
            tables[k][byte] = (left >> 8) ^ tables[0][left & 255];
        }
    }
    return tables;
}

constexpr Tables kTables = make_tables();

// `state` is the remainder itself; a CRC is its complement, so that leading zeros count.
std::uint32_t advance_by_table(std::uint32_t state, const unsigned char* at, std::size_t n) {
    for (; n >= 8; at += 8, n -= 8) {
        std::uint32_t left = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            left ^= kTables[7 - k][(at[k] ^ (state >> (8 * k))) & 255];
            left ^= kTables[3 - k][at[4 + k]];
        }
        state = left;
    }
    for (; n != 0; ++at, --n) state = (state >> 8) ^ kTables[0][(state ^ *at) & 255];
    return state;
}

#if defined(__x86_64__)

constexpr std::size_t kLanes = 4;  // products in flight: enough to hide their latency
constexpr std::size_t kLaneBytes = 16;

// Moves a lane forward by so many bits: its two halves times x^bits, up to the shift by one that a product
// of reflected numbers has.
__m128i factors(std::uint32_t low, std::uint32_t high) {
    return _mm_set_epi64x(static_cast<long long>(std::uint64_t{high} << 1),
                          static_cast<long long>(std::uint64_t{low} << 1));
}

__attribute__((target("pclmul"))) __m128i moved(__m128i lane, __m128i by) {
    return _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11));
}

__attribute__((target("pclmul"))) std::uint32_t advance_by_products(std::uint32_t state,
                                                                    const unsigned char* at, std::size_t n) {
    constexpr std::size_t kStep = kLanes * kLaneBytes;
    if (n < 2 * kStep) return advance_by_table(state, at, n);
    constexpr std::uint32_t kFarLow = power_of_x(8 * kStep + 32), kFarHigh = power_of_x(8 * kStep - 32);
    constexpr std::uint32_t kNearLow = power_of_x(8 * kLaneBytes + 32);
    constexpr std::uint32_t kNearHigh = power_of_x(8 * kLaneBytes - 32);
    const auto load = [](const unsigned char* from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    };
    __m128i a = _mm_xor_si128(load(at), _mm_cvtsi32_si128(static_cast<int>(state)));
    __m128i b = load(at + 16), c = load(at + 32), d = load(at + 48);
    const __m128i far = factors(kFarLow, kFarHigh);
    for (at += kStep, n -= kStep; n >= kStep; at += kStep, n -= kStep) {
        a = _mm_xor_si128(moved(a, far), load(at));
        b = _mm_xor_si128(moved(b, far), load(at + 16));
        c = _mm_xor_si128(moved(c, far), load(at + 32));
        d = _mm_xor_si128(moved(d, far), load(at + 48));
    }
    const __m128i near = factors(kNearLow, kNearHigh);
    b = _mm_xor_si128(moved(a, near), b);
    c = _mm_xor_si128(moved(b, near), c);
    d = _mm_xor_si128(moved(c, near), d);
    unsigned char last[kLaneBytes];  // congruent to everything so far
    std::memcpy(last, &d, kLaneBytes);
    return advance_by_table(advance_by_table(0, last, kLaneBytes), at, n);
}

#endif

std::uint32_t advance(std::uint32_t state, const unsigned char* at, std::size_t n) {
#if defined(__x86_64__)
    static const bool has_products = __builtin_cpu_supports("pclmul") != 0;
    if (has_products) return advance_by_products(state, at, n);
#endif
    return advance_by_table(state, at, n);
}

const unsigned char* start_of(std::string_view bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
    return ~advance(~before, start_of(bytes), bytes.size());
}

std::uint32_t crc32_by_table(std::string_view bytes, std::uint32_t before) {
    return ~advance_by_table(~before, start_of(bytes), bytes.size());
}

std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
    // The complements at both ends cancel; modulo P the powers of x repeat after 2^32 − 1, so the product
    // by eight must not wrap around before that.
    constexpr std::uint64_t kPeriod = 0xffffffff;
    return times(power_of_x(8 * (second_bytes % kPeriod)), first) ^ second;
}

}  // namespace maxmargin
