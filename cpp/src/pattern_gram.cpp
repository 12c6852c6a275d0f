#include "maxmargin/kernel/pattern_gram.hpp"

#include <algorithm>

namespace maxmargin {
namespace {

std::vector<double> shift_of(const std::vector<std::int32_t>& columns, const double* shift,
                             std::int64_t room = 0) {
    std::vector<double> chosen(std::max(columns.size(), static_cast<std::size_t>(room)), 0.0);
    for (std::size_t k = 0; k < columns.size() && shift != nullptr; ++k) chosen[k] = shift[columns[k]];
    return chosen;
}

std::vector<double> matrix_of(Gram& gram, std::int64_t n_columns) {
    std::vector<double> matrix(static_cast<std::size_t>((n_columns + 1) * (n_columns + 1)), 0.0);
    gram.finish(matrix.data());
    return matrix;
}

// Adds the matrix of some columns where these stand in the matrix of all.
void place(const std::vector<double>& matrix, const std::vector<std::int32_t>& columns, double* total,
           std::int64_t n_columns) {
    const std::size_t size = columns.size() + 1;
    const auto stands = [&](std::size_t k) { return k < columns.size() ? columns[k] : n_columns; };
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j)
            total[stands(i) * (n_columns + 1) + stands(j)] += matrix[i * size + j];
    }
}

}  // namespace

template <class Value>
void Gram::add(const PatternRows<Value>& rows, std::int64_t first, std::int64_t count, const double* h) {
    if (pattern_sums_.empty() || &pattern_sums_.back()->storage() != &rows.storage())
        pattern_sums_.push_back(std::make_shared<PatternGram>(rows.storage(), n_columns_, shift_, single_));
    pattern_sums_.back()->add(rows, first, count, h);
}

template void Gram::add(const PatternRows<float>&, std::int64_t, std::int64_t, const double*);
template void Gram::add(const PatternRows<double>&, std::int64_t, std::int64_t, const double*);

void Gram::finish_patterns(double* total) {
    for (const auto& patterns : pattern_sums_) patterns->finish(total);
}

PatternGram::PatternGram(const PatternStorage& storage, std::int64_t n_columns, const double* shift,
                         bool single)
    : storage_(storage), n_columns_(n_columns), n_dense_(storage.n_dense()),
      room_(primitives().patterns->whole(n_dense_)), narrow_(n_dense_ <= primitives().patterns->narrow),
      dense_shift_(shift_of(storage.dense_columns, shift, room_)),
      binary_shift_(shift_of(storage.binary_columns, shift)),
      sums_(static_cast<std::size_t>(storage.n_patterns() * room_), 0.0),
      weights_(static_cast<std::size_t>(storage.n_patterns()), 0.0),
      total_(static_cast<std::size_t>(narrow_ ? room_ * room_ : 0), 0.0),
      slot_(static_cast<std::size_t>(n_columns), -1), dense_(n_dense_, dense_shift_.data(), single) {
    for (std::size_t k = 0; k < storage.binary_columns.size(); ++k)
        slot_[static_cast<std::size_t>(storage.binary_columns[k])] = static_cast<std::int32_t>(k);
}

template <class Value>
void PatternGram::add(const PatternRows<Value>& rows, std::int64_t first, std::int64_t count,
                      const double* h) {
    if (!narrow_)
        dense_.add(DenseRows<Value>(rows.dense(0), rows.n_rows(), n_dense_, n_dense_), first, count, h);
    // One place more: a row without weight is written behind the last one, and written over.
    std::uint32_t row[WeightedRows::kRowsAtOnce + 1];
    double weight[WeightedRows::kRowsAtOnce + 1];
    std::int64_t listed = 0;
    for (std::int64_t k = 0; k < count; ++k) {
        row[listed] = static_cast<std::uint32_t>(first + k);
        weight[listed] = h[k];
        listed += h[k] != 0 ? 1 : 0;
        if (listed < WeightedRows::kRowsAtOnce) continue;
        add_listed(rows, {row, weight, listed});
        listed = 0;
    }
    if (listed > 0) add_listed(rows, {row, weight, listed});
}

template <class Value>
void PatternGram::add_listed(const PatternRows<Value>& rows, const WeightedRows& listed) {
    const PatternSums sums{rows.patterns(), dense_shift_.data(), sums_.data(), weights_.data()};
    const PatternPrimitives<Value>& use = patterns_of(*primitives().patterns, rows.dense(0));
    if (narrow_) {
        use.gram(rows.dense(0), n_dense_, listed, sums, total_.data());
    } else {
        use.collect(rows.dense(0), n_dense_, listed, sums);
    }
}

