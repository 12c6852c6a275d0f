// The best dual values of the free rows, all others held: conjugate gradients on
//
//     max over y of  g·y − ½ y·H y,     H y = A Aᵀ y + ω a (a·y),   A = diag(a) X,   a = sign · scale,
//
// within n·y = 0 when a unit normal n is given (the free offset). The rows are scaled to a unit diagonal of
// H. Repeated rows and more rows than columns make H singular; the iterates then stay in its range.
#pragma once

#include <cstdint>

#include "maxmargin/block.hpp"
#include "maxmargin/stop.hpp"

namespace maxmargin {

struct Face {
    const Block& rows;
    const double* signed_scale;  // a
    const double* normal;        // n, or null
    double offset_square;        // ω
};

struct FaceSolution {
    std::int64_t iterations = 0;
    bool unbounded = false;  // y is a direction in which the value grows for ever
    bool complete = true;
};

// Writes y, starting from 0; at most `most` iterations, each two readings of the rows.
FaceSolution solve_on_face(const Face& face, const double* gradient, double* y, std::int64_t most,
                           StopToken& token);

}  // namespace maxmargin
