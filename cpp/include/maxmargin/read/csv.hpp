// Tables of numbers as text: one record a line, fields between separators, one of them the label.
//
//     field   = "anything, with "" for a quote" | text without separator and line break
//
// Blanks around a field do not count; blank lines are skipped. Features are finite numbers; labels are
// numbers, or text when at least one of them is not a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "maxmargin/read/text.hpp"

namespace maxmargin::read {

// next: where the following record starts. No fields: the text holds no further record.
struct CsvRecord {
    std::vector<std::string> fields;
    std::size_t next;
};

CsvRecord read_csv_record(std::string_view text, std::size_t start, char separator);

struct CsvLayout {
    std::size_t start;  // of the first record, behind a header
    char separator;
    std::size_t n_fields;
    std::size_t label_field;
    std::vector<std::string> names;  // for the messages; empty without a header
};

struct DenseTable {
    std::size_t n_rows = 0;
    std::size_t n_columns = 0;
    std::vector<double> values;  // row after row
    bool has_text_labels = false;
    std::vector<double> labels;             // without text
    std::vector<std::int32_t> label_codes;  // with text: positions in label_names
    std::vector<std::string> label_names;   // in the order of their first appearance
};

// Throws ReadError.
DenseTable read_csv(std::string_view text, const CsvLayout& layout);

}  // namespace maxmargin::read
