// The passes of Newton's method.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "maxmargin/kernel/newton_passes.hpp"
#include "records.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void expect_smooth(bool known, std::string_view name) {
    if (!known) throw std::invalid_argument("no such smooth loss: \"" + std::string(name) + "\"");
}

ScoredRows scored(const In<double>& z, const In<std::int8_t>& sign, const In<double>& cost) {
    const auto n = static_cast<std::int64_t>(z.shape(0));
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    return {z.data(), sign.data(), cost.data(), n};
}

NewtonSums evaluate(const OwnedBlock& rows, std::string_view loss, In<double> w, double b,
                    In<std::int8_t> sign, In<double> cost, Out<double> z, std::optional<Out<double>> h,
                    Out<double> gradient, std::optional<Matrix> gram, std::optional<In<double>> shift,
                    bool single, PythonStopToken& token) {
    const std::int64_t n = rows.block.n_rows, d = rows.block.n_columns;
    expect_length(w, d, "w");
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    expect_length(z, n, "z");
    if (h) expect_length(*h, n, "h");
    expect_length(gradient, d, "gradient");
    if (shift) expect_length(*shift, d, "shift");
    if (gram && (gram->shape(0) != static_cast<std::size_t>(d + 1) ||
                 gram->shape(1) != static_cast<std::size_t>(d + 1)))
        throw nb::value_error("gram must have n_columns + 1 rows and columns");
    const NewtonPoint point{w.data(), b, sign.data(), cost.data(), z.data(), h ? h->data() : nullptr};
    NewtonSums sums;
    bool known = false;
    run_to_the_end(token, [&] {
        std::optional<Gram> total;
        if (gram) total.emplace(d, shift ? shift->data() : nullptr, single);
        known =
            newton_evaluate(loss, rows.block, point, gradient.data(), total ? &*total : nullptr, sums, token);
        if (gram && sums.complete) total->finish(gram->data());
        return sums.complete;
    });
    expect_smooth(known, loss);
    return sums;
}

double multiply_by_hessian(const OwnedBlock& rows, In<double> h, In<double> d, double e, Out<double> product,
                           PythonStopToken& token) {
    expect_length(h, rows.block.n_rows, "h");
    expect_length(d, rows.block.n_columns, "d");
    expect_length(product, rows.block.n_columns, "product");
    double product_b = 0;
    run_to_the_end(token, [&] {
        return hessian_product(rows.block, h.data(), d.data(), e, product.data(), product_b, token);
    });
    return product_b;
}

void sum_diagonal(const OwnedBlock& rows, In<double> h, Out<double> squares, Out<double> sums,
                  PythonStopToken& token) {
    expect_length(h, rows.block.n_rows, "h");
    expect_length(squares, rows.block.n_columns, "squares");
    expect_length(sums, rows.block.n_columns, "sums");
    run_to_the_end(
        token, [&] { return hessian_diagonal(rows.block, h.data(), squares.data(), sums.data(), token); });
}

LineSums along_line(std::string_view loss, In<double> z, In<std::int8_t> sign, In<double> cost, double b,
                    In<double> to, double to_b, double t) {
    const ScoredRows rows = scored(z, sign, cost);
    expect_length(to, rows.n, "to");
    LineSums sums;
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = line_sums(loss, rows, b, {to.data(), to_b}, t, sums);
    }
    expect_smooth(known, loss);
    return sums;
}

PredictionSums promised_duals(std::string_view loss, In<double> z, In<std::int8_t> sign, In<double> cost,
                              double b, In<double> h, In<double> to, double to_b, Out<double> alpha) {
    const ScoredRows rows = scored(z, sign, cost);
    expect_length(h, rows.n, "h");
    expect_length(to, rows.n, "to");
    expect_length(alpha, rows.n, "alpha");
    PredictionSums sums;
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = predicted_duals(loss, rows, b, h.data(), {to.data(), to_b}, alpha.data(), sums);
    }
    expect_smooth(known, loss);
    return sums;
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_newton(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    bind_record(m, "NewtonSums", "Sums of newton_evaluate.", field("loss", &NewtonSums::loss),
                field("slope", &NewtonSums::slope), field("curvature", &NewtonSums::curvature));
    m.def("newton_evaluate", &evaluate, nb::arg("block"), nb::arg("loss"), nb::arg("w").noconvert(),
          nb::arg("b"), nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("z").noconvert(),
          nb::arg("h").noconvert().none(), nb::arg("gradient").noconvert(),
          nb::arg("gram").noconvert().none(), nb::arg("shift").noconvert().none(), nb::arg("single"),
          nb::arg("token"),
          "Scores, the sum of losses with its slope and curvature in the offset, the gradient (added) and, "
          "unless gram is None, the Hessian's Gram matrix (added), in one reading of the block.");
    m.def("hessian_product", &multiply_by_hessian, nb::arg("block"), nb::arg("h").noconvert(),
          nb::arg("d").noconvert(), nb::arg("e"), nb::arg("product").noconvert(), nb::arg("token"),
          "product += X'h(X d + e); returns the sum of h(X d + e).");
    m.def("hessian_diagonal", &sum_diagonal, nb::arg("block"), nb::arg("h").noconvert(),
          nb::arg("squares").noconvert(), nb::arg("sums").noconvert(), nb::arg("token"),
          "squares += sum of h x^2 and sums += sum of h x, column by column.");
    bind_record(m, "LineSums", "Losses at one point of a line, with slope and curvature along it.",
                field("loss", &LineSums::loss), field("slope", &LineSums::slope),
                field("curvature", &LineSums::curvature));
    m.def("line_sums", &along_line, nb::arg("loss"), nb::arg("z").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("b"), nb::arg("to").noconvert(), nb::arg("to_b"), nb::arg("t"),
          "The sum of losses, its slope and its curvature in t, at the share t of the way from the scores z "
          "to others.");
    bind_record(
        m, "PredictionSums",
        "The rows' share of the gap, the error of the prediction, and by how much clipping changed it.",
        field("gap", &PredictionSums::gap), field("error", &PredictionSums::error),
        field("clipped", &PredictionSums::clipped));
    m.def("predicted_duals", &promised_duals, nb::arg("loss"), nb::arg("z").noconvert(),
          nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("b"), nb::arg("h").noconvert(),
          nb::arg("to").noconvert(), nb::arg("to_b"), nb::arg("alpha").noconvert(),
          "Fill alpha with the duals that the quadratic model at the scores z predicts at others; returns "
          "the rows' share of the duality gap there, by how much it missed the duals of those scores, and by "
          "how much clipping changed it.");
}
