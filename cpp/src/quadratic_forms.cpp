// Quadratic forms of rows with the inverse of a factorised matrix: xᵀM⁻¹x = ‖U⁻ᵀx‖², with x scaled as M was.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "maxmargin/kernel/cholesky.hpp"
#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

constexpr double kLeftByCancelling = 1e-5;     // of the sum of absolute values: eleven digits are left
constexpr std::int64_t kMostProducts = 1'000;  // beyond, M⁻¹ itself costs more than it saves

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

// Rows written as columns, scaled, in panels; their forms are the squared norms of the solved columns.
class PanelForms {
  public:
    PanelForms(const UpperTriangle& upper, const std::vector<double>& scale, const double* shift)
        : upper_(upper), scale_(scale), shift_(shift), width_(primitives().triangles->width),
          z_(at(kPanels * width_ * upper.size)) {}

    bool full() const noexcept { return count_ == kPanels * width_; }

    template <class Rows>
    void put(const Rows& rows, std::int64_t row, std::int64_t number) {
        double* column = z_.data() + count_ / width_ * width_ * upper_.size + count_ % width_;
        const std::int64_t last = static_cast<std::int64_t>(scale_.size()) - 1;
        for (std::int64_t j = 0; j < upper_.size; ++j)
            column[j * width_] = shift_ == nullptr || j >= last ? 0.0 : -shift_[j] * scale_[at(j)];
        column[last * width_] = scale_[at(last)];
        for (std::int64_t k = 0; k < rows.n_values(row); ++k) {
            const std::int64_t j = rows.column(row, k);
            const double x = static_cast<double>(rows.value(row, k));
            column[j * width_] = (x - (shift_ == nullptr ? 0.0 : shift_[j])) * scale_[at(j)];
        }
        numbers_[count_++] = number;
    }

    // Calls take(number, form) for the rows put since the last time.
    template <class Take>
    void finish(Take&& take) {
        const std::int64_t panels = (count_ + width_ - 1) / width_, panel_stride = width_ * upper_.size;
        primitives().triangles->solve_transposed(upper_, z_.data(), width_, panel_stride, panels * width_);
        std::vector<double> forms(at(width_));
        for (std::int64_t panel = 0; panel < panels; ++panel) {
            std::fill(forms.begin(), forms.end(), 0.0);
            const double* z = z_.data() + panel * panel_stride;
            for (std::int64_t j = 0; j < upper_.size; ++j, z += width_) {
                for (std::int64_t r = 0; r < width_; ++r) forms[at(r)] += z[r] * z[r];
            }
            const std::int64_t used = std::min(width_, count_ - panel * width_);
            for (std::int64_t r = 0; r < used; ++r) take(numbers_[panel * width_ + r], forms[at(r)]);
        }
        count_ = 0;
    }

  private:
    static constexpr std::int64_t kPanels = 8, kWidest = 64;

    UpperTriangle upper_;
    const std::vector<double>& scale_;
    const double* shift_;
    std::int64_t width_, count_ = 0;
    std::vector<double> z_;
    std::int64_t numbers_[kPanels * kWidest];
};

// Calls put(view, row, number) for every row that is chosen; false if it was stopped.
template <class Put>
bool for_chosen(const Block& block, const double* chosen, std::int64_t work, StopToken& token, Put&& put) {
    Chunks chunks(block);
    Pace pace(token);
    bool go_on = true;
    for (std::int64_t chunk = 0; chunk < chunks.count() && go_on; ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t first) {
            for (std::int64_t row = 0; row < rows.n_rows() && go_on; ++row) {
                if (chosen != nullptr && chosen[first + row] == 0) continue;
                put(rows, row, first + row);
                go_on = !pace.stop_after(work);
            }
        });
    }
    return go_on;
}

// About how many values the chosen rows of a block have to be multiplied with, all in all.
bool is_sparse(const Block& block, std::int64_t size) {
    if (std::holds_alternative<DenseStorage>(block.storage)) return false;
    Chunks chunks(block);
    std::int64_t values = 0;
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
        chunks.open(chunk, [&](const auto& rows, std::int64_t) {
            for (std::int64_t row = 0; row < rows.n_rows(); ++row) values += rows.n_values(row);
        });
    }
    return 4 * values < block.n_rows * size;
}

}  // namespace

template <class Take>
bool Factor::forms_by_panels(const Block& block, const double* chosen, const double* shift, StopToken& token,
                             Take&& take) const {
    PanelForms forms(triangle(0, padded_), scale_, shift);
    const bool done = for_chosen(block, chosen, size_ * size_ / 16, token,
                                 [&](const auto& rows, std::int64_t row, std::int64_t number) {
                                     forms.put(rows, row, number);
                                     if (forms.full()) forms.finish(take);
                                 });
    forms.finish(take);
    return done;
}

