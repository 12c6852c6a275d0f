// CRC-32 as zip, gzip and PNG have it, at the speed of memory: for archives that are mapped, not read.
//
// Bytes are the coefficients of a polynomial over GF(2), and the CRC is its remainder modulo P, with bits
// counted from the highest power down ("reflected"). Remainders can be taken in any order: blocks are folded
// by carry-less products where the processor has them, and those of pieces read side by side are joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace maxmargin {

// The CRC of bytes that follow others with this CRC; 0 for none.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

// The same, a byte at a time from a table: for processors without carry-less products, and for tests.
std::uint32_t crc32_by_table(std::string_view bytes, std::uint32_t before = 0);

// The CRC of two pieces, the second of so many bytes.
std::uint32_t joined_crc32(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace maxmargin
