// What every text reader shares: positions, and the error that carries one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace maxmargin::read {

// Both counted from 1; the column counts characters, not bytes, of UTF-8 text.
struct Position {
    std::int64_t line, column;
};

class ReadError : public std::runtime_error {
  public:
    ReadError(Position position, const std::string& message)
        : std::runtime_error(message), position_(position) {}
    Position position() const noexcept { return position_; }

  private:
    Position position_;
};

// How many characters the bytes of UTF-8 text are.
std::int64_t count_characters(std::string_view text) noexcept;

// Found only when there is an error to report, so that the readers need not count lines.
Position position_of(std::string_view text, std::size_t offset) noexcept;

// The token in double quotes, control characters spelt out, cut after 40 bytes.
std::string quoted(std::string_view token);

[[noreturn]] void refuse(std::string_view text, std::size_t offset, const std::string& message);

// 3 when the text opens with the byte order mark of UTF-8, else 0.
std::size_t length_of_byte_order_mark(std::string_view text) noexcept;

}  // namespace maxmargin::read
