#include "maxmargin/kernel/sparse_gram.hpp"

namespace maxmargin {
namespace {

// kCount numbers of a row, and the rows of sums that belong to them.
template <int kCount, class Value, class Index>
inline void meet(const Value* values, const Index* indices, std::int64_t n, double h, double* sums,
                 std::int64_t size) {
    double scaled[kCount];
    double* to[kCount];
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p) {
        scaled[p] = h * static_cast<double>(values[p]);
        to[p] = sums + indices[p] * size;
        to[p][size - 1] += scaled[p];
    }
#pragma GCC unroll 8
    for (int q = 0; q < kCount; ++q) {
#pragma GCC unroll 8
        for (int p = 0; p <= q; ++p) to[p][indices[q]] += scaled[p] * static_cast<double>(values[q]);
    }
    for (std::int64_t q = kCount; q < n; ++q) {
        const std::int64_t column = indices[q];
        const double value = static_cast<double>(values[q]);
#pragma GCC unroll 8
        for (int p = 0; p < kCount; ++p) to[p][column] += scaled[p] * value;
    }
}

}  // namespace

SparseGram::SparseGram(std::int64_t n_columns, const double* shift)
    : size_(n_columns + 1), sums_(zeros(size_ * size_)) {
    if (shift != nullptr) shift_.assign(shift, shift + n_columns);
}

template <class Value, class Index>
void SparseGram::add(const SparseRows<Value, Index>& rows, std::int64_t row, double h) {
    const std::int64_t n = rows.n_values(row);
    const Value* values = rows.values(row);
    const Index* indices = rows.indices(row);
    // Four numbers at a time meet all those behind them: many short loops cost more than their arithmetic.
    std::int64_t k = 0;
    for (; k + 4 <= n; k += 4) meet<4>(values + k, indices + k, n - k, h, sums_.get(), size_);
    for (; k < n; ++k) meet<1>(values + k, indices + k, n - k, h, sums_.get(), size_);
    sums_[static_cast<std::size_t>(size_ * size_ - 1)] += h;
}

void SparseGram::finish(double* total) const {
    const std::int64_t last = size_ - 1;
    const auto sum = [&](std::int64_t i, std::int64_t j) {
        const double* sums = sums_.get();
        return i == j ? sums[i * size_ + j] : sums[i * size_ + j] + sums[j * size_ + i];
    };
    if (shift_.empty()) return add_both_triangles(size_, sum, total, size_);
    // With s = Σ h x, t = Σ h and m the shift: Σ h (x − m)(x − m)ᵀ = Σ h xxᵀ − m sᵀ − (s − t m) mᵀ. The
    // constant column is one more, with shift 0.
    std::vector<double> shift = shift_, column(static_cast<std::size_t>(size_)), centred(column);
    shift.push_back(0);
    for (std::size_t i = 0; i < shift.size(); ++i) {
        column[i] = sum(static_cast<std::int64_t>(i), last);
        centred[i] = column[i] - sum(last, last) * shift[i];
    }
    const auto value = [&](std::int64_t i, std::int64_t j) {
        const std::size_t row = static_cast<std::size_t>(i), other = static_cast<std::size_t>(j);
        return sum(i, j) - (shift[row] * column[other] + centred[row] * shift[other]);
    };
    add_both_triangles(size_, value, total, size_);
}

template void SparseGram::add(const SparseRows<float, std::int32_t>&, std::int64_t, double);
template void SparseGram::add(const SparseRows<float, std::int64_t>&, std::int64_t, double);
template void SparseGram::add(const SparseRows<double, std::int32_t>&, std::int64_t, double);
template void SparseGram::add(const SparseRows<double, std::int64_t>&, std::int64_t, double);

}  // namespace maxmargin
