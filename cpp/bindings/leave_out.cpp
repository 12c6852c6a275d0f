// Leaving examples of the hinge out: products of rows with each other, and the path on which a row leaves.
#include <vector>

#include "arrays.hpp"
#include "maxmargin/kernel/removal_path.hpp"
#include "maxmargin/kernel/row_gram.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

template <class T>
using Square = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using NewArray = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

template <class T>
void expect_square(const Square<T>& products, std::int64_t size) {
    if (static_cast<std::int64_t>(products.shape(0)) == size &&
        static_cast<std::int64_t>(products.shape(1)) == size)
        return;
    throw nb::value_error("products must be square, with as many rows as there are rows");
}

NewArray copied(const std::vector<double>& values) {
    auto* data = new double[values.size()];
    std::copy(values.begin(), values.end(), data);
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return NewArray(data, {values.size()}, owner);
}

void gram_of_rows(const OwnedBlock& rows, std::int64_t first, std::int64_t last, Square<double> products,
                  PythonStopToken& token) {
    expect_square(products, rows.block.n_rows);
    if (first < 0 || last < first || last > rows.block.n_rows) throw nb::value_error("no such range of rows");
    run_to_the_end(token, [&] { return row_gram(rows.block, first, last, products.data(), token); });
}

// A path and the arrays that it reads.
struct OwnedPath {
    Square<const double> products;
    In<std::int8_t> sign;
    In<double> cost, alpha, agreement, rounding;
    RemovalPath path;
};

void make_path(OwnedPath* self, Square<const double> products, In<std::int8_t> sign, In<double> cost,
               In<double> alpha, In<double> agreement, double b, double constant, double residual2,
               In<double> rounding, double product_error, bool has_free_offset, std::int64_t n_watched) {
    const auto n = static_cast<std::int64_t>(sign.shape(0));
    expect_square(products, n);
    expect_length(cost, n, "cost");
    expect_length(alpha, n, "alpha");
    expect_length(agreement, n, "agreement");
    expect_length(rounding, n, "rounding");
    const DualRows rows{products.data(), sign.data(), cost.data(), n};
    if (n_watched < 0 || n_watched > n) throw nb::value_error("n_watched must be a number of rows");
    const FullFit fit{
        rows,          alpha.data(),    agreement.data(), b, constant, residual2, rounding.data(),
        product_error, has_free_offset, n_watched};
    nb::gil_scoped_release nogil;
    RemovalPath path(fit);
    nb::gil_scoped_acquire gil;
    new (self) OwnedPath{products, sign, cost, alpha, agreement, rounding, std::move(path)};
}

void follow(const OwnedPath& self, In<std::int64_t> rows, In<double> new_cost, In<double> stop_below,
            Out<double> agreement, Out<double> error_bound, Out<bool> is_out, PythonStopToken& token) {
    const auto count = static_cast<std::int64_t>(rows.shape(0));
    expect_length(new_cost, count, "new_cost");
    expect_length(stop_below, count, "stop_below");
    expect_length(agreement, count, "agreement");
    expect_length(error_bound, count, "error_bound");
    expect_length(is_out, count, "is_out");
    std::vector<Removal> removals;
    for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t row = rows.data()[k];
        if (row < 0 || row >= static_cast<std::int64_t>(self.sign.shape(0)))
            throw nb::value_error("no such row");
        removals.push_back({row, new_cost.data()[k], stop_below.data()[k]});
    }
    std::vector<LeftOut> results(removals.size());
    run_to_the_end(token, [&] { return self.path.follow(removals.data(), count, results.data(), token); });
    for (std::int64_t k = 0; k < count; ++k) {
        const LeftOut& result = results[static_cast<std::size_t>(k)];
        agreement.data()[k] = result.agreement;
        error_bound.data()[k] = result.error_bound;
        is_out.data()[k] = result.is_out;
    }
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_leave_out(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    m.def("row_gram", &gram_of_rows, nb::arg("block"), nb::arg("first"), nb::arg("last"),
          nb::arg("products").noconvert(), nb::arg("token"),
          "Fill products[k, j] and products[j, k] with x_k . x_j for first <= k < last and j <= k.");

    nb::class_<OwnedPath>(m, "RemovalPath",
                          "The optimum of a hinge problem, from which rows can be left out.")
        .def("__init__", &make_path, nb::arg("products").noconvert(), nb::arg("sign").noconvert(),
             nb::arg("cost").noconvert(), nb::arg("alpha").noconvert(), nb::arg("agreement").noconvert(),
             nb::arg("b"), nb::arg("constant"), nb::arg("residual2"), nb::arg("rounding").noconvert(),
             nb::arg("product_error"), nb::arg("has_free_offset"), nb::arg("n_watched"),
             "products: x . x of all pairs of rows, plus a constant; residual2: |w - sum of s alpha x|^2; "
             "rounding: how far each agreement may be off; product_error: the same of a product, as a share; "
             "n_watched: how many rows, the first ones, are near the margin.")
        .def(
            "alpha", [](const OwnedPath& self) { return copied(self.path.alpha()); },
            "The dual point, moved so that the free rows are independent; the weights are the same.")
        .def_prop_ro("n_free", [](const OwnedPath& self) { return self.path.n_free(); })
        .def(
            "follow", &follow, nb::arg("rows").noconvert(), nb::arg("new_cost").noconvert(),
            nb::arg("stop_below").noconvert(), nb::arg("agreement").noconvert(),
            nb::arg("error_bound").noconvert(), nb::arg("is_out").noconvert(), nb::arg("token"),
            "Lower the cost of one row after another, each from the full fit; write its agreement then and a "
            "bound of the error of that. A row whose agreement falls below stop_below is followed no "
            "further: it is not out, and its left-out agreement is at most the one written.");
}
