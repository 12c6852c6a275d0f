// A whole LIBSVM text read as the library reads it: in parts of whole lines, each of a certain length at
// least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maxmargin/read/libsvm_table.hpp"

namespace maxmargin::read {

struct ReadText {
    AnySparseTable table;
    std::int64_t n_bad_lines = 0;
    std::optional<LineError> first_bad_line;
};

// Whole lines, the last one with a newline if it has none. Every part is in memory of its own that ends with
// it (a string would go on with a zero), so that a sanitizer sees a read beyond its end.
inline std::vector<std::vector<char>> cut_into_parts(std::string_view text, std::size_t part_bytes) {
    text.remove_prefix(length_of_byte_order_mark(text));
    std::vector<std::vector<char>> parts;
    while (!text.empty()) {
        const std::size_t newline = text.find('\n', part_bytes < text.size() ? part_bytes : text.size() - 1);
        std::string lines(text.substr(0, newline == std::string_view::npos ? newline : newline + 1));
        text.remove_prefix(lines.size());
        if (lines.back() != '\n') lines.push_back('\n');
        parts.emplace_back(lines.begin(), lines.end());
    }
    return parts;
}

inline ReadText read_in_parts(std::string_view text, const LibsvmOptions& options, std::size_t part_bytes) {
    LibsvmTable table(options, text.size());
    LibsvmPart part;
    NeverStop never;
    for (const std::vector<char>& lines : cut_into_parts(text, part_bytes)) {
        part.parse({lines.data(), lines.size()}, options, never);
        table.fill(part, table.reserve(part));
    }
    return {table.finish(), table.n_bad_lines(), table.first_bad_line()};
}

template <class T>
std::vector<T> to_vector(const OwnedArray<T>& array) {
    return {array.data.get(), array.data.get() + array.size};
}

}  // namespace maxmargin::read
