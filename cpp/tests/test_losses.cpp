// Contracts of every loss in the table; the comparison with exact arithmetic is in the Python tests.

#include "check.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "maxmargin/loss/table.hpp"

using namespace maxmargin::loss;

namespace {

constexpr double smallest = std::numeric_limits<double>::denorm_min();
constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const std::vector<double> agreements = {
    -infinity, -1.7e308, -1e308, -750, -710, -40, -2,  -1,   -0.5, -smallest, -0.0,    0.0,
    smallest,  1e-300,   0.5,    0.9,  1,    1.5, 2.0, 40.0, 710,  750,       1.7e308, infinity};
const std::vector<double> shares = {0.0, 1e-300, 1e-17, 0.25, 0.5, 0.999, 1.0};
const std::vector<double> costs = {smallest, 1e-300, 1e-3, 1.0, 1e6, 1e300};

template <class Body>
void for_each_loss(Body body) {
    std::apply([&](auto... losses) { (body(losses), ...); }, Table{});
}

template <class Body>
void for_each_dual_loss(Body body) {
    for_each_loss([&](auto l) {
        if constexpr (DualLoss<decltype(l)>) body(l);
    });
}

}  // namespace

TEST("losses: no NaN anywhere, and the slope is in its interval") {
    for_each_loss([](auto l) {
        for (const double m : agreements) {
            CHECK(l.value(m) >= 0.0);
            CHECK(l.curvature(m) >= 0.0);
            CHECK(l.slope_low(m) <= l.slope(m));
            CHECK(l.slope(m) <= l.slope_high(m));
            if constexpr (ConvexLoss<decltype(l)>) CHECK(!std::isnan(l.conjugate(m)));
        }
    });
}

TEST("losses: Fenchel-Young, with equality at the slope") {
    for_each_loss([](auto l) {
        if constexpr (ConvexLoss<decltype(l)>) {
            for (const double m : {-30.0, -2.0, 0.0, 0.5, 1.0, 3.0, 30.0}) {
                for (const double u : {-2.0, -1.0, -0.5, -1e-9, 0.0, 0.5, 1.0}) {
                    CHECK(l.value(m) + l.conjugate(u) >= u * m - 1e-13 * (1.0 + std::fabs(u * m)));
                }
                const double u = l.slope(m);
                CHECK_CLOSE(l.value(m) + l.conjugate(u), u * m, 1e-12);
            }
        }
    });
}

TEST("losses: the gap of a row is never negative or NaN, and 0 at the best dual variable") {
    for_each_dual_loss([](auto l) {
        for (const double c : costs) {
            for (const double m : agreements) {
                for (const double share : shares) CHECK(l.fenchel_gap(m, share * c, c) >= 0.0);
                const double best = l.best_alpha(m, c);
                CHECK(best >= 0.0 && best <= l.largest_alpha(c));
                // only as near 0 as alpha can come to the best one; subnormal costs have no room at all
                if (std::isfinite(best) && c >= 1e-290) {
                    CHECK(l.fenchel_gap(m, best, c) <= epsilon * c * (1.0 + epsilon * m * m));
                }
            }
        }
    });
}

TEST("losses: the gap of a row is its definition") {
    for_each_dual_loss([](auto l) {
        for (const double c : {0.01, 1.0, 300.0}) {
            for (const double m : {-20.0, -1.0, 0.0, 0.7, 1.0, 1.3, 20.0}) {
                for (const double share : {0.0, 1e-6, 0.3, 0.7, 0.999999, 1.0}) {
                    const double alpha = share * c;
                    const double gap = c * l.value(m) + c * l.conjugate(-alpha / c) + alpha * m;
                    CHECK_CLOSE(l.fenchel_gap(m, alpha, c) / c, gap / c, 1e-12);
                    CHECK_CLOSE(l.dual_value(alpha, c) / c, -l.conjugate(-alpha / c), 1e-14);
                    CHECK_CLOSE(l.best_alpha(m, c), m == 1.0 ? l.best_alpha(1.0, c) : -c * l.slope(m), 1e-15);
                }
            }
        }
    });
}

TEST("losses: an infeasible dual variable proves nothing") {
    for_each_dual_loss([](auto l) {
        for (const double alpha : {-1.0, -smallest, 2.0 * l.largest_alpha(3.0), not_a_number}) {
            if (alpha == infinity) continue;
            CHECK(l.fenchel_gap(0.5, alpha, 3.0) == infinity);
            CHECK(l.dual_value(alpha, 3.0) == -infinity);
        }
        CHECK(l.fenchel_gap(0.5, 1.0, 0.0) == infinity);
        CHECK(l.dual_value(1.0, 0.0) == -infinity);
    });
}

TEST("losses: a row of cost 0 contributes nothing") {
    for_each_dual_loss([](auto l) {
        for (const double m : agreements) {
            CHECK(l.fenchel_gap(m, 0.0, 0.0) == 0.0);
            CHECK(l.best_alpha(m, 0.0) == 0.0);
        }
        CHECK(l.dual_value(0.0, 0.0) == 0.0);
        CHECK(l.largest_alpha(0.0) == 0.0);
    });
}

TEST("losses: a NaN agreement cannot hide") {
    for_each_dual_loss([](auto l) {
        CHECK(std::isnan(l.value(not_a_number)));
        for (const double share : shares) CHECK(std::isnan(l.fenchel_gap(not_a_number, share, 1.0)));
    });
}

TEST("losses: at the kink of the hinge the slope is -1, the lecture notes' choice") {
    CHECK(Hinge::slope(1.0) == -1.0);
    CHECK(Hinge::slope_low(1.0) == -1.0 && Hinge::slope_high(1.0) == 0.0);
    CHECK(Absolute::slope(1.0) == -1.0);
    CHECK(ZeroOne::value(0.0) == 1.0);
}

TEST("losses: found by name") {
    std::string found;
    CHECK(with_loss("logistic", [&](auto l) { found = l.name; }));
    CHECK(found == "logistic");
    CHECK(!with_loss("logistics", [](auto) {}));
}
