#include "maxmargin/crc32.hpp"

#include <string>

#include "check.hpp"

using maxmargin::crc32;
using maxmargin::crc32_by_table;
using maxmargin::joined_crc32;

namespace {

std::string bytes_of(std::size_t n) {
    std::string bytes(n, '\0');
    std::uint32_t state = 12345;
    for (char& byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<char>(state >> 24);
    }
    return bytes;
}

}  // namespace

TEST("the CRC of nothing is zero, that of 123456789 the published one") {
    CHECK(crc32("") == 0);
    CHECK(crc32("123456789") == 0xcbf43926);
    CHECK(crc32_by_table("123456789") == 0xcbf43926);
}

TEST("products and the table agree for every length and alignment") {
    const std::string bytes = bytes_of(700);
    for (std::size_t first = 0; first < 17; ++first) {
        for (std::size_t n = 0; n <= 600; ++n) {
            const std::string_view piece(bytes.data() + first, n);
            CHECK(crc32(piece) == crc32_by_table(piece));
            CHECK(crc32(piece, 77) == crc32_by_table(piece, 77));
        }
    }
}

TEST("the CRC of pieces can be joined, one after the other or afterwards") {
    const std::string bytes = bytes_of(5000);
    const std::uint32_t whole = crc32(bytes);
    for (const std::size_t cut : {0, 1, 63, 64, 1000, 4999, 5000}) {
        const std::string_view first(bytes.data(), cut), second(bytes.data() + cut, bytes.size() - cut);
        CHECK(crc32(second, crc32(first)) == whole);
        CHECK(joined_crc32(crc32(first), crc32(second), second.size()) == whole);
    }
}

TEST("pieces longer than any memory are joined without overflow") {
    // Zeros behind a piece: twice 2^62 of them are 2^63 of them.
    const std::uint32_t half = joined_crc32(joined_crc32(1, 0, 1ull << 62), 0, 1ull << 62);
    CHECK(half == joined_crc32(1, 0, 1ull << 63));
}
