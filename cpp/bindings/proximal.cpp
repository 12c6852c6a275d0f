// The passes of the semismooth Newton method.
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "maxmargin/kernel/proximal_passes.hpp"
#include "records.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Anchor, class Excess, class Change>
ProximalRows numbers(const In<std::int8_t>& sign, const In<double>& cost, const Anchor& anchor,
                     const Excess& excess, const Change& change, std::int64_t n) {
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    expect_length(anchor, n, "anchor");
    expect_length(excess, n, "excess");
    expect_length(change, n, "change");
    return {sign.data(), cost.data(), anchor.data(), excess.data(), change.data()};
}

void excess_pass(const OwnedBlock& block, In<double> w, double b, In<std::int8_t> sign, Out<double> excess,
                 PythonStopToken& token) {
    expect_length(w, block.block.n_columns, "w");
    expect_length(sign, block.block.n_rows, "sign");
    expect_length(excess, block.block.n_rows, "excess");
    run_to_the_end(
        token, [&] { return proximal_excess(block.block, w.data(), b, sign.data(), excess.data(), token); });
}

ProximalSums move_pass(const OwnedBlock& block, double step, double before, double after,
                       std::optional<Out<double>> new_anchor, std::optional<In<double>> shift,
                       In<std::int8_t> sign, In<double> cost, In<double> anchor, Out<double> excess,
                       In<double> change, Out<double> v, std::optional<Matrix> gram, PythonStopToken& token) {
    const std::int64_t n = block.block.n_rows, d = block.block.n_columns;
    const ProximalRows rows = numbers(sign, cost, anchor, excess, change, n);
    if (new_anchor) expect_length(*new_anchor, n, "new_anchor");
    expect_length(v, d, "v");
    if (shift) expect_length(*shift, d, "shift");
    if (gram && (static_cast<std::int64_t>(gram->shape(0)) != d + 1 ||
                 static_cast<std::int64_t>(gram->shape(1)) != d + 1)) {
        throw nb::value_error("gram must have one row and column more than the block has columns");
    }
    const ProximalMove move{step, before, after, new_anchor.has_value(), shift ? shift->data() : nullptr};
    const ProximalAfter to{new_anchor ? new_anchor->data() : nullptr, excess.data()};
    ProximalSums sums;
    run_to_the_end(token, [&] {
        return proximal_move(block.block, move, rows, to, v.data(), gram ? gram->data() : nullptr, sums,
                             token);
    });
    return sums;
}

void direction_pass(const OwnedBlock& block, In<double> dw, double db, double stiffness, In<double> steps,
                    In<std::int8_t> sign, In<double> cost, In<double> anchor, In<double> excess,
                    Out<double> change, Out<double> slopes, PythonStopToken& token) {
    const ProximalRows rows = numbers(sign, cost, anchor, excess, change, block.block.n_rows);
    expect_length(dw, block.block.n_columns, "dw");
    expect_length(steps, kProximalSteps, "steps");
    expect_length(slopes, kProximalSteps, "slopes");
    run_to_the_end(token, [&] {
        return proximal_direction(block.block, dw.data(), db, stiffness, rows, change.data(), steps.data(),
                                  slopes.data(), token);
    });
}

void slopes_pass(double stiffness, In<double> steps, In<double> cost, In<double> anchor, In<double> excess,
                 In<double> change, Out<double> slopes) {
    const auto n = static_cast<std::int64_t>(cost.shape(0));
    expect_length(anchor, n, "anchor");
    expect_length(excess, n, "excess");
    expect_length(change, n, "change");
    expect_length(steps, kProximalSteps, "steps");
    expect_length(slopes, kProximalSteps, "slopes");
    nb::gil_scoped_release nogil;
    const ProximalRows rows{nullptr, cost.data(), anchor.data(), excess.data(), change.data()};
    proximal_slopes(n, stiffness, rows, steps.data(), slopes.data());
}

void alpha_pass(double stiffness, In<double> cost, In<double> anchor, In<double> excess, Out<double> alpha) {
    const auto n = static_cast<std::int64_t>(cost.shape(0));
    expect_length(anchor, n, "anchor");
    expect_length(excess, n, "excess");
    expect_length(alpha, n, "alpha");
    nb::gil_scoped_release nogil;
    const ProximalRows rows{nullptr, cost.data(), anchor.data(), excess.data(), nullptr};
    proximal_alpha(n, stiffness, rows, alpha.data());
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_proximal(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    bind_record(m, "ProximalSums", "Sums of proximal_move.", field("loss", &ProximalSums::loss),
                field("alpha", &ProximalSums::alpha), field("balance", &ProximalSums::balance),
                field("gap", &ProximalSums::gap), field("moved", &ProximalSums::moved),
                field("free", &ProximalSums::free));
    m.def("proximal_excess", &excess_pass, nb::arg("block"), nb::arg("w").noconvert(), nb::arg("b"),
          nb::arg("sign").noconvert(), nb::arg("excess").noconvert(), nb::arg("token"),
          "excess = s(x·w + b) - 1.");
    m.def("proximal_move", &move_pass, nb::arg("block"), nb::arg("step"), nb::arg("before"), nb::arg("after"),
          nb::arg("new_anchor").noconvert().none(), nb::arg("shift").noconvert().none(),
          nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("anchor").noconvert(),
          nb::arg("excess").noconvert(), nb::arg("change").noconvert(), nb::arg("v").noconvert(),
          nb::arg("gram").noconvert().none(), nb::arg("token"),
          "Move the excesses, change the stiffness, renew the anchors; add what changes to v, and the Gram "
          "matrix of the free rows to gram.");
    m.def("proximal_direction", &direction_pass, nb::arg("block"), nb::arg("dw").noconvert(), nb::arg("db"),
          nb::arg("stiffness"), nb::arg("steps").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("anchor").noconvert(), nb::arg("excess").noconvert(),
          nb::arg("change").noconvert(), nb::arg("slopes").noconvert(), nb::arg("token"),
          "change = s(x·dw + db), and the slopes of the rows' terms at some steps along it.");
    m.def("proximal_slopes", &slopes_pass, nb::arg("stiffness"), nb::arg("steps").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("anchor").noconvert(), nb::arg("excess").noconvert(),
          nb::arg("change").noconvert(), nb::arg("slopes").noconvert(), "The slopes alone.");
    m.def("proximal_alpha", &alpha_pass, nb::arg("stiffness"), nb::arg("cost").noconvert(),
          nb::arg("anchor").noconvert(), nb::arg("excess").noconvert(), nb::arg("alpha").noconvert(),
          "The multipliers of the rows.");
}
