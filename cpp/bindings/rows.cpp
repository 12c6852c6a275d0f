#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_rows(nb::module_ &) {}
