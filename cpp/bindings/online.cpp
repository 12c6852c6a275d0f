// Learning from one example at a time.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <string>
#include <tuple>

#include "arrays.hpp"
#include "maxmargin/kernel/online_sweep.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

// v and u in the caller's arrays, the numbers here, so that an interrupted call leaves all of it consistent.
struct SharedOnlineState {
    Out<double> v;
    std::optional<Out<double>> u;
    OnlineState state;
};

// The arrays of a trace, one entry per visit.
struct TraceArrays {
    Out<std::uint32_t> row;
    Out<double> agreement;
    Out<std::uint8_t> updated;
    Out<double> step;
};

using StepTuple = std::tuple<double, double, double>;
using StretchTuple = std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;

Arrangement arrangement_named(std::string_view name) {
    if (name == "given") return Arrangement::given;
    if (name == "shuffled") return Arrangement::shuffled;
    if (name == "drawn") return Arrangement::drawn;
    throw nb::value_error("the arrangement must be given, shuffled or drawn");
}

OnlineSettings settings_of(StepTuple step, double threshold, double lambda, bool has_offset,
                           bool counts_updates, std::string_view arrangement) {
    const auto [power, scale, delay] = step;
    if (power != 0 && power != 0.5 && power != 1) throw nb::value_error("the power must be 0, 1/2 or 1");
    return {{power, scale, delay},         threshold, lambda, has_offset, counts_updates,
            arrangement_named(arrangement)};
}

Stretch checked(StretchTuple given, std::int64_t n_rows, Arrangement arrangement) {
    const auto [seed, pass, from, visits, updates] = given;
    const bool draws = arrangement == Arrangement::drawn;
    if (from < 0 || visits < 0 || updates < 0 || (!draws && from + visits > n_rows) ||
        (draws && n_rows == 0 && visits > 0) || n_rows > UINT32_MAX) {
        throw nb::value_error("the stretch does not lie within a pass over the rows");
    }
    return {seed, pass, from, visits, updates};
}

void sweep(const OwnedBlock& rows, std::string_view rule, const OnlineSettings& settings,
           SharedOnlineState& shared, In<std::int8_t> sign, std::optional<In<double>> norm2,
           StretchTuple where, std::optional<Out<std::uint32_t>> updated_rows, TraceArrays* trace,
           PythonStopToken& token) {
    const Block& block = rows.block;
    expect_length(sign, block.n_rows, "sign");
    if (norm2) expect_length(*norm2, block.n_rows, "norm2");
    expect_length(shared.v, block.n_columns, "v");
    const Stretch stretch = checked(where, block.n_rows, settings.arrangement);
    OnlineLog log;
    if (updated_rows) {
        expect_length(*updated_rows, stretch.visits, "updated_rows");
        log.updated_rows = updated_rows->data();
    }
    if (trace != nullptr) {
        expect_length(trace->row, stretch.visits, "row");
        log.row = trace->row.data();
        log.agreement = trace->agreement.data();
        log.updated = trace->updated.data();
        log.step = trace->step.data();
    }
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = online_sweep(rule, settings, block, sign.data(), norm2 ? norm2->data() : nullptr,
                             shared.state, stretch, log, token);
    }
    if (!known) throw nb::value_error("the rule must be margin, pegasos or logistic");
    token.raise_signal();
}

double weights(const SharedOnlineState& shared, bool averaged, Out<double> theta) {
    expect_length(theta, static_cast<std::int64_t>(shared.v.shape(0)), "theta");
    if (averaged && !shared.u) throw nb::value_error("this state keeps no averages");
    return online_weights(shared.state, static_cast<std::int64_t>(shared.v.shape(0)), averaged, theta.data());
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_online(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    nb::class_<OnlineSettings>(m, "OnlineSettings", "How an online learner steps and chooses its rows.")
        .def(
            "__init__",
            [](OnlineSettings* self, StepTuple step, double threshold, double lam, bool has_offset,
               bool counts_updates, std::string_view arrangement) {
                new (self) OnlineSettings(
                    settings_of(step, threshold, lam, has_offset, counts_updates, arrangement));
            },
            nb::arg("step"), nb::kw_only(), nb::arg("threshold") = 0.0, nb::arg("lam") = 0.0,
            nb::arg("has_offset") = false, nb::arg("counts_updates") = false,
            nb::arg("arrangement") = "given");

    nb::class_<SharedOnlineState>(m, "OnlineState", "The weights scale * v, the offset, and the counts.")
        .def(
            "__init__",
            [](SharedOnlineState* self, Out<double> v, std::optional<Out<double>> u) {
                if (u) expect_length(*u, static_cast<std::int64_t>(v.shape(0)), "u");
                new (self) SharedOnlineState{v, u, {v.data(), u ? u->data() : nullptr}};
            },
            nb::arg("v").noconvert(), nb::arg("u").noconvert().none() = nb::none())
        .def_prop_rw(
            "numbers",
            [](const SharedOnlineState& self) {
                const OnlineState& s = self.state;
                return std::tuple(s.scale, s.scale_sum, s.offset, s.offset_sum, s.visits, s.updates);
            },
            [](SharedOnlineState& self,
               std::tuple<double, double, double, double, std::int64_t, std::int64_t> numbers) {
                OnlineState& s = self.state;
                std::tie(s.scale, s.scale_sum, s.offset, s.offset_sum, s.visits, s.updates) = numbers;
            },
            "scale, its sum, offset, its sum, visits and updates: what it takes, with v and u, to go on")
        .def_prop_ro("visits", [](const SharedOnlineState& self) { return self.state.visits; })
        .def_prop_ro("updates", [](const SharedOnlineState& self) { return self.state.updates; })
        .def("weights", &weights, nb::arg("averaged"), nb::arg("theta").noconvert(),
             "Write the weights, or their average over all visits, into theta; return the offset.");

    nb::class_<TraceArrays>(m, "OnlineTrace", "Where to write down every visit.")
        .def(
            "__init__",
            [](TraceArrays* self, Out<std::uint32_t> row, Out<double> agreement, Out<std::uint8_t> updated,
               Out<double> step) {
                const auto n = static_cast<std::int64_t>(row.shape(0));
                expect_length(agreement, n, "agreement");
                expect_length(updated, n, "updated");
                expect_length(step, n, "step");
                new (self) TraceArrays{row, agreement, updated, step};
            },
            nb::arg("row").noconvert(), nb::arg("agreement").noconvert(), nb::arg("updated").noconvert(),
            nb::arg("step").noconvert());

    m.def("online_sweep", &sweep, nb::arg("block"), nb::arg("rule"), nb::arg("settings"), nb::arg("state"),
          nb::arg("sign").noconvert(), nb::arg("norm2").noconvert().none(), nb::arg("stretch"),
          nb::arg("updated_rows").noconvert().none(), nb::arg("trace").none(), nb::arg("token"),
          "Visit rows one by one; stretch is (seed, pass, first position, most visits, most updates).");
}
