// Blocks of rows and the stop token.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "maxmargin/condense.hpp"
#include "maxmargin/kernel/csr_structure.hpp"
#include "stop_token.hpp"

namespace maxmargin::bindings {
namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Scalar scalar_of(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    const int bits = type.bits;
    switch (static_cast<Code>(type.code)) {
        case Code::Bool: return Scalar::boolean;
        case Code::Int:
            if (bits == 8) return Scalar::i8;
            if (bits == 16) return Scalar::i16;
            if (bits == 32) return Scalar::i32;
            if (bits == 64) return Scalar::i64;
            break;
        case Code::UInt:
            if (bits == 8) return Scalar::u8;
            if (bits == 16) return Scalar::u16;
            if (bits == 32) return Scalar::u32;
            if (bits == 64) return Scalar::u64;
            break;
        case Code::Float:
            if (bits == 16) return Scalar::f16;
            if (bits == 32) return Scalar::f32;
            if (bits == 64) return Scalar::f64;
            break;
        default: break;
    }
    throw nb::type_error("values must be boolean, integer or floating point numbers of at most 64 bits");
}

bool is_wide(const Vector& indices) {
    const auto type = indices.dtype();
    if (type == nb::dtype<std::int32_t>()) return false;
    if (type == nb::dtype<std::int64_t>()) return true;
    throw nb::type_error("indices must be int32 or int64");
}

void expect_same_index_type(const Vector& indices, const Vector& starts) {
    if (indices.dtype() != starts.dtype())
        throw nb::type_error("indices and starts must have the same integer type");
}

// NumPy has no bfloat16 of its own: such numbers come as the 16 bits of each.
void make_dense(OwnedBlock* self, const Matrix& x, bool is_bfloat16) {
    Scalar scalar = scalar_of(x.dtype());
    if (is_bfloat16) {
        if (scalar != Scalar::u16) throw nb::type_error("the bits of bfloat16 must come as uint16");
        scalar = Scalar::bf16;
    }
    const DenseStorage storage{x.data(), scalar, x.stride(0), x.stride(1)};
    const auto n_rows = static_cast<std::int64_t>(x.shape(0)),
               n_columns = static_cast<std::int64_t>(x.shape(1));
    new (self) OwnedBlock{{storage, n_rows, n_columns}, nb::cast(x)};
}

void make_csr(OwnedBlock* self, const Vector& values, const Vector& indices, const Vector& starts,
              std::int64_t n_columns) {
    expect_same_index_type(indices, starts);
    if (starts.shape(0) < 1) throw nb::value_error("starts needs one entry more than there are rows");
    const CsrStorage storage{values.data(), scalar_of(values.dtype()), indices.data(), starts.data(),
                             is_wide(indices)};
    new (self) OwnedBlock{{storage, static_cast<std::int64_t>(starts.shape(0)) - 1, n_columns},
                          nb::make_tuple(nb::cast(values), nb::cast(indices), nb::cast(starts))};
}

std::optional<OwnedBlock> condensed(const OwnedBlock& self, PythonStopToken& token) {
    std::optional<Block> result;
    run_to_the_end(token, [&] { return condense(self.block, result, token); });
    if (!result) return std::nullopt;
    return OwnedBlock{*result, nb::none()};
}

std::int64_t owned_bytes(const OwnedBlock& self) {
    const auto* patterns = std::get_if<SharedPatterns>(&self.block.storage);
    return patterns == nullptr ? 0 : (*patterns)->bytes();
}

CsrStructure check(const Vector& indices, const Vector& starts, std::int64_t n_columns) {
    expect_same_index_type(indices, starts);
    const auto n_rows = static_cast<std::int64_t>(starts.shape(0)) - 1;
    const auto n_values = static_cast<std::int64_t>(indices.shape(0));
    const bool wide = is_wide(indices);
    nb::gil_scoped_release nogil;
    if (wide) {
        return check_csr(static_cast<const std::int64_t*>(starts.data()), n_rows,
                         static_cast<const std::int64_t*>(indices.data()), n_values, n_columns);
    }
    return check_csr(static_cast<const std::int32_t*>(starts.data()), n_rows,
                     static_cast<const std::int32_t*>(indices.data()), n_values, n_columns);
}

}  // namespace
}  // namespace maxmargin::bindings

void bind_rows(nanobind::module_& m) {
    using namespace maxmargin;
    using namespace maxmargin::bindings;

    nb::class_<OwnedBlock>(m, "Block", "Rows in place: a dense array of any strides, or a CSR matrix.")
        .def("__init__", &make_dense, nb::arg("x").noconvert(), nb::arg("is_bfloat16") = false)
        .def("__init__", &make_csr, nb::arg("values").noconvert(), nb::arg("indices").noconvert(),
             nb::arg("starts").noconvert(), nb::arg("n_columns"))
        .def_prop_ro("n_rows", [](const OwnedBlock& self) { return self.block.n_rows; })
        .def_prop_ro("n_columns", [](const OwnedBlock& self) { return self.block.n_columns; })
        .def_prop_ro("owned_bytes", &owned_bytes, "Memory of a condensed block; 0 if rows are read in place.")
        .def("condensed", &condensed, nb::arg("token"),
             "The same rows as patterns of 0/1 columns and dense columns, or None if that does not pay.");

    nb::class_<CsrStructure>(m, "CsrStructure", "What check_csr found.")
        .def_ro("bad_row", &CsrStructure::bad_row)
        .def_ro("bad_column", &CsrStructure::bad_column)
        .def_ro("bad_starts", &CsrStructure::bad_starts)
        .def_ro("repeats", &CsrStructure::repeats);
    m.def("check_csr", &check, nb::arg("indices").noconvert(), nb::arg("starts").noconvert(),
          nb::arg("n_columns"),
          "Look for entries outside the matrix, and for columns that a row names twice.");

    nb::class_<PythonStopToken>(m, "StopToken",
                                "Tells the passes of one fit to end: by a flag, a deadline or Ctrl-C.")
        .def(nb::init<std::optional<double>, bool>(), nb::arg("seconds") = nb::none(),
             nb::arg("on_main_thread") = false)
        .def("stop", &PythonStopToken::stop, "End every pass that holds this token.")
        .def("reserve", &PythonStopToken::reserve, nb::arg("seconds"),
             "End that much before the deadline, but not in the first half of the time.")
        .def(
            "poll",
            [](PythonStopToken& self) {
                const bool stop = self.poll();
                self.raise_signal();
                return stop;
            },
            "Whether to end now; raises what a signal handler raised.")
        .def(
            "interrupt_highs",
            [](PythonStopToken& self, nb::handle, nb::handle, nb::handle, nb::handle input, nb::handle) {
                if (self.poll()) input.attr("user_interrupt") = true;
            },
            nb::arg("kind"), nb::arg("message"), nb::arg("output"), nb::arg("input"), nb::arg("data").none(),
            "A callback for HiGHS: end its run if this token says so. What a signal handler raises, the\n"
            "next poll hands on: nothing may be raised through HiGHS. Python could not do that: handlers\n"
            "run before the first line of a function.")
        .def_prop_ro("stopped", &PythonStopToken::stopped);
    nb::exception<Stopped>(m, "Stopped");

    m.def("cpu", [] { return std::string(primitives().name); }, "The instruction set in use.");
    m.def("available_cpus", &available_primitives, "The instruction sets that this machine can run.");
}