template void PatternGram::add(const PatternRows<float>&, std::int64_t, std::int64_t, const double*);
template void PatternGram::add(const PatternRows<double>&, std::int64_t, std::int64_t, const double*);

// The matrix of the dense columns and the constant: what is below the diagonal, and the last row and
// column, follow from the rest.
std::vector<double> PatternGram::narrow_matrix() const {
    const std::int64_t size = n_dense_ + 1;
    std::vector<double> matrix(static_cast<std::size_t>(size * size), 0.0);
    const auto at = [&](std::int64_t i, std::int64_t j) -> double& {
        return matrix[static_cast<std::size_t>(i * size + j)];
    };
    for (std::int64_t i = 0; i < n_dense_; ++i) {
        for (std::int64_t j = i; j < n_dense_; ++j)
            at(i, j) = at(j, i) = total_[static_cast<std::size_t>(i * room_ + j)];
    }
    for (std::int64_t p = 0; p < storage_.n_patterns(); ++p) {
        for (std::int64_t j = 0; j < n_dense_; ++j)
            at(j, n_dense_) += sums_[static_cast<std::size_t>(p * room_ + j)];
        at(n_dense_, n_dense_) += weights_[static_cast<std::size_t>(p)];
    }
    for (std::int64_t j = 0; j < n_dense_; ++j) at(n_dense_, j) = at(j, n_dense_);
    return matrix;
}

// Some patterns as rows of 0 and 1.
void PatternGram::expand(std::int64_t first, std::int64_t count, std::vector<double>& table) const {
    const std::size_t width = storage_.binary_columns.size();
    table.assign(static_cast<std::size_t>(count) * width, 0.0);
    for (std::int64_t p = 0; p < count; ++p) {
        double* row = table.data() + static_cast<std::size_t>(p) * width;
        const std::size_t at = static_cast<std::size_t>(first + p);
        for (std::int32_t k = storage_.starts[at]; k < storage_.starts[at + 1]; ++k)
            row[slot_[static_cast<std::size_t>(storage_.ones[static_cast<std::size_t>(k)])]] = 1;
    }
}

// Σ (Σ h (x − shift)) (b − shift)ᵀ over patterns, b their 0s and 1s.
void PatternGram::add_cross(std::int64_t first, std::int64_t count, const std::vector<double>& table,
                            std::vector<double>& cross) const {
    const std::size_t width = storage_.binary_columns.size();
    for (std::int64_t p = 0; p < count; ++p) {
        const double* row = table.data() + static_cast<std::size_t>(p) * width;
        const double* sums = sums_.data() + (first + p) * room_;
        for (std::int64_t i = 0; i < n_dense_; ++i) {
            double* to = cross.data() + static_cast<std::size_t>(i) * width;
            for (std::size_t j = 0; j < width; ++j) to[j] += sums[i] * (row[j] - binary_shift_[j]);
        }
    }
}

void PatternGram::finish(double* total) {
    constexpr std::int64_t kPatternsAtOnce = 64;
    const std::int64_t n_binary = n_columns_ - n_dense_;
    Gram binary(n_binary, binary_shift_.data());
    std::vector<double> table, weights(kPatternsAtOnce);
    std::vector<double> cross(static_cast<std::size_t>(n_dense_ * n_binary), 0.0);
    for (std::int64_t first = 0; first < storage_.n_patterns(); first += kPatternsAtOnce) {
        const std::int64_t count = std::min(kPatternsAtOnce, storage_.n_patterns() - first);
        expand(first, count, table);
        for (std::int64_t p = 0; p < count; ++p)
            weights[static_cast<std::size_t>(p)] = weights_[static_cast<std::size_t>(first + p)];
        binary.add(DenseRows<double>(table.data(), count, n_binary, n_binary), 0, count, weights.data());
        add_cross(first, count, table, cross);
    }
    place(narrow_ ? narrow_matrix() : matrix_of(dense_, n_dense_), storage_.dense_columns, total, n_columns_);
    std::vector<double> binary_matrix = matrix_of(binary, n_binary);
    binary_matrix.back() = 0;  // the sum of all weights was added with the dense columns
    place(binary_matrix, storage_.binary_columns, total, n_columns_);
    for (std::int64_t i = 0; i < n_dense_; ++i) {
        for (std::int64_t j = 0; j < n_binary; ++j) {
            const std::int64_t row = storage_.dense_columns[static_cast<std::size_t>(i)],
                               column = storage_.binary_columns[static_cast<std::size_t>(j)];
            const double value = cross[static_cast<std::size_t>(i * n_binary + j)];
            total[row * (n_columns_ + 1) + column] += value;
            total[column * (n_columns_ + 1) + row] += value;
        }
    }
}

}  // namespace maxmargin
