#include "maxmargin/read/csv.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "maxmargin/read/number.hpp"

namespace maxmargin::read {
namespace {

struct Field {
    std::string_view content;  // without blanks and quotes around it
    bool has_doubled_quotes;

    std::string text() const {
        std::string result;
        for (std::size_t i = 0; i < content.size(); ++i) {
            result.push_back(content[i]);
            if (has_doubled_quotes && content[i] == '"') ++i;
        }
        return result;
    }
};

// Walks over the text field by field. After a field it stands on what ends it: a separator, a line break
// or the end of the text.
class CsvCursor {
  public:
    CsvCursor(std::string_view text, std::size_t start, char separator)
        : text_(text), at_(text.data() + std::clamp(start, length_of_byte_order_mark(text), text.size())),
          last_(text.data() + text.size()), separator_(separator) {}

    const char* at() const noexcept { return at_; }
    std::size_t offset() const noexcept { return static_cast<std::size_t>(at_ - text_.data()); }

    // To the first field of the next record; false at the end of the text.
    bool find_record() noexcept {
        for (;;) {
            const char* p = behind_blanks(at_);
            if (p == last_) return false;
            if (*p != '\n') return true;
            at_ = p + 1;
        }
    }

    bool is_at_separator() const noexcept { return at_ != last_ && *at_ == separator_; }
    void pass() noexcept {
        if (at_ != last_) ++at_;
    }

    // The quick way for what most fields are: a plain finite number.
    std::optional<double> take_number() noexcept {
        const Number number = parse_number(behind_blanks(at_), last_);
        const char* const end = behind_blanks(number.end);
        if (number.kind != NumberKind::finite || !ends_field(end)) return std::nullopt;
        at_ = end;
        return number.value;
    }

    Field take_field() {
        at_ = behind_blanks(at_);
        if (at_ != last_ && *at_ == '"') return take_quoted_field();
        const char* const start = at_;
        while (!ends_field(at_)) ++at_;
        const char* end = at_;
        while (end != start && is_blank(end[-1])) --end;
        return {{start, static_cast<std::size_t>(end - start)}, false};
    }

    [[noreturn]] void refuse_at(const char* place, const std::string& message) const {
        refuse(text_, static_cast<std::size_t>(place - text_.data()), message);
    }

  private:
    std::string_view text_;
    const char* at_;
    const char* last_;
    char separator_;

    bool is_blank(char c) const noexcept { return (c == ' ' || c == '\t' || c == '\r') && c != separator_; }
    bool ends_field(const char* p) const noexcept { return p == last_ || *p == separator_ || *p == '\n'; }
    const char* behind_blanks(const char* p) const noexcept {
        while (p != last_ && is_blank(*p)) ++p;
        return p;
    }

    Field take_quoted_field() {
        const char* const opening = at_++;
        bool has_doubled_quotes = false;
        for (;; ++at_) {
            at_ = std::find(at_, last_, '"');
            if (at_ == last_) refuse_at(opening, "the quote that opens here is never closed");
            if (at_ + 1 == last_ || at_[1] != '"') break;
            has_doubled_quotes = true;
            ++at_;
        }
        const Field field{{opening + 1, static_cast<std::size_t>(at_ - opening - 1)}, has_doubled_quotes};
        at_ = behind_blanks(at_ + 1);
        if (!ends_field(at_)) refuse_at(at_, "expected the separator after a closing quote");
        return field;
    }
};

class CsvReader {
  public:
    CsvReader(std::string_view text, const CsvLayout& layout)
        : layout_(layout), cursor_(text, layout.start, layout.separator) {
        table_.n_columns = layout.n_fields - 1;
        const auto n_lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
        // A field takes two bytes at least (its separator is one): a short text never reserves much.
        const std::size_t most_values = text.size() / 2 + 1;
        const bool fits = table_.n_columns == 0 || n_lines <= most_values / table_.n_columns;
        table_.values.reserve(fits ? n_lines * table_.n_columns : most_values);
        table_.labels.reserve(n_lines);
        labels_.reserve(n_lines);
    }

    DenseTable read() {
        while (cursor_.find_record()) read_record();
        table_.n_rows = labels_.size();
        settle_labels();
        return std::move(table_);
    }

