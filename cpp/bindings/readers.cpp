// Text readers: read_libsvm, read_csv_record, read_csv. They take anything with a buffer of bytes, work
// without the interpreter lock and hand their vectors to NumPy without a copy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "maxmargin/read/csv.hpp"
#include "maxmargin/read/libsvm.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace read = maxmargin::read;

class ByteView {
  public:
    explicit ByteView(nb::handle source) {
        if (PyObject_GetBuffer(source.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    ~ByteView() { PyBuffer_Release(&buffer_); }
    ByteView(const ByteView&) = delete;
    ByteView& operator=(const ByteView&) = delete;

    std::string_view text() const noexcept {
        return {static_cast<const char*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
    }

  private:
    Py_buffer buffer_{};
};

// The vector's memory as an array of this shape, freed with it.
template <class T>
nb::object array_from(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    T* const data = kept->data();
    nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    kept.release();
    return nb::ndarray<nb::numpy, T>(data, shape, owner).cast();
}

template <class T>
nb::object array_from(std::vector<T>&& values) {
    const std::size_t n = values.size();
    return array_from(std::move(values), {n});
}

template <class Work>
auto without_lock(Work work) {
    nb::gil_scoped_release unlocked;
    return work();
}

nb::tuple read_libsvm(nb::handle source, const std::optional<bool>& zero_based,
                      std::optional<std::int64_t> n_columns) {
    const ByteView bytes(source);
    read::LibsvmOptions options;
    options.n_columns = n_columns;
    if (zero_based) options.base = *zero_based ? read::IndexBase::zero : read::IndexBase::one;
    auto any = without_lock([&] { return read::read_libsvm(bytes.text(), options); });
    return std::visit(
        [](auto& table) {
            return nb::make_tuple(array_from(std::move(table.values)), array_from(std::move(table.columns)),
                                  array_from(std::move(table.starts)), array_from(std::move(table.labels)),
                                  table.n_columns, table.zero_based);
        },
        any);
}

nb::tuple read_csv_record(nb::handle source, std::size_t start, char separator) {
    const ByteView bytes(source);
    const read::CsvRecord record = read::read_csv_record(bytes.text(), start, separator);
    nb::list fields;
    for (const std::string& field : record.fields) fields.append(nb::bytes(field.data(), field.size()));
    return nb::make_tuple(fields, record.next);
}

nb::tuple read_csv(nb::handle source, std::size_t start, char separator, std::size_t n_fields,
                   std::size_t label_field, std::vector<std::string> names) {
    if (label_field >= n_fields) throw nb::index_error("label_field must be below n_fields");
    const ByteView bytes(source);
    const read::CsvLayout layout{start, separator, n_fields, label_field, std::move(names)};
    read::DenseTable table = without_lock([&] { return read::read_csv(bytes.text(), layout); });
    nb::object label_names = nb::none();
    if (table.has_text_labels) {
        nb::list texts;
        for (const std::string& name : table.label_names) texts.append(nb::bytes(name.data(), name.size()));
        label_names = texts;
    }
    nb::object labels = table.has_text_labels ? array_from(std::move(table.label_codes))
                                              : array_from(std::move(table.labels));
    return nb::make_tuple(array_from(std::move(table.values), {table.n_rows, table.n_columns}), labels,
                          label_names);
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

void bind_readers(nb::module_& module) {
    static nb::object error_type = nb::steal(PyErr_NewExceptionWithDoc(
        "maxmargin._core.ReadError", "Text that cannot be read; its args are (message, line, column).",
        PyExc_ValueError, nullptr));
    module.attr("ReadError") = error_type;
    nb::register_exception_translator(translate, error_type.ptr());

    module.def("read_libsvm", &read_libsvm, "source"_a, "zero_based"_a.none() = nb::none(),
               "n_columns"_a.none() = nb::none(),
               nb::sig("def read_libsvm("
                       "source: bytes | bytearray | memoryview, zero_based: bool | None = None, "
                       "n_columns: int | None = None) -> tuple["
                       "NDArray[numpy.float64], NDArray[numpy.int32 | numpy.int64], "
                       "NDArray[numpy.int32 | numpy.int64], NDArray[numpy.float64], int, bool]"),
               "LIBSVM text as (values, columns, row starts, labels, n_columns, zero_based).");
    module.def("read_csv_record", &read_csv_record, "source"_a, "start"_a, "separator"_a,
               nb::sig("def read_csv_record("
                       "source: bytes | bytearray | memoryview, start: int, separator: str"
                       ") -> tuple[list[bytes], int]"),
               "The fields of the record at start, and where the next one starts; no fields at the end.");
    module.def("read_csv", &read_csv, "source"_a, "start"_a, "separator"_a, "n_fields"_a, "label_field"_a,
               "names"_a,
               nb::sig("def read_csv("
                       "source: bytes | bytearray | memoryview, start: int, separator: str, "
                       "n_fields: int, label_field: int, names: collections.abc.Sequence[str]) -> tuple["
                       "NDArray[numpy.float64], NDArray[numpy.float64 | numpy.int32], list[bytes] | None]"),
               "The records from start on as (features, labels or their codes, text of the codes or None).");
}
