// The passes of the interior point method.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "maxmargin/kernel/interior_passes.hpp"
#include "records.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Direction = std::tuple<In<double>, In<double>, In<double>>;
using DirectionOut = std::tuple<Out<double>, Out<double>, Out<double>>;
using State = std::tuple<In<double>, In<double>, In<double>, In<double>>;
using StateOut = std::tuple<Out<double>, Out<double>, Out<double>, Out<double>>;

InteriorRows view_of(std::int64_t n, const In<std::int8_t>& sign, const In<double>& cost,
                     const State& state) {
    const auto& [alpha, beta, t, xi] = state;
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    expect_length(alpha, n, "alpha");
    expect_length(beta, n, "beta");
    expect_length(t, n, "t");
    expect_length(xi, n, "xi");
    return {sign.data(), cost.data(), alpha.data(), beta.data(), t.data(), xi.data()};
}

NewState view_of(std::int64_t n, const StateOut& state) {
    const auto& [alpha, beta, t, xi] = state;
    for (const auto* part : {&alpha, &beta, &t, &xi}) expect_length(*part, n, "after");
    return {alpha.data(), beta.data(), t.data(), xi.data()};
}

InteriorDirection view_of(std::int64_t n, const Direction& direction) {
    const auto& [alpha, t, xi] = direction;
    for (const auto* part : {&alpha, &t, &xi}) expect_length(*part, n, "direction");
    return {alpha.data(), t.data(), xi.data()};
}

NewDirection view_of(std::int64_t n, const DirectionOut& direction) {
    const auto& [alpha, t, xi] = direction;
    for (const auto* part : {&alpha, &t, &xi}) expect_length(*part, n, "direction");
    return {alpha.data(), t.data(), xi.data()};
}

Affine affine(const OwnedBlock& rows, const In<double>& w, double offset) {
    expect_length(w, rows.block.n_columns, "w");
    return {w.data(), offset};
}

double* sums_of(const OwnedBlock& rows, Out<double>& total, const char* name) {
    expect_length(total, rows.block.n_columns + 1, name);
    return total.data();
}

// The sums of a complete pass.
template <class Pass>
auto sums_of_pass(PythonStopToken& token, Pass&& pass) {
    decltype(pass()) sums;
    run_to_the_end(token, [&] {
        sums = pass();
        return sums.complete;
    });
    return sums;
}

PointSums move(const OwnedBlock& rows, In<std::int8_t> sign, In<double> cost, const State& state,
               const std::optional<Direction>& along, double step, double mu, In<double> w, double offset,
               const StateOut& after, Out<double> dual_sum, Out<double> predictor_side,
               std::optional<Matrix> matrix, std::optional<In<double>> shift, PythonStopToken& token) {
    const std::int64_t d = rows.block.n_columns;
    if (shift) expect_length(*shift, d, "shift");
    if (matrix &&
        (static_cast<std::int64_t>(matrix->shape(0)) != d + 1 || matrix->shape(1) != matrix->shape(0)))
        throw nb::value_error("matrix must have one row and column more than there are columns");
    const std::int64_t n = rows.block.n_rows;
    const InteriorRows view = view_of(n, sign, cost, state);
    const NewState to = view_of(n, after);
    const InteriorDirection direction = along ? view_of(n, *along) : InteriorDirection{};
    const Assembly assembly{sums_of(rows, dual_sum, "dual_sum"),
                            sums_of(rows, predictor_side, "predictor_side"),
                            matrix ? matrix->data() : nullptr, shift ? shift->data() : nullptr};
    const Affine at = affine(rows, w, offset);
    const Move how{along ? &direction : nullptr, step, mu};
    return sums_of_pass(token, [&] { return interior_move(rows.block, view, at, how, to, assembly, token); });
}

StepSums predict(const OwnedBlock& rows, In<std::int8_t> sign, In<double> cost, const State& state,
                 In<double> dw, double offset, Out<double> alpha, Out<double> centring,
                 Out<double> second_order, PythonStopToken& token) {
    const InteriorRows view = view_of(rows.block.n_rows, sign, cost, state);
    expect_length(alpha, rows.block.n_rows, "alpha");
    const Affine change = affine(rows, dw, offset);
    double* first = sums_of(rows, centring, "centring");
    double* second = sums_of(rows, second_order, "second_order");
    return sums_of_pass(token, [&] {
        return interior_predict(rows.block, view, change, alpha.data(), first, second, token);
    });
}

StepSums correct(const OwnedBlock& rows, In<std::int8_t> sign, In<double> cost, const State& state,
                 In<double> dw, double offset, const DirectionOut& along, double target, double trial,
                 Out<double> pull_back, PythonStopToken& token) {
    const InteriorRows view = view_of(rows.block.n_rows, sign, cost, state);
    const NewDirection direction = view_of(rows.block.n_rows, along);
    const Affine change = affine(rows, dw, offset);
    double* total = sums_of(rows, pull_back, "pull_back");
    return sums_of_pass(token, [&] {
        return interior_correct(rows.block, view, change, direction, {target, trial}, total, token);
    });
}

