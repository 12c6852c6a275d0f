// The inner loops over condensed rows, one implementation per instruction set.
//
// They read whole vectors: behind the n dense values of a row may stand anything finite, such as the next
// row, and every other array has room up to a whole vector, with zeros behind n in `w` and `shift`.
#pragma once

#include <cstdint>

namespace maxmargin {

constexpr std::int64_t kSumsPerPattern = 4;  // side by side, so that equal neighbours need not wait

// Rows that follow each other.
template <class Value>
struct PatternPiece {
    const Value* x;
    std::int64_t n, count;
    const std::uint16_t* pattern;
};

// Some rows in a list, and the weight of each.
struct WeightedRows {
    const std::uint32_t* row;
    const double* weight;
    std::int64_t count;  // at most kRowsAtOnce
    static constexpr std::int64_t kRowsAtOnce = 64;
};

// Sums of weight · (x − shift) by pattern, one whole number of vectors each, and of the weights.
struct PatternSums {
    const std::uint16_t* pattern;
    const double* shift;
    double* values;
    double* weights;
};

template <class Value>
struct PatternPrimitives {
    // z[k] = x_k·w + base[pattern[k]].
    void (*scores)(const PatternPiece<Value>& rows, const double* w, const double* base, double* z);
    // v += Σ a_k x_k, of even and odd k apart in two halves of v; sums[4 pattern[k] + k % 4] += a_k.
    void (*combine)(const PatternPiece<Value>& rows, const double* a, double* v, double* sums);
    // The sums by pattern of listed rows; x is the first row of all.
    void (*collect)(const Value* x, std::int64_t n, const WeightedRows& rows, const PatternSums& sums);
    // The same, and total += Σ weight (x − shift)(x − shift)ᵀ, on and above the diagonal, for at most
    // `narrow` columns. The rows of `total` are whole vectors.
    void (*gram)(const Value* x, std::int64_t n, const WeightedRows& rows, const PatternSums& sums,
                 double* total);
};

struct PatternKernels {
    std::int64_t lanes, narrow;
    PatternPrimitives<float> f32;
    PatternPrimitives<double> f64;

    // The room that n numbers take.
    std::int64_t whole(std::int64_t n) const noexcept {
        return n > lanes ? (n + lanes - 1) / lanes * lanes : lanes;
    }
};

inline const PatternPrimitives<float>& patterns_of(const PatternKernels& p, const float*) { return p.f32; }
inline const PatternPrimitives<double>& patterns_of(const PatternKernels& p, const double*) { return p.f64; }

}  // namespace maxmargin
