"""Ways to solve the Newton equations M change = −gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from maxmargin._core import StopToken
from maxmargin.rows import Array, Rows, RowVector, inner
from maxmargin.rows.kernels import HessianDiagonal
from maxmargin.solvers.frame import Frame
from maxmargin.solvers.newton_passes import HessianProduct
from maxmargin.solvers.newton_place import Place

__all__ = ["Diagonal", "Direction", "Inverse", "conjugate_gradients"]

_MOST_ITERATIONS = 250


class Inverse(Protocol):
    """Something that solves, exactly or nearly, equations with the Hessian."""

    def solve(self, rhs: Array) -> Array:
        """Return M⁻¹ rhs as a new array."""
        ...


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The Hessian's diagonal in its place."""

    diagonal: Array

    def solve(self, rhs: Array) -> Array:
        """Return rhs divided by the diagonal."""
        return rhs / self.diagonal

    @classmethod
    def of(cls, rows: Rows, frame: Frame, place: Place, token: StopToken) -> Diagonal:
        """Return the diagonal at that place."""
        squares, sums = rows.reduce(HessianDiagonal(rows.n_columns), place.h, token=token)
        return cls(frame.diagonal(squares, sums, place.curvature))


@dataclass(frozen=True, eq=False)
class Direction:
    """A step, and how well it solves the equations of which curvatures.

    Attributes
    ----------
    change : the step, in the frame's coordinates
    decrement : −gradient·change, about twice what the step should gain
    h : the curvatures of the equations; None if they were only like these
    left : the duality gap that the equations' residual leaves
    passes : what it cost
    """

    change: Array
    decrement: float
    h: RowVector | None
    left: float
    passes: float


@dataclass(frozen=True)
class Course:
    """Where conjugate gradients stand.

    Attributes
    ----------
    decrement : −gradient·change so far, which only grows
    gained : what the last iteration added to it
    left : the duality gap that the residual leaves
    """

    iterations: int
    decrement: float
    gained: float
    left: float


def conjugate_gradients(
    rows: Rows,
    frame: Frame,
    place: Place,
    inverse: Inverse,
    is_enough: Callable[[Course], bool],
    token: StopToken,
) -> Direction:
    """Solve by conjugate gradients, preconditioned by `inverse`; an iteration is a pass over the rows."""
    residual = -place.gradient
    change = np.zeros_like(residual)
    preconditioned = inverse.solve(residual)
    size = inner(residual, preconditioned)
    direction = preconditioned.copy()
    course = Course(0, 0.0, math.inf, frame.gap(residual, place.curvature))
    while course.iterations < _MOST_ITERATIONS and size > 0:
        dw, db = frame.split(direction)
        curved = frame.product(direction, rows.reduce(HessianProduct(dw, db), place.h, token=token))
        bend = inner(direction, curved)
        if not bend > 0:
            break
        length = size / bend
        change += length * direction
        residual -= length * curved
        gained = length * size
        left = frame.gap(residual, place.curvature)
        course = Course(course.iterations + 1, course.decrement + gained, gained, left)
        if is_enough(course):
            break
        preconditioned = inverse.solve(residual)
        size, before = inner(residual, preconditioned), size
        direction *= size / before
        direction += preconditioned
    decrement = -inner(place.gradient, change)
    return Direction(change, decrement, place.h, course.left, float(course.iterations))
