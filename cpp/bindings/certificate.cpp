// What certificates are made of: sums over scored rows and dual variables, and the hinge's best offset.
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <vector>

#include "arrays.hpp"
#include "maxmargin/kernel/dual_point.hpp"
#include "maxmargin/kernel/hinge_offset.hpp"
#include "maxmargin/kernel/mixed_losses.hpp"
#include "maxmargin/kernel/precise_terms.hpp"
#include "maxmargin/kernel/products.hpp"
#include "maxmargin/kernel/row_terms.hpp"
#include "records.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using Points = nb::ndarray<nb::numpy, double, nb::shape<-1, 2>, nb::c_contig>;
using Signs = In<std::int8_t>;

ScoredRows scored(const In<double>& z, const Signs& sign, const In<double>& cost) {
    const auto n = static_cast<std::int64_t>(z.shape(0));
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    return {z.data(), sign.data(), cost.data(), n};
}

SignedCosts signed_costs(const Signs& sign, const In<double>& cost) {
    const auto n = static_cast<std::int64_t>(cost.shape(0));
    expect_length(sign, n, "sign");
    return {sign.data(), cost.data(), n};
}

CertificateTerms terms(std::string_view loss, In<double> z, Signs sign, In<double> cost, double b,
                       In<double> alpha) {
    const ScoredRows rows = scored(z, sign, cost);
    expect_length(alpha, rows.n, "alpha");
    CertificateTerms sums;
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = certificate_terms(loss, rows, b, alpha.data(), sums);
    }
    expect_loss(known, loss);
    return sums;
}

OffsetDerivatives offset_slope(std::string_view loss, In<double> z, Signs sign, In<double> cost, double b) {
    const ScoredRows rows = scored(z, sign, cost);
    OffsetDerivatives sums;
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = offset_derivatives(loss, rows, b, sums);
    }
    expect_loss(known, loss);
    return sums;
}

void mixtures(std::string_view loss, In<double> first, In<double> second, Signs sign, In<double> cost,
              std::tuple<double, double> offsets, In<double> shares, Out<double> totals) {
    const ScoredRows rows = scored(first, sign, cost);
    expect_length(second, rows.n, "second");
    const auto n_shares = static_cast<std::int64_t>(shares.shape(0));
    expect_length(totals, n_shares, "totals");
    bool known;
    {
        nb::gil_scoped_release nogil;
        known = mixed_losses(
            loss,
            {rows.z, second.data(), rows.sign, rows.cost, rows.n, std::get<0>(offsets), std::get<1>(offsets)},
            shares.data(), n_shares, totals.data());
    }
    expect_loss(known, loss);
}

double largest(In<double> z, In<double> cost) {
    expect_length(cost, static_cast<std::int64_t>(z.shape(0)), "cost");
    nb::gil_scoped_release nogil;
    return largest_score(z.data(), cost.data(), static_cast<std::int64_t>(z.shape(0)));
}

nb::tuple hinge_offset_interval(In<double> z, Signs sign, In<double> cost) {
    const ScoredRows rows = scored(z, sign, cost);
    Interval interval;
    {
        nb::gil_scoped_release nogil;
        interval = hinge_offset(rows);
    }
    return nb::make_tuple(interval.low, interval.high);
}

nb::tuple window(In<double> z, Signs sign, In<double> cost, double low, double high) {
    const ScoredRows rows = scored(z, sign, cost);
    auto found = std::make_unique<BreakpointWindow>();
    {
        nb::gil_scoped_release nogil;
        breakpoints_between(rows, low, high, *found);
    }
    const BreakpointWindow& seen = *found;
    nb::capsule owner(found.get(), [](void* p) noexcept { delete static_cast<BreakpointWindow*>(p); });
    found.release();
    static_assert(sizeof(Breakpoint) == 2 * sizeof(double));
    double* data = const_cast<double*>(reinterpret_cast<const double*>(seen.points.data()));
    return nb::make_tuple(seen.below, seen.at_low, seen.at_high, seen.inside, seen.next,
                          Points(data, {seen.points.size(), 2}, owner));
}

nb::tuple selected(nb::ndarray<double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu> points, double below,
                   double next, double target, double tie) {
    Interval interval;
    {
        nb::gil_scoped_release nogil;
        interval = select_offset(reinterpret_cast<Breakpoint*>(points.data()),
                                 static_cast<std::int64_t>(points.shape(0)), below, next, target, tie);
    }
    return nb::make_tuple(interval.low, interval.high);
}

