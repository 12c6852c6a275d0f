// Logistic loss: log(1 + exp(-m)), natural logarithm. sigma(m) = 1 / (1 + exp(-m)).
//
// slope      -sigma(-m)
// conjugate  p log p + (1 - p) log(1 - p) with p = -u in [0, 1]
// gap        c KL(p || s) with p = alpha/c, s = sigma(-m)
//
// With d = p - s the divergence is the sum of two terms that are both >= 0,
//
//     KL(p || s) = excess(p, s) + excess(1 - p, 1 - s),     excess(p, s) = p log(p/s) - (p - s),
//
// so nothing cancels between them. Complements 1 - p and 1 - s are computed from alpha, c and m, never by
// subtraction from 1, which keeps the digits when p and s are near 1.
#pragma once

#include <cmath>
#include <limits>

#include "maxmargin/loss/concept.hpp"

namespace maxmargin::loss {

struct Logistic {
    static constexpr const char* name = "logistic";

    static double value(double m) noexcept {
        return m > 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
    }
    static double slope(double m) noexcept { return -sigma(-m); }
    static double slope_low(double m) noexcept { return slope(m); }
    static double slope_high(double m) noexcept { return slope(m); }

    static double curvature(double m) noexcept {
        const double e = std::exp(-std::fabs(m));
        return e / ((1.0 + e) * (1.0 + e));
    }

    static double conjugate(double u) noexcept {
        return u >= -1.0 && u <= 0.0 ? -entropy(-u, 1.0 + u) : infinity;
    }

    static double largest_alpha(double c) noexcept { return c; }

    static double dual_value(double alpha, double c) noexcept {
        if (!(alpha >= 0.0 && alpha <= c)) return -infinity;
        return c == 0.0 ? 0.0 : c * entropy(alpha / c, (c - alpha) / c);
    }

    static double fenchel_gap(double m, double alpha, double c) noexcept {
        const double e = std::exp(-std::fabs(m)), small = e / (1.0 + e), large = 1.0 / (1.0 + e);
        return fenchel_gap(m, m > 0.0 ? small : large, m > 0.0 ? large : small, alpha, c);
    }

    // The same where s = sigma(-m) and 1 - s = sigma(m) are known.
    static double fenchel_gap(double m, double s, double not_s, double alpha, double c) noexcept {
        if (!(alpha >= 0.0 && alpha <= c)) return infinity;
        if (c == 0.0) return 0.0;
        const double p = alpha / c, not_p = (c - alpha) / c;
        const double d = m > 0.0 ? p - s : not_s - not_p;  // from the smaller of s and 1 - s
        return c * (excess(p, s, d, -m) + excess(not_p, not_s, -d, m));
    }

    static double best_alpha(double m, double c) noexcept { return c * sigma(-m); }

    static double sigma(double m) noexcept {
        if (m >= 0.0) return 1.0 / (1.0 + std::exp(-m));
        const double e = std::exp(m);
        return e / (1.0 + e);
    }

  private:
    // -p log p - q log q for q = 1 - p, both given.
    static double entropy(double p, double q) noexcept { return surprise(p, q) + surprise(q, p); }

    static double surprise(double p, double q) noexcept {
        if (p == 0.0) return 0.0;
        return -p * (p < 0.5 ? std::log(p) : std::log1p(-q));
    }

    // p log(p/s) - d for s = sigma(z) and d = p - s; never below 0.
    static double excess(double p, double s, double d, double z) noexcept {
        if (d == 0.0) return 0.0;
        if (std::fabs(d) <= 0.25 * s) return s * excess_near(d / s);
        if (p == 0.0) return -d;
        // -log s = value(z); used only where s has lost its digits or become 0
        const double log_ratio =
            s >= std::numeric_limits<double>::min() ? std::log(p / s) : std::log(p) + value(z);
        const double result = p * log_ratio - d;
        return result < 0.0 ? 0.0 : result;  // std::fmax would hide a NaN
    }

    // (1 + r) log(1 + r) - r for |r| <= 1/4. With t = r / (2 + r), log(1 + r) = 2 (t + t^3/3 + t^5/5 + ...),
    // and the linear terms cancel on paper: 2 (t^2 + (1 + t)(t^3/3 + t^5/5 + ...)) / (1 - t).
    static double excess_near(double r) noexcept {
        const double t = r / (2.0 + r), t2 = t * t;
        if (t2 < 1e-6)
            return 2.0 * t2 * (1.0 + (1.0 + t) * t * (1.0 / 3 + t2 * (1.0 / 5 + t2 / 7))) / (1.0 - t);
        double tail = 0.0;
        for (int k = 19; k >= 3; k -= 2) tail = tail * t2 + 1.0 / k;
        return 2.0 * t2 * (1.0 + (1.0 + t) * t * tail) / (1.0 - t);
    }
};

static_assert(DualLoss<Logistic>);

}  // namespace maxmargin::loss
