// Passes with the weights of several outputs.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "maxmargin/kernel/output_passes.hpp"
#include "maxmargin/kernel/precise_terms.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using InMatrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class M>
void expect_shape(const M& matrix, std::int64_t rows, std::int64_t columns, const char* name) {
    if (static_cast<std::int64_t>(matrix.shape(0)) != rows ||
        static_cast<std::int64_t>(matrix.shape(1)) != columns)
        throw nb::value_error(
            (std::string(name) + " must have one row for each output and all columns").c_str());
}

OutputPoint point_of(const OwnedBlock& rows, const InMatrix& W, const In<double>& b) {
    const auto n_outputs = static_cast<std::int64_t>(W.shape(0));
    expect_shape(W, n_outputs, rows.block.n_columns, "W");
    expect_length(b, n_outputs, "b");
    if (n_outputs == 0) throw nb::value_error("there must be an output");
    return {W.data(), b.data(), n_outputs};
}

void expect_labels(const In<std::int32_t>& label, const OwnedBlock& rows, std::int64_t n_outputs) {
    expect_length(label, rows.block.n_rows, "label");
    for (std::int64_t i = 0; i < rows.block.n_rows; ++i) {
        if (label.data()[i] < 0 || label.data()[i] >= n_outputs)
            throw nb::value_error("a label is not the number of an output");
    }
}

void scores_of_outputs(const OwnedBlock& rows, InMatrix W, In<double> b, bool single, OutMatrix z,
                       PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b);
    if (static_cast<std::int64_t>(z.shape(0)) != rows.block.n_rows ||
        static_cast<std::int64_t>(z.shape(1)) != point.n_outputs)
        throw nb::value_error("z must have one row for each row and one column for each output");
    run_to_the_end(token, [&] { return output_scores(rows.block, point, single, z.data(), token); });
}

double precise_sums(const OwnedBlock& rows, InMatrix W, In<double> b, In<double> origin,
                    In<std::int32_t> label, In<double> cost, InMatrix duals, OutMatrix z, OutMatrix V_high,
                    OutMatrix V_low, OutMatrix balance, PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b);
    expect_shape(V_high, point.n_outputs, rows.block.n_columns, "V_high");
    expect_shape(V_low, point.n_outputs, rows.block.n_columns, "V_low");
    expect_length(origin, rows.block.n_columns, "origin");
    expect_labels(label, rows, point.n_outputs);
    expect_length(cost, rows.block.n_rows, "cost");
    if (balance.shape(0) != 2 || static_cast<std::int64_t>(balance.shape(1)) != point.n_outputs)
        throw nb::value_error("balance must have two rows and one column for each output");
    for (const auto n : {duals.shape(0), z.shape(0)}) {
        if (static_cast<std::int64_t>(n) != rows.block.n_rows)
            throw nb::value_error("duals and z must have one row for each row");
    }
    for (const auto n : {duals.shape(1), z.shape(1)}) {
        if (static_cast<std::int64_t>(n) != point.n_outputs)
            throw nb::value_error("duals and z must have one column for each output");
    }
    double furthest2 = 0;
    run_to_the_end(token, [&] {
        return precise_outputs(
            rows.block,
            {point.n_outputs, point.W, point.b, origin.data(), label.data(), cost.data(), duals.data()},
            z.data(), V_high.data(), V_low.data(), balance.data(), balance.data() + point.n_outputs,
            furthest2, token);
    });
    return furthest2;
}

void combine(const OwnedBlock& rows, InMatrix r, bool single, OutMatrix V, PythonStopToken& token) {
    const auto n_outputs = static_cast<std::int64_t>(V.shape(0));
    expect_shape(V, n_outputs, rows.block.n_columns, "V");
    if (static_cast<std::int64_t>(r.shape(0)) != rows.block.n_rows ||
        static_cast<std::int64_t>(r.shape(1)) != n_outputs || n_outputs == 0)
        throw nb::value_error("r must have one row for each row and one column for each output");
    run_to_the_end(token,
                   [&] { return combine_outputs(rows.block, r.data(), n_outputs, single, V.data(), token); });
}