  private:
    const CsvLayout& layout_;
    CsvCursor cursor_;
    DenseTable table_;
    std::vector<Field> labels_;  // kept until it is known whether all of them are numbers
    const char* first_unusable_number_ = nullptr;

    void read_record() {
        for (std::size_t field = 0; field < layout_.n_fields; ++field) {
            if (field == layout_.label_field)
                read_label();
            else
                read_feature(field);
            const bool is_last = field + 1 == layout_.n_fields;
            if (cursor_.is_at_separator() == is_last) refuse_length(field + 1);
            cursor_.pass();
        }
    }

    void read_feature(std::size_t field) {
        std::optional<double> value = cursor_.take_number();
        if (!value) value = feature_the_long_way(field);
        table_.values.push_back(*value);
    }

    double feature_the_long_way(std::size_t field) {
        const char* const start = cursor_.at();
        const Field found = cursor_.take_field();
        const char* const first = found.content.data();
        const char* const last = first + found.content.size();
        const Number number = parse_number(first, last);
        const bool is_number = number.end == last && number.kind != NumberKind::not_a_number;
        if (is_number && number.kind == NumberKind::finite) return number.value;
        const char* const place = found.content.empty() ? start : first;
        if (found.content.empty()) cursor_.refuse_at(place, name(field) + " is empty; a number is expected");
        const std::string wrong = " in " + name(field) + ", found " + quoted(found.content);
        if (is_number && number.kind == NumberKind::too_large)
            cursor_.refuse_at(place, "a number too large for a double" + wrong);
        cursor_.refuse_at(place, (is_number ? "expected a finite number" : "expected a number") + wrong);
    }

    void read_label() {
        const char* const start = cursor_.at();
        const Field found = cursor_.take_field();
        const char* const last = found.content.data() + found.content.size();
        if (found.content.empty())
            cursor_.refuse_at(start, name(layout_.label_field) + " is empty; a label is expected");
        labels_.push_back(found);
        if (table_.has_text_labels) return;
        const Number number = parse_number(found.content.data(), last);
        table_.has_text_labels = number.end != last || number.kind == NumberKind::not_a_number;
        if (number.kind != NumberKind::finite && first_unusable_number_ == nullptr)
            first_unusable_number_ = found.content.data();
        table_.labels.push_back(number.value);
    }

    void settle_labels() {
        if (!table_.has_text_labels) {
            if (first_unusable_number_ != nullptr)
                cursor_.refuse_at(first_unusable_number_, "expected a finite number as label");
            return;
        }
        table_.labels.clear();
        table_.label_codes.reserve(labels_.size());
        std::unordered_map<std::string, std::int32_t> codes;
        for (const Field& label : labels_) {
            const auto next = static_cast<std::int32_t>(codes.size());
            const auto [entry, is_new] = codes.try_emplace(label.text(), next);
            if (is_new) table_.label_names.push_back(entry->first);
            table_.label_codes.push_back(entry->second);
        }
    }

    [[noreturn]] void refuse_length(std::size_t n_read) {
        const char* const place = cursor_.at();
        std::size_t n_found = n_read;
        for (; cursor_.is_at_separator(); ++n_found) {
            cursor_.pass();
            cursor_.take_field();
        }
        cursor_.refuse_at(place, "expected " + std::to_string(layout_.n_fields) + " fields, found " +
                                     std::to_string(n_found));
    }

    std::string name(std::size_t field) const {
        const std::string number = "field " + std::to_string(field + 1);
        return field < layout_.names.size() ? quoted(layout_.names[field]) + " (" + number + ")" : number;
    }
};

}  // namespace

CsvRecord read_csv_record(std::string_view text, std::size_t start, char separator) {
    CsvCursor cursor(text, start, separator);
    CsvRecord record{{}, text.size()};
    if (!cursor.find_record()) return record;
    for (bool has_more = true; has_more; cursor.pass()) {
        record.fields.push_back(cursor.take_field().text());
        has_more = cursor.is_at_separator();
    }
    record.next = cursor.offset();
    return record;
}

DenseTable read_csv(std::string_view text, const CsvLayout& layout) { return CsvReader(text, layout).read(); }

}  // namespace maxmargin::read
