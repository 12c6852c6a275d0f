// NumPy arrays as the core takes them: in place, never converted behind the caller's back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "maxmargin/block.hpp"

namespace maxmargin::bindings {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A block and the arrays it reads from.
struct OwnedBlock {
    Block block;
    nb::object keep;
};

template <class Array>
void expect_length(const Array& array, std::int64_t length, const char* name) {
    if (static_cast<std::int64_t>(array.shape(0)) != length) {
        throw nb::value_error((std::string(name) + " has length " + std::to_string(array.shape(0)) +
                               ", expected " + std::to_string(length))
                                  .c_str());
    }
}

inline void expect_loss(bool known, std::string_view name) {
    if (!known) throw std::invalid_argument("no such loss here: \"" + std::string(name) + "\"");
}

}  // namespace maxmargin::bindings
