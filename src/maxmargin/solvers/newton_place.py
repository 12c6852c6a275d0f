"""Points that a pass has evaluated, and how far to go from one to the next."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, Rows, RowVector, inner
from maxmargin.solvers.frame import Frame
from maxmargin.solvers.newton_passes import AlongLine, Evaluate

__all__ = ["Place", "best_share", "evaluate", "has_fallen"]

_ENOUGH = 1e-4  # share of the decrement by which the objective has to fall
_IN_ROUNDING = 1e-9  # decrements below this share of the objective are hidden by its rounding errors


@dataclass(frozen=True, eq=False)
class Place:
    """A point and what one pass told about it; the gradient is in the frame's coordinates."""

    w: Array
    b: float
    z: RowVector
    h: RowVector
    value: float
    gradient: Array
    curvature: float
    hessian: Array | None


def evaluate(
    problem: Problem,
    rows: Rows,
    frame: Frame,
    w: Array,
    b: float,
    with_hessian: bool,
    token: StopToken,
    *,
    is_rough: bool = False,
) -> Place:
    """Evaluate the objective at (w, b) in one pass; with_hessian adds up the Gram matrix on the way.

    A rough one is made of products in single precision: seven digits of a Hessian that is of another point.
    """
    z, h = rows.zeros(), rows.zeros()
    kernel = Evaluate(problem.loss, w, b, with_hessian, frame.shift, single=is_rough)
    sums = rows.reduce(kernel, problem.sign, problem.cost, z, h, token=token)
    value = frame.own_cost(w, b) + sums.loss
    gradient = frame.gradient(w, b, np.append(sums.gradient, sums.slope))
    hessian = None if sums.gram is None else frame.matrix(sums.gram)
    return Place(w, b, z, h, value, gradient, sums.curvature, hessian)


def has_fallen(here: float, there: float, decrement: float, after: float) -> bool:
    """Whether a full step has lowered the objective; where rounding hides that, by the gradient.

    `decrement` is Newton's at the start of the step, `after` at its end.
    """
    if there <= here - _ENOUGH * decrement:
        return True
    return decrement <= _IN_ROUNDING * here and after < 0.5 * decrement


def best_share(
    problem: Problem, rows: Rows, frame: Frame, here: Place, there: Place, decrement: float, token: StopToken
) -> float:
    """Return the share of a step that was too long, by Newton's method on the slope along it.

    The objective is convex along the line: its slope rises from −decrement, and changes sign before 1.
    """
    dw, db = there.w - here.w, there.b - here.b
    bend = inner(dw, dw) + frame.stiffness * db * db
    tilt = inner(here.w, dw) + frame.stiffness * here.b * db
    low, high, share = 0.0, 1.0, 0.5
    for _ in range(60):
        kernel = AlongLine(problem.loss, here.b, there.b, share)
        vectors = (here.z, problem.sign, problem.cost, there.z)
        sums = rows.reduce(kernel, *vectors, token=token)
        slope, curvature = sums.slope + tilt + share * bend, sums.curvature + bend
        if -0.3 * decrement <= slope <= 0.1 * decrement:
            return share
        if slope < 0:
            low = share
        else:  # too far, or not a number
            high = share
        following = share - slope / curvature if curvature > 0 else math.nan
        share = following if low < following < high else low + 0.5 * (high - low)
    return share