double gradient_of_softmax(const OwnedBlock& rows, InMatrix W, In<double> b, In<std::int32_t> label,
                           In<double> cost, bool single, std::optional<OutMatrix> gradient,
                           Out<double> balance, PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b);
    expect_labels(label, rows, point.n_outputs);
    expect_length(cost, rows.block.n_rows, "cost");
    expect_length(balance, point.n_outputs, "balance");
    if (gradient) expect_shape(*gradient, point.n_outputs, rows.block.n_columns, "gradient");
    double loss = 0;
    run_to_the_end(token, [&] {
        return softmax_gradient(rows.block, point, {label.data(), cost.data()}, single,
                                gradient ? gradient->data() : nullptr, balance.data(), loss, token);
    });
    return loss;
}

void product_of_softmax(const OwnedBlock& rows, InMatrix W, In<double> b, InMatrix D, In<double> e,
                        In<double> cost, bool single, OutMatrix product, Out<double> product_b,
                        PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b), direction = point_of(rows, D, e);
    expect_shape(D, point.n_outputs, rows.block.n_columns, "D");
    expect_length(cost, rows.block.n_rows, "cost");
    expect_shape(product, point.n_outputs, rows.block.n_columns, "product");
    expect_length(product_b, point.n_outputs, "product_b");
    run_to_the_end(token, [&] {
        return softmax_hessian_product(rows.block, point, direction, cost.data(), single, product.data(),
                                       product_b.data(), token);
    });
}

template <class P>
void expect_probabilities(const P& p, const OwnedBlock& rows, std::int64_t n_outputs) {
    if (static_cast<std::int64_t>(p.shape(0)) != rows.block.n_rows ||
        static_cast<std::int64_t>(p.shape(1)) != n_outputs)
        throw nb::value_error("p must have one row for each row and one column for each output");
}

void probabilities_of_softmax(const OwnedBlock& rows, InMatrix W, In<double> b, bool single,
                              nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> p,
                              PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b);
    expect_probabilities(p, rows, point.n_outputs);
    run_to_the_end(token, [&] { return softmax_probabilities(rows.block, point, single, p.data(), token); });
}

void product_with_probabilities(const OwnedBlock& rows,
                                nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu> p,
                                InMatrix D, In<double> e, In<double> cost, bool single, OutMatrix product,
                                Out<double> product_b, PythonStopToken& token) {
    const OutputPoint direction = point_of(rows, D, e);
    expect_probabilities(p, rows, direction.n_outputs);
    expect_length(cost, rows.block.n_rows, "cost");
    expect_shape(product, direction.n_outputs, rows.block.n_columns, "product");
    expect_length(product_b, direction.n_outputs, "product_b");
    run_to_the_end(token, [&] {
        return softmax_curvature_product(rows.block, p.data(), direction, cost.data(), single, product.data(),
                                         product_b.data(), token);
    });
}

void hessian_of_softmax(const OwnedBlock& rows, InMatrix W, In<double> b, In<double> cost,
                        std::optional<In<double>> shift, bool single, OutMatrix hessian,
                        PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b);
    expect_length(cost, rows.block.n_rows, "cost");
    if (shift) expect_length(*shift, rows.block.n_columns, "shift");
    const std::int64_t size = point.n_outputs * (rows.block.n_columns + 1);
    expect_shape(hessian, size, size, "hessian");
    run_to_the_end(token, [&] {
        return softmax_hessian(rows.block, point, cost.data(), shift ? shift->data() : nullptr, single,
                               hessian.data(), token);
    });
}

