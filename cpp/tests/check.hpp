// A test harness in one file. TEST registers a case, CHECK and CHECK_CLOSE record what fails and go on,
// CHECK_THROWS looks at the message of an exception. They are macros because only a macro can quote the
// expression it was given and register what stands at file scope.
//
//     TEST("the dot product of nothing is zero") { CHECK(dot(nullptr, nullptr, 0) == 0.0); }

#pragma once

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace check {

struct Case {
    const char* name;
    void (*body)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

// Failures of the case that is running.
inline int& failures() {
    static int count = 0;
    return count;
}

struct Register {
    Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

inline void fail(const char* file, int line, const std::string& what) {
    ++failures();
    std::printf("%s:%d: %s\n", file, line, what.c_str());
}

inline void that(bool holds, const char* file, int line, const char* expression) {
    if (!holds) {
        fail(file, line, std::string("does not hold: ") + expression);
    }
}

// |a - b| <= tolerance * max(1, |a|, |b|); equal infinities are close, NaN is close to nothing.
inline void close(double a, double b, double tolerance, const char* file, int line, const char* expression) {
    const double scale = std::fmax(1.0, std::fmax(std::fabs(a), std::fabs(b)));
    if (a == b || std::fabs(a - b) <= tolerance * scale) {
        return;
    }
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, ": %.17g and %.17g", a, b);
    fail(file, line, std::string("not close: ") + expression + numbers);
}

template <class Body>
void throws(Body body, const std::string& part, const char* file, int line, const char* expression) {
    try {
        body();
    } catch (const std::exception& error) {
        if (std::string(error.what()).find(part) == std::string::npos) {
            fail(file, line,
                 std::string(expression) + " says \"" + error.what() + "\", not \"" + part + "\"");
        }
        return;
    }
    fail(file, line, std::string("does not throw: ") + expression);
}

// Runs every case whose name contains `filter`; returns the number of cases that failed.
int run(const std::string& filter);

}  // namespace check

#define CHECK_JOIN_(a, b) a##b
#define CHECK_JOIN(a, b) CHECK_JOIN_(a, b)
#define TEST(name)                                                                                           \
    static void CHECK_JOIN(test_, __LINE__)();                                                               \
    static const check::Register CHECK_JOIN(register_, __LINE__)(name, CHECK_JOIN(test_, __LINE__));         \
    static void CHECK_JOIN(test_, __LINE__)()

#define CHECK(...) check::that(static_cast<bool>(__VA_ARGS__), __FILE__, __LINE__, #__VA_ARGS__)
#define CHECK_CLOSE(a, b, tolerance) check::close(a, b, tolerance, __FILE__, __LINE__, #a ", " #b)
#define CHECK_THROWS(expression, part)                                                                       \
    check::throws([&] { static_cast<void>(expression); }, part, __FILE__, __LINE__, #expression)
