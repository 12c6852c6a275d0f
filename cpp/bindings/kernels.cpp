// The passes over rows. Every one releases the interpreter's lock and answers its stop token.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "maxmargin/kernel/dual_sweep.hpp"
#include "maxmargin/kernel/face_solve.hpp"
#include "maxmargin/kernel/momentum.hpp"
#include "maxmargin/kernel/products.hpp"
#include "records.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

void multiply_block(const OwnedBlock& rows, std::optional<In<double>> w, std::optional<Out<double>> z,
                    std::optional<In<double>> a, std::optional<Out<double>> v, PythonStopToken& token) {
    const Block& block = rows.block;
    if (w.has_value() != z.has_value() || a.has_value() != v.has_value()) {
        throw nb::value_error("w goes with z, and a with v");
    }
    if (w) expect_length(*w, block.n_columns, "w");
    if (z) expect_length(*z, block.n_rows, "z");
    if (a) expect_length(*a, block.n_rows, "a");
    if (v) expect_length(*v, block.n_columns, "v");
    run_to_the_end(token, [&] {
        return multiply(block, w ? w->data() : nullptr, z ? z->data() : nullptr, a ? a->data() : nullptr,
                        v ? v->data() : nullptr, token);
    });
}

void multiply_many_block(const OwnedBlock& rows, In<double> w, std::int64_t n_outputs, Out<double> z,
                         PythonStopToken& token) {
    const Block& block = rows.block;
    expect_length(w, n_outputs * block.n_columns, "w");
    expect_length(z, n_outputs * block.n_rows, "z");
    run_to_the_end(token, [&] { return multiply_many(block, w.data(), n_outputs, z.data(), token); });
}

Inspection inspect_block(const OwnedBlock& rows, Out<double> norm2, PythonStopToken& token) {
    expect_length(norm2, rows.block.n_rows, "norm2");
    Inspection found;
    run_to_the_end(token, [&] {
        found = inspect(rows.block, norm2.data(), token);
        return found.complete;
    });
    return found;
}

// The state that sweeps share: u in the caller's array, the numbers here, so that an interrupted sweep
// leaves all of it consistent.
struct SweepState {
    Out<double> u;
    DualState state;
};

DualSweepRecord sweep(const OwnedBlock& rows, std::string_view loss, SweepState& shared, In<std::int8_t> sign,
                      In<double> cost, In<double> norm2, std::optional<In<double>> mean_score,
                      Out<double> alpha, Out<std::uint8_t> bound_visits, Out<std::uint8_t> skips,
                      nb::tuple order, PythonStopToken& token) {
    const std::int64_t n = rows.block.n_rows;
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    expect_length(norm2, n, "norm2");
    if (mean_score) expect_length(*mean_score, n, "mean_score");
    expect_length(alpha, n, "alpha");
    expect_length(bound_visits, n, "bound_visits");
    expect_length(skips, n, "skips");
    expect_length(shared.u, rows.block.n_columns, "u");
    const DualRows numbers{
        sign.data(),  cost.data(),         norm2.data(), mean_score ? mean_score->data() : nullptr,
        alpha.data(), bound_visits.data(), skips.data()};
    const SweepOrder name{nb::cast<std::uint64_t>(order[0]), nb::cast<std::uint64_t>(order[1]),
                          nb::cast<std::uint64_t>(order[2])};
    DualSweepRecord record;
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = dual_sweep(loss, rows.block, numbers, shared.state, name, token, record);
    }
    expect_loss(known, loss);
    token.raise_signal();
    return record;
}

MomentumProducts products_of(In<double> u, Out<double> start, In<double> direction) {
    const auto n = static_cast<std::int64_t>(u.shape(0));
    expect_length(start, n, "start");
    expect_length(direction, n, "direction");
    nb::gil_scoped_release nogil;
    return momentum_products(u.data(), start.data(), direction.data(), n);
}

void set_direction(In<double> step, double a, double b, Out<double> direction) {
    const auto n = static_cast<std::int64_t>(step.shape(0));
    expect_length(direction, n, "direction");
    nb::gil_scoped_release nogil;
    momentum_direction(step.data(), a, b, direction.data(), n);
}

double make_trial(In<double> u, In<double> direction, double length, Out<double> correction) {
    const auto n = static_cast<std::int64_t>(u.shape(0));
    expect_length(direction, n, "direction");
    expect_length(correction, n, "correction");
    nb::gil_scoped_release nogil;
    return momentum_trial(u.data(), direction.data(), length, correction.data(), n);
}

void accept_trial(In<double> trial, In<double> step, Out<double> u, Out<double> direction) {
    const auto n = static_cast<std::int64_t>(trial.shape(0));
    expect_length(step, n, "step");
    expect_length(u, n, "u");
    expect_length(direction, n, "direction");
    nb::gil_scoped_release nogil;
    momentum_accept(trial.data(), step.data(), u.data(), direction.data(), n);
}

