#include "maxmargin/kernel/l1_quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "maxmargin/primitives.hpp"

namespace maxmargin {
namespace {

double soft_threshold(double t, double s) { return std::copysign(std::max(std::abs(t) - s, 0.0), t); }

class Descent {
  public:
    Descent(const double* H, std::int64_t n, double r, double* x, double* q)
        : H_(H), n_(n), r_(r), x_(x), q_(q), add_(primitives().dense_f64.add) {}

    // Moves one coordinate to its minimum; returns by how much that lowers the function.
    double visit(std::int64_t j) {
        const double curvature = H_[j * n_ + j];
        if (!(curvature > 0)) return 0;
        const double before = x_[j], after = soft_threshold(before - q_[j] / curvature, r_ / curvature);
        const double change = after - before;
        if (change == 0) return 0;
        const double gained =
            -change * (q_[j] + 0.5 * curvature * change) - r_ * (std::abs(after) - std::abs(before));
        x_[j] = after;
        add_(q_, change, H_ + j * n_, n_);
        return gained;
    }

    std::int64_t n() const noexcept { return n_; }
    bool is_zero(std::int64_t j) const noexcept { return x_[j] == 0; }

  private:
    const double* H_;
    std::int64_t n_;
    double r_;
    double* x_;
    double* q_;
    void (*add_)(double* w, double scale, const double* x, std::int64_t n);
};

}  // namespace

bool descend_l1_quadratic(const double* H, std::int64_t n, double r, double* x, double* q, double share,
                          std::int64_t most_sweeps, L1Descent& found, StopToken& token) {
    Descent descent(H, n, r, x, q);
    Pace pace(token);
    std::vector<std::int64_t> active;
    double visited = 0;  // coordinates
    const double most_visited = static_cast<double>(most_sweeps) * static_cast<double>(n);
    while (visited < most_visited) {
        double gained = 0;
        active.clear();
        for (std::int64_t j = 0; j < n; ++j) {
            gained += descent.visit(j);
            if (!descent.is_zero(j)) active.push_back(j);
            if (pace.stop_after(n)) return false;
        }
        visited += static_cast<double>(n);
        found.gained += gained;
        if (!(gained > share * found.gained)) break;
        for (double last = gained; last > 0.5 * share * found.gained && visited < most_visited;) {
            last = 0;
            for (const std::int64_t j : active) {
                last += descent.visit(j);
                if (pace.stop_after(n)) return false;
            }
            found.gained += last;
            visited += static_cast<double>(active.size());
        }
    }
    found.sweeps =
        static_cast<std::int64_t>(std::ceil(visited / static_cast<double>(std::max<std::int64_t>(n, 1))));
    return true;
}

}  // namespace maxmargin
