"""The objective of a smooth loss, evaluated by one pass, and the length of a Newton step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, LineSums, NewtonSums, PredictionSums, StopToken
from maxmargin.core.line_search import line_search
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Record, Rows, RowVector, inner
from maxmargin.solvers.coordinates import CentredCoordinates

__all__ = [
    "AlongLine",
    "Evaluate",
    "Evaluation",
    "HessianProduct",
    "OwnDuals",
    "PredictDuals",
    "evaluate",
    "first_offset",
    "has_fallen",
    "own_duals",
    "shortened_step",
]


# Shared by both Newton methods; chosen, not measured.
_ENOUGH = 1e-4  # share of the decrement by which the objective has to fall (Armijo's rule)
_IN_ROUNDING = 1e-9  # decrements below this share of the objective are hidden by its rounding errors


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one pass computes at a point: scores z, curvatures h, objective, gradient and Hessian.

    The gradient and the Hessian are in centred coordinates; `curvature` is Σ h.
    """

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
    coordinates: CentredCoordinates,
    w: Array,
    b: float,
    with_hessian: bool,
    token: StopToken,
    *,
    is_single_precision: bool = False,
) -> Evaluation:
    """Evaluate the objective at (w, b) in one pass; with_hessian adds up the Gram matrix on the way.

    In single precision it has seven digits, of a Hessian that is going to be another point's.
    """
    z, h = rows.zeros(), rows.zeros()
    kernel = Evaluate(problem.loss.name, w, b, with_hessian, coordinates.shift, single=is_single_precision)
    sums = rows.reduce(kernel, problem.sign, problem.cost, z, h, token=token)
    value = coordinates.penalty(w, b) + sums.losses.loss
    gradient = coordinates.gradient(w, b, np.append(sums.gradient, sums.losses.slope))
    hessian = None if sums.gram is None else coordinates.matrix(sums.gram)
    return Evaluation(w, b, z, h, value, gradient, sums.losses.curvature, hessian)


def first_offset(problem: Problem) -> float:
    """Return the best offset for w = 0 where it is a formula, else 0."""
    costs = problem.class_costs
    if not problem.offset.is_free or costs.total == 0:
        return 0.0
    if problem.loss.name == "squared_hinge":
        return (costs.positive - costs.negative) / costs.total
    if costs.positive == 0 or costs.negative == 0:
        return 0.0
    return math.log(costs.positive) - math.log(costs.negative)


def own_duals(problem: Problem, z: RowVector, b: float) -> RowVector:
    """Return α = −c ℓ′(m) at the scores z + b."""
    alpha = problem.rows.zeros()
    problem.rows.reduce(OwnDuals(problem.loss.name, b), z, problem.sign, problem.cost, alpha)
    return alpha


def has_fallen(here: float, there: float, decrement: float, after: float) -> bool:
    """Whether a full step has lowered the objective; where rounding hides that, by the gradient.

    `decrement` is Newton's at the start of the step, `after` at its end.
    """
    if there <= here - _ENOUGH * decrement:
        return True
    return decrement <= _IN_ROUNDING * here and after < 0.5 * decrement


def shortened_step(
    problem: Problem,
    rows: Rows,
    coordinates: CentredCoordinates,
    here: Evaluation,
    there: Evaluation,
    decrement: float,
    token: StopToken,
) -> float:
    """Return the best share of a step that was too long, from the scores at both ends."""
    dw, db = there.w - here.w, there.b - here.b
    bend = inner(dw, dw) + coordinates.offset.stiffness * db * db
    tilt = inner(here.w, dw) + coordinates.offset.stiffness * here.b * db

    def slope(share: float) -> tuple[float, float]:
        kernel = AlongLine(problem.loss.name, here.b, there.b, share)
        sums = rows.reduce(kernel, here.z, problem.sign, problem.cost, there.z, token=token)
        return sums.slope + tilt + share * bend, sums.curvature + bend

    return line_search(slope, -decrement, longest=1.0, first=0.5, max_evaluations=60)


# ------------------------------------------------------------------------------------------------
# The passes of Newton's method as kernels of `rows.reduce`; the arithmetic is in the compiled core.


@dataclass(frozen=True, eq=False)
class Sums(Record):
    """Losses with slope and curvature in the offset, gradient and, if asked for, Gram matrix of some rows."""

    losses: NewtonSums
    gradient: Array
    gram: Array | None


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Read every row at (w, b): fill the scores z and the curvatures h, return the sums.

    With `gram`, the Gram matrix of the rows less `shift`, weighted by h, is added up on the way.
    """

    loss: str
    w: Array
    b: float
    gram: bool = False
    shift: Array | None = None
    single: bool = False

    writes = (2, 3)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Sums:
        sign, cost, z, h = pieces
        size = self.w.shape[0]
        gradient = np.zeros(size)
        gram = np.zeros((size + 1, size + 1)) if self.gram else None
        losses = _core.newton_evaluate(
            block, self.loss, self.w, self.b, sign, cost, z, h, gradient, gram, self.shift, self.single, token
        )
        return Sums(losses, gradient, gram)


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """Return Σ h (x·d + e)(x, 1): the Hessian of the losses times (d, e)."""

    d: Array
    e: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (h,) = pieces
        product = np.zeros(self.d.shape[0] + 1)
        product[-1] = _core.hessian_product(block, h, self.d, self.e, product[:-1], token)
        return product


@dataclass(frozen=True)
class AlongLine:
    """Sum the losses at the share t of the way from scores z, offset b, to scores `to`, offset `to_b`."""

    loss: str
    b: float
    to_b: float
    t: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> LineSums:
        z, sign, cost, to = pieces
        return _core.line_sums(self.loss, z, sign, cost, self.b, to, self.to_b, self.t)


@dataclass(frozen=True)
class PredictDuals:
    """Fill α with the duals that the quadratic model at z, b predicts at the scores `to`, offset `to_b`."""

    loss: str
    b: float
    to_b: float

    writes = (5,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> PredictionSums:
        z, sign, cost, h, to, alpha = pieces
        return _core.predicted_duals(self.loss, z, sign, cost, self.b, h, to, self.to_b, alpha)


@dataclass(frozen=True)
class OwnDuals:
    """Fill α with the duals −c ℓ′(m) of a point's own; per-row arrays: scores, sign, cost, α."""

    loss: str
    b: float

    writes = (3,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        z, sign, cost, alpha = pieces
        alpha[:] = _core.loss_best_alpha(self.loss, sign * (z + self.b), cost)
