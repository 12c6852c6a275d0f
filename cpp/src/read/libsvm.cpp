#include "maxmargin/read/libsvm.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "maxmargin/read/number.hpp"

namespace maxmargin::read {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::int64_t kLargestIndex = 999'999'999'999'999'999;  // 18 digits, which never wrap around

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

bool ends_token(char c) noexcept { return is_blank(c) || c == '\n' || c == '#'; }

template <class Index>
struct Output {
    double* labels;
    double* values;
    Index* indices;
    std::size_t* ends;
};

enum class Outcome { done, stopped, index_too_wide };

// Reads lines until one cannot be read. The text ends with a newline, which ends every loop over blanks,
// digits and tokens: only what looks at several bytes at once needs to ask for the end.
template <class Index>
class LineReader {
  public:
    LineReader(std::string_view text, const LibsvmOptions& options, Output<Index> out, StopToken& token)
        : options_(options), out_(out), token_(token), at_(text.data()), last_(text.data() + text.size()),
          line_(at_), next_poll_(at_ + kBytesBetweenPolls) {
        if (options.base == IndexBase::one) before_first_ = 0;
        if (options.n_columns)
            most_ = std::min(kLargestIndex, *options.n_columns - (options.base == IndexBase::zero ? 1 : 0));
    }

    Outcome read(PartSummary& summary) {
        summary = {};
        while (at_ != last_) {
            line_ = at_;
            if (at_ > next_poll_ && should_stop()) return Outcome::stopped;
            if (read_line(summary)) {
                skip_line();
            } else {
                if (is_stopped_) return Outcome::stopped;
                if (is_too_wide_) return Outcome::index_too_wide;
                ++summary.n_bad_lines;
                if (!summary.first_error)
                    summary.first_error = LineError{position(summary, at_), explanation()};
                if (!options_.skip_bad_lines) return Outcome::done;
                n_values_ = summary.n_values;
                skip_line();
            }
            ++summary.n_lines;
        }
        return Outcome::done;
    }

  private:
    static constexpr std::ptrdiff_t kBytesBetweenPolls = std::ptrdiff_t{1} << 20U;
    static constexpr std::int64_t kLargestHere =
        std::min<std::int64_t>(kLargestIndex, std::numeric_limits<Index>::max());

    const LibsvmOptions& options_;
    Output<Index> out_;
    StopToken& token_;
    const char* at_;
    const char* last_;
    const char* line_;
    const char* next_poll_;
    std::int64_t before_first_ = -1;  // the first index of a row must be larger
    std::int64_t most_ = kLargestIndex;
    std::int64_t previous_ = -1;
    std::size_t n_values_ = 0;
    bool is_stopped_ = false, is_too_wide_ = false, is_at_label_ = false;

    // False, standing at the token that is wrong, or told to stop.
    bool read_line(PartSummary& summary) {
        skip_blanks();
        if (!at_token()) return true;
        is_at_label_ = true;
        const Number label = parse_number(at_, last_);
        if (label.kind != NumberKind::finite || !ends_token(*label.end)) return false;
        is_at_label_ = false;
        at_ = label.end;
        const char* largest_at = nullptr;
        if (!read_pairs(largest_at)) return false;
        if (n_values_ != summary.n_values) note_indices(summary, largest_at);
        out_.labels[summary.n_rows] = label.value;
        out_.ends[summary.n_rows] = n_values_;
        summary.n_values = n_values_;
        ++summary.n_rows;
        return true;
    }

    // On the way out, at_ is at the end of the line or its comment, or at what is wrong.
    bool read_pairs(const char*& largest_at) {
        previous_ = before_first_;
        for (;;) {
            skip_blanks();
            if (!is_digit(*at_)) return !at_token();
            largest_at = at_;
            std::uint64_t digits = 0;
            const char* p = take_digits(at_, last_, digits);
            constexpr std::ptrdiff_t never_wraps = 18;
            if (*p != ':' || p - at_ > never_wraps) return false;
            const auto index = static_cast<std::int64_t>(digits);
            if (index <= previous_ || index > most_) return false;
            if (index > kLargestHere) {
                is_too_wide_ = true;
                return false;
            }
            ++p;
            // Ones and other single digits are most of the values of most data sets of categories.
            if (is_digit(*p) && ends_token(p[1])) {
                out_.values[n_values_] = *p - '0';
                ++p;
            } else {
                const Number value = parse_number(p, last_);
                if (value.kind != NumberKind::finite || !ends_token(*value.end)) return false;
                out_.values[n_values_] = value.value;
                p = value.end;
            }
            out_.indices[n_values_] = static_cast<Index>(index);
            ++n_values_;
            previous_ = index;
            at_ = p;
            if (at_ > next_poll_ && should_stop()) return false;
        }
    }

