// Losses applied element by element: loss_value(name, m), loss_slope(name, m), ... and, for the losses with a
// dual, loss_fenchel_gap(name, m, alpha, cost), loss_dual_value(name, alpha, cost),
// loss_best_alpha(name, m, cost).

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "maxmargin/loss/table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace loss = maxmargin::loss;

using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

// Which losses have the function asked for, decided when compiling.
constexpr auto any = [](auto) { return true; };
constexpr auto convex = [](auto l) { return loss::ConvexLoss<decltype(l)>; };
constexpr auto dual = [](auto l) { return loss::DualLoss<decltype(l)>; };

template <class Has>
std::string names(Has has) {
    std::string text;
    const auto add = [&](auto l) {
        if (has(l)) text += (text.empty() ? "" : ", ") + std::string(l.name);
    };
    std::apply([&](auto... losses) { (add(losses), ...); }, loss::Table{});
    return text;
}

void require_equal(std::size_t n, std::size_t other) {
    if (n != other)
        throw std::invalid_argument("the arrays must have equal lengths; got " + std::to_string(n) + " and " +
                                    std::to_string(other));
}

// The array of element(L, first[i], others[i]...) for the loss L of that name.
template <class Has, class Element, class... Others>
Result each(const std::string& name, const char* what, Has has, Element element, const Numbers& first,
            const Others&... others) {
    const std::size_t n = first.size();
    (require_equal(n, others.size()), ...);
    auto values = std::make_unique<double[]>(n);
    bool done = false;
    loss::with_loss(name, [&](auto l) {
        if constexpr (has(decltype(l){})) {
            nb::gil_scoped_release unlocked;
            for (std::size_t i = 0; i < n; ++i) values[i] = element(l, first(i), others(i)...);
            done = true;
        }
    });
    if (!done)
        throw std::invalid_argument("no " + std::string(what) + " for loss \"" + name +
                                    "\"; there is one for " + names(has));
    nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Result(values.release(), {n}, owner);
}

template <class Has, class Element>
void define_unary(nb::module_& module, const char* function, const char* argument, const char* what, Has has,
                  Element element, const char* doc) {
    module.def(
        function, [=](const std::string& name, Numbers x) { return each(name, what, has, element, x); },
        "name"_a, nb::arg(argument), doc);
}

}  // namespace

void bind_losses(nb::module_& module) {
    define_unary(
        module, "loss_value", "m", "value", any, [](auto l, double m) { return l.value(m); },
        "The loss of every agreement m.");
    define_unary(
        module, "loss_slope", "m", "slope", any, [](auto l, double m) { return l.slope(m); },
        "The derivative of the loss; at a kink the lecture notes' choice.");
    define_unary(
        module, "loss_slope_low", "m", "slope", any, [](auto l, double m) { return l.slope_low(m); },
        "The lower end of the interval of slopes.");
    define_unary(
        module, "loss_slope_high", "m", "slope", any, [](auto l, double m) { return l.slope_high(m); },
        "The upper end of the interval of slopes.");
    define_unary(
        module, "loss_curvature", "m", "curvature", any, [](auto l, double m) { return l.curvature(m); },
        "The second derivative of the loss.");
    define_unary(
        module, "loss_conjugate", "u", "conjugate", convex, [](auto l, double u) { return l.conjugate(u); },
        "The convex conjugate, sup over m of u m - loss(m).");

    module.def(
        "loss_fenchel_gap",
        [](const std::string& name, Numbers m, Numbers alpha, Numbers cost) {
            const auto gap = [](auto l, double m, double alpha, double c) {
                return l.fenchel_gap(m, alpha, c);
            };
            return each(name, "duality gap", dual, gap, m, alpha, cost);
        },
        "name"_a, "m"_a, "alpha"_a, "cost"_a, "Every row's share of the duality gap.");
    module.def(
        "loss_dual_value",
        [](const std::string& name, Numbers alpha, Numbers cost) {
            const auto value = [](auto l, double alpha, double c) { return l.dual_value(alpha, c); };
            return each(name, "dual value", dual, value, alpha, cost);
        },
        "name"_a, "alpha"_a, "cost"_a, "Every row's share of the dual objective.");
    module.def(
        "loss_best_alpha",
        [](const std::string& name, Numbers m, Numbers cost) {
            const auto best = [](auto l, double m, double c) { return l.best_alpha(m, c); };
            return each(name, "dual variable", dual, best, m, cost);
        },
        "name"_a, "m"_a, "cost"_a, "The dual variable at which a row's share of the gap is 0.");
}
