// CRC-32 of bytes, without the interpreter lock, and of pieces that were read side by side.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string_view>

#include "maxmargin/crc32.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::uint32_t crc32_of(const Bytes& bytes) {
    nb::gil_scoped_release unlocked;
    return maxmargin::crc32({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

void bind_checksums(nb::module_& module) {
    module.def("crc32", &crc32_of, nb::arg("bytes").noconvert(), "The CRC-32 of these bytes, as zip has it.");
    module.def("joined_crc32", &maxmargin::joined_crc32, "first"_a, "second"_a, "second_bytes"_a,
               "The CRC-32 of two pieces from those of each; the second has so many bytes.");
}
