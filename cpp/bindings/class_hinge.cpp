// The hinge of Crammer and Singer: its duals, its terms, and sweeps over its dual problem.
#include "maxmargin/kernel/class_hinge.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "arrays.hpp"
#include "maxmargin/kernel/class_softmax.hpp"
#include "maxmargin/kernel/class_sweep.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using InMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Labels = In<std::int32_t>;

template <class M>
void expect_shape(const M& matrix, std::int64_t rows, std::int64_t columns, const char* name) {
    if (static_cast<std::int64_t>(matrix.shape(0)) != rows ||
        static_cast<std::int64_t>(matrix.shape(1)) != columns)
        throw nb::value_error((std::string(name) + " has the wrong shape").c_str());
}

ClassPiece piece_of(const Labels& label, const In<double>& cost, std::int64_t n_outputs) {
    const auto n_rows = static_cast<std::int64_t>(label.shape(0));
    expect_length(cost, n_rows, "cost");
    if (n_outputs == 0) throw nb::value_error("there must be an output");
    for (std::int64_t i = 0; i < n_rows; ++i) {
        if (label.data()[i] < 0 || label.data()[i] >= n_outputs)
            throw nb::value_error("a label is not the number of an output");
    }
    return {label.data(), cost.data(), n_rows, n_outputs};
}

void make_feasible(Labels label, In<double> cost, InMatrix given, OutMatrix duals, Out<double> mass) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(mass.shape(0)));
    expect_shape(given, rows.n_rows, rows.n_outputs, "given");
    expect_shape(duals, rows.n_rows, rows.n_outputs, "duals");
    nb::gil_scoped_release nogil;
    feasible_duals(rows, given.data(), duals.data(), mass.data());
}

void move(Labels label, In<double> cost, In<double> shrink, In<double> fill, OutMatrix duals) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(shrink.shape(0)));
    expect_length(fill, rows.n_outputs, "fill");
    expect_shape(duals, rows.n_rows, rows.n_outputs, "duals");
    nb::gil_scoped_release nogil;
    move_duals(rows, shrink.data(), fill.data(), duals.data());
}

double smooth(Labels label, In<double> cost, InMatrix z, In<double> b, InMatrix centre, double sigma,
              OutMatrix duals, Out<double> balance, std::optional<OutMatrix> curvature) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(b.shape(0)));
    expect_shape(z, rows.n_rows, rows.n_outputs, "z");
    expect_shape(centre, rows.n_rows, rows.n_outputs, "centre");
    expect_shape(duals, rows.n_rows, rows.n_outputs, "duals");
    expect_length(balance, rows.n_outputs, "balance");
    if (curvature) expect_shape(*curvature, rows.n_outputs, rows.n_outputs, "curvature");
    nb::gil_scoped_release nogil;
    return smoothed_hinge(rows, z.data(), b.data(), centre.data(), sigma, duals.data(), balance.data(),
                          curvature ? curvature->data() : nullptr);
}

void curve(Labels label, In<double> cost, InMatrix duals, double sigma, OutMatrix u) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(u.shape(1)));
    expect_shape(duals, rows.n_rows, rows.n_outputs, "duals");
    expect_shape(u, rows.n_rows, rows.n_outputs, "u");
    nb::gil_scoped_release nogil;
    curve_duals(rows, duals.data(), sigma, u.data());
}

template <HingeTerms (*terms_of_rows)(const ClassPiece&, const double*, const double*, const double*,
                                      double*)>
nb::tuple terms_of(Labels label, In<double> cost, InMatrix z, In<double> b, InMatrix duals,
                   Out<double> balance) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(b.shape(0)));
    expect_shape(z, rows.n_rows, rows.n_outputs, "z");
    expect_shape(duals, rows.n_rows, rows.n_outputs, "duals");
    expect_length(balance, rows.n_outputs, "balance");
    HingeTerms terms;
    {
        nb::gil_scoped_release nogil;
        terms = terms_of_rows(rows, z.data(), b.data(), duals.data(), balance.data());
    }
    return nb::make_tuple(terms.loss, terms.dual, terms.total, terms.largest_score);
}

double losses_of(Labels label, In<double> cost, InMatrix z, In<double> b, Out<double> balance) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(b.shape(0)));
    expect_shape(z, rows.n_rows, rows.n_outputs, "z");
    expect_length(balance, rows.n_outputs, "balance");
    nb::gil_scoped_release nogil;
    return softmax_losses(rows, z.data(), b.data(), balance.data());
}

void hessian_of(const OwnedBlock& block, Labels label, In<double> cost, InMatrix duals, double sigma,
                std::optional<In<double>> shift, OutMatrix hessian, PythonStopToken& token) {
    const ClassPiece rows = piece_of(label, cost, static_cast<std::int64_t>(duals.shape(1)));
    expect_shape(duals, block.block.n_rows, rows.n_outputs, "duals");
    expect_length(label, block.block.n_rows, "label");
    const std::int64_t size = rows.n_outputs * (block.block.n_columns + 1);
    expect_shape(hessian, size, size, "hessian");
    if (shift) expect_length(*shift, block.block.n_columns, "shift");
    run_to_the_end(token, [&] {
        return hinge_hessian(block.block, rows, duals.data(), sigma, shift ? shift->data() : nullptr,
                             hessian.data(), token);
    });
}

