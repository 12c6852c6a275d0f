// Leaving examples out of a hinge fit: sign certificates and restricted solves on a band of rows.
#include <string>
#include <vector>

#include "arrays.hpp"
#include "maxmargin/kernel/band_removals.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<double> copy_of(const In<double>& numbers, std::int64_t length, const char* name) {
    expect_length(numbers, length, name);
    return {numbers.data(), numbers.data() + length};
}

// A band with its own copies of everything, which any number of threads may read.
class OwnedBand {
  public:
    OwnedBand(const Table& table, const In<double>& sign, const In<double>& cost, const In<double>& alpha,
              const In<double>& agreement, const In<double>& w, double b, const In<double>& held,
              double held_balance, double held_gap, double objective, double offset_reach,
              bool has_free_offset)
        : rows_(table.data(), static_cast<std::int64_t>(table.shape(0)),
                static_cast<std::int64_t>(table.shape(1))),
          sign_(copy_of(sign, rows_.n_rows(), "sign")), cost_(copy_of(cost, rows_.n_rows(), "cost")),
          alpha_(copy_of(alpha, rows_.n_rows(), "alpha")),
          agreement_(copy_of(agreement, rows_.n_rows(), "agreement")), w_(copy_of(w, rows_.n_columns(), "w")),
          held_(copy_of(held, rows_.n_columns(), "held")),
          band_{rows_,        sign_.data(), cost_.data(), alpha_.data(), agreement_.data(), w_.data(),      b,
                held_.data(), held_balance, held_gap,     objective,     offset_reach,      has_free_offset} {
    }

    OwnedBand(const OwnedBand&) = delete;
    OwnedBand& operator=(const OwnedBand&) = delete;

    const Band& band() const noexcept { return band_; }

  private:
    BandRows rows_;
    std::vector<double> sign_, cost_, alpha_, agreement_, w_, held_;
    Band band_;
};

// The rows to leave out, one a line of the table.
std::vector<ChangedRow> rows_of(const Band& band, const Table& x, const In<double>& sign,
                                const In<double>& alpha, const In<double>& agreement, const In<double>& cost,
                                const In<std::int64_t>& place) {
    const auto count = static_cast<std::int64_t>(x.shape(0));
    const std::int64_t columns = band.rows.n_columns();
    if (static_cast<std::int64_t>(x.shape(1)) != columns)
        throw nb::value_error("x must have as many columns as the band");
    expect_length(sign, count, "sign");
    expect_length(alpha, count, "alpha");
    expect_length(agreement, count, "agreement");
    expect_length(cost, count, "cost");
    expect_length(place, count, "place");
    std::vector<ChangedRow> rows;
    for (std::int64_t k = 0; k < count; ++k) {
        if (place.data()[k] >= band.rows.n_rows()) throw nb::value_error("place is outside the band");
        rows.push_back({x.data() + k * columns, sign.data()[k], alpha.data()[k], agreement.data()[k],
                        cost.data()[k], place.data()[k]});
    }
    return rows;
}

bool decide(const OwnedBand& self, Table x, In<double> sign, In<double> alpha, In<double> agreement,
            In<double> cost, In<std::int64_t> place, double reach, std::int64_t max_steps,
            Out<std::int8_t> decisions, Out<std::int32_t> steps, PythonStopToken& token) {
    const auto rows = rows_of(self.band(), x, sign, alpha, agreement, cost, place);
    const auto count = static_cast<std::int64_t>(rows.size());
    expect_length(decisions, count, "decisions");
    expect_length(steps, count, "steps");
    bool complete;
    {
        nb::gil_scoped_release nogil;
        complete = decide_signs(self.band(), rows.data(), count, {reach, max_steps}, decisions.data(),
                                steps.data(), token);
    }
    token.raise_signal();
    return complete;
}

std::int64_t solve(const OwnedBand& self, Table x, In<double> sign, In<double> alpha, In<double> agreement,
                   In<double> cost, In<std::int64_t> place, OutTable a, OutTable w, Out<double> b,
                   PythonStopToken& token) {
    const auto rows = rows_of(self.band(), x, sign, alpha, agreement, cost, place);
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto expect_shape = [&](const OutTable& table, std::int64_t columns, const char* name) {
        if (static_cast<std::int64_t>(table.shape(0)) != count ||
            static_cast<std::int64_t>(table.shape(1)) != columns)
            throw nb::value_error((std::string(name) + " has the wrong shape").c_str());
    };
    expect_shape(a, self.band().rows.n_rows() + 1, "a");
    expect_shape(w, self.band().rows.n_columns(), "w");
    expect_length(b, count, "b");
    std::int64_t solved;
    {
        nb::gil_scoped_release nogil;
        solved = solve_bands(self.band(), rows.data(), count, a.data(), w.data(), b.data(), token);
    }
    token.raise_signal();
    return solved;
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_bands(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    nb::class_<OwnedBand>(m, "Band", "Rows near the margin of a hinge fit; all others are held.")
        .def(
            nb::init<const Table&, const In<double>&, const In<double>&, const In<double>&, const In<double>&,
                     const In<double>&, double, const In<double>&, double, double, double, double, bool>(),
            nb::arg("table").noconvert(), nb::arg("sign").noconvert(), nb::arg("cost").noconvert(),
            nb::arg("alpha").noconvert(), nb::arg("agreement").noconvert(), nb::arg("w").noconvert(),
            nb::arg("b"), nb::arg("held").noconvert(), nb::arg("held_balance"), nb::arg("held_gap"),
            nb::arg("objective"), nb::arg("offset_reach"), nb::arg("has_free_offset"))
        .def("decide", &decide, nb::arg("x").noconvert(), nb::arg("sign").noconvert(),
             nb::arg("alpha").noconvert(), nb::arg("agreement").noconvert(), nb::arg("cost").noconvert(),
             nb::arg("place").noconvert(), nb::arg("reach"), nb::arg("max_steps"),
             nb::arg("decisions").noconvert(), nb::arg("steps").noconvert(), nb::arg("token"),
             "Write 1 for rows that are certainly right when left out, else 0; False if it was stopped.")
        .def("solve", &solve, nb::arg("x").noconvert(), nb::arg("sign").noconvert(),
             nb::arg("alpha").noconvert(), nb::arg("agreement").noconvert(), nb::arg("cost").noconvert(),
             nb::arg("place").noconvert(), nb::arg("a").noconvert(), nb::arg("w").noconvert(),
             nb::arg("b").noconvert(), nb::arg("token"),
             "Solve each left-out problem on the band; returns how many were solved.");
}
