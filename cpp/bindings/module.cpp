// Table of contents of maxmargin._core: each part is bound in the file named after it.

#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_rows(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_certificate(nb::module_& m);
void bind_checksums(nb::module_& m);
void bind_class_hinge(nb::module_& m);
void bind_dense_algebra(nb::module_& m);
void bind_near_rows(nb::module_& m);
void bind_newton(nb::module_& m);
void bind_outputs(nb::module_& m);
void bind_smooth_left_out(nb::module_& m);
void bind_interior(nb::module_& m);
void bind_leave_out(nb::module_& m);
void bind_bands(nb::module_& m);
void bind_online(nb::module_& m);
void bind_proximal(nb::module_& m);
void bind_readers(nb::module_& m);
void bind_libsvm(nb::module_& m);

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of maxmargin: rows, losses, passes over rows, text readers, and checksums.";
    bind_rows(m);
    bind_losses(m);
    bind_kernels(m);
    bind_certificate(m);
    bind_checksums(m);
    bind_class_hinge(m);
    bind_dense_algebra(m);
    bind_near_rows(m);
    bind_newton(m);
    bind_outputs(m);
    bind_smooth_left_out(m);
    bind_interior(m);
    bind_leave_out(m);
    bind_bands(m);
    bind_online(m);
    bind_proximal(m);
    bind_readers(m);
    bind_libsvm(m);
}
