// The free rows' linear system: conjugate gradients against elimination.

#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "matrix.hpp"
#include "maxmargin/kernel/face_solve.hpp"

using namespace maxmargin;
using namespace maxmargin::testing;

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
    double total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
}

// A face whose rows are scaled to a unit diagonal, as the solver makes them.
struct Example {
    Matrix m;
    Vector signed_scale, normal, gradient;
    double offset_square;

    Example(std::int64_t n, std::int64_t d, double square, bool constrained)
        : m(n, d), offset_square(square) {
        double length = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            double norm2 = square;
            for (std::int64_t j = 0; j < d; ++j) norm2 += m.at(i, j) * m.at(i, j);
            signed_scale.push_back((i % 3 == 0 ? -1.0 : 1.0) / std::sqrt(norm2 > 0 ? norm2 : 1.0));
            gradient.push_back(std::sin(static_cast<double>(5 * i + 1)));
            length += signed_scale.back() * signed_scale.back();
        }
        if (!constrained) return;
        for (const double a : signed_scale) normal.push_back(a / std::sqrt(length));
    }

    Face face(const Block& block) const {
        return {block, signed_scale.data(), normal.empty() ? nullptr : normal.data(), offset_square};
    }

    Vector hessian_times(const Vector& y) const {
        Vector w(static_cast<std::size_t>(m.columns), 0.0), result;
        double balance = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            for (std::int64_t j = 0; j < m.columns; ++j) {
                w[static_cast<std::size_t>(j)] +=
                    signed_scale[i] * y[i] * m.at(static_cast<std::int64_t>(i), j);
            }
            balance += signed_scale[i] * y[i];
        }
        for (std::size_t i = 0; i < y.size(); ++i) {
            const double score = m.dot(static_cast<std::int64_t>(i), w.data()) + offset_square * balance;
            result.push_back(signed_scale[i] * score);
        }
        return result;
    }

    double value(const Vector& y) const { return dot(gradient, y) - 0.5 * dot(y, hessian_times(y)); }

    // What is left of the gradient, inside the constraint.
    Vector residual(const Vector& y) const {
        Vector left = hessian_times(y);
        for (std::size_t i = 0; i < y.size(); ++i) left[i] = gradient[i] - left[i];
        if (normal.empty()) return left;
        const double along = dot(normal, left);
        for (std::size_t i = 0; i < y.size(); ++i) left[i] -= along * normal[i];
        return left;
    }
};

}  // namespace

TEST("fewer free rows than columns: the system is solved") {
    for (const double square : {0.0, 2.0}) {
        for (const bool constrained : {false, true}) {
            const Example example(8, 40, square, constrained);
            for (const Stored& stored : every_storage(example.m)) {
                NeverStop never;
                Vector y(8, 77.0);
                const FaceSolution found =
                    solve_on_face(example.face(stored.block), example.gradient.data(), y.data(), 100, never);
                CHECK(found.complete && !found.unbounded && found.iterations <= 20);
                for (const double left : example.residual(y)) CHECK_CLOSE(left, 0.0, 1e-11);
                if (constrained) CHECK_CLOSE(dot(example.normal, y), 0.0, 1e-13);
            }
        }
    }
}

TEST("more free rows than columns: a direction that climbs for ever, or the best value") {
    const Example example(30, 4, 0.0, true);
    const Stored stored = dense<double>("", example.m, Scalar::f64, 4, 1);
    NeverStop never;
    Vector y(30);
    const FaceSolution found =
        solve_on_face(example.face(stored.block), example.gradient.data(), y.data(), 100, never);
    CHECK(found.complete && found.unbounded);
    CHECK(dot(example.gradient, y) > 0);
    CHECK(dot(y, example.hessian_times(y)) <= 1e-12 * dot(y, y));
    CHECK_CLOSE(dot(example.normal, y), 0.0, 1e-12);
}

TEST("a gradient in the range of a singular system is solved for") {
    Example example(30, 4, 0.0, false);
    Vector wanted(30);
    for (std::size_t i = 0; i < 30; ++i) wanted[i] = std::cos(static_cast<double>(i));
    example.gradient = example.hessian_times(wanted);
    const Stored stored = dense<double>("", example.m, Scalar::f64, 4, 1);
    NeverStop never;
    Vector y(30);
    const FaceSolution found =
        solve_on_face(example.face(stored.block), example.gradient.data(), y.data(), 100, never);
    CHECK(!found.unbounded && found.iterations <= 10);
    CHECK_CLOSE(example.value(y), example.value(wanted), 1e-12);
}

TEST("every iteration climbs, and the number of iterations is respected") {
    const Example example(40, 60, 1.0, true);
    const Stored stored = dense<double>("", example.m, Scalar::f64, 60, 1);
    double before = 0;
    for (std::int64_t most = 0; most < 12; ++most) {
        NeverStop never;
        Vector y(40);
        const FaceSolution found =
            solve_on_face(example.face(stored.block), example.gradient.data(), y.data(), most, never);
        CHECK(found.iterations == most);
        CHECK(most == 0 ? example.value(y) == 0 : example.value(y) > before);
        before = example.value(y);
    }
}

TEST("nothing to climb: nothing moves") {
    Example example(8, 40, 0.0, false);
    example.gradient.assign(8, 0.0);
    const Stored stored = dense<double>("", example.m, Scalar::f64, 40, 1);
    NeverStop never;
    Vector y(8, 77.0);
    const FaceSolution found =
        solve_on_face(example.face(stored.block), example.gradient.data(), y.data(), 100, never);
    CHECK(found.iterations == 0 && !found.unbounded);
    CHECK(y == Vector(8, 0.0));
}

TEST("the system answers its token") {
    const Example example(2000, 400, 0.0, false);
    const Stored stored = dense<double>("", example.m, Scalar::f64, 400, 1);
    StopAt third(3);
    Vector y(2000);
    CHECK(
        !solve_on_face(example.face(stored.block), example.gradient.data(), y.data(), 1000, third).complete);
}
