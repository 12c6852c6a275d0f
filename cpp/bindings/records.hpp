// The records of passes in Python: fields to read, a constructor from them, `+` and pickling.
//
// `__annotations__` holds the types of the fields in the order of the constructor, as for a dataclass, so
// that a record can be taken apart and made again (`rows/disk/journal.py`).
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <new>

#include "maxmargin/twofold.hpp"

namespace nanobind::detail {

// A high and a low part.
template <>
struct type_caster<maxmargin::Twofold> {
    NB_TYPE_CASTER(maxmargin::Twofold, const_name("tuple[float, float]"))

    bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
        PyObject* parts = source.ptr();
        if (!PyTuple_Check(parts) || PyTuple_Size(parts) != 2) return false;
        value.high = PyFloat_AsDouble(PyTuple_GetItem(parts, 0));
        value.low = PyFloat_AsDouble(PyTuple_GetItem(parts, 1));
        if (!PyErr_Occurred()) return true;
        PyErr_Clear();
        return false;
    }

    static handle from_cpp(const maxmargin::Twofold& pair, rv_policy, cleanup_list*) noexcept {
        return Py_BuildValue("(dd)", pair.high, pair.low);
    }
};

}  // namespace nanobind::detail

namespace maxmargin::bindings {

namespace nb = nanobind;

template <class T, class Value>
struct Field {
    const char* name;
    Value T::* member;
};

template <class T, class Value>
Field<T, Value> field(const char* name, Value T::* member) {
    return {name, member};
}

inline const char* type_name(double) { return "float"; }
inline const char* type_name(std::int64_t) { return "int"; }
inline const char* type_name(bool) { return "bool"; }
inline const char* type_name(Twofold) { return "tuple[float, float]"; }

// Binds a struct with an operator+; without arguments the constructor makes the record of no rows.
template <class T, class... Values>
nb::class_<T> bind_record(nb::module_& m, const char* name, const char* doc, Field<T, Values>... fields) {
    nb::class_<T> record(m, name, doc);
    record.def(
        "__init__",
        [fields...](T* self, Values... values) {
            new (self) T{};
            ((self->*(fields.member) = values), ...);
        },
        (nb::arg(fields.name) = T{}.*(fields.member))...);
    (record.def_ro(fields.name, fields.member), ...);
    record.def("__add__", [](const T& first, const T& second) { return first + second; }, nb::is_operator());
    record.def("__reduce__", [fields...](const T& self) {
        return nb::make_tuple(nb::type<T>(), nb::make_tuple(self.*(fields.member)...));
    });
    nb::dict types;
    ((types[fields.name] = type_name(Values{})), ...);
    record.attr("__annotations__") = types;
    return record;
}

}  // namespace maxmargin::bindings
