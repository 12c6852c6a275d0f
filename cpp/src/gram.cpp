#include "maxmargin/kernel/gram.hpp"

#include <algorithm>

namespace maxmargin {

Gram::Gram(std::int64_t n_columns, const double* shift, bool)
    : n_columns_(n_columns), row_(static_cast<std::size_t>(n_columns) + 1) {
    if (shift != nullptr) shift_.assign(shift, shift + n_columns);
}

double* Gram::upper(std::vector<double>& sums) {
    const std::size_t size = static_cast<std::size_t>(n_columns_ + 1);
    if (sums.empty()) sums.assign(size * size, 0.0);
    return sums.data();
}

template <class Value>
void Gram::add(const DenseRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h) {
    double* sums = upper(centred_);
    const std::int64_t size = n_columns_ + 1;
    row_[static_cast<std::size_t>(n_columns_)] = 1;
    for (std::int64_t k = 0; k < count; ++k) {
        if (h[k] == 0) continue;
        for (std::int64_t j = 0; j < n_columns_; ++j) {
            const std::size_t at = static_cast<std::size_t>(j);
            row_[at] = static_cast<double>(rows.value(first + k, j)) - (shift_.empty() ? 0.0 : shift_[at]);
        }
        for (std::int64_t i = 0; i < size; ++i) {
            const double scaled = h[k] * row_[static_cast<std::size_t>(i)];
            for (std::int64_t j = i; j < size; ++j)
                sums[i * size + j] += scaled * row_[static_cast<std::size_t>(j)];
        }
    }
}

template <class Value, class Index>
void Gram::add(const SparseRows<Value, Index>& rows, std::int64_t first, std::int64_t count,
               const double* h) {
    double* sums = upper(plain_);
    const std::int64_t size = n_columns_ + 1;
    for (std::int64_t k = 0; k < count; ++k) {
        if (h[k] == 0) continue;
        const std::int64_t row = first + k, n = rows.n_values(row);
        for (std::int64_t p = 0; p < n; ++p) {
            const double scaled = h[k] * static_cast<double>(rows.value(row, p));
            const std::int64_t i = rows.column(row, p);
            for (std::int64_t q = 0; q < n; ++q) {
                const std::int64_t j = rows.column(row, q);
                if (j >= i) sums[i * size + j] += scaled * static_cast<double>(rows.value(row, q));
            }
            sums[i * size + n_columns_] += scaled;
        }
        sums[size * size - 1] += h[k];
    }
}

void Gram::finish(double* total) {
    const std::int64_t size = n_columns_ + 1;
    const auto add = [&](std::int64_t i, std::int64_t j, double value) {
        total[i * size + j] += value;
        if (i != j) total[j * size + i] += value;
    };
    for (std::int64_t i = 0; i < size && !centred_.empty(); ++i) {
        for (std::int64_t j = i; j < size; ++j) add(i, j, centred_[static_cast<std::size_t>(i * size + j)]);
    }
    // Σ h (x − m, 1)(x − m, 1)ᵀ from Σ h xxᵀ, s = Σ h x and t = Σ h:
    // the corner is Σ h xxᵀ − m sᵀ − (s − t m) mᵀ, the last column s − t m.
    for (std::int64_t i = 0; i < size && !plain_.empty(); ++i) {
        const auto shift = [&](std::int64_t j) {
            return shift_.empty() || j == n_columns_ ? 0.0 : shift_[static_cast<std::size_t>(j)];
        };
        const auto last = [&](std::int64_t j) {
            return plain_[static_cast<std::size_t>(j * size + n_columns_)];
        };
        const double weight = last(n_columns_);
        for (std::int64_t j = i; j < size; ++j) {
            const double value = plain_[static_cast<std::size_t>(i * size + j)];
            if (j == n_columns_) {
                add(i, j, value - weight * shift(i));
            } else {
                add(i, j, value - shift(i) * last(j) - (last(i) - weight * shift(i)) * shift(j));
            }
        }
    }
}

template void Gram::add(const DenseRows<float>&, std::int64_t, std::int64_t, const double*);
template void Gram::add(const DenseRows<double>&, std::int64_t, std::int64_t, const double*);
template void Gram::add(const SparseRows<float, std::int32_t>&, std::int64_t, std::int64_t, const double*);
template void Gram::add(const SparseRows<float, std::int64_t>&, std::int64_t, std::int64_t, const double*);
template void Gram::add(const SparseRows<double, std::int32_t>&, std::int64_t, std::int64_t, const double*);
template void Gram::add(const SparseRows<double, std::int64_t>&, std::int64_t, std::int64_t, const double*);

bool weighted_gram(const Block& block, const double* h, const double* shift, bool single, double* total,
                   StopToken& token) {
    constexpr std::int64_t kBetweenPolls = 1024;
    Gram gram(block.n_columns, shift, single);
    Chunks chunks(block);
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
        bool go_on = true;
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            for (std::int64_t i = 0; i < rows.n_rows() && go_on; i += kBetweenPolls) {
                gram.add(rows, i, std::min(kBetweenPolls, rows.n_rows() - i), h + first + i);
                go_on = !token.poll();
            }
        });
        if (!go_on) return false;
    }
    gram.finish(total);
    return true;
}

}  // namespace maxmargin