bool Factor::quadratic_form_max(const Block& block, const double* cost, const double* shift, double& largest,
                                StopToken& token) const {
    return forms_by_panels(block, cost, shift, token, [&](std::int64_t, double form) {
        if (form > largest || std::isnan(form)) largest = form;
    });
}

bool Factor::quadratic_forms(const Block& block, const double* chosen, const double* shift, double* forms,
                             StopToken& token) const {
    if (shift != nullptr || block.n_rows < size_ / 2 || !is_sparse(block, size_))
        return forms_by_panels(block, chosen, shift, token,
                               [&](std::int64_t number, double form) { forms[number] = form; });
    std::call_once(inverted_, [&] { invert(); });
    std::vector<double> sum(at(padded_));
    return for_chosen(block, chosen, size_, token,
                      [&](const auto& rows, std::int64_t row, std::int64_t number) {
                          if (!form_of_products(rows, row, forms[number]))
                              forms[number] = form_of_sums(rows, row, sum);
                      });
}

// ‖U⁻ᵀx‖² of a sparse row, by adding up the columns of U⁻ᵀ that it needs. Column j is zero above its
// diagonal.
template <class Rows>
double Factor::form_of_sums(const Rows& rows, std::int64_t row, std::vector<double>& sum) const {
    const DensePrimitives<double>& use = primitives().dense_f64;
    const auto column = [&](std::int64_t j) { return inverse_.data() + j * padded_; };
    std::fill(sum.begin(), sum.end(), 0.0);
    sum[at(size_ - 1)] = column(size_ - 1)[size_ - 1];
    for (std::int64_t k = 0; k < rows.n_values(row); ++k) {
        const std::int64_t j = rows.column(row, k);
        use.add(sum.data() + j, static_cast<double>(rows.value(row, k)), column(j) + j, size_ - j);
    }
    return use.norm2(sum.data(), size_);
}

// xᵀM⁻¹x, pair by pair; false if so much of it cancels that digits are lost, or M⁻¹ was not worth making.
template <class Rows>
bool Factor::form_of_products(const Rows& rows, std::int64_t row, double& form) const {
    if (products_.empty()) return false;
    const std::int64_t last = size_ - 1;
    double diagonal = products_[at(last * size_ + last)], pairs = 0, size = std::sqrt(diagonal);
    for (std::int64_t k = 0; k < rows.n_values(row); ++k) {
        const double x = static_cast<double>(rows.value(row, k));
        const double* line = products_.data() + rows.column(row, k) * size_;
        double inner = line[last];
        for (std::int64_t l = 0; l < k; ++l)
            inner += static_cast<double>(rows.value(row, l)) * line[rows.column(row, l)];
        const double own = x * x * line[rows.column(row, k)];
        pairs += x * inner;
        diagonal += own;
        size += std::sqrt(own);
    }
    form = diagonal + 2 * pairs;
    return form >= kLeftByCancelling * size * size;
}

// Writes the columns of U⁻ᵀ, each scaled as the rows are to be, one after the other.
void Factor::invert() const {
    const std::int64_t width = primitives().triangles->width;
    inverse_.assign(at(padded_ * padded_), 0.0);
    std::vector<double> panel(at(width * padded_));
    for (std::int64_t first = 0; first < size_; first += width) {
        const std::int64_t count = std::min(width, size_ - first);
        std::fill(panel.begin(), panel.end(), 0.0);
        for (std::int64_t r = 0; r < count; ++r) panel[at((first + r) * width + r)] = scale_[at(first + r)];
        primitives().triangles->solve_transposed(triangle(0, padded_), panel.data(), width, width * padded_,
                                                 width);
        for (std::int64_t j = first; j < size_; ++j) {
            for (std::int64_t r = 0; r < count; ++r)
                inverse_[at((first + r) * padded_ + j)] = panel[at(j * width + r)];
        }
    }
    if (size_ > kMostProducts) return;
    const DensePrimitives<double>& use = primitives().dense_f64;
    products_.assign(at(size_ * size_), 0.0);
    for (std::int64_t i = 0; i < size_; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            const double product =
                use.dot(inverse_.data() + i * padded_ + i, inverse_.data() + j * padded_ + i, size_ - i);
            products_[at(i * size_ + j)] = products_[at(j * size_ + i)] = product;
        }
    }
}

}  // namespace maxmargin
