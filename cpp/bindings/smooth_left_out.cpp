// Many points, each of a problem without one of the rows.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "maxmargin/kernel/smooth_left_out.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

template <class T>
using Table = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
void expect_table(const Table<T>& table, std::int64_t rows, std::int64_t columns, const char* name) {
    if (static_cast<std::int64_t>(table.shape(0)) == rows &&
        static_cast<std::int64_t>(table.shape(1)) == columns)
        return;
    throw nb::value_error((std::string(name) + " must have " + std::to_string(rows) + " rows and " +
                           std::to_string(columns) + " columns")
                              .c_str());
}

void gradients(const OwnedBlock& rows, std::string_view loss, In<std::int8_t> sign, In<double> cost,
               In<double> z, double b, In<double> size, In<std::uint8_t> core, Table<const double> points,
               In<double> offsets, In<std::int64_t> left_out, Table<double> gradient, Table<double> least,
               PythonStopToken& token) {
    const std::int64_t n = rows.block.n_rows, d = rows.block.n_columns;
    const std::int64_t count = static_cast<std::int64_t>(offsets.shape(0));
    expect_length(sign, n, "sign");
    expect_length(cost, n, "cost");
    expect_length(z, n, "z");
    expect_length(size, n, "size");
    expect_length(core, n, "core");
    expect_length(left_out, count, "left_out");
    expect_table(points, count, d, "points");
    expect_table(gradient, count, d + 1, "gradient");
    expect_table(least, count, kCores, "least");
    for (std::int64_t k = 0; k < n; ++k) {
        if (core.data()[k] >= kCores) throw nb::value_error("core must be below 4");
    }
    const LeftOutRows known{{z.data(), sign.data(), cost.data(), n}, b, size.data(), core.data()};
    const LeftOutPoints at{count, points.data(), offsets.data(), left_out.data()};
    bool is_loss = false, complete = true;
    run_to_the_end(token, [&] {
        is_loss =
            left_out_gradients(loss, rows.block, known, at, {gradient.data(), least.data()}, complete, token);
        return complete;
    });
    if (!is_loss) throw std::invalid_argument("no such smooth loss: \"" + std::string(loss) + "\"");
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_smooth_left_out(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    m.def("left_out_gradients", &gradients, nb::arg("block"), nb::arg("loss"), nb::arg("sign").noconvert(),
          nb::arg("cost").noconvert(), nb::arg("z").noconvert(), nb::arg("b"), nb::arg("size").noconvert(),
          nb::arg("core").noconvert(), nb::arg("points").noconvert(), nb::arg("offsets").noconvert(),
          nb::arg("left_out").noconvert(), nb::arg("gradient").noconvert(), nb::arg("least").noconvert(),
          nb::arg("token"),
          "For every point (w, b) the gradient of the losses over all rows but the one left out (added), "
          "and how far rows are from what a bound around the point must not reach (lowered).");
}
