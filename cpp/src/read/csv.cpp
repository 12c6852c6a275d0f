#include "maxmargin/read/csv.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "csv_cursor.hpp"
#include "maxmargin/read/number.hpp"

namespace maxmargin::read {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kKeptErrors = 5;

// Among numbers one that is infinite or too large.
struct UnusableNumber {
    std::string_view content;
};

// Texts numbered in the order of their first appearance.
class TextNumbers {
  public:
    std::int32_t operator()(const Field& field) {
        if (field.has_doubled_quotes) return number_of(field.text());
        return number_of(field.content);
    }

    std::vector<std::string> texts() const {
        std::vector<std::string> result(codes_.size());
        for (const auto& [text, code] : codes_) result[static_cast<std::size_t>(code)] = text;
        return result;
    }

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> codes_;

    std::int32_t number_of(std::string_view text) {
        const auto found = codes_.find(text);
        if (found != codes_.end()) return found->second;
        const auto next = static_cast<std::int32_t>(codes_.size());
        codes_.emplace(text, next);
        return next;
    }
};

// A column that is read field by field: text gets its number at once; what may be numbers or text is kept
// until it is known which.
class LooseReader {
  public:
    LooseReader(const CsvDialect& dialect, bool is_text) : dialect_(&dialect), is_text_(is_text) {}

    void take(const Field& field) {
        if (is_text_)
            codes_.push_back(code(field));
        else
            fields_.push_back(field);
    }

    void cut(std::size_t n_rows) { is_text_ ? codes_.resize(n_rows) : fields_.resize(n_rows); }

    LooseColumn finish() {
        if (!is_text_ && std::none_of(fields_.begin(), fields_.end(),
                                      [this](const Field& field) { return is_text(field); }))
            return {false, numbers(), {}, {}};
        for (const Field& field : fields_) codes_.push_back(code(field));
        return {true, {}, std::move(codes_), numbers_.texts()};
    }

  private:
    const CsvDialect* dialect_;
    bool is_text_;
    std::vector<Field> fields_;
    std::vector<std::int32_t> codes_;
    TextNumbers numbers_;

    std::int32_t code(const Field& field) { return field.is_missing(*dialect_) ? -1 : numbers_(field); }

    // Infinity, or a number too large, is no text: among numbers it is a mistake.
    bool is_text(const Field& field) const {
        return !field.is_missing(*dialect_) && field.number(*dialect_).kind == NumberKind::not_a_number;
    }

    std::vector<double> numbers() const {
        std::vector<double> result;
        result.reserve(fields_.size());
        for (const Field& field : fields_) {
            const Number number = field.number(*dialect_);
            const bool is_missing = field.is_missing(*dialect_);
            if (!is_missing && number.kind != NumberKind::finite) throw UnusableNumber{field.content};
            result.push_back(is_missing ? kMissing : number.value);
        }
        return result;
    }
};

class CsvReader {
  public:
    CsvReader(std::string_view text, const CsvDialect& dialect, const CsvLayout& layout, StopToken& stop)
        : text_(text), dialect_(dialect), layout_(layout), cursor_(text, layout.start, dialect), pace_(stop) {
        for (const char kind : layout.kinds) {
            const auto wanted = static_cast<FieldKind>(kind);
            if (wanted == FieldKind::number || wanted == FieldKind::guessed) ++table_.n_columns;
            if (wanted == FieldKind::text || wanted == FieldKind::either)
                loose_.emplace_back(dialect, wanted == FieldKind::text);
        }
        table_.n_texts.assign(table_.n_columns, 0);
        table_.n_numbers.assign(table_.n_columns, 0);
        const auto n_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
        // A field takes two bytes at least (its separator is one): a short text never reserves much.
        const std::size_t most_values = text.size() / 2 + 1;
        const bool fits = table_.n_columns == 0 || n_lines <= most_values / table_.n_columns;
        table_.values.reserve(fits ? n_lines * table_.n_columns : most_values);
    }

    CsvTable read() {
        while (cursor_.find_record()) {
            const std::size_t start = cursor_.offset();
            try {
                read_record();
                table_.starts.push_back(static_cast<std::int64_t>(start));
                for (const std::size_t column : text_columns_) ++table_.n_texts[column];
                for (const std::size_t column : gap_columns_) --table_.n_numbers[column];
            } catch (const BadField& error) {
                if (!layout_.skip_bad_records) throw;
                skip(start, error);
            }
            if (pace_.stop_after(static_cast<std::int64_t>(16 * layout_.kinds.size()))) return {};
        }
        table_.n_rows = table_.starts.size();
        for (std::int64_t& count : table_.n_numbers) count += static_cast<std::int64_t>(table_.n_rows);
        try {
            for (LooseReader& column : loose_) table_.loose.push_back(column.finish());
        } catch (const UnusableNumber& number) {
            cursor_.refuse_at(number.content.data(),
                              "expected a finite number, found " + quoted(number.content));
        }
        table_.is_complete = true;
        return std::move(table_);
    }

