#include "maxmargin/read/libsvm.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "maxmargin/read/number.hpp"

namespace maxmargin::read {
namespace {

constexpr auto npos = std::string_view::npos;

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

bool ends_token(char c) noexcept { return is_blank(c) || c == '\n' || c == '#'; }

// Thrown by the reader with narrow indices; read_libsvm then starts again with wide ones.
struct IndexTooWide {};

// Every pair has a colon and every row a line, so that vectors reserved by these never grow.
struct UpperBounds {
    std::size_t n_pairs, n_rows;

    explicit UpperBounds(std::string_view text)
        : n_pairs(static_cast<std::size_t>(std::count(text.begin(), text.end(), ':'))),
          n_rows(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1) {}
};

template <class Index>
class LibsvmReader {
  public:
    LibsvmReader(std::string_view text, const LibsvmOptions& options, const UpperBounds& bounds)
        : text_(text), options_(options), at_(text.data() + length_of_byte_order_mark(text)),
          last_(text.data() + text.size()) {
        table_.values.reserve(bounds.n_pairs);
        table_.columns.reserve(bounds.n_pairs);
        table_.labels.reserve(bounds.n_rows);
        table_.starts.reserve(bounds.n_rows + 1);
    }

    SparseTable<Index> read() {
        table_.starts.push_back(0);
        while (at_ != last_) read_line();
        settle_columns();
        return std::move(table_);
    }

  private:
    std::string_view text_;
    LibsvmOptions options_;
    const char* at_;
    const char* last_;
    SparseTable<Index> table_{};
    std::int64_t largest_index_ = -1;
    const char* largest_at_ = nullptr;
    const char* zero_at_ = nullptr;

    void read_line() {
        skip_blanks();
        if (!at_token()) {
            skip_line();
            return;
        }
        read_label();
        std::int64_t previous = -1;
        for (skip_blanks(); at_token(); skip_blanks()) previous = read_pair(previous);
        skip_line();
        table_.starts.push_back(static_cast<Index>(table_.values.size()));
    }

    void read_label() {
        const Number label = parse_number(at_, last_);
        if (label.kind != NumberKind::finite || !token_ends_at(label.end)) refuse_label();
        table_.labels.push_back(label.value);
        at_ = label.end;
    }

    // Takes the index before this one in the row, gives this one.
    std::int64_t read_pair(std::int64_t previous) {
        const char* const start = at_;
        const char* p = at_;
        constexpr std::ptrdiff_t never_wraps = 18;
        std::int64_t index = 0;
        for (; p != last_ && is_digit(*p); ++p) {
            if (p - start >= never_wraps) refuse_token("the index is too large");
            index = index * 10 + (*p - '0');
        }
        if (p == start || p == last_ || *p != ':') refuse_pair();
        const Number value = parse_number(p + 1, last_);
        if (value.kind != NumberKind::finite || !token_ends_at(value.end)) refuse_value(value);
        if (index <= previous)
            refuse_here("the indices of a row must increase; found " + std::to_string(index) + " after " +
                        std::to_string(previous));
        note_index(index, start);
        table_.columns.push_back(static_cast<Index>(index));
        table_.values.push_back(value.value);
        at_ = value.end;
        return index;
    }

    void note_index(std::int64_t index, const char* start) {
        if (index > largest_index_) {
            if (std::cmp_greater(index, std::numeric_limits<Index>::max())) throw IndexTooWide{};
            largest_index_ = index;
            largest_at_ = start;
        }
        if (index == 0 && zero_at_ == nullptr) {
            zero_at_ = start;
            if (options_.base == IndexBase::one)
                refuse_here("index 0, but columns count from 1 (zero_based=False)");
        }
    }

    void settle_columns() {
        table_.zero_based = options_.base == IndexBase::zero || zero_at_ != nullptr;
        const Index first = table_.zero_based ? 0 : 1;
        const std::int64_t used = largest_index_ < 0 ? 0 : largest_index_ + 1 - first;
        table_.n_columns = options_.n_columns.value_or(used);
        if (used > table_.n_columns) {
            at_ = largest_at_;
            refuse_here("index " + std::to_string(largest_index_) + " is beyond the " +
                        std::to_string(table_.n_columns) + " columns expected (they count from " +
                        std::to_string(first) + ")");
        }
        if (first != 0)
            std::for_each(table_.columns.begin(), table_.columns.end(), [](Index& column) { --column; });
    }

    void skip_blanks() noexcept {
        while (at_ != last_ && is_blank(*at_)) ++at_;
    }

    void skip_line() noexcept {
        const auto remaining = static_cast<std::size_t>(last_ - at_);
        const void* newline = remaining == 0 ? nullptr : std::memchr(at_, '\n', remaining);
        at_ = newline == nullptr ? last_ : static_cast<const char*>(newline) + 1;
    }

    bool at_token() const noexcept { return at_ != last_ && *at_ != '\n' && *at_ != '#'; }
    bool token_ends_at(const char* p) const noexcept { return p == last_ || ends_token(*p); }

    // ------------------------------------------------------------ what is wrong, off the fast path

    std::string_view token() const noexcept {
        const char* end = std::find_if(at_, last_, ends_token);
        return {at_, static_cast<std::size_t>(end - at_)};
    }

    [[noreturn]] void refuse_here(const std::string& message) const {
        refuse(text_, static_cast<std::size_t>(at_ - text_.data()), message);
    }

    [[noreturn]] void refuse_token(const std::string& message) const {
        refuse_here(message + ", found " + quoted(token()));
    }

    [[noreturn]] void refuse_label() const {
        const std::string_view found = token();
        const Number number = parse_number(at_, last_);
        if (found.find(',') != npos && found.find(':') == npos)
            refuse_token("expected one label, several are not supported");
        if (number.end == found.data() + found.size() && number.kind == NumberKind::not_finite)
            refuse_token("expected a finite label");
        if (number.end == found.data() + found.size() && number.kind == NumberKind::too_large)
            refuse_token("the label is too large for a double");
        refuse_token("expected a number as label");
    }

    [[noreturn]] void refuse_pair() const {
        if (token().starts_with("qid:")) refuse_token("ranking data (qid) are not supported");
        refuse_token("expected index:value");
    }

    [[noreturn]] void refuse_value(const Number& value) const {
        if (token_ends_at(value.end) && value.kind == NumberKind::not_finite)
            refuse_token("expected a finite value");
        if (token_ends_at(value.end) && value.kind == NumberKind::too_large)
            refuse_token("the value is too large for a double");
        refuse_pair();
    }
};

}  // namespace

AnySparseTable read_libsvm(std::string_view text, const LibsvmOptions& options) {
    const UpperBounds bounds(text);
    constexpr std::int64_t narrow = std::numeric_limits<std::int32_t>::max();
    if (std::cmp_less_equal(bounds.n_pairs, narrow) && std::cmp_less_equal(bounds.n_rows, narrow) &&
        options.n_columns.value_or(0) <= narrow) {
        try {
            return LibsvmReader<std::int32_t>(text, options, bounds).read();
        } catch (const IndexTooWide&) {
        }
    }
    return LibsvmReader<std::int64_t>(text, options, bounds).read();
}

}  // namespace maxmargin::read