DualSweepRecord sweep(const OwnedBlock& block, OutMatrix W, Out<double> balance, In<double> center,
                      double gamma, double worthwhile, bool is_softmax, Labels label, In<double> cost,
                      In<double> norm2, OutMatrix duals, Out<std::uint8_t> calm, Out<std::uint8_t> skips,
                      Out<std::uint8_t> in_use, Out<std::uint8_t> rests, nb::tuple order,
                      PythonStopToken& token) {
    const std::int64_t n = block.block.n_rows, K = static_cast<std::int64_t>(balance.shape(0));
    const ClassPiece rows = piece_of(label, cost, K);
    expect_length(label, n, "label");
    expect_length(norm2, n, "norm2");
    expect_length(center, K, "center");
    expect_shape(duals, n, K, "duals");
    expect_length(calm, n, "calm");
    expect_length(skips, n, "skips");
    expect_length(in_use, n, "in_use");
    expect_length(rests, n, "rests");
    const auto stride = static_cast<std::int64_t>(W.shape(1));
    expect_shape(W, block.block.n_columns, std::max(stride, (K + 7) / 8 * 8), "W");
    if (stride % 8 != 0) throw nb::value_error("W must have a multiple of 8 numbers for each column");
    const ClassSweepRows numbers{rows.label,  rows.cost,    norm2.data(),  duals.data(),
                                 calm.data(), skips.data(), in_use.data(), rests.data()};
    const ClassSweepState state{W.data(),      stride, K,          balance.data(),
                                center.data(), gamma,  worthwhile, is_softmax};
    const SweepOrder name{nb::cast<std::uint64_t>(order[0]), nb::cast<std::uint64_t>(order[1]),
                          nb::cast<std::uint64_t>(order[2])};
    DualSweepRecord record;
    {
        nb::gil_scoped_release nogil;
        record = class_sweep(block.block, numbers, state, name, token);
    }
    token.raise_signal();
    return record;
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_class_hinge(nanobind::module_& m) {
    namespace nb = nanobind;
    using namespace maxmargin::bindings;
    m.def("feasible_class_duals", &make_feasible, nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("given").noconvert(), nb::arg("duals").noconvert(), nb::arg("mass").noconvert(),
          "Put the nearest c (e_label − α) with α in the simplex into duals; mass += Σ c α.");
    m.def("move_class_duals", &move, nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("shrink").noconvert(), nb::arg("fill").noconvert(), nb::arg("duals").noconvert(),
          "Have each class give up a share of its α, which goes to classes in the proportions `fill`.");
    m.def("smoothed_class_hinge", &smooth, nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("z").noconvert(), nb::arg("b").noconvert(), nb::arg("centre").noconvert(), nb::arg("sigma"),
          nb::arg("duals").noconvert(), nb::arg("balance").noconvert(),
          nb::arg("curvature").noconvert().none(),
          "The hinge at z + b smoothed about duals: fill its own duals, add up their sum and the Hessian in "
          "b; "
          "returns its value.");
    m.def("curve_class_duals", &curve, nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("duals").noconvert(), nb::arg("sigma"), nb::arg("u").noconvert(),
          "Replace changes of scores by those of the smoothed hinge's slopes.");
    m.def("class_hinge_terms", &terms_of<maxmargin::hinge_terms>, nb::arg("label").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("z").noconvert(), nb::arg("b").noconvert(),
          nb::arg("duals").noconvert(), nb::arg("balance").noconvert(),
          "balance += Σ r; returns Σ c loss at z + b, Σ r_label, Σ |r| and the largest |z|.");
    m.def("class_softmax_terms", &terms_of<maxmargin::softmax_terms>, nb::arg("label").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("z").noconvert(), nb::arg("b").noconvert(),
          nb::arg("duals").noconvert(), nb::arg("balance").noconvert(),
          "balance += Σ r; returns Σ c loss at z + b, Σ c entropy, Σ |r| and the largest |z|, for softmax.");
    m.def("class_softmax_losses", &losses_of, nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("z").noconvert(), nb::arg("b").noconvert(), nb::arg("balance").noconvert(),
          "balance += Σ c (p − e_label); returns Σ c loss at z + b, for softmax.");
    m.def("class_hinge_hessian", &hessian_of, nb::arg("block"), nb::arg("label").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("duals").noconvert(), nb::arg("sigma"),
          nb::arg("shift").noconvert().none(), nb::arg("hessian").noconvert(), nb::arg("token"),
          "The lower triangle of the smoothed hinge's Hessian in (w₁, b₁, w₂, b₂, …).");
    m.def("class_sweep", &sweep, nb::arg("block"), nb::arg("W").noconvert(), nb::arg("balance").noconvert(),
          nb::arg("center").noconvert(), nb::arg("gamma"), nb::arg("worthwhile"), nb::arg("is_softmax"),
          nb::arg("label").noconvert(), nb::arg("cost").noconvert(), nb::arg("norm2").noconvert(),
          nb::arg("duals").noconvert(), nb::arg("calm").noconvert(), nb::arg("skips").noconvert(),
          nb::arg("in_use").noconvert(), nb::arg("rests").noconvert(), nb::arg("order"), nb::arg("token"),
          "Set the duals of every active row to their best, in the order named by (seed, pass, block).");
}
