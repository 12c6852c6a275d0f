// LIBSVM text: LibsvmPart, LibsvmTable; and ReadError, which all text readers raise. Parsing works without
// the interpreter lock, and arrays go to NumPy without a copy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "byte_view.hpp"
#include "maxmargin/read/libsvm_table.hpp"
#include "stop_token.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace read = maxmargin::read;
using maxmargin::bindings::ByteView;
using maxmargin::bindings::PythonStopToken;
using maxmargin::bindings::run_to_the_end;

template <class T>
nb::object array_from(read::OwnedArray<T>&& array) {
    T* const data = array.data.get();
    nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
    static_cast<void>(array.data.release());
    return nb::ndarray<nb::numpy, T>(data, {array.size}, owner).cast();
}

void make_table(read::LibsvmTable* table, std::optional<bool> zero_based,
                std::optional<std::int64_t> n_columns, bool skip_bad_lines,
                std::optional<std::size_t> n_bytes) {
    read::LibsvmOptions options{read::IndexBase::detect, n_columns, skip_bad_lines};
    if (zero_based) options.base = *zero_based ? read::IndexBase::zero : read::IndexBase::one;
    new (table) read::LibsvmTable(options, n_bytes);
}

void parse(read::LibsvmPart& part, nb::handle source, const read::LibsvmTable& table,
           PythonStopToken& token) {
    const ByteView bytes(source);
    const std::string_view text = bytes.text();
    if (!text.empty() && text.back() != '\n') throw nb::value_error("the text must end with a newline");
    run_to_the_end(token, [&] { return part.parse(text, table.options(), token); });
}

read::PartPlace reserve(read::LibsvmTable& table, const read::LibsvmPart& part) {
    nb::gil_scoped_release unlocked;
    return table.reserve(part);
}

void fill(read::LibsvmTable& table, const read::LibsvmPart& part, const read::PartPlace& place) {
    nb::gil_scoped_release unlocked;
    table.fill(part, place);
}

nb::tuple finish(read::LibsvmTable& table) {
    auto any = [&] {
        nb::gil_scoped_release unlocked;
        return table.finish();
    }();
    return std::visit(
        [](auto& found) {
            return nb::make_tuple(array_from(std::move(found.values)), array_from(std::move(found.columns)),
                                  array_from(std::move(found.starts)), array_from(std::move(found.labels)),
                                  found.n_columns, found.zero_based);
        },
        any);
}

// UTF-8 with what is none spelt out.
nb::object text_of(std::string_view message) {
    return nb::steal(
        PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
}

nb::object first_bad_line(const read::LibsvmTable& table) {
    const auto& error = table.first_bad_line();
    if (!error) return nb::none();
    return nb::make_tuple(text_of(error->message), error->position.line, error->position.column);
}

// ReadError in Python has args (message, line, column); bytes that are not UTF-8 are spelt out.
void translate(const std::exception_ptr& pointer, void* type) {
    try {
        std::rethrow_exception(pointer);
    } catch (const read::ReadError& error) {
        const std::string_view message = error.what();
        const auto text = nb::steal(PyUnicode_DecodeUTF8(
            message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
        const read::Position position = error.position();
        const nb::tuple arguments = nb::make_tuple(text, position.line, position.column);
        PyErr_SetObject(static_cast<PyObject*>(type), arguments.ptr());
    }
}

}  // namespace

void bind_libsvm(nb::module_& module) {
    static nb::object error_type = nb::steal(PyErr_NewExceptionWithDoc(
        "maxmargin._core.ReadError", "Text that cannot be read; its args are (message, line, column).",
        PyExc_ValueError, nullptr));
    module.attr("ReadError") = error_type;
    nb::register_exception_translator(translate, error_type.ptr());

    nb::class_<read::LibsvmPart>(module, "LibsvmPart", "Some lines of LIBSVM text, parsed; for use again.")
        .def(nb::init<>())
        .def("parse", &parse, "text"_a, "table"_a, "token"_a,
             nb::sig("def parse(self, text: bytes | bytearray | memoryview, table: LibsvmTable, "
                     "token: StopToken) -> None"),
             "Read whole lines by the table's settings; several parts can be parsed at once.");
    nb::class_<read::PartPlace>(module, "LibsvmPlace", "Where a part goes in a table.");
    nb::class_<read::LibsvmTable>(module, "LibsvmTable", "The rows of LIBSVM text, put together from parts.")
        .def("__init__", &make_table, "zero_based"_a.none(), "n_columns"_a.none(), "skip_bad_lines"_a,
             "n_bytes"_a.none())
        .def("reserve", &reserve, "part"_a,
             "Make room for the next part; ReadError for a line that cannot be read. By one thread.")
        .def("fill", &fill, "part"_a, "place"_a, "Write a part to its place; several at once.")
        .def("finish", &finish,
             nb::sig("def finish(self) -> tuple["
                     "NDArray[numpy.float64], NDArray[numpy.int32 | numpy.int64], "
                     "NDArray[numpy.int32 | numpy.int64], NDArray[numpy.float64], int, bool]"),
             "All rows as (values, columns, row starts, labels, n_columns, zero_based); once.")
        .def_prop_ro("n_bad_lines", &read::LibsvmTable::n_bad_lines, "How many lines were skipped.")
        .def_prop_ro("first_bad_line", &first_bad_line,
                     nb::sig("def first_bad_line(self) -> tuple[str, int, int] | None"),
                     "The first of them as (message, line, column).");
}
