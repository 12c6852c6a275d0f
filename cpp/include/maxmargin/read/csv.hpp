// Tables as text: one record a line, fields between separators.
//
//     field   = "anything, with "" for a quote" | text without separator and line break
//
// Blanks around a field do not count; blank lines are skipped, and so is what follows a comment character
// outside quotes, if there is one. A field is missing if it is empty, or one of the texts that the dialect
// names; where it names none, if it is not in quotes and one of NA, N/A, #N/A, <NA>, NaN, null and ?, in
// capital or small letters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "maxmargin/read/text.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin::read {

// How a text table is written.
struct CsvDialect {
    char separator = ',';
    char decimal = '.';
    char comment = '\n';  // from here on a line does not count; a line break, which ends it anyway: none
    std::optional<std::vector<std::string>> missing = {};  // in place of the usual signs
};

// next: where the following record starts. No fields: the text holds no further record.
struct CsvRecord {
    std::vector<std::string> fields;
    std::size_t next;
};

CsvRecord read_csv_record(std::string_view text, std::size_t start, const CsvDialect& dialect);

// What is wanted of a field, as one letter.
enum class FieldKind : char {
    skipped = '-',
    number = 'n',   // a finite number; anything else is an error
    guessed = 'g',  // a number; what is none is counted, and stands as a missing one
    text = 't',
    either = 'e',  // a column of numbers, or of text when at least one of its fields is not a number
};

struct CsvLayout {
    std::size_t start;               // of the first record, behind a header
    std::string kinds;               // a letter for each field
    std::vector<std::string> names;  // for the messages; empty without a header
    bool skip_bad_records = false;
};

// A column of kind text, or either.
struct LooseColumn {
    bool has_text = false;
    std::vector<double> numbers;      // without text; NaN where one is missing
    std::vector<std::int32_t> codes;  // with text: positions in texts, -1 where one is missing
    std::vector<std::string> texts;   // in the order of their first appearance
};

struct CsvTable {
    bool is_complete = false;  // false: told to stop
    std::size_t n_rows = 0;
    std::size_t n_columns = 0;            // of kind number and guessed
    std::vector<double> values;           // row after row; NaN where one is missing
    std::vector<std::int64_t> n_texts;    // of each column, fields that are there and are no finite numbers
    std::vector<std::int64_t> n_numbers;  // … and, where it is guessed, those that are
    std::vector<LooseColumn> loose;
    std::vector<std::int64_t> starts;  // where in the text each record starts
    std::int64_t n_skipped = 0;
    std::vector<ReadError> first_skipped;  // some of those that were left out
};

// Where the last record ends that is whole: behind its line break. What follows may go on behind the end of
// the text, such as a record whose quote is still open; 0 if that is so of the first.
std::size_t end_of_whole_records(std::string_view text, const CsvDialect& dialect);

// Throws ReadError.
CsvTable read_csv(std::string_view text, const CsvDialect& dialect, const CsvLayout& layout, StopToken& stop);

// The place of a field of the record at start; for messages about what was read.
Position position_of_field(std::string_view text, std::size_t start, const CsvDialect& dialect,
                           std::size_t field);

}  // namespace maxmargin::read