  private:
    std::string_view text_;
    const CsvDialect& dialect_;
    const CsvLayout& layout_;
    CsvCursor cursor_;
    Pace pace_;
    CsvTable table_;
    std::vector<LooseReader> loose_;
    std::vector<std::size_t> text_columns_;  // guessed columns in which this record has text
    std::vector<std::size_t> gap_columns_;   // … in which it has no number

    void read_record() {
        text_columns_.clear();
        gap_columns_.clear();
        std::size_t loose = 0;
        const std::size_t n_fields = layout_.kinds.size();
        for (std::size_t field = 0; field < n_fields; ++field) {
            switch (static_cast<FieldKind>(layout_.kinds[field])) {
                case FieldKind::number: read_number(field); break;
                case FieldKind::guessed: read_guessed(); break;
                case FieldKind::text:
                case FieldKind::either: loose_[loose++].take(cursor_.take_field()); break;
                default: cursor_.take_field();
            }
            const bool is_last = field + 1 == n_fields;
            if (cursor_.is_at_separator() == is_last) refuse_length(field + 1);
            cursor_.pass();
        }
    }

    void skip(std::size_t start, const BadField& error) {
        ++table_.n_skipped;
        if (table_.first_skipped.size() < kKeptErrors)
            table_.first_skipped.emplace_back(position_of(text_, error.offset), error.message);
        table_.values.resize(table_.starts.size() * table_.n_columns);
        for (LooseReader& column : loose_) column.cut(table_.starts.size());
        cursor_.pass_record(start);
    }

    void read_number(std::size_t field) {
        std::optional<double> value = cursor_.take_number();
        if (!value) {
            const Field found = cursor_.take_field();
            value = finite_or_missing(found);
            if (!value) refuse_number(found, field);
        }
        table_.values.push_back(*value);
    }

    void read_guessed() {
        std::optional<double> value = cursor_.take_number();
        if (!value) {
            value = finite_or_missing(cursor_.take_field());
            const std::size_t column = table_.values.size() - table_.starts.size() * table_.n_columns;
            if (!value) text_columns_.push_back(column);
            if (!value || std::isnan(*value)) gap_columns_.push_back(column);
        }
        table_.values.push_back(value.value_or(kMissing));
    }

    std::optional<double> finite_or_missing(const Field& field) const {
        if (field.is_missing(dialect_)) return kMissing;
        const Number number = field.number(dialect_);
        return number.kind == NumberKind::finite ? std::optional(number.value) : std::nullopt;
    }

    [[noreturn]] void refuse_number(const Field& found, std::size_t field) const {
        const NumberKind kind = found.number(dialect_).kind;
        const std::string wrong = " in " + name(field) + ", found " + quoted(found.content);
        const std::string expected = kind == NumberKind::too_large      ? "a number too large for a double"
                                     : kind == NumberKind::not_a_number ? "expected a number"
                                                                        : "expected a finite number";
        cursor_.refuse_at(found.content.data(), expected + wrong);
    }

    [[noreturn]] void refuse_length(std::size_t n_read) {
        const char* const place = cursor_.at();
        std::size_t n_found = n_read;
        for (; cursor_.is_at_separator(); ++n_found) {
            cursor_.pass();
            cursor_.take_field();
        }
        cursor_.refuse_at(place, "expected " + std::to_string(layout_.kinds.size()) + " fields, found " +
                                     std::to_string(n_found));
    }

    std::string name(std::size_t field) const {
        const std::string number = "field " + std::to_string(field + 1);
        return field < layout_.names.size() ? quoted(layout_.names[field]) + " (" + number + ")" : number;
    }
};

}  // namespace

CsvRecord read_csv_record(std::string_view text, std::size_t start, const CsvDialect& dialect) {
    CsvCursor cursor(text, start, dialect);
    CsvRecord record{{}, text.size()};
    if (!cursor.find_record()) return record;
    try {
        for (bool has_more = true; has_more; cursor.pass()) {
            record.fields.push_back(cursor.take_field().text());
            has_more = cursor.is_at_separator();
        }
    } catch (const BadField& error) {
        refuse(text, error.offset, error.message);
    }
    record.next = cursor.offset();
    return record;
}

std::size_t end_of_whole_records(std::string_view text, const CsvDialect& dialect) {
    CsvCursor cursor(text, 0, dialect);
    std::size_t end = 0;
    while (cursor.find_record()) {
        if (!cursor.pass_whole_record()) return end;
        end = cursor.offset();
    }
    return text.ends_with('\n') ? text.size() : end;
}

CsvTable read_csv(std::string_view text, const CsvDialect& dialect, const CsvLayout& layout,
                  StopToken& stop) {
    try {
        return CsvReader(text, dialect, layout, stop).read();
    } catch (const BadField& error) {
        refuse(text, error.offset, error.message);
    }
}

Position position_of_field(std::string_view text, std::size_t start, const CsvDialect& dialect,
                           std::size_t field) {
    CsvCursor cursor(text, start, dialect);
    cursor.find_record();
    for (; field != 0; --field) {
        cursor.take_field();
        cursor.pass();
    }
    return position_of(text, cursor.behind_blanks());
}

}  // namespace maxmargin::read
