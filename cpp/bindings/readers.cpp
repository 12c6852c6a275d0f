#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_readers(nb::module_ &) {}
