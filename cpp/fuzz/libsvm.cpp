// libFuzzer on the LIBSVM reader: no bytes may make it crash, read beyond its part, overflow, or say
// something else when the text is cut into parts and parsed by two threads. What is read must be a table in
// order.
//
// A first line such as "#04s" says how to read: the base (0, 1, other: detected), a number of columns (a
// digit, other: none) and whether to skip bad lines (s). To the reader it is a comment.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../tests/libsvm_text.hpp"

using namespace maxmargin::read;

namespace {

void demand(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

LibsvmOptions options_of(std::string_view text) {
    LibsvmOptions options;
    if (text.size() < 4 || text[0] != '#') return options;
    if (text[1] == '0') options.base = IndexBase::zero;
    if (text[1] == '1') options.base = IndexBase::one;
    if (text[2] >= '0' && text[2] <= '9') options.n_columns = text[2] - '0';
    options.skip_bad_lines = text[3] == 's';
    return options;
}

// Everything that was found, in whole numbers; or the place and the text of the error.
struct Found {
    std::vector<std::int64_t> numbers;
    std::string message;
    bool operator==(const Found&) const = default;

    void add(Position position, const std::string& text) {
        numbers.push_back(position.line);
        numbers.push_back(position.column);
        message += text;
    }
};

template <class Index>
void check_order(const SparseTable<Index>& table) {
    const auto columns = to_vector(table.columns);
    const auto starts = to_vector(table.starts);
    demand(columns.size() == table.values.size, "a column for every value");
    demand(starts.size() == table.labels.size + 1, "a start for every row");
    demand(starts.front() == 0 && static_cast<std::size_t>(starts.back()) == columns.size(), "rows hold all");
    for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
        demand(starts[row] <= starts[row + 1], "rows follow each other");
        for (Index k = starts[row]; k < starts[row + 1]; ++k) {
            const auto column = columns[static_cast<std::size_t>(k)];
            demand(column >= 0 && column < table.n_columns, "columns are in the table");
            demand(k == starts[row] || columns[static_cast<std::size_t>(k) - 1] < column, "columns increase");
        }
    }
    for (const double value : to_vector(table.values)) demand(std::isfinite(value), "values are finite");
    for (const double label : to_vector(table.labels)) demand(std::isfinite(label), "labels are finite");
}

template <class Read>
Found found_by(Read read) {
    Found found;
    const auto add = [&found](const auto& values) {
        for (const auto value : values) found.numbers.push_back(static_cast<std::int64_t>(value));
    };
    const auto add_bits = [&found](const auto& values) {
        for (const double value : values) found.numbers.push_back(std::bit_cast<std::int64_t>(value));
    };
    try {
        const ReadText read_text = read();
        std::visit(
            [&](const auto& table) {
                check_order(table);
                add(to_vector(table.columns));
                add(to_vector(table.starts));
                add_bits(to_vector(table.values));
                add_bits(to_vector(table.labels));
                add(std::vector<std::int64_t>{table.n_columns, table.zero_based ? 1 : 0,
                                              static_cast<std::int64_t>(sizeof(table.columns.data[0]))});
            },
            read_text.table);
        found.numbers.push_back(read_text.n_bad_lines);
        if (const auto& bad = read_text.first_bad_line) found.add(bad->position, bad->message);
    } catch (const ReadError& error) {
        found.add(error.position(), error.what());
    }
    return found;
}

// Two parts at a time, each parsed and written to its place by a thread of its own.
ReadText read_on_two_threads(std::string_view text, const LibsvmOptions& options, std::size_t part_bytes) {
    LibsvmTable table(options);
    const auto parts = cut_into_parts(text, part_bytes);
    LibsvmPart first, second;
    const auto parse = [&](LibsvmPart& part, std::size_t k) {
        maxmargin::NeverStop never;
        part.parse({parts[k].data(), parts[k].size()}, options, never);
    };
    for (std::size_t k = 0; k + 1 < parts.size(); k += 2) {
        std::thread helper([&] { parse(second, k + 1); });
        parse(first, k);
        helper.join();
        const PartPlace place = table.reserve(first);
        std::thread writer([&] { table.fill(first, place); });
        try {
            table.fill(second, table.reserve(second));  // which may have to move what the other writes to
        } catch (...) {
            writer.join();
            throw;
        }
        writer.join();
    }
    if (parts.size() % 2 == 1) {
        parse(first, parts.size() - 1);
        table.fill(first, table.reserve(first));
    }
    return {table.finish(), table.n_bad_lines(), table.first_bad_line()};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const LibsvmOptions options = options_of(text);
    const Found whole = found_by([&] { return read_in_parts(text, options, size); });
    const std::size_t part_bytes = 1 + size % 23;
    demand(found_by([&] { return read_in_parts(text, options, part_bytes); }) == whole,
           "parts change nothing");
    if (size % 8 == 0)  // threads take a hundred times as long
        demand(found_by([&] { return read_on_two_threads(text, options, part_bytes); }) == whole,
               "threads change nothing");
    return 0;
}
