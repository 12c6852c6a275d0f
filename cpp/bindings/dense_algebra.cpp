// The Gram matrix of weighted rows, and equations with symmetric positive definite matrices.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "arrays.hpp"
#include "maxmargin/kernel/cholesky.hpp"
#include "maxmargin/kernel/gram.hpp"
#include "maxmargin/kernel/l1_quadratic.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

template <class T>
using Square = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewArray = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NewMatrix = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

template <class T>
void expect_square(const Square<T>& matrix, std::int64_t size, const char* name) {
    if (static_cast<std::int64_t>(matrix.shape(0)) == size &&
        static_cast<std::int64_t>(matrix.shape(1)) == size)
        return;
    throw nb::value_error((std::string(name) + " has shape (" + std::to_string(matrix.shape(0)) + ", " +
                           std::to_string(matrix.shape(1)) + "), expected (" + std::to_string(size) + ", " +
                           std::to_string(size) + ")")
                              .c_str());
}

void gram_of_block(const OwnedBlock& rows, In<double> h, std::optional<In<double>> shift, Square<double> G,
                   bool single, PythonStopToken& token) {
    const Block& block = rows.block;
    expect_length(h, block.n_rows, "h");
    if (shift) expect_length(*shift, block.n_columns, "shift");
    expect_square(G, block.n_columns + 1, "G");
    run_to_the_end(token, [&] {
        return weighted_gram(block, h.data(), shift ? shift->data() : nullptr, single, G.data(), token);
    });
}

void make_factor(Factor* self, Square<const double> M) {
    expect_square(M, static_cast<std::int64_t>(M.shape(0)), "M");
    nb::gil_scoped_release nogil;
    new (self) Factor(M.data(), static_cast<std::int64_t>(M.shape(0)));
}