ClassCosts costs_of_classes(Signs sign, In<double> cost) {
    const SignedCosts rows = signed_costs(sign, cost);
    nb::gil_scoped_release nogil;
    ClassCosts sums;
    class_costs(rows, sums);
    return sums;
}

DualBalance clamp(In<double> alpha, Signs sign, In<double> cost, bool bounded, double reach,
                  Out<double> feasible) {
    const SignedCosts rows = signed_costs(sign, cost);
    expect_length(alpha, rows.n, "alpha");
    expect_length(feasible, rows.n, "feasible");
    nb::gil_scoped_release nogil;
    DualBalance sums;
    clamp_dual(rows, alpha.data(), {bounded, reach}, feasible.data(), sums);
    return sums;
}

DualBalance correct(Out<double> alpha, Signs sign, In<double> cost, bool bounded, double share,
                    std::tuple<double, double> factors) {
    const SignedCosts rows = signed_costs(sign, cost);
    expect_length(alpha, rows.n, "alpha");
    nb::gil_scoped_release nogil;
    DualBalance sums;
    correct_dual(rows, {share, std::get<0>(factors), std::get<1>(factors)}, bounded, alpha.data(), sums);
    return sums;
}

DualSums products(const OwnedBlock& rows, In<double> w, Out<double> z, Signs sign, In<double> cost,
                  In<double> alpha, Out<double> v, PythonStopToken& token) {
    const Block& block = rows.block;
    expect_length(w, block.n_columns, "w");
    expect_length(z, block.n_rows, "z");
    expect_length(sign, block.n_rows, "sign");
    expect_length(cost, block.n_rows, "cost");
    expect_length(alpha, block.n_rows, "alpha");
    expect_length(v, block.n_columns, "v");
    DualSums sums;
    run_to_the_end(token, [&] {
        const CertificateRows numbers{sign.data(), cost.data(), alpha.data()};
        return score_and_pull(block, w.data(), z.data(), numbers, v.data(), sums, token);
    });
    return sums;
}

PreciseTerms precise(std::string_view loss, const OwnedBlock& rows, In<double> w, double b, In<double> origin,
                     Signs sign, In<double> cost, In<double> alpha, Out<double> v_high, Out<double> v_low,
                     PythonStopToken& token) {
    const Block& block = rows.block;
    expect_length(w, block.n_columns, "w");
    expect_length(origin, block.n_columns, "origin");
    expect_length(sign, block.n_rows, "sign");
    expect_length(cost, block.n_rows, "cost");
    expect_length(alpha, block.n_rows, "alpha");
    expect_length(v_high, block.n_columns, "v_high");
    expect_length(v_low, block.n_columns, "v_low");
    PreciseTerms sums;
    bool known = true;
    run_to_the_end(token, [&] {
        return precise_terms(loss, block, {w.data(), b, origin.data()},
                             {sign.data(), cost.data(), alpha.data()}, sums, v_high.data(), v_low.data(),
                             known, token);
    });
    expect_loss(known, loss);
    return sums;
}

Twofold norm2(In<double> high, In<double> low, In<double> shift, Twofold factor) {
    const auto n = static_cast<std::int64_t>(high.shape(0));
    expect_length(low, n, "low");
    expect_length(shift, n, "shift");
    nb::gil_scoped_release nogil;
    return precise_norm2(high.data(), low.data(), shift.data(), factor, n);
}

