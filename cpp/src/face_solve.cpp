#include "maxmargin/kernel/face_solve.hpp"

#include <algorithm>
#include <vector>

#include "maxmargin/kernel/products.hpp"

namespace maxmargin {
namespace {

using Vector = std::vector<double>;

constexpr double kResidualDrop = 1e-28;  // of its square: fourteen digits
constexpr double kFlat = 1e-13;          // curvature below this share of a unit diagonal is rounding

double dot(const double* a, const double* b, std::size_t n) {
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += a[i] * b[i];
    return total;
}

// The Hessian, and the projection that keeps directions inside the constraint.
class Operator {
  public:
    Operator(const Face& face, StopToken& token)
        : face_(face), token_(token), n_(static_cast<std::size_t>(face.rows.n_rows)), coefficients_(n_),
          scores_(n_), weights_(static_cast<std::size_t>(face.rows.n_columns)) {}

    void project(Vector& y) const {
        if (face_.normal == nullptr) return;
        const double along = dot(face_.normal, y.data(), n_);
        for (std::size_t i = 0; i < n_; ++i) y[i] -= along * face_.normal[i];
    }

    // False if it was told to stop.
    bool apply(const Vector& y, Vector& result) {
        double balance = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            coefficients_[i] = face_.signed_scale[i] * y[i];
            balance += coefficients_[i];
        }
        std::fill(weights_.begin(), weights_.end(), 0.0);
        if (!multiply(face_.rows, nullptr, nullptr, coefficients_.data(), weights_.data(), token_))
            return false;
        if (!multiply(face_.rows, weights_.data(), scores_.data(), nullptr, nullptr, token_)) return false;
        for (std::size_t i = 0; i < n_; ++i) {
            result[i] = face_.signed_scale[i] * (scores_[i] + face_.offset_square * balance);
        }
        project(result);
        return true;
    }

  private:
    const Face& face_;
    StopToken& token_;
    std::size_t n_;
    Vector coefficients_, scores_, weights_;
};

}  // namespace

FaceSolution solve_on_face(const Face& face, const double* gradient, double* y, std::int64_t most,
                           StopToken& token) {
    const std::size_t n = static_cast<std::size_t>(face.rows.n_rows);
    Operator hessian(face, token);
    Vector residual(gradient, gradient + n), curved(n);
    hessian.project(residual);
    Vector direction = residual;
    std::fill(y, y + n, 0.0);
    double square = dot(residual.data(), residual.data(), n);
    const double target = square * kResidualDrop;
    FaceSolution solution;
    while (solution.iterations < most && square > target) {
        solution.complete = hessian.apply(direction, curved);
        if (!solution.complete) return solution;
        ++solution.iterations;
        const double curvature = dot(direction.data(), curved.data(), n);
        if (curvature <= kFlat * dot(direction.data(), direction.data(), n)) {
            solution.unbounded = true;
            std::copy(direction.begin(), direction.end(), y);
            return solution;
        }
        const double step = square / curvature;
        for (std::size_t i = 0; i < n; ++i) {
            y[i] += step * direction[i];
            residual[i] -= step * curved[i];
        }
        const double previous = square;
        square = dot(residual.data(), residual.data(), n);
        for (std::size_t i = 0; i < n; ++i) direction[i] = residual[i] + (square / previous) * direction[i];
    }
    return solution;
}

}  // namespace maxmargin
