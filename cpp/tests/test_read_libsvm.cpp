// The LIBSVM reader: what it accepts, where it says an error is, and that no bytes make it fail otherwise.

#include "check.hpp"

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "libsvm_text.hpp"

using namespace maxmargin::read;

namespace {

constexpr std::size_t all_at_once = std::size_t{1} << 30U;

using Narrow = SparseTable<std::int32_t>;
using Wide = SparseTable<std::int64_t>;

AnySparseTable read_text(const std::string& text, const LibsvmOptions& options = {}) {
    return std::move(read_in_parts(text, options, all_at_once).table);
}

Narrow narrow(const std::string& text, const LibsvmOptions& options = {}) {
    return std::get<Narrow>(read_text(text, options));
}

std::vector<std::int32_t> columns(const std::string& text, const LibsvmOptions& options = {}) {
    return to_vector(narrow(text, options).columns);
}

std::string told(Position at, const std::string& message) {
    return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + message;
}

// "line:column: message", or "" when the text is read.
std::string error_of(const std::string& text, const LibsvmOptions& options = {}) {
    try {
        read_text(text, options);
    } catch (const ReadError& error) {
        return told(error.position(), error.what());
    }
    return "";
}

}  // namespace

TEST("rows, blanks, comments, blank lines, line ends") {
    const Narrow table = narrow("\xEF\xBB\xBF# a comment\n"
                                "+1 1:2 3:0.5\r\n"
                                "\n"
                                " \t\r\n"
                                "-1  2:-1e3 \t # 9:9\n"
                                "0#1:1\n"
                                "2.5 1:1#x");
    CHECK(to_vector(table.labels) == std::vector<double>{1, -1, 0, 2.5});
    CHECK(to_vector(table.values) == std::vector<double>{2, 0.5, -1000, 1});
    CHECK(to_vector(table.columns) == std::vector<std::int32_t>{0, 2, 1, 0});
    CHECK(to_vector(table.starts) == std::vector<std::int32_t>{0, 2, 3, 3, 4});
    CHECK(table.n_columns == 3);
    CHECK(!table.zero_based);
}

TEST("no text, no rows") {
    for (const char* text : {"", "\n\n", "# only this", " "}) {
        const Narrow table = narrow(text);
        CHECK(table.labels.size == 0);
        CHECK(to_vector(table.starts) == std::vector<std::int32_t>{0});
        CHECK(table.n_columns == 0);
    }
}

TEST("columns count from zero or one") {
    CHECK(narrow("1 0:1 4:1").zero_based);
    CHECK(columns("1 0:1 4:1") == std::vector<std::int32_t>{0, 4});
    CHECK(columns("1 1:1 4:1") == std::vector<std::int32_t>{0, 3});
    CHECK(columns("1 1:1 4:1", {IndexBase::zero, {}}) == std::vector<std::int32_t>{1, 4});
    CHECK(columns("1 1:1\n1 0:1") == std::vector<std::int32_t>{1, 0});
    CHECK(error_of("1 1:1\n1 0:1", {IndexBase::one, {}}) ==
          "2:3: index 0, although columns are said to count from 1");
}

TEST("the width is the largest column or what is asked for") {
    CHECK(narrow("1 3:1", {IndexBase::detect, 9}).n_columns == 9);
    CHECK(narrow("1 3:1", {IndexBase::detect, 3}).n_columns == 3);
    CHECK(error_of("1 3:1\n1 1:1 4:1", {IndexBase::detect, 3}) ==
          "2:7: index 4 is beyond the 3 columns expected");
    CHECK(error_of("1 3:1\n1 0:1", {IndexBase::detect, 3}) ==
          "1:3: index 3 is beyond the 3 columns expected, which count from 0, because some index is 0");
}

TEST("indices beyond 32 bits make wide tables") {
    const AnySparseTable wide = read_text("1 1:1 2147483648:2", {});
    CHECK(to_vector(std::get<Wide>(wide).columns) == std::vector<std::int64_t>{0, 2147483647});
    CHECK(std::get<Wide>(wide).n_columns == 2147483648);
    CHECK(std::holds_alternative<Wide>(read_text("1 1:1", {IndexBase::detect, std::int64_t{1} << 40})));
    CHECK(std::holds_alternative<Narrow>(read_text("1 2147483647:1", {})));
}

