// Numbers of twice the precision: an unevaluated sum of two doubles, of which the first is the rounded whole.
//
// Sums and products of doubles are exact as such a pair (Knuth; Dekker), pairs are added with an error of a
// few times 2^-106 of the sizes of both. Files that use it are compiled without contraction: a fused
// multiply-add in the wrong place would make an exact error wrong.
#pragma once

#include <cmath>
#include <cstdint>

namespace maxmargin {

struct Twofold {
    double high = 0, low = 0;

    double rounded() const noexcept { return high + low; }
};

inline Twofold exact_sum(double a, double b) noexcept {
    const double sum = a + b, b_part = sum - a;
    return {sum, (a - (sum - b_part)) + (b - b_part)};
}

// The same where |a| >= |b|, or a = 0.
inline Twofold exact_sum_of_ordered(double a, double b) noexcept {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

inline Twofold exact_product(double a, double b) noexcept {
    const double product = a * b;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return {product, std::fma(a, b, -product)};
#else
    // Dekker: halves of 26 bits, whose products are exact.
    constexpr double kSplit = 0x1p27 + 1;
    const double a_shifted = kSplit * a, b_shifted = kSplit * b;
    const double a1 = a_shifted - (a_shifted - a), a2 = a - a1;
    const double b1 = b_shifted - (b_shifted - b), b2 = b - b1;
    return {product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)};
#endif
}

inline Twofold operator+(Twofold a, Twofold b) noexcept {
    const Twofold sum = exact_sum(a.high, b.high);
    return exact_sum_of_ordered(sum.high, sum.low + (a.low + b.low));
}

inline Twofold operator+(Twofold a, double b) noexcept {
    const Twofold sum = exact_sum(a.high, b);
    return exact_sum_of_ordered(sum.high, sum.low + a.low);
}

inline Twofold operator-(Twofold a) noexcept { return {-a.high, -a.low}; }
inline Twofold operator-(Twofold a, Twofold b) noexcept { return a + -b; }

inline Twofold operator*(Twofold a, double b) noexcept {
    const Twofold product = exact_product(a.high, b);
    return exact_sum_of_ordered(product.high, product.low + a.low * b);
}

inline Twofold operator*(Twofold a, Twofold b) noexcept {
    const Twofold product = exact_product(a.high, b.high);
    return exact_sum_of_ordered(product.high, product.low + (a.high * b.low + a.low * b.high));
}

inline Twofold operator/(Twofold a, double b) noexcept {
    const double first = a.high / b;
    const Twofold rest = a - exact_product(first, b);
    return exact_sum_of_ordered(first, rest.high / b);
}

inline bool is_positive(Twofold a) noexcept { return a.high > 0; }

}  // namespace maxmargin