double pull(std::string_view loss, const OwnedBlock& rows, In<double> z, Signs sign, In<double> cost,
            double b, Out<double> v, PythonStopToken& token) {
    const Block& block = rows.block;
    const ScoredRows numbers = scored(z, sign, cost);
    expect_length(z, block.n_rows, "z");
    expect_length(v, block.n_columns, "v");
    double total = 0;
    bool known = true;
    run_to_the_end(token, [&] {
        return implied_pull(loss, block, {numbers.z, numbers.sign, numbers.cost, b}, v.data(), total, known,
                            token);
    });
    expect_loss(known, loss);
    return total;
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_certificate(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    bind_record(m, "CertificateTerms", "Sums of certificate_terms.", field("loss", &CertificateTerms::loss),
                field("gap", &CertificateTerms::gap), field("dual", &CertificateTerms::dual),
                field("balance", &CertificateTerms::balance));
    m.def("certificate_terms", &terms, nb::arg("loss"), nb::arg("z").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("b"), nb::arg("alpha").noconvert(),
          "Losses, duality gap, dual value and balance of scored rows.");

    m.def("mixed_losses", &mixtures, nb::arg("loss"), nb::arg("first").noconvert(),
          nb::arg("second").noconvert(), nb::arg("sign").noconvert(), nb::arg("cost").noconvert(),
          nb::arg("offsets"), nb::arg("shares").noconvert(), nb::arg("totals").noconvert(),
          "totals += total losses of the mixtures of two points, given the scores of both.");
    bind_record(m, "OffsetDerivatives", "Slope and curvature of the total loss in the offset.",
                field("slope", &OffsetDerivatives::slope), field("curvature", &OffsetDerivatives::curvature));
    m.def("offset_derivatives", &offset_slope, nb::arg("loss"), nb::arg("z").noconvert(),
          nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("b"),
          "Slope and curvature of the total loss in the offset.");
    m.def("largest_score", &largest, nb::arg("z").noconvert(), nb::arg("cost").noconvert(),
          "The largest |z| of rows that cost anything.");
    m.def("hinge_offset", &hinge_offset_interval, nb::arg("z").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), "The interval of offsets that minimise the total hinge loss.");
    m.def("breakpoints_between", &window, nb::arg("z").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("low"), nb::arg("high"),
          "(cost below, at low, at high, inside; the next breakpoint above; those inside with their costs).");
    m.def("select_offset", &selected, nb::arg("points").noconvert(), nb::arg("below"), nb::arg("next"),
          nb::arg("target"), nb::arg("tie"),
          "The interval that begins where the running cost reaches the target; rearranges the points.");

    bind_record(m, "ClassCosts", "Total cost of each sign, and the rows that cost anything.",
                field("positive", &ClassCosts::positive), field("negative", &ClassCosts::negative),
                field("n_live", &ClassCosts::n_live))
        .def_prop_ro("total", &ClassCosts::total, "The cost of all rows.");
    m.def("class_costs", &costs_of_classes, nb::arg("sign").noconvert(), nb::arg("cost").noconvert(),
          "Total cost of each sign.");

    bind_record(m, "DualBalance", "Sums of the duals of each sign, and the room for a change.",
                field("positive", &DualBalance::positive), field("negative", &DualBalance::negative),
                field("room", &DualBalance::room));
    m.def("clamp_dual", &clamp, nb::arg("alpha").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("bounded"), nb::arg("reach"), nb::arg("feasible").noconvert(),
          "Move duals into their interval: [0, c] if bounded, else [0, reach √c].");
    m.def("correct_dual", &correct, nb::arg("alpha").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("bounded"), nb::arg("share"), nb::arg("factors"),
          "Change duals in place: rows inside their bounds by a share, or each sign by its factor.");

    bind_record(m, "DualSums", "Σ α, Σ s α and Σ α²/c.", field("linear", &DualSums::linear),
                field("balance", &DualSums::balance), field("square", &DualSums::square));
    m.def("score_and_pull", &products, nb::arg("block"), nb::arg("w").noconvert(), nb::arg("z").noconvert(),
          nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("alpha").noconvert(),
          nb::arg("v").noconvert(), nb::arg("token"), "z = X w and v += X'(s α) in one reading, with sums.");
    bind_record(
        m, "PreciseTerms", "Sums of precise_terms; pairs are a high and a low part.",
        field("loss", &PreciseTerms::loss), field("dual", &PreciseTerms::dual),
        field("balance", &PreciseTerms::balance), field("total", &PreciseTerms::total),
        field("least_agreement", &PreciseTerms::least_agreement),
        field("least_score", &PreciseTerms::least_score), field("most_score", &PreciseTerms::most_score),
        field("least_positive", &PreciseTerms::least_positive),
        field("most_negative", &PreciseTerms::most_negative), field("furthest2", &PreciseTerms::furthest2));
    m.def("precise_terms", &precise, nb::arg("loss"), nb::arg("block"), nb::arg("w").noconvert(),
          nb::arg("b"), nb::arg("origin").noconvert(), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("alpha").noconvert(), nb::arg("v_high").noconvert(),
          nb::arg("v_low").noconvert(), nb::arg("token"),
          "Losses, dual value and balance in twice the precision; v += X'(s α).");
    m.def("precise_norm2", &norm2, nb::arg("high").noconvert(), nb::arg("low").noconvert(),
          nb::arg("shift").noconvert(), nb::arg("factor"),
          "Σ (high + low − factor · shift)² in twice the precision, as a high and a low part.");
    m.def("implied_pull", &pull, nb::arg("loss"), nb::arg("block"), nb::arg("z").noconvert(),
          nb::arg("sign").noconvert(), nb::arg("cost").noconvert(), nb::arg("b"), nb::arg("v").noconvert(),
          nb::arg("token"), "v += X'p for p = −s c ℓ′(m), the pull of each row; returns Σ p.");
}
