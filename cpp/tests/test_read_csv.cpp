// The CSV reader: what it accepts, where it says an error is, and that no bytes make it fail otherwise.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "maxmargin/read/csv.hpp"

using namespace maxmargin::read;

namespace {

CsvTable table_of(const std::string& text, const std::string& kinds, char separator = ',',
                  bool skip = false) {
    maxmargin::NeverStop never;
    return read_csv(text, {separator}, {0, kinds, {}, skip}, never);
}

std::string described(const ReadError& error) {
    const Position at = error.position();
    return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + error.what();
}

// "line:column: message", or "" when the text is read.
std::string error_of(const std::string& text, const std::string& kinds,
                     const std::vector<std::string>& names = {}) {
    maxmargin::NeverStop never;
    try {
        read_csv(text, {}, {0, kinds, names, false}, never);
    } catch (const ReadError& error) {
        return described(error);
    }
    return "";
}

struct AlwaysStop final : maxmargin::StopToken {
    bool poll() noexcept override { return true; }
};

}  // namespace

TEST("numbers, blanks, quotes, blank lines, line ends") {
    const CsvTable table = table_of("1, 2 ,\t-1\r\n\n  \n\"3\" ,4.5e0,\"2\"\n.5,+6,1", "nge");
    CHECK(table.is_complete);
    CHECK(table.n_rows == 3);
    CHECK(table.n_columns == 2);
    CHECK(table.values == std::vector<double>{1, 2, 3, 4.5, 0.5, 6});
    CHECK(!table.loose[0].has_text);
    CHECK(table.loose[0].numbers == std::vector<double>{-1, 2, 1});
    CHECK(table.starts == std::vector<std::int64_t>{0, 15, 30});
}

TEST("a byte order mark is not part of the first number") {
    CHECK(table_of("\xEF\xBB\xBF"
                   "1,2\n",
                   "nn")
              .values == std::vector<double>{1, 2});
}

TEST("any separator, any field left out") {
    CHECK(table_of("7;1;2\n8;3;4\n", "-nn", ';').values == std::vector<double>{1, 2, 3, 4});
    CHECK(table_of("1\t7\t2\n3\t8\t4\n", "nen", '\t').loose[0].numbers == std::vector<double>{7, 8});
    CHECK(table_of("1,anything \"at\" all\n", "n-").values == std::vector<double>{1});
}

TEST("a column of kind either is text as soon as one of its fields is") {
    const CsvTable table = table_of("1,7\n2,\"a, \"\"b\"\"\"\n3,7\n4, two words \n5,inf\n6,", "ne");
    CHECK(table.loose[0].has_text);
    CHECK(table.loose[0].numbers.empty());
    CHECK(table.loose[0].texts == std::vector<std::string>{"7", "a, \"b\"", "two words", "inf"});
    CHECK(table.loose[0].codes == std::vector<std::int32_t>{0, 1, 0, 2, 3, -1});
    CHECK(table_of("7\n8", "t").loose[0].texts == std::vector<std::string>{"7", "8"});
}

TEST("signs of missing values, unless they are in quotes") {
    const CsvTable numbers = table_of("1\nNA\nnan\n?\n\"\"\n#N/A\n<na>\nNull\nn/a\n-2", "g");
    CHECK(numbers.n_rows == 10);
    CHECK(numbers.n_texts[0] == 0);
    for (std::size_t row = 0; row < 10; ++row)
        CHECK(std::isnan(numbers.values[row]) == (row != 0 && row != 9));
    const CsvTable texts = table_of("1,\"NA\"\n2,NA\n3,none\n4,\"?\"\n5,nano\n", "nt");
    CHECK(texts.loose[0].texts == std::vector<std::string>{"NA", "none", "?", "nano"});
    CHECK(texts.loose[0].codes == std::vector<std::int32_t>{0, -1, 1, 2, 3});
}

TEST("texts in a guessed column are counted") {
    const CsvTable table = table_of("1,2\nx,3\n4,inf\ny,\"NA\"\n,1e999\n", "gg");
    CHECK(table.n_texts == std::vector<std::int64_t>{2, 3});
    CHECK(table.values[0] == 1);
    CHECK(std::isnan(table.values[2]));
    CHECK(table.values[3] == 3);
}

