// The CSV reader: what it accepts, where it says an error is, and that no bytes make it fail otherwise.

#include "check.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "maxmargin/read/csv.hpp"

using namespace maxmargin::read;

namespace {

DenseTable table_of(const std::string& text, std::size_t n_fields, std::size_t label_field,
                    char separator = ',') {
    return read_csv(text, {0, separator, n_fields, label_field, {}});
}

// "line:column: message", or "" when the text is read.
std::string error_of(const std::string& text, std::size_t n_fields, std::size_t label_field,
                     const std::vector<std::string>& names = {}) {
    try {
        read_csv(text, {0, ',', n_fields, label_field, names});
    } catch (const ReadError& error) {
        const Position at = error.position();
        return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + error.what();
    }
    return "";
}

}  // namespace

TEST("numbers, blanks, quotes, blank lines, line ends") {
    const DenseTable table = table_of("1, 2 ,\t-1\r\n\n  \n\"3\" ,4.5e0,\"2\"\n.5,+6,1", 3, 2);
    CHECK(table.n_rows == 3);
    CHECK(table.n_columns == 2);
    CHECK(table.values == std::vector<double>{1, 2, 3, 4.5, 0.5, 6});
    CHECK(!table.has_text_labels);
    CHECK(table.labels == std::vector<double>{-1, 2, 1});
}

TEST("a byte order mark is not part of the first number") {
    CHECK(table_of("\xEF\xBB\xBF"
                   "1,2\n",
                   2, 1)
              .values == std::vector<double>{1});
}

TEST("any separator, the label anywhere") {
    CHECK(table_of("7;1;2\n8;3;4\n", 3, 0, ';').values == std::vector<double>{1, 2, 3, 4});
    CHECK(table_of("1\t7\t2\n3\t8\t4\n", 3, 1, '\t').labels == std::vector<double>{7, 8});
}

TEST("labels are text as soon as one of them is") {
    const DenseTable table = table_of("1,7\n2,\"a, \"\"b\"\"\"\n3,7\n4, two words \n", 2, 1);
    CHECK(table.has_text_labels);
    CHECK(table.labels.empty());
    CHECK(table.label_names == std::vector<std::string>{"7", "a, \"b\"", "two words"});
    CHECK(table.label_codes == std::vector<std::int32_t>{0, 1, 0, 2});
}

TEST("records are split with quotes, line breaks inside them, and a byte order mark") {
    const std::string text = "\xEF\xBB\xBF\n\"a\nb\", c ,\"\"\"\",\nnext";
    const CsvRecord record = read_csv_record(text, 0, ',');
    CHECK(record.fields == std::vector<std::string>{"a\nb", "c", "\"", ""});
    CHECK(text.substr(record.next) == "next");
    CHECK(read_csv_record(text, text.size(), ',').fields.empty());
    CHECK(read_csv_record(text, text.size() + 9, ',').fields.empty());
    CHECK(read_csv_record(" \n", 0, ',').fields.empty());
}

TEST("every field that is no finite number is refused at its place") {
    CHECK(error_of("1,2,0\n3,abc,0", 3, 2) == "2:3: expected a number in field 2, found \"abc\"");
    CHECK(error_of("1,2x,0", 3, 2, {"a", "b", "c"}) ==
          "1:3: expected a number in \"b\" (field 2), found \"2x\"");
    CHECK(error_of("1,,0", 3, 2, {"a", "b", "c"}) == "1:3: \"b\" (field 2) is empty; a number is expected");
    CHECK(error_of("1, ,0", 3, 2) == "1:3: field 2 is empty; a number is expected");
    CHECK(error_of("1,\"\",0", 3, 2) == "1:3: field 2 is empty; a number is expected");
    CHECK(error_of("1,nan,0", 3, 2) == "1:3: expected a finite number in field 2, found \"nan\"");
    CHECK(error_of("1,-inf,0", 3, 2) == "1:3: expected a finite number in field 2, found \"-inf\"");
    CHECK(error_of("1,1e999,0", 3, 2) == "1:3: a number too large for a double in field 2, found \"1e999\"");
    CHECK(error_of("1,2,", 3, 2) == "1:5: field 3 is empty; a label is expected");
    CHECK(error_of("1,2,1\n1,2,nan", 3, 2) == "2:5: expected a finite number as label");
    CHECK(error_of("1,2,1\n1,2,1e999", 3, 2) == "2:5: expected a finite number as label");
    CHECK(error_of("1,2,nan\n1,2,a", 3, 2).empty());
}

TEST("ragged records and broken quotes are refused at their place") {
    CHECK(error_of("1,2,0\n3,4", 3, 2) == "2:4: expected 3 fields, found 2");
    CHECK(error_of("1,2,0\n3,4,0,5,6\n", 3, 2) == "2:6: expected 3 fields, found 5");
    CHECK(error_of("1,2,\"a", 3, 2) == "1:5: the quote that opens here is never closed");
    CHECK(error_of("1,2,\"a\"b\n", 3, 2) == "1:8: expected the separator after a closing quote");
}

TEST("no bytes make the reader do anything but read or refuse") {
    std::mt19937_64 random(3);
    const std::string likely = "0123456789,;.-+e\"\n\r\t xnaif";
    int n_read = 0, n_refused = 0;
    for (int i = 0; i < 40000; ++i) {
        std::string text = i % 2 == 0 ? "1,2,a\n3,4,b\n" : "";
        for (std::uint64_t n = random() % 16; n != 0; --n) {
            const char byte =
                i % 3 == 0 ? static_cast<char>(random() % 256) : likely[random() % likely.size()];
            text.insert(text.begin() + static_cast<std::ptrdiff_t>(random() % (text.size() + 1)), byte);
        }
        text.shrink_to_fit();  // so that a sanitizer sees a read beyond the end
        bool is_read = false;
        try {
            const CsvRecord record = read_csv_record(text, random() % 4, ',');
            is_read = record.fields.size() < 2 || error_of(text, record.fields.size(), 0).empty();
        } catch (const ReadError&) {
        }
        n_read += is_read ? 1 : 0;
        n_refused += is_read ? 0 : 1;
    }
    CHECK(n_read > 1000);
    CHECK(n_refused > 1000);
}
