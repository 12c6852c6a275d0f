// Tables as text: read_csv_record, read_csv. They take anything with a buffer of bytes, work
// without the interpreter lock and hand their vectors to NumPy without a copy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_view.hpp"
#include "maxmargin/read/csv.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace read = maxmargin::read;

using maxmargin::bindings::ByteView;

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

}  // namespace

void bind_readers(nb::module_& module) {
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