TEST("records are split with quotes, line breaks inside them, and a byte order mark") {
    const std::string text = "\xEF\xBB\xBF\n\"a\nb\", c ,\"\"\"\",\nnext";
    const CsvRecord record = read_csv_record(text, 0, {});
    CHECK(record.fields == std::vector<std::string>{"a\nb", "c", "\"", ""});
    CHECK(text.substr(record.next) == "next");
    CHECK(read_csv_record(text, text.size(), {}).fields.empty());
    CHECK(read_csv_record(text, text.size() + 9, {}).fields.empty());
    CHECK(read_csv_record(" \n", 0, {}).fields.empty());
}

TEST("every field that is no finite number is refused at its place") {
    CHECK(error_of("1,2,0\n3,abc,0", "nne") == "2:3: expected a number in field 2, found \"abc\"");
    CHECK(error_of("1,2x,0", "nne", {"a", "b", "c"}) ==
          "1:3: expected a number in \"b\" (field 2), found \"2x\"");
    CHECK(error_of("1,-inf,0", "nne") == "1:3: expected a finite number in field 2, found \"-inf\"");
    CHECK(error_of("1,1e999,0", "nne") == "1:3: a number too large for a double in field 2, found \"1e999\"");
    CHECK(error_of("1,2,1\n1,2,inf", "nne") == "2:5: expected a finite number, found \"inf\"");
    CHECK(error_of("1,2,1\n1,2,1e999", "nne") == "2:5: expected a finite number, found \"1e999\"");
}

TEST("ragged records and broken quotes are refused at their place") {
    CHECK(error_of("1,2,0\n3,4", "nne") == "2:4: expected 3 fields, found 2");
    CHECK(error_of("1,2,0\n3,4,0,5,6\n", "nne") == "2:6: expected 3 fields, found 5");
    CHECK(error_of("1,2,\"a", "nne") == "1:5: the quote that opens here is never closed");
    CHECK(error_of("1,2,\"a\"b\n", "nne") == "1:8: expected the separator after a closing quote");
}

TEST("bad records are left out whole, and counted") {
    const std::string text = "1,a,2\n3,b\n4,\"c\"c,5\n6,d,x\n7,\"e\n\",8\n9,\"f,1\n2,g,3\n";
    const CsvTable table = table_of(text, "ntn", ',', true);
    CHECK(table.values == std::vector<double>{1, 2, 7, 8, 2, 3});
    CHECK(table.loose[0].codes.size() == 3);
    CHECK(table.loose[0].texts[static_cast<std::size_t>(table.loose[0].codes[1])] == "e\n");
    CHECK(table.starts.size() == 3);
    CHECK(table.n_skipped == 4);
    CHECK(table.first_skipped.size() == 4);
    CHECK(described(table.first_skipped[0]) == "2:4: expected 3 fields, found 2");
    CHECK(described(table.first_skipped[1]) == "3:6: expected the separator after a closing quote");
    CHECK(described(table.first_skipped[2]) == "4:5: expected a number in field 3, found \"x\"");
    CHECK(described(table.first_skipped[3]) == "7:3: the quote that opens here is never closed");
    std::string many;
    for (int i = 0; i < 100; ++i) many += "1\n";
    const CsvTable none = table_of(many, "nn", ',', true);
    CHECK(none.n_rows == 0);
    CHECK(none.n_skipped == 100);
    CHECK(none.first_skipped.size() == 5);
}

TEST("text in a record that is left out counts for nothing") {
    const CsvTable table = table_of("1,2\nx,y,z\n3,4\n", "ge", ',', true);
    CHECK(table.n_texts[0] == 0);
    CHECK(!table.loose[0].has_text);
}

TEST("the place of a field") {
    const std::string text = "1,\"a\nb\", c\n";
    CHECK(position_of_field(text, 0, {}, 0).column == 1);
    CHECK(position_of_field(text, 0, {}, 1).line == 1);
    CHECK(position_of_field(text, 0, {}, 2).line == 2);
    CHECK(position_of_field(text, 0, {}, 2).column == 5);
}

