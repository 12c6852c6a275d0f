// Tables as text: read_csv_record, read_csv. They take anything with a buffer of bytes, work
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
#include <vector>

#include "byte_view.hpp"
#include "maxmargin/read/csv.hpp"
#include "stop_token.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

namespace read = maxmargin::read;
using maxmargin::bindings::PythonStopToken;
using maxmargin::bindings::run_to_the_end;

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

nb::tuple read_csv_record(nb::handle source, std::size_t start, const read::CsvDialect& dialect) {
    const ByteView bytes(source);
    const read::CsvRecord record = read::read_csv_record(bytes.text(), start, dialect);
    nb::list fields;
    for (const std::string& field : record.fields) fields.append(nb::bytes(field.data(), field.size()));
    return nb::make_tuple(fields, record.next);
}

nb::object decoded(std::string_view bytes) {
    return nb::steal(
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

// Numbers and None, or the codes of texts and the texts.
nb::tuple loose_column(read::LooseColumn&& column) {
    if (!column.has_text) return nb::make_tuple(array_from(std::move(column.numbers)), nb::none());
    nb::list texts;
    for (const std::string& text : column.texts) texts.append(nb::bytes(text.data(), text.size()));
    return nb::make_tuple(array_from(std::move(column.codes)), texts);
}

nb::tuple read_csv(nb::handle source, std::size_t start, const read::CsvDialect& dialect, std::string kinds,
                   std::vector<std::string> names, bool skip_bad_records, PythonStopToken& token) {
    const ByteView bytes(source);
    const read::CsvLayout layout{start, std::move(kinds), std::move(names), skip_bad_records};
    read::CsvTable table;
    run_to_the_end(token, [&] {
        table = read::read_csv(bytes.text(), dialect, layout, token);
        return table.is_complete;
    });
    nb::list loose, skipped;
    for (read::LooseColumn& column : table.loose) loose.append(loose_column(std::move(column)));
    for (const read::ReadError& error : table.first_skipped)
        skipped.append(nb::make_tuple(decoded(error.what()), error.position().line, error.position().column));
    return nb::make_tuple(array_from(std::move(table.values), {table.n_rows, table.n_columns}),
                          array_from(std::move(table.n_texts)), array_from(std::move(table.n_numbers)), loose,
                          array_from(std::move(table.starts)), table.n_skipped, skipped);
}

nb::tuple csv_field_position(nb::handle source, std::size_t start, const read::CsvDialect& dialect,
                             std::size_t field) {
    const ByteView bytes(source);
    const read::Position place = read::position_of_field(bytes.text(), start, dialect, field);
    return nb::make_tuple(place.line, place.column);
}

std::size_t end_of_whole_csv_records(nb::handle source, const read::CsvDialect& dialect) {
    const ByteView bytes(source);
    const nb::gil_scoped_release released;
    return read::end_of_whole_records(bytes.text(), dialect);
}

}  // namespace

void bind_readers(nb::module_& module) {
    nb::class_<read::CsvDialect>(module, "CsvDialect",
                                 "How a text table is written: between fields, in numbers, before a comment "
                                 "(a line break: there are none), and what stands for missing values, None "
                                 "for the usual signs.")
        .def(
            "__init__",
            [](read::CsvDialect* self, char separator, char decimal, char comment,
               std::optional<std::vector<std::string>> missing) {
                new (self) read::CsvDialect{separator, decimal, comment, std::move(missing)};
            },
            "separator"_a, "decimal"_a = '.', "comment"_a = '\n', "missing"_a = nb::none(),
            nb::sig("def __init__(self, separator: str, decimal: str = '.', comment: str = '\\n', "
                    "missing: collections.abc.Sequence[str] | None = None) -> None"));
    module.def("read_csv_record", &read_csv_record, "source"_a, "start"_a, "dialect"_a,
               nb::sig("def read_csv_record("
                       "source: bytes | bytearray | memoryview, start: int, dialect: CsvDialect"
                       ") -> tuple[list[bytes], int]"),
               "The fields of the record at start, and where the next one starts; no fields at the end.");
    module.def(
        "read_csv", &read_csv, "source"_a, "start"_a, "dialect"_a, "kinds"_a, "names"_a, "skip_bad_records"_a,
        "token"_a,
        nb::sig("def read_csv("
                "source: bytes | bytearray | memoryview, start: int, dialect: CsvDialect, kinds: str, "
                "names: collections.abc.Sequence[str], skip_bad_records: bool, token: StopToken"
                ") -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int64], "
                "list[tuple[NDArray[numpy.float64 | numpy.int32], list[bytes] | None]], "
                "NDArray[numpy.int64], int, list[tuple[str, int, int]]]"),
        "The records from start on: numbers, how many texts and numbers their columns have, the other "
        "columns, where "
        "records start, how many were left out and what is wrong with some of them. A letter says "
        "what each field is: - nothing, n a number, g a number unless many are text, t text, e numbers "
        "or text.");
    module.def("end_of_whole_csv_records", &end_of_whole_csv_records, "source"_a, "dialect"_a,
               nb::sig("def end_of_whole_csv_records("
                       "source: bytes | bytearray | memoryview, dialect: CsvDialect) -> int"),
               "Where the last record ends that cannot go on behind the end of the text.");
    module.def("csv_field_position", &csv_field_position, "source"_a, "start"_a, "dialect"_a, "field"_a,
               nb::sig("def csv_field_position("
                       "source: bytes | bytearray | memoryview, start: int, dialect: CsvDialect, field: int"
                       ") -> tuple[int, int]"),
               "Line and column of a field of the record at start.");
}
