// Decimal text to double, against the C library's strtod.

#include "check.hpp"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include "maxmargin/read/number.hpp"

using namespace maxmargin::read;

namespace {

Number parse(const std::string& text) { return parse_number(text.data(), text.data() + text.size()); }

bool is_whole(const std::string& text, NumberKind kind) {
    const Number number = parse(text);
    return number.kind == kind && number.end == text.data() + text.size();
}

bool agrees_with_strtod(const std::string& text) {
    const Number number = parse(text);
    return number.kind == NumberKind::finite && number.end == text.data() + text.size() &&
           std::bit_cast<std::uint64_t>(number.value) ==
               std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr));
}

}  // namespace

TEST("numbers on both sides of the fast path agree with strtod bit for bit") {
    for (const char* text : {"0",
                             "-0",
                             "+1",
                             "1.",
                             ".5",
                             "-.5",
                             "00012",
                             "0.1",
                             "123456.789",
                             "9007199254740992",
                             "9007199254740993",
                             "9007199254740995",
                             "0.9007199254740993",
                             "1234567890123456789",
                             "12345678901234567890",
                             "0.0000000000000000001",
                             "0.00000000000000000000000001",
                             "1e5",
                             "1E-5",
                             "1e+5",
                             "4.9e-324",
                             "2.2e-308",
                             "1.7976931348623157e308",
                             "-1.7976931348623157e308",
                             "0e999",
                             "0.0",
                             "1e22",
                             "1e23",
                             "1e0005",
                             "1e00005",
                             "123456789012345e7",
                             "123456789012345e8",
                             "9007199254740992e22",
                             "9007199254740993e22",
                             "0.5e22",
                             "1.25e-21",
                             "12.5e-22",
                             "12345678",
                             "123456789",
                             "1234567.8",
                             "1.23456789",
                             "0.12345678901234567"})
        CHECK(agrees_with_strtod(text));
}

TEST("random decimals agree with strtod bit for bit") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        std::string text = random() % 2 == 0 ? "-" : "";
        for (std::uint64_t n = 1 + random() % 12; n != 0; --n) text += static_cast<char>('0' + random() % 10);
        text += '.';
        for (std::uint64_t n = random() % 14; n != 0; --n) text += static_cast<char>('0' + random() % 10);
        const int most = random() % 2 == 0 ? 250 : 25;  // beyond the fast path, and around it
        if (random() % 2 == 0)
            text.append("e").append(std::to_string(static_cast<int>(random() % (2 * most)) - most));
        CHECK(agrees_with_strtod(text));
    }
}

TEST("a number ends where its text ends") {
    const std::string text = "1.5x";
    CHECK(parse(text).end == text.data() + 3);
    const std::string half_exponent = "1e";
    CHECK(parse(half_exponent).end == half_exponent.data() + 1);
}

TEST("too small is zero, too large is said") {
    CHECK(agrees_with_strtod("1e-400"));
    CHECK(agrees_with_strtod("-1e-400"));
    CHECK(agrees_with_strtod("0." + std::string(400, '0') + "1"));
    CHECK(agrees_with_strtod("1e-99999999999999999999"));
    CHECK(agrees_with_strtod(std::string(200, '9') + "e-600"));
    CHECK(is_whole("1e309", NumberKind::too_large));
    CHECK(is_whole("-1e309", NumberKind::too_large));
    CHECK(is_whole("1e99999999999999999999", NumberKind::too_large));
    CHECK(is_whole(std::string(400, '9'), NumberKind::too_large));
    CHECK(is_whole("0.001e400", NumberKind::too_large));
    CHECK(is_whole("0." + std::string(100, '0') + "1e500", NumberKind::too_large));
}

TEST("infinities and NaN are told from numbers") {
    for (const char* text : {"inf", "-inf", "+inf", "Infinity", "nan", "-NaN"})
        CHECK(is_whole(text, NumberKind::not_finite));
}

TEST("what is not a number is none") {
    for (const char* text : {"", "-", "+", ".", "-.", "e5", "+-1", "--1", "-+1", "x", ":", "\xff"}) {
        CHECK(parse(text).kind == NumberKind::not_a_number);
    }
    const std::string text = "-x";
    CHECK(parse(text).end == text.data());
}
