// A walk over a text table, field by field.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "maxmargin/read/csv.hpp"
#include "maxmargin/read/number.hpp"
#include "maxmargin/read/text.hpp"

namespace maxmargin::read {

// What is wrong, before anybody has counted lines: with many bad records that would take too long.
struct BadField {
    std::size_t offset;
    std::string message;
};

// … and that the rest of the text may still mend, where it is only a part.
struct OpenQuote : BadField {};

inline bool equals_ignoring_case(std::string_view text, std::string_view small) noexcept {
    return std::equal(text.begin(), text.end(), small.begin(), small.end(), [](char c, char wanted) {
        return (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c) == wanted;
    });
}

// The number at the start of the text, by the dialect's decimal mark. With another than the point the number
// is copied; a point is then no part of it.
inline Number parse_number_of(const CsvDialect& dialect, const char* start, const char* last) {
    if (dialect.decimal == '.') return parse_number(start, last);
    std::string copy;
    const auto is_part = [](char c) {
        return is_digit(c) || c == '+' || c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    for (const char* p = start; p != last && (is_part(*p) || *p == dialect.decimal) && *p != '.'; ++p)
        copy.push_back(*p == dialect.decimal ? '.' : *p);
    const Number found = parse_number(copy.data(), copy.data() + copy.size());
    return {start + (found.end - copy.data()), found.value, found.kind};
}

struct Field {
    std::string_view content = {};  // without blanks and quotes around it
    bool is_quoted = false;
    bool has_doubled_quotes = false;

    std::string text() const {
        std::string result;
        for (std::size_t i = 0; i < content.size(); ++i) {
            result.push_back(content[i]);
            if (has_doubled_quotes && content[i] == '"') ++i;
        }
        return result;
    }

    // The number that the whole field is; of the kind not_a_number where it is none.
    Number number(const CsvDialect& dialect) const {
        const char* const last = content.data() + content.size();
        const Number found = parse_number_of(dialect, content.data(), last);
        return found.end == last ? found : Number{last, 0.0, NumberKind::not_a_number};
    }

    bool is_missing(const CsvDialect& dialect) const noexcept {
        constexpr std::array<std::string_view, 7> signs{"na", "n/a", "#n/a", "<na>", "nan", "null", "?"};
        if (content.empty()) return true;
        if (dialect.missing)
            return std::find(dialect.missing->begin(), dialect.missing->end(), content) !=
                   dialect.missing->end();
        if (is_quoted || content.size() > 4) return false;
        return std::any_of(signs.begin(), signs.end(),
                           [this](std::string_view sign) { return equals_ignoring_case(content, sign); });
    }
};

// Walks over the text field by field. After a field it stands on what ends it: a separator, a line break
// or the end of the text.
class CsvCursor {
  public:
    CsvCursor(std::string_view text, std::size_t start, const CsvDialect& dialect)
        : text_(text), at_(text.data() + std::clamp(start, length_of_byte_order_mark(text), text.size())),
          last_(text.data() + text.size()), separator_(dialect.separator), comment_(dialect.comment),
          is_plain_(dialect.decimal == '.' && !dialect.missing) {}

    const char* at() const noexcept { return at_; }
    std::size_t offset() const noexcept { return static_cast<std::size_t>(at_ - text_.data()); }
    std::size_t behind_blanks() const noexcept {
        return static_cast<std::size_t>(behind_blanks(at_) - text_.data());
    }

    // To the first field of the next record; false at the end of the text.
    bool find_record() noexcept {
        for (;;) {
            const char* p = behind_blanks(at_);
            if (p == last_) return false;
            if (*p == comment_)
                p = std::find(p, last_, '\n');
            else if (*p != '\n')
                return true;
            at_ = p == last_ ? p : p + 1;
        }
    }

    bool is_at_separator() const noexcept { return at_ != last_ && *at_ == separator_; }

    // Over the separator, or over the end of the record: a comment, if there is one, and the line break.
    void pass() noexcept {
        pass_comment();
        if (at_ != last_) ++at_;
    }

    // The quick way for what most fields are: a plain finite number.
    std::optional<double> take_number() noexcept {
        if (!is_plain_) return std::nullopt;
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
        return {{start, static_cast<std::size_t>(end - start)}, false, false};
    }

    [[noreturn]] void refuse_at(const char* place, std::string message) const {
        throw BadField{static_cast<std::size_t>(place - text_.data()), std::move(message)};
    }

    // Behind a record that cannot be read: behind its last field, or where its quotes are broken behind its
    // first line.
    void pass_record(std::size_t start) {
        at_ = text_.data() + start;
        try {
            for (bool has_more = true; has_more; pass()) {
                take_field();
                has_more = is_at_separator();
            }
        } catch (const BadField&) {
            at_ = std::find(text_.data() + start, last_, '\n');
        }
    }

    // Behind the line break of the record at which it stands; one with broken quotes ends with its line.
    // False if the record may go on behind the end of the text.
    bool pass_whole_record() {
        const char* const start = at_;
        try {
            for (bool has_more = true; has_more;) {
                take_field();
                has_more = is_at_separator();
                if (has_more) pass();
            }
        } catch (const OpenQuote&) {
            return false;
        } catch (const BadField&) {
            at_ = std::find(start, last_, '\n');
        }
        pass_comment();
        if (at_ == last_) return false;
        ++at_;
        return true;
    }

  private:
    std::string_view text_;
    const char* at_;
    const char* last_;
    char separator_;
    char comment_;
    bool is_plain_;  // numbers can be taken without a look at what else the dialect says

    void pass_comment() noexcept {
        if (at_ != last_ && *at_ == comment_) at_ = std::find(at_, last_, '\n');
    }

    bool is_blank(char c) const noexcept { return (c == ' ' || c == '\t' || c == '\r') && c != separator_; }
    bool ends_field(const char* p) const noexcept {
        return p == last_ || *p == separator_ || *p == '\n' || *p == comment_;
    }
    const char* behind_blanks(const char* p) const noexcept {
        while (p != last_ && is_blank(*p)) ++p;
        return p;
    }

    Field take_quoted_field() {
        const char* const opening = at_++;
        bool has_doubled_quotes = false;
        for (;; ++at_) {
            at_ = std::find(at_, last_, '"');
            if (at_ == last_)
                throw OpenQuote{{static_cast<std::size_t>(opening - text_.data()),
                                 "the quote that opens here is never closed"}};
            if (at_ + 1 == last_ || at_[1] != '"') break;
            has_doubled_quotes = true;
            ++at_;
        }
        const Field field{
            {opening + 1, static_cast<std::size_t>(at_ - opening - 1)}, true, has_doubled_quotes};
        at_ = behind_blanks(at_ + 1);
        if (!ends_field(at_)) refuse_at(at_, "expected the separator after a closing quote");
        return field;
    }
};

}  // namespace maxmargin::read
