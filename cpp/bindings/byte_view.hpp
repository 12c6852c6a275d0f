// The bytes of a Python object, held while somebody reads them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string_view>

namespace maxmargin::bindings {

namespace nb = nanobind;

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

}  // namespace maxmargin::bindings
