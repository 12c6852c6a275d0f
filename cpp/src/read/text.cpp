#include "maxmargin/read/text.hpp"

#include <algorithm>

namespace maxmargin::read {

std::int64_t count_characters(std::string_view text) noexcept {
    return std::count_if(text.begin(), text.end(), [](char c) {
        const bool continues_a_character = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
        return !continues_a_character;
    });
}

Position position_of(std::string_view text, std::size_t offset) noexcept {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const std::size_t newline = before.rfind('\n');
    const std::size_t line_start =
        newline == std::string_view::npos ? length_of_byte_order_mark(before) : newline + 1;
    const std::string_view line = before.substr(line_start);
    return {1 + std::count(before.begin(), before.end(), '\n'), 1 + count_characters(line)};
}

std::string quoted(std::string_view token) {
    constexpr std::size_t longest = 40;
    constexpr std::string_view hex = "0123456789abcdef";
    std::string shown = "\"";
    for (const char c : token.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F)
            shown.append("\\x").append(1, hex[byte >> 4U]).append(1, hex[byte & 15U]);
        else
            shown.push_back(c);
    }
    return shown + (token.size() > longest ? "…\"" : "\"");
}

void refuse(std::string_view text, std::size_t offset, const std::string& message) {
    throw ReadError(position_of(text, offset), message);
}

std::size_t length_of_byte_order_mark(std::string_view text) noexcept {
    return text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

}  // namespace maxmargin::read