TEST("every malformed pair is refused at its place") {
    CHECK(error_of("1 1:1\n1 2:2 3:x") == "2:7: expected index:value, found \"3:x\"");
    for (const char* pair :
         {"3:", ":3", "3", "3:1:2", "3:1x", "x:1", "-3:1", "+3:1", "1.5:1", "3:+-1", "3:.", "3:1e"})
        CHECK(error_of(std::string("1 ") + pair) ==
              "1:3: expected index:value, found \"" + std::string(pair) + "\"");
    CHECK(error_of("1 3: 4") == "1:3: expected index:value, found \"3:\"");
    CHECK(error_of("1 qid:7 1:1") == "1:3: ranking data (qid) are not supported, found \"qid:7\"");
    CHECK(error_of("1 3:nan") == "1:3: expected a finite value, found \"3:nan\"");
    CHECK(error_of("1 3:-inf 4:1") == "1:3: expected a finite value, found \"3:-inf\"");
    CHECK(error_of("1 3:1e999") == "1:3: the value is too large for a double, found \"3:1e999\"");
    CHECK(error_of("1 9999999999999999999:1") ==
          "1:3: the index is too large, found \"9999999999999999999:1\"");
    CHECK(error_of("1 2:1 2:1") == "1:7: the indices of a row must increase; found 2 after 2");
    CHECK(error_of("1 5:1 3:1") == "1:7: the indices of a row must increase; found 3 after 5");
}

TEST("every malformed label is refused at its place") {
    CHECK(error_of("1:1 2:1") == "1:1: expected a number as label, found \"1:1\"");
    CHECK(error_of("\n  spam 2:1") == "2:3: expected a number as label, found \"spam\"");
    CHECK(error_of("1,3 2:1") == "1:1: expected one label, several are not supported, found \"1,3\"");
    CHECK(error_of("nan 2:1") == "1:1: expected a finite label, found \"nan\"");
    CHECK(error_of("1e999 2:1") == "1:1: the label is too large for a double, found \"1e999\"");
}

TEST("columns of errors count characters, and long or odd tokens are shown safely") {
    CHECK(error_of("\xEF\xBB\xBF"
                   "1 x") == "1:3: expected index:value, found \"x\"");
    CHECK(error_of("1 \xC3\xA9") == "1:3: expected index:value, found \"\xC3\xA9\"");
    CHECK(error_of("1 1:1 \xC3\xA9:1") == "1:7: expected index:value, found \"\xC3\xA9:1\"");
    CHECK(error_of(std::string("1 \x00\x7f", 4)) == "1:3: expected index:value, found \"\\x00\\x7f\"");
    CHECK(error_of("1 " + std::string(99, 'x')) ==
          "1:3: expected index:value, found \"" + std::string(40, 'x') + "…\"");
}

namespace {

// All that is known after reading, as text, or the error.
std::string outcome(const std::string& text, const LibsvmOptions& options, std::size_t part_bytes) {
    std::string found;
    const auto add = [&found](const char* name, const auto& values) {
        found += name;
        for (const auto value : values)
            found.append(" ").append(std::to_string(std::bit_cast<std::int64_t>(value)));
    };
    try {
        const ReadText read = read_in_parts(text, options, part_bytes);
        std::visit(
            [&](const auto& table) {
                add("labels", to_vector(table.labels));
                add("values", to_vector(table.values));
                const auto columns = to_vector(table.columns);
                const auto starts = to_vector(table.starts);
                add("columns", std::vector<std::int64_t>(columns.begin(), columns.end()));
                add("starts", std::vector<std::int64_t>(starts.begin(), starts.end()));
                found.append(" width ").append(std::to_string(table.n_columns));
                found.append(table.zero_based ? " from 0" : " from 1");
            },
            read.table);
        found.append(" bad lines ").append(std::to_string(read.n_bad_lines));
        if (read.first_bad_line)
            found.append(" first ").append(told(read.first_bad_line->position, read.first_bad_line->message));
    } catch (const ReadError& error) {
        found = told(error.position(), error.what());
    }
    return found;
}

}  // namespace