StepSums refine(const OwnedBlock& rows, In<std::int8_t> sign, In<double> cost, const State& state,
                In<double> dw, double offset, const Direction& along, const DirectionOut& better,
                double target, double trial, double next_trial, Out<double> pull_back,
                PythonStopToken& token) {
    const InteriorRows view = view_of(rows.block.n_rows, sign, cost, state);
    const InteriorDirection from = view_of(rows.block.n_rows, along);
    const NewDirection to = view_of(rows.block.n_rows, better);
    const Affine change = affine(rows, dw, offset);
    double* total = sums_of(rows, pull_back, "pull_back");
    return sums_of_pass(token, [&] {
        return interior_refine(rows.block, view, change, from, to, {target, trial}, next_trial, total, token);
    });
}

void least_products(In<std::int8_t> sign, In<double> cost, const State& state, const Direction& along,
                    In<double> steps, In<double> means, Out<double> least) {
    const auto n = static_cast<std::int64_t>(cost.shape(0));
    const InteriorRows view = view_of(n, sign, cost, state);
    const InteriorDirection direction = view_of(n, along);
    const auto n_tried = static_cast<std::int64_t>(steps.shape(0));
    expect_length(means, n_tried, "means");
    expect_length(least, n_tried, "least");
    std::vector<TriedStep> tried;
    for (std::int64_t k = 0; k < n_tried; ++k) tried.push_back({steps.data()[k], means.data()[k]});
    nb::gil_scoped_release nogil;
    interior_least_products(n, view, direction, tried.data(), n_tried, least.data());
}

double smooth_slope(In<std::int8_t> sign, In<double> cost, const State& state, In<double> change, double step,
                    double mu) {
    const auto n = static_cast<std::int64_t>(cost.shape(0));
    const InteriorRows view = view_of(n, sign, cost, state);
    expect_length(change, n, "change");
    nb::gil_scoped_release nogil;
    return interior_smooth_slope(n, view, change.data(), step, mu);
}

nb::tuple centred(double e, double cost, double mu) {
    const CentredRow row = centre_row(e, cost, mu);
    return nb::make_tuple(row.alpha, row.beta, row.t, row.xi);
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_interior(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    bind_record(m, "PointSums", "What interior_move added up at the new point.",
                field("loss", &PointSums::loss), field("gap", &PointSums::gap),
                field("dual", &PointSums::dual), field("balance", &PointSums::balance),
                field("complementarity", &PointSums::complementarity));
    bind_record(m, "StepSums", "How long a step may be, and what it does to the complementarity.",
                field("largest_ratio", &StepSums::largest_ratio), field("first", &StepSums::first),
                field("second", &StepSums::second));

    m.def("interior_centre", &centred, nb::arg("e"), nb::arg("cost"), nb::arg("mu"),
          "(alpha, beta, t, xi) of the central path for a given margin.");
    m.def("interior_move", &move, nb::arg("block"), nb::arg("sign").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("state"), nb::arg("along").none(), nb::arg("step"), nb::arg("mu"), nb::arg("w").noconvert(),
          nb::arg("offset"), nb::arg("after"), nb::arg("dual_sum").noconvert(),
          nb::arg("predictor_side").noconvert(), nb::arg("matrix").noconvert().none(),
          nb::arg("shift").noconvert().none(), nb::arg("token"),
          "Move every row along a direction, or to the central path, and assemble the next system.");
    m.def("interior_predict", &predict, nb::arg("block"), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("state"), nb::arg("dw").noconvert(), nb::arg("offset"),
          nb::arg("alpha").noconvert(), nb::arg("centring").noconvert(), nb::arg("second_order").noconvert(),
          nb::arg("token"),
          "The predictor's directions, and what the corrector's right-hand side is made of.");
    m.def("interior_correct", &correct, nb::arg("block"), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("state"), nb::arg("dw").noconvert(), nb::arg("offset"),
          nb::arg("along"), nb::arg("target"), nb::arg("trial"), nb::arg("pull_back").noconvert(),
          nb::arg("token"),
          "The corrector's directions, and the right-hand side of Gondzio's first corrector.");
    m.def("interior_refine", &refine, nb::arg("block"), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("state"), nb::arg("dw").noconvert(), nb::arg("offset"),
          nb::arg("along"), nb::arg("better"), nb::arg("target"), nb::arg("trial"), nb::arg("next_trial"),
          nb::arg("pull_back").noconvert(), nb::arg("token"),
          "One of Gondzio's correctors, and the right-hand side of the next.");
    m.def("interior_least_products", &least_products, nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("state"), nb::arg("along"), nb::arg("steps").noconvert(),
          nb::arg("means").noconvert(), nb::arg("least").noconvert(),
          "The smallest complementarity product after each step, as a share of its mean times cost.");
    m.def("interior_smooth_slope", &smooth_slope, nb::arg("sign").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("state"), nb::arg("change").noconvert(), nb::arg("step"), nb::arg("mu"),
          "The slope of the smoothed loss along a change of the scores.");
}