NewArray solve(const Factor& self, In<double> rhs) {
    expect_length(rhs, self.size(), "rhs");
    auto* x = new double[static_cast<std::size_t>(self.size())];
    nb::capsule owner(x, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    {
        nb::gil_scoped_release nogil;
        self.solve(rhs.data(), x);
    }
    return NewArray(x, {static_cast<std::size_t>(self.size())}, owner);
}

NewMatrix solve_rows(const Factor& self,
                     nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> rhs) {
    if (static_cast<std::int64_t>(rhs.shape(1)) != self.size())
        throw nb::value_error("a right-hand side is a row, as long as the matrix is wide");
    auto* x = new double[rhs.shape(0) * rhs.shape(1)];
    nb::capsule owner(x, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    {
        nb::gil_scoped_release nogil;
        self.solve_rows(rhs.data(), static_cast<std::int64_t>(rhs.shape(0)), x);
    }
    return NewMatrix(x, {rhs.shape(0), rhs.shape(1)}, owner);
}

void expect_columns(const Factor& factor, const OwnedBlock& rows) {
    if (rows.block.n_columns + 1 == factor.size()) return;
    throw nb::value_error(("the block has " + std::to_string(rows.block.n_columns) + " columns, expected " +
                           std::to_string(factor.size() - 1))
                              .c_str());
}

double largest_form(const Factor& self, const OwnedBlock& rows, std::optional<In<double>> shift,
                    PythonStopToken& token, std::optional<In<double>> cost) {
    expect_columns(self, rows);
    if (shift) expect_length(*shift, rows.block.n_columns, "shift");
    if (cost) expect_length(*cost, rows.block.n_rows, "cost");
    double largest = 0;
    run_to_the_end(token, [&] {
        return self.quadratic_form_max(rows.block, cost ? cost->data() : nullptr,
                                       shift ? shift->data() : nullptr, largest, token);
    });
    return largest;
}

void all_forms(const Factor& self, const OwnedBlock& rows, std::optional<In<double>> shift,
               std::optional<In<double>> chosen, Out<double> forms, PythonStopToken& token) {
    expect_columns(self, rows);
    if (shift) expect_length(*shift, rows.block.n_columns, "shift");
    if (chosen) expect_length(*chosen, rows.block.n_rows, "chosen");
    expect_length(forms, rows.block.n_rows, "forms");
    run_to_the_end(token, [&] {
        return self.quadratic_forms(rows.block, chosen ? chosen->data() : nullptr,
                                    shift ? shift->data() : nullptr, forms.data(), token);
    });
}

NewMatrix lower_triangle(const Factor& self) {
    const std::size_t size = static_cast<std::size_t>(self.size());
    auto* triangle = new double[size * size];
    nb::capsule owner(triangle, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    {
        nb::gil_scoped_release nogil;
        self.lower(triangle);
    }
    return NewMatrix(triangle, {size, size}, owner);
}

nb::tuple descend_l1(Square<const double> H, double r, Out<double> x, Out<double> q, double share,
                     std::int64_t most_sweeps, PythonStopToken& token) {
    const std::int64_t n = static_cast<std::int64_t>(H.shape(0));
    expect_square(H, n, "H");
    expect_length(x, n, "x");
    expect_length(q, n, "q");
    L1Descent found;
    run_to_the_end(token, [&] {
        return descend_l1_quadratic(H.data(), n, r, x.data(), q.data(), {share, most_sweeps}, found, token);
    });
    return nb::make_tuple(found.gained, found.sweeps);
}

nb::tuple descend_columns(const OwnedBlock& columns, In<double> h, double ridge, double r, In<double> g,
                          Out<double> x, std::optional<std::tuple<double, double>> offset, double share,
                          std::int64_t most_sweeps, PythonStopToken& token) {
    const Block& block = columns.block;
    expect_length(h, block.n_columns, "h");
    expect_length(g, block.n_rows, "g");
    expect_length(x, block.n_rows, "x");
    if (!Chunks(block).in_place()) throw nb::value_error("columns are floats or doubles, each contiguous");
    L1Offset at{offset.has_value(), 0, 0, 0};
    if (offset) std::tie(at.slope, at.stiffness) = *offset;
    L1Descent found;
    run_to_the_end(token, [&] {
        return descend_l1_columns(block, h.data(), ridge, r, g.data(), x.data(), at, {share, most_sweeps},
                                  found, token);
    });
    return nb::make_tuple(found.gained, found.sweeps, at.change);
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_dense_algebra(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    m.def("weighted_gram", &gram_of_block, nb::arg("block"), nb::arg("h").noconvert(),
          nb::arg("shift").noconvert().none(), nb::arg("G").noconvert(), nb::arg("single"), nb::arg("token"),
          "G += sum of h (x - shift, 1)(x - shift, 1)' over the rows of the block; shift may be None.");

    m.def(
        "descend_l1_quadratic", &descend_l1, nb::arg("H").noconvert(), nb::arg("r"), nb::arg("x").noconvert(),
        nb::arg("q").noconvert(), nb::arg("share"), nb::arg("most_sweeps"), nb::arg("token"),
        "Minimise a quadratic with the Hessian H plus r |x|, from x with the gradient q, in place; return by "
        "how much it was lowered, and the sweeps.");

    m.def("descend_l1_columns", &descend_columns, nb::arg("columns"), nb::arg("h").noconvert(),
          nb::arg("ridge"), nb::arg("r"), nb::arg("g").noconvert(), nb::arg("x").noconvert(),
          nb::arg("offset").none(), nb::arg("share"), nb::arg("most_sweeps"), nb::arg("token"),
          "The same by the columns of data, each a row of the block, weighted by h, from the gradient g; "
          "`offset` has its slope and its stiffness, or is None. Return by how much it was lowered, the "
          "sweeps, "
          "and the change of the offset.");

    nb::exception<NotFactorised>(m, "NotFactorised", PyExc_ValueError);

    nb::class_<Factor>(m, "Factor", "A factorised symmetric positive definite matrix.")
        .def("__init__", &make_factor, nb::arg("M").noconvert(),
             "Reads the lower triangle; a row with a diagonal of 0 counts as one of the unit matrix.")
        .def_prop_ro("size", &Factor::size)
        .def_prop_ro(
            "ridge", &Factor::ridge,
            "What had to be added to the diagonal of the matrix scaled to a unit diagonal, mostly 0.")
        .def_prop_ro("smallest_pivot", &Factor::smallest_pivot,
                     "Of the matrix scaled to a unit diagonal; near 1e-16, a column depends on others.")
        .def("solve", &solve, nb::arg("rhs").noconvert(), "M^-1 rhs as a new array.")
        .def("solve_rows", &solve_rows, nb::arg("rhs").noconvert(),
             "M^-1 times each row of rhs, without refinement, as the rows of a new array.")
        .def("lower", &lower_triangle, "The lower triangle L with LL' = M, as a new array.")
        .def("quadratic_forms", &all_forms, nb::arg("block"), nb::arg("shift").noconvert().none(),
             nb::arg("chosen").noconvert().none(), nb::arg("forms").noconvert(), nb::arg("token"),
             "Write (x - shift, 1)' M^-1 (x - shift, 1) for the rows whose `chosen` is not 0.")
        .def(
            "quadratic_form_max", &largest_form, nb::arg("block"), nb::arg("shift").noconvert().none(),
            nb::arg("token"), nb::arg("cost").noconvert().none() = nb::none(),
            "The largest (x - shift, 1)' M^-1 (x - shift, 1) over the rows of the block that cost anything.");
}
