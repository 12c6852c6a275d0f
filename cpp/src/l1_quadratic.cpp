#include "maxmargin/kernel/l1_quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

using Numbers = std::vector<double>;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

double soft_threshold(double t, double s) { return std::copysign(std::max(std::abs(t) - s, 0.0), t); }

// The step of one coordinate from x, with the gradient q and a positive curvature, and what it gains.
struct CoordinateStep {
    double after, change, gained;

    CoordinateStep(double x, double q, double curvature, double r)
        : after(soft_threshold(x - q / curvature, r / curvature)), change(after - x),
          gained(-change * (q + 0.5 * curvature * change) - r * (std::abs(after) - std::abs(x))) {}
};

// Models have the same functions: `visit` moves a coordinate to its minimum and returns what that gains,
// `cost` is about how many values it reads.

class MatrixModel {
  public:
    MatrixModel(const double* H, std::int64_t n, double r, double* x, double* q)
        : H_(H), n_(n), r_(r), x_(x), q_(q), add_(primitives().dense_f64.add) {}

    std::int64_t n() const noexcept { return n_; }
    std::int64_t cost(std::int64_t) const noexcept { return n_; }
    bool is_zero(std::int64_t j) const noexcept { return x_[j] == 0; }

    double visit(std::int64_t j) {
        const double curvature = H_[j * n_ + j];
        if (!(curvature > 0)) return 0;
        const CoordinateStep step(x_[j], q_[j], curvature, r_);
        if (step.change == 0) return 0;
        x_[j] = step.after;
        add_(q_, step.change, H_ + j * n_, n_);
        return step.gained;
    }

  private:
    const double* H_;
    std::int64_t n_;
    double r_;
    double* x_;
    double* q_;
    void (*add_)(double* w, double scale, const double* x, std::int64_t n);
};

template <class View>
class ColumnModel {
  public:
    ColumnModel(const View& A, const double* h, std::int64_t n_values, double ridge, double r,
                const double* g, double* x, const L1Offset& offset)
        : A_(A), h_(h), ridge_(ridge), r_(r), g_(g), x_(x), start_(x, x + A.n_rows()), t_(at(n_values)),
          curvature_(at(A.n_rows())), weight_(at(A.n_rows())) {
        for (std::int64_t i = 0; i < n_values; ++i) total_ += h[i];
        total_ += offset.stiffness;
        has_offset_ = offset.is_there && total_ > 0;
        pull_ = offset.slope;
        for (std::int64_t j = 0; j < A.n_rows(); ++j) {
            double squares = 0, sum = 0;
            for (std::int64_t k = 0; k < A.n_values(j); ++k) {
                const double value = static_cast<double>(A.value(j, k)), weighted = h[A.column(j, k)] * value;
                squares += weighted * value;
                sum += weighted;
            }
            weight_[at(j)] = has_offset_ ? sum : 0;
            const double curvature = has_offset_ ? squares - sum * sum / total_ : squares;
            // Of a column that is all but constant nothing but rounding is left.
            curvature_[at(j)] = (curvature > 1e-13 * squares ? curvature : 0) + ridge;
        }
    }

    std::int64_t n() const noexcept { return A_.n_rows(); }
    std::int64_t cost(std::int64_t j) const noexcept { return A_.n_values(j); }
    bool is_zero(std::int64_t j) const noexcept { return x_[j] == 0; }
    double offset_change() const noexcept { return has_offset_ ? -pull_ / total_ : 0; }

    double visit(std::int64_t j) {
        const double curvature = curvature_[at(j)];
        if (!(curvature > 0)) return 0;
        double q = g_[j] + A_.dot(j, t_.data()) + ridge_ * (x_[j] - start_[at(j)]);
        if (has_offset_) q -= weight_[at(j)] * pull_ / total_;
        const CoordinateStep step(x_[j], q, curvature, r_);
        if (step.change == 0) return 0;
        x_[j] = step.after;
        for (std::int64_t k = 0; k < A_.n_values(j); ++k) {
            const std::int64_t i = A_.column(j, k);
            t_[at(i)] += step.change * h_[i] * static_cast<double>(A_.value(j, k));
        }
        pull_ += step.change * weight_[at(j)];
        return step.gained;
    }

  private:
    const View& A_;
    const double* h_;
    double ridge_, r_;
    const double* g_;
    double* x_;
    Numbers start_;
    Numbers t_;          // h ∘ Aᵀ (x − x₀)
    Numbers curvature_;  // with the offset eliminated
    Numbers weight_;     // A h
    double total_ = 0, pull_ = 0;
    bool has_offset_ = false;
};

// What is gained by steps of rounding errors, back and forth for ever, as a share of what was gained before.
constexpr double kNothing = 1e-24;

template <class Model>
bool descend(Model& model, L1Limits limits, L1Descent& found, StopToken& token) {
    Pace pace(token);
    std::vector<std::int64_t> active;
    double visited = 0;  // coordinates
    const double n = static_cast<double>(model.n()), share = std::max(limits.share, kNothing);
    const double most_visited = static_cast<double>(limits.most_sweeps) * n;
    while (visited < most_visited) {
        double gained = 0;
        active.clear();
        for (std::int64_t j = 0; j < model.n(); ++j) {
            gained += model.visit(j);
            if (!model.is_zero(j)) active.push_back(j);
            if (pace.stop_after(model.cost(j))) return false;
        }
        visited += n;
        found.gained += gained;
        if (!(gained > share * found.gained)) break;
        for (double last = gained; last > 0.5 * share * found.gained && visited < most_visited;) {
            last = 0;
            for (const std::int64_t j : active) {
                last += model.visit(j);
                if (pace.stop_after(model.cost(j))) return false;
            }
            found.gained += last;
            visited += static_cast<double>(active.size());
        }
    }
    found.sweeps = static_cast<std::int64_t>(std::ceil(visited / std::max(n, 1.0)));
    return true;
}

}  // namespace

bool descend_l1_quadratic(const double* H, std::int64_t n, double r, double* x, double* q, L1Limits limits,
                          L1Descent& found, StopToken& token) {
    MatrixModel model(H, n, r, x, q);
    return descend(model, limits, found, token);
}

bool descend_l1_columns(const Block& A, const double* h, double ridge, double r, const double* g, double* x,
                        L1Offset& offset, L1Limits limits, L1Descent& found, StopToken& token) {
    Chunks chunks(A);
    bool went_on = true;
    // What is read in place is one chunk.
    for (std::int64_t chunk = 0; chunk < std::min<std::int64_t>(chunks.count(), 1); ++chunk) {
        chunks.open(chunk, [&](const auto& view, std::int64_t) {
            ColumnModel model(view, h, A.n_columns, ridge, r, g, x, offset);
            went_on = descend(model, limits, found, token);
            offset.change = model.offset_change();
        });
    }
    return went_on;
}

}  // namespace maxmargin