nb::tuple solve_face(const OwnedBlock& rows, In<double> signed_scale, std::optional<In<double>> normal,
                     double offset_square, In<double> gradient, Out<double> y, std::int64_t most,
                     PythonStopToken& token) {
    const std::int64_t n = rows.block.n_rows;
    expect_length(signed_scale, n, "signed_scale");
    if (normal) expect_length(*normal, n, "normal");
    expect_length(gradient, n, "gradient");
    expect_length(y, n, "y");
    const Face face{rows.block, signed_scale.data(), normal ? normal->data() : nullptr, offset_square};
    FaceSolution solution;
    run_to_the_end(token, [&] {
        solution = solve_on_face(face, gradient.data(), y.data(), most, token);
        return solution.complete;
    });
    return nb::make_tuple(solution.iterations, solution.unbounded);
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_kernels(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    m.def("multiply", &multiply_block, nb::arg("block"), nb::arg("w").noconvert().none(),
          nb::arg("z").noconvert().none(), nb::arg("a").noconvert().none(), nb::arg("v").noconvert().none(),
          nb::arg("token"), "z = X w and v += X'a in one reading of the block; either pair may be None.");

    m.def("multiply_many", &multiply_many_block, nb::arg("block"), nb::arg("w").noconvert(),
          nb::arg("n_outputs"), nb::arg("z").noconvert(), nb::arg("token"),
          "z = X W', one reading of the block for all outputs; W and z are given row after row.");

    bind_record(m, "Inspection", "What inspect found; rows that there are none of are -1.",
                field("n_rows", &Inspection::n_rows), field("bad_row", &Inspection::bad_row),
                field("bad_column", &Inspection::bad_column), field("bad_value", &Inspection::bad_value),
                field("overflow_row", &Inspection::overflow_row),
                field("largest_norm2", &Inspection::largest_norm2));
    m.def("inspect", &inspect_block, nb::arg("block"), nb::arg("norm2").noconvert(), nb::arg("token"),
          "Squared norms of the rows, and the first value that is not finite.");

    bind_record(m, "DualSweepRecord", "What one sweep over a block saw.",
                field("lowest", &DualSweepRecord::lowest), field("highest", &DualSweepRecord::highest),
                field("gap", &DualSweepRecord::gap), field("visited", &DualSweepRecord::visited),
                field("moved", &DualSweepRecord::moved), field("complete", &DualSweepRecord::complete));
    nb::class_<SweepState>(m, "SweepState",
                           "What the sweeps of one fit share: u, κ and the offset's settings.")
        .def(
            "__init__",
            [](SweepState* self, Out<double> u, double center, double gamma, double mean_norm2) {
                new (self) SweepState{u, {u.data(), 0, 0, center, gamma, mean_norm2}};
            },
            nb::arg("u").noconvert(), nb::arg("center") = 0.0, nb::arg("gamma") = 0.0,
            nb::arg("mean_norm2") = 0.0)
        .def_prop_rw(
            "balance", [](const SweepState& self) { return self.state.balance; },
            [](SweepState& self, double value) { self.state.balance = value; })
        .def_prop_rw(
            "mean_dot", [](const SweepState& self) { return self.state.mean_dot; },
            [](SweepState& self, double value) { self.state.mean_dot = value; })
        .def_prop_rw(
            "center", [](const SweepState& self) { return self.state.center; },
            [](SweepState& self, double value) { self.state.center = value; })
        .def_prop_ro("gamma", [](const SweepState& self) { return self.state.gamma; });
    m.def("dual_sweep", &sweep, nb::arg("block"), nb::arg("loss"), nb::arg("state"),
          nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("norm2").noconvert(),
          nb::arg("mean_score").noconvert().none(), nb::arg("alpha").noconvert(),
          nb::arg("bound_visits").noconvert(), nb::arg("skips").noconvert(), nb::arg("order"),
          nb::arg("token"),
          "Visit every row of the block that is not skipped; order is (seed, pass, block).");

    nb::class_<MomentumProducts>(m, "MomentumProducts", "Products of step, direction and u.")
        .def_ro("step_step", &MomentumProducts::step_step)
        .def_ro("step_direction", &MomentumProducts::step_direction)
        .def_ro("direction_direction", &MomentumProducts::direction_direction)
        .def_ro("u_step", &MomentumProducts::u_step)
        .def_ro("u_direction", &MomentumProducts::u_direction);
    m.def("momentum_products", &products_of, nb::arg("u").noconvert(), nb::arg("start").noconvert(),
          nb::arg("direction").noconvert(), "Put u - start into start; return the products.");
    m.def("momentum_direction", &set_direction, nb::arg("step").noconvert(), nb::arg("a"), nb::arg("b"),
          nb::arg("direction").noconvert(), "Put a step + b direction into direction.");
    m.def("momentum_trial", &make_trial, nb::arg("u").noconvert(), nb::arg("direction").noconvert(),
          nb::arg("length"), nb::arg("correction").noconvert(),
          "Put u + length direction + correction into correction; return its square.");
    m.def("momentum_accept", &accept_trial, nb::arg("trial").noconvert(), nb::arg("step").noconvert(),
          nb::arg("u").noconvert(), nb::arg("direction").noconvert(),
          "Put trial into u, and all that u has moved by into direction.");

    m.def("solve_on_face", &solve_face, nb::arg("block"), nb::arg("signed_scale").noconvert(),
          nb::arg("normal").noconvert().none(), nb::arg("offset_square"), nb::arg("gradient").noconvert(),
          nb::arg("y").noconvert(), nb::arg("most"), nb::arg("token"),
          "Best dual values of free rows by conjugate gradients; returns (iterations, whether it is "
          "unbounded).");
}
