// The logistic loss and its two derivatives of many agreements at once, for one instruction set; what is
// said at the top of kernels.cpp holds here too.
//
// With e = exp(−|m|):  value log(1 + e) + max(0, −m),  slope −σ(−m) = −e/(1 + e) or −1/(1 + e), curvature
// e/(1 + e)². The exponential is 2ᵏ exp(r) with |r| ≤ ½ log 2 and Taylor's series for exp(r); the logarithm
// is 2 atanh(u/(2 + u)) of u = e, or of (e − 1)/2 with log 2 added, whichever is nearer to 1. Both are right
// to about an ulp. A NaN stays one.
#include <cstdint>

#include "maxmargin/primitives.hpp"
#include "vectors.hpp"

namespace maxmargin {
namespace {

using Integers = long long __attribute__((vector_size(kLanes * sizeof(long long))));

inline Integers bits_of(Doubles v) {
    Integers bits;
    __builtin_memcpy(&bits, &v, sizeof bits);
    return bits;
}

inline Doubles from_bits(Integers bits) {
    Doubles v;
    __builtin_memcpy(&v, &bits, sizeof v);
    return v;
}

inline Doubles all(double value) { return Doubles{} + value; }

// exp(−a) for 0 ≤ a ≤ 700.
inline Doubles exp_of_minus(Doubles a) {
    constexpr double kLog2 = 0x1.62e42fefa39efp-1;
    // Added to a number, its last bits hold the nearest integer.
    constexpr double kRound = 0x1.8p52;
    const Doubles shifted = a * all(-1.0 / kLog2) + kRound, k = shifted - kRound;
    // log 2 in two parts: k times the first is exact.
    const Doubles r = (-a - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    Doubles p = all(1.0 / 6227020800.0);
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return from_bits(bits_of(p) + (bits_of(shifted) << 52));
}

// log(1 + e) for 0 ≤ e ≤ 1.
inline Doubles log_of_one_plus(Doubles e) {
    constexpr double kLog2 = 0x1.62e42fefa39efp-1;
    const Integers is_large = e > all(0.41421356237309503);
    const Doubles t = (is_large ? e - 1.0 : e) / (is_large ? e + 3.0 : e + 2.0), t2 = t * t;
    Doubles p = all(1.0 / 23.0);
    p = p * t2 + 1.0 / 21.0;
    p = p * t2 + 1.0 / 19.0;
    p = p * t2 + 1.0 / 17.0;
    p = p * t2 + 1.0 / 15.0;
    p = p * t2 + 1.0 / 13.0;
    p = p * t2 + 1.0 / 11.0;
    p = p * t2 + 1.0 / 9.0;
    p = p * t2 + 1.0 / 7.0;
    p = p * t2 + 1.0 / 5.0;
    p = p * t2 + 1.0 / 3.0;
    const Doubles twice = t + t;
    return (is_large ? all(kLog2) : all(0.0)) + (twice + twice * (t2 * p));
}

inline void terms_of(const double* m, double* value, double* slope, double* curvature) {
    const Doubles agreement = load(m);
    const Integers is_positive = agreement > all(0.0);
    const Doubles size = is_positive ? agreement : -agreement;
    const Integers is_far = size > all(700.0);  // there e is 0 for every purpose
    const Doubles exponential = exp_of_minus(is_far ? all(700.0) : size);
    const Doubles e = is_far ? all(0.0) : exponential, large = 1.0 / (1.0 + e), small = e * large;
    if (value != nullptr) store(value, log_of_one_plus(e) + (is_positive ? all(0.0) : -agreement));
    store(slope, is_positive ? -small : -large);
    store(curvature, small * large);
}

void logistic(const double* m, std::int64_t n, double* value, double* slope, double* curvature) {
    std::int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes)
        terms_of(m + k, value != nullptr ? value + k : nullptr, slope + k, curvature + k);
    if (k == n) return;
    double last[kLanes] = {}, values[kLanes], slopes[kLanes], curvatures[kLanes];
    for (std::int64_t i = k; i < n; ++i) last[i - k] = m[i];
    terms_of(last, values, slopes, curvatures);
    for (std::int64_t i = k; i < n; ++i) {
        if (value != nullptr) value[i] = values[i - k];
        slope[i] = slopes[i - k];
        curvature[i] = curvatures[i - k];
    }
}

}  // namespace

namespace MAXMARGIN_ISA {

extern const LogisticTerms logistic_terms;
const LogisticTerms logistic_terms = logistic;

}  // namespace MAXMARGIN_ISA
}  // namespace maxmargin
