#include "maxmargin/kernel/sparse_gram.hpp"

namespace maxmargin {
namespace {

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

SparseGram::SparseGram(std::int64_t n_columns, const double* shift)
    : n_columns_(n_columns), sums_(size(n_columns * n_columns), 0.0), row_sums_(size(n_columns), 0.0) {
    if (shift != nullptr) shift_.assign(shift, shift + n_columns);
}

template <class Value, class Index>
void SparseGram::add(const SparseRows<Value, Index>& rows, std::int64_t first, std::int64_t count,
                     const double* h) {
    for (std::int64_t k = 0; k < count; ++k) {
        if (h[k] == 0) continue;
        const std::int64_t n = rows.n_values(first + k);
        const Value* values = rows.values(first + k);
        const Index* indices = rows.indices(first + k);
        weight_ += h[k];
        for (std::int64_t p = 0; p < n; ++p) {
            const double scaled = h[k] * static_cast<double>(values[p]);
            row_sums_[size(indices[p])] += scaled;
            double* to = sums_.data() + indices[p] * n_columns_;
            for (std::int64_t q = p; q < n; ++q) to[indices[q]] += scaled * static_cast<double>(values[q]);
        }
    }
}

void SparseGram::finish(double* total) const {
    const std::int64_t d = n_columns_, stride = d + 1;
    const auto shift = [&](std::int64_t j) { return shift_.empty() ? 0.0 : shift_[size(j)]; };
    for (std::int64_t i = 0; i < d; ++i) {
        // With s = Σ h x, t = Σ h and m the shift: Σ h (x − m)(x − m)ᵀ = Σ h xxᵀ − m sᵀ − (s − t m) mᵀ.
        const double last = row_sums_[size(i)] - weight_ * shift(i);
        for (std::int64_t j = i; j < d; ++j) {
            double value = sums_[size(i * d + j)];
            if (i != j) value += sums_[size(j * d + i)];  // rows need not be sorted
            value -= shift(i) * row_sums_[size(j)] + last * shift(j);
            total[i * stride + j] += value;
            if (i != j) total[j * stride + i] += value;
        }
        total[i * stride + d] += last;
        total[d * stride + i] += last;
    }
    total[d * stride + d] += weight_;
}

template void SparseGram::add(const SparseRows<float, std::int32_t>&, std::int64_t, std::int64_t,
                              const double*);
template void SparseGram::add(const SparseRows<float, std::int64_t>&, std::int64_t, std::int64_t,
                              const double*);
template void SparseGram::add(const SparseRows<double, std::int32_t>&, std::int64_t, std::int64_t,
                              const double*);
template void SparseGram::add(const SparseRows<double, std::int64_t>&, std::int64_t, std::int64_t,
                              const double*);

}  // namespace maxmargin