TEST("bad lines are skipped with all they hold, and the first is told") {
    const LibsvmOptions options{IndexBase::detect, {}, true};
    const ReadText read = read_in_parts("1 1:1\n1 0:1 7:x\n\n2 2:2\nspam\n3 3:3", options, all_at_once);
    const auto& table = std::get<Narrow>(read.table);
    CHECK(to_vector(table.labels) == std::vector<double>{1, 2, 3});
    CHECK(to_vector(table.columns) == std::vector<std::int32_t>{0, 1, 2});
    CHECK(!table.zero_based);
    CHECK(read.n_bad_lines == 2);
    CHECK(read.first_bad_line->position.line == 2);
    CHECK(read.first_bad_line->position.column == 7);
    CHECK(read.first_bad_line->message == "expected index:value, found \"7:x\"");
}

TEST("a token that says stop ends a long part") {
    class StopAtOnce final : public maxmargin::StopToken {
      public:
        bool poll() noexcept override { return true; }
    };
    StopAtOnce token;
    LibsvmPart part;
    std::string one_line = "1", many_lines;
    for (int i = 1; i < 200000; ++i) one_line.append(" ").append(std::to_string(i)).append(":1");
    for (int i = 1; i < 400000; ++i) many_lines += "1\n22\n";
    CHECK(!part.parse(one_line + "\n", {}, token));
    CHECK(!part.parse(many_lines, {}, token));
    maxmargin::NeverStop never;
    CHECK(part.parse(one_line + "\n", {}, never));
    CHECK(part.summary().n_values == 199999);
}

TEST("parts are written to their places side by side, while the table moves") {
    std::vector<LibsvmPart> parts(64);
    maxmargin::NeverStop never;
    LibsvmTable table({});
    std::vector<std::thread> writers;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        std::string text;
        for (std::size_t row = 0; row < 40 * (k + 1); ++row)
            text.append(std::to_string(k)).append(" ").append(std::to_string(row + 1)).append(":1\n");
        if (k == 50) text += "1 3000000000:1\n";
        parts[k].parse(text, {}, never);
        const PartPlace place = table.reserve(parts[k]);
        writers.emplace_back([&table, &part = parts[k], place] { table.fill(part, place); });
    }
    for (std::thread& writer : writers) writer.join();
    const auto any = table.finish();
    const auto& found = std::get<Wide>(any);
    const auto columns = to_vector(found.columns);
    const auto starts = to_vector(found.starts);
    std::size_t at = 0;
    bool is_right = columns.size() == 40 * 64 * 65 / 2 + 1;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        for (std::size_t row = 0; row < 40 * (k + 1); ++row, ++at)
            is_right = is_right && columns[at] == static_cast<std::int64_t>(row) &&
                       starts[at] == static_cast<std::int64_t>(at) &&
                       found.labels.data[at] == static_cast<double>(k) && found.values.data[at] == 1.0;
        if (k == 50) is_right = is_right && columns[at++] == 2999999999;
    }
    CHECK(is_right);
}

TEST("no bytes make the reader do anything but read or refuse, in parts of any length alike") {
    std::mt19937_64 random(2);
    const std::string likely = "0123456789:.-+e #\n\r\t,xnaif";
    int n_read = 0, n_refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text = i % 2 == 0 ? "1 1:2 2:3\n-1 5:0.5\n1 0:1 3000000000:1" : "";
        for (std::uint64_t n = random() % 24; n != 0; --n) {
            const char byte =
                i % 3 == 0 ? static_cast<char>(random() % 256) : likely[random() % likely.size()];
            text.insert(text.begin() + static_cast<std::ptrdiff_t>(random() % (text.size() + 1)), byte);
        }
        LibsvmOptions options{static_cast<IndexBase>(random() % 3), {}, random() % 4 == 0};
        if (random() % 2 == 0) options.n_columns = static_cast<std::int64_t>(random() % 8);
        const std::string whole = outcome(text, options, all_at_once);
        CHECK(outcome(text, options, 1) == whole);
        CHECK(outcome(text, options, 9) == whole);
        const bool is_read = whole.starts_with("labels");
        n_read += is_read ? 1 : 0;
        n_refused += is_read ? 0 : 1;
    }
    CHECK(n_read > 1000);
    CHECK(n_refused > 1000);
}
