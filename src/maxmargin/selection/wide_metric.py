"""A metric for rows of so many columns that no Hessian is made: what every Hessian is at least.

About the mean c of the rows, each as often as its curvature says, weights and offset do not mix:
Σ h (x − c, 1)(x − c, 1)ᵀ is Σ h for the offset and something positive for the weights. So the Hessian is at
least the diagonal 1, …, 1, Σ h (or the offset's own penalty), whose inverse is known. Bounds in this metric
are certain too, and good where c‖x‖² is moderate, as in text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, Rows, inner
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.metric import room_of
from maxmargin.solvers.frame import Frame

__all__ = ["WideMetric"]


@dataclass(frozen=True, eq=False)
class WideMetric:
    """The diagonal about a centre, in the coordinates of a frame.

    Attributes
    ----------
    rows : Rows
    frame : Frame
    h : row vector
        The curvatures; 0 for rows that are not part of it.
    away : array
        The centre, less the shift of the frame.
    offset_square : float
        What the inverse has for the offset.
    """

    is_hessian: ClassVar[bool] = False

    rows: Rows
    frame: Frame
    h: Array
    away: Array
    offset_square: float

    @classmethod
    def of(cls, problem: Problem, h: Array, token: StopToken) -> WideMetric:
        """Return the metric of the curvatures h in a frame about their centre."""
        centre = _centre(problem, h, token)
        frame = Frame(problem.offset, problem.rows.n_columns, centre)
        return cls(problem.rows, frame, h, np.zeros(problem.rows.n_columns), _offset_square(problem, h))

    def part(self, problem: Problem, h: Array, token: StopToken) -> WideMetric:
        """Return the metric of other curvatures in the same coordinates."""
        centre = _centre(problem, h, token)
        away = self.away if centre is None or self.frame.shift is None else centre - self.frame.shift
        return WideMetric(self.rows, self.frame, h, away, _offset_square(problem, h))

    def leverages(self, chosen: NDArray[np.bool_], token: StopToken) -> Array:
        """Return the squared lengths of the chosen rows, and 0 for the others."""
        norm2, _ = self.rows.norms()
        squares = norm2.copy()
        if self.frame.shift is not None:
            centre = self.frame.shift + self.away
            z = self.rows.zeros()
            self.rows.reduce(Scores(centre), z, token=token)
            squares += inner(centre, centre) - 2.0 * z
        return np.where(chosen, np.maximum(squares, 0.0) + self.offset_square, 0.0)

    def room(self, leverages: Array) -> Array:
        """Return what of the metric is left in the direction of a row when that row is left out."""
        return room_of(self.h, leverages)

    def solve(self, vectors: Array) -> Array:
        """Return the inverse times each row of a table."""
        return np.array([self._solve(vector) for vector in vectors]).reshape(vectors.shape)

    def length(self, vector: Array) -> float:
        """Return the length of a gradient."""
        return math.sqrt(max(inner(vector, self._solve(vector)), 0.0))

    def _solve(self, vector: Array) -> Array:
        solved = vector.copy()
        solved[:-1] -= vector[-1] * self.away
        solved[-1] = self.offset_square * vector[-1] - inner(self.away, solved[:-1])
        return solved


def _centre(problem: Problem, h: Array, token: StopToken) -> Array | None:
    total = float(h.sum())
    if problem.offset.kind != "free" or total == 0:
        return None
    return np.asarray(problem.rows.reduce(Combine(problem.rows.n_columns), h, token=token) / total)


def _offset_square(problem: Problem, h: Array) -> float:
    if problem.offset.kind != "free":
        return problem.offset.square
    total = float(h.sum())
    return 1.0 / total if total > 0 else math.inf