    bool should_stop() noexcept {
        next_poll_ = at_ + kBytesBetweenPolls;
        is_stopped_ = token_.poll();
        return is_stopped_;
    }

    // Indices increase within a row: only its first can be 0, and its last is its largest.
    void note_indices(PartSummary& summary, const char* largest_at) {
        const std::int64_t largest = previous_;
        if (out_.indices[summary.n_values] == 0) summary.has_index_zero = true;
        summary.largest_index = std::max(summary.largest_index, largest);
        if (options_.base == IndexBase::detect && options_.n_columns == largest && !summary.edge)
            summary.edge = position(summary, largest_at);
    }

    void skip_blanks() noexcept {
        while (is_blank(*at_)) ++at_;
    }

    void skip_line() noexcept {
        if (*at_ != '\n')
            at_ = static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(last_ - at_)));
        ++at_;
    }

    bool at_token() const noexcept { return *at_ != '\n' && *at_ != '#'; }

    // ------------------------------------------------------------ what is wrong, off the fast path

    Position position(const PartSummary& summary, const char* place) const noexcept {
        return {summary.n_lines + 1, 1 + count_characters({line_, static_cast<std::size_t>(place - line_)})};
    }

    std::string_view token() const noexcept {
        const char* end = std::find_if(at_, last_, ends_token);
        return {at_, static_cast<std::size_t>(end - at_)};
    }

    std::string explanation() const { return is_at_label_ ? about_label() : about_pair(); }

    std::string found(const char* message) const {
        return std::string(message) + ", found " + quoted(token());
    }

    std::string about_label() const {
        const Number number = parse_number(at_, last_);
        if (token().find(',') != npos && token().find(':') == npos)
            return found("expected one label, several are not supported");
        if (ends_token(*number.end) && number.kind == NumberKind::not_finite)
            return found("expected a finite label");
        if (ends_token(*number.end) && number.kind == NumberKind::too_large)
            return found("the label is too large for a double");
        return found("expected a number as label");
    }

    std::string about_pair() const {
        if (token().starts_with("qid:")) return found("ranking data (qid) are not supported");
        std::uint64_t digits = 0;
        const char* const colon = take_digits(at_, last_, digits);
        if (colon == at_ || *colon != ':') return found("expected index:value");
        const Number value = parse_number(colon + 1, last_);
        const bool ends = ends_token(*value.end);
        if (ends && value.kind == NumberKind::not_finite) return found("expected a finite value");
        if (ends && value.kind == NumberKind::too_large) return found("the value is too large for a double");
        if (!ends || value.kind != NumberKind::finite) return found("expected index:value");
        constexpr std::ptrdiff_t never_wraps = 18;
        if (colon - at_ > never_wraps) return found("the index is too large");
        return about_index(static_cast<std::int64_t>(digits));
    }

    std::string about_index(std::int64_t index) const {
        if (index == 0 && options_.base == IndexBase::one)
            return "index 0, although columns are said to count from 1";
        if (index <= previous_)
            return "the indices of a row must increase; found " + std::to_string(index) + " after " +
                   std::to_string(previous_);
        return beyond_columns(index, *options_.n_columns);
    }
};

}  // namespace

std::string beyond_columns(std::int64_t index, std::int64_t n_columns) {
    return "index " + std::to_string(index) + " is beyond the " + std::to_string(n_columns) +
           " columns expected";
}

bool LibsvmPart::parse(std::string_view text, const LibsvmOptions& options, StopToken& token) {
    n_bytes_ = text.size();
    // A row takes two bytes at least, its label and a newline; a pair four, with the blank before it.
    const std::size_t most_rows = text.size() / 2 + 1, most_values = text.size() / 4 + 1;
    double* const labels = labels_.room_for(most_rows);
    std::size_t* const ends = ends_.room_for(most_rows);
    double* const values = values_.room_for(most_values);
    const auto read_as = [&]<class Index>(Scratch<Index>& indices) {
        const Output<Index> out{labels, values, indices.room_for(most_values), ends};
        return LineReader<Index>(text, options, out, token).read(summary_);
    };
    is_wide_ = false;
    Outcome outcome = read_as(narrow_);
    if (outcome == Outcome::index_too_wide) {
        is_wide_ = true;
        outcome = read_as(wide_);
    }
    return outcome == Outcome::done;
}

std::variant<std::span<const std::int32_t>, std::span<const std::int64_t>>
LibsvmPart::indices() const noexcept {
    if (is_wide_) return std::span<const std::int64_t>{wide_.data(), summary_.n_values};
    return std::span<const std::int32_t>{narrow_.data(), summary_.n_values};
}

}  // namespace maxmargin::read