nb::tuple certificate_of_softmax(const OwnedBlock& rows, InMatrix W, In<double> b, InMatrix dual_W,
                                 In<double> dual_b, In<double> shrink, In<double> fill,
                                 In<std::int32_t> label, In<double> cost, OutMatrix V, Out<double> balance,
                                 PythonStopToken& token) {
    const OutputPoint point = point_of(rows, W, b);
    SoftmaxDuals duals{point_of(rows, dual_W, dual_b), shrink.data(), fill.data(), false};
    if (duals.point.n_outputs != point.n_outputs) throw nb::value_error("the points have different outputs");
    expect_length(shrink, point.n_outputs, "shrink");
    expect_length(fill, point.n_outputs, "fill");
    for (std::int64_t k = 0; k < point.n_outputs; ++k) duals.moves = duals.moves || shrink.data()[k] > 0;
    expect_labels(label, rows, point.n_outputs);
    expect_length(cost, rows.block.n_rows, "cost");
    expect_shape(V, point.n_outputs, rows.block.n_columns, "V");
    expect_length(balance, point.n_outputs, "balance");
    SoftmaxTerms terms;
    run_to_the_end(token, [&] {
        return softmax_certificate(rows.block, point, duals, {label.data(), cost.data()}, V.data(),
                                   balance.data(), terms, token);
    });
    return nb::make_tuple(terms.loss, terms.dual, terms.total, terms.largest_score);
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_outputs(nanobind::module_& m) {
    namespace nb = nanobind;
    using namespace maxmargin::bindings;
    m.def("softmax_gradient", &gradient_of_softmax, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("label").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("single"), nb::arg("gradient").noconvert().none(), nb::arg("balance").noconvert(),
          nb::arg("token"),
          "gradient += Σ r xᵀ and balance += Σ r for the residuals r = c (p − e_label) of softmax; returns Σ "
          "c loss.");
    m.def("softmax_hessian_product", &product_of_softmax, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("D").noconvert(), nb::arg("e").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("single"), nb::arg("product").noconvert(),
          nb::arg("product_b").noconvert(), nb::arg("token"),
          "product += Σ q xᵀ and product_b += Σ q with q = c p ∘ (u − p·u), u = D x + e, for softmax.");
    m.def("softmax_probabilities", &probabilities_of_softmax, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("single"), nb::arg("p").noconvert(), nb::arg("token"),
          "p = the softmax of W x + b for every row, in single precision.");
    m.def("softmax_curvature_product", &product_with_probabilities, nb::arg("block"),
          nb::arg("p").noconvert(), nb::arg("D").noconvert(), nb::arg("e").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("single"), nb::arg("product").noconvert(),
          nb::arg("product_b").noconvert(), nb::arg("token"),
          "The product of softmax_hessian_product with probabilities p that were kept.");
    m.def("output_scores", &scores_of_outputs, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("single"), nb::arg("z").noconvert(), nb::arg("token"),
          "z = W x + b for every row.");
    m.def("precise_outputs", &precise_sums, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("origin").noconvert(), nb::arg("label").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("duals").noconvert(), nb::arg("z").noconvert(),
          nb::arg("V_high").noconvert(), nb::arg("V_low").noconvert(), nb::arg("balance").noconvert(),
          nb::arg("token"),
          "z = W x + b of rows that cost anything, rounded once; V += Σ r xᵀ and balance += Σ r in twice "
          "the precision; returns the largest ‖x − origin‖².");
    m.def("combine_outputs", &combine, nb::arg("block"), nb::arg("r").noconvert(), nb::arg("single"),
          nb::arg("V").noconvert(), nb::arg("token"), "V += Σ r xᵀ, with one row of r for each row.");
    m.def("softmax_hessian", &hessian_of_softmax, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("cost").noconvert(), nb::arg("shift").noconvert().none(),
          nb::arg("single"), nb::arg("hessian").noconvert(), nb::arg("token"),
          "hessian += Σ c (diag p − p pᵀ) ⊗ x̃ x̃ᵀ with x̃ = (x − shift, 1), for softmax.");
    m.def("softmax_certificate", &certificate_of_softmax, nb::arg("block"), nb::arg("W").noconvert(),
          nb::arg("b").noconvert(), nb::arg("dual_W").noconvert(), nb::arg("dual_b").noconvert(),
          nb::arg("shrink").noconvert(), nb::arg("fill").noconvert(), nb::arg("label").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("V").noconvert(), nb::arg("balance").noconvert(),
          nb::arg("token"),
          "V += Σ r xᵀ and balance += Σ r for the duals r = c (e_label − α); returns Σ c loss, Σ c "
          "entropy(α), Σ |r| and the largest |W x|.");
}