TEST("reading ends when it is told to") {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "1,2\n";
    AlwaysStop stop;
    CHECK(!read_csv(text, {}, {0, "nn", {}, false}, stop).is_complete);
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
            const CsvRecord record = read_csv_record(text, random() % 4, {});
            std::string kinds;
            for (std::size_t field = 0; field < record.fields.size(); ++field)
                kinds += "enngt-"[random() % 6];
            is_read = kinds.empty() || error_of(text, kinds).empty();
            if (!kinds.empty() && kinds.find('e') == std::string::npos) {
                const CsvTable table = table_of(text, kinds, ',', true);
                CHECK(table.values.size() == table.n_rows * table.n_columns);
                for (const LooseColumn& column : table.loose) CHECK(column.codes.size() == table.n_rows);
            }
        } catch (const ReadError&) {
        }
        n_read += is_read ? 1 : 0;
        n_refused += is_read ? 0 : 1;
    }
    CHECK(n_read > 1000);
    CHECK(n_refused > 1000);
}

TEST("whole records end behind a line break outside quotes") {
    CHECK(end_of_whole_records("", {}) == 0);
    CHECK(end_of_whole_records("1,2", {}) == 0);
    CHECK(end_of_whole_records("1,2\n", {}) == 4);
    CHECK(end_of_whole_records("1,2\n3,", {}) == 4);
    CHECK(end_of_whole_records("1,2\n\n  \n", {}) == 8);
    CHECK(end_of_whole_records("1,2\n  ", {}) == 4);
    CHECK(end_of_whole_records("1,\"a\nb\"\n2,\"c\n", {}) == 8);
    CHECK(end_of_whole_records("1,\"a\"\"\n", {}) == 0);
    // A quote inside a field opens nothing, and broken quotes end with their line.
    CHECK(end_of_whole_records("1,5\"\n2,", {}) == 5);
    CHECK(end_of_whole_records("\"a\"b,1\n2,", {}) == 7);
    CHECK(end_of_whole_records("1;\"a,\n", {';'}) == 0);
}

TEST("a text cut into whole records anywhere has the rows of the whole") {
    std::mt19937 random(7);
    const std::string letters = "1,\"\n a";
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (int k = 0; k < 40; ++k) text.push_back(letters[random() % letters.size()]);
        const std::size_t cut = random() % text.size();
        const std::size_t end = end_of_whole_records(std::string_view(text).substr(0, cut), {});
        CHECK(end <= cut);
        const CsvTable whole = table_of(text, "ge", ',', true);
        const CsvTable first = table_of(text.substr(0, end), "gt", ',', true);
        const CsvTable second = table_of(text.substr(end), "gt", ',', true);
        CHECK(whole.n_rows == first.n_rows + second.n_rows);
        CHECK(whole.n_skipped == first.n_skipped + second.n_skipped);
    }
}

TEST("decimal commas, comments and signs of missing values of one's own") {
    maxmargin::NeverStop never;
    const CsvDialect dialect{';', ',', '#', std::vector<std::string>{"-999", "x"}};
    const std::string text = "# 1;2\n1,5;a # b\n-999;\"x\"\n#\"\n\"-,25e1\";NA#;7\n# the end";
    const CsvTable table = read_csv(text, dialect, {0, "nt", {}, false}, never);
    CHECK(table.n_rows == 3);
    CHECK(table.values[0] == 1.5 && std::isnan(table.values[1]) && table.values[2] == -2.5);
    CHECK(table.loose[0].texts == std::vector<std::string>{"a", "NA"});
    CHECK(table.loose[0].codes == std::vector<std::int32_t>{0, -1, 1});
    CHECK(read_csv_record(text, 0, dialect).fields == std::vector<std::string>{"1,5", "a"});
    CHECK(position_of_field(text, 0, dialect, 1).line == 2);
    CHECK(end_of_whole_records(text, dialect) == text.rfind('#'));
    for (const std::string bad : {"1.5;a", "1,5,5;a", "1,;a;b", "x1;a"}) {
        bool is_refused = false;
        try {
            read_csv(bad, dialect, {0, "nt", {}, false}, never);
        } catch (const ReadError& error) {
            is_refused = error.position().line == 1;
        }
        CHECK(is_refused);
    }
}
