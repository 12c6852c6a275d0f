"""Lengths of rows in the metric of a Hessian: how far one example can move the solution, and its own score.

With curvatures h the Hessian is E + Σ h x̃x̃ᵀ, x̃ = (x, 1), E the penalties of weights and offset. A row's
leverage is x̃ᵀH⁻¹x̃, the square of its length in the dual norm. Without row i the Hessian is H − h x̃x̃ᵀ, and
by the formula of Sherman and Morrison its inverse is H⁻¹ + h vvᵀ / (1 − h l) with v = H⁻¹x̃, l = x̃·v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Rows, inner
from maxmargin.rows.kernels import Combine, Gram, Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.coordinates import CentredCoordinates, mean_of_dense_rows

__all__ = ["Metric", "WideMetric", "frame_of_rows", "in_few_columns", "length_without", "lifted_rows"]


_LEAST_ROOM = 1e-9  # of 1: nearer to 0, rounding decides what 1 − h l is


@dataclass(frozen=True, eq=False)
class Metric:
    """The Hessian of some curvatures, factorised.

    Attributes
    ----------
    rows : Rows
    frame : CentredCoordinates
        The coordinates; vectors have n_columns + 1 entries, the offset's last.
    h : row vector
        The curvatures; 0 for rows that are not part of it.
    factor : Factor
    """

    is_hessian: ClassVar[bool] = True

    rows: Rows
    frame: CentredCoordinates
    h: Array
    factor: Factor

    @classmethod
    def of(
        cls,
        problem: Problem,
        h: Array,
        token: StopToken,
        frame: CentredCoordinates | None = None,
        *,
        hold: float = 0.0,
    ) -> Metric:
        """Add up and factorise the Hessian of the curvatures h; `hold` keeps an offset that no row keeps."""
        rows = problem.rows.condensed(token)
        frame = frame_of_rows(problem, token) if frame is None else frame
        gram = rows.reduce(Gram(rows.n_columns, frame.shift), h, token=token)
        return cls(rows, frame, h, frame.factor(gram, hold=hold))

    def leverages(self, chosen: NDArray[np.bool_], token: StopToken) -> Array:
        """Return x̃ᵀH⁻¹x̃ of the chosen rows, and 0 for the others."""
        forms: Array = self.rows.zeros()
        kernel = _Forms(self.factor, self.frame.shift)
        self.rows.reduce(kernel, chosen.astype(np.float64), forms, token=token)
        if self.frame.offset.is_absent:  # the coordinate that is held at 0 by a penalty of 1
            forms[chosen] -= 1.0
        return np.maximum(forms, 0.0)

    def room(self, leverages: Array) -> Array:
        """Return 1 − h l: what of the metric is left in the direction of a row when that row is left out.

        0 where rounding hides it: the row then has a direction of its own.
        """
        return room_of(self.h, leverages)

    def part(self, problem: Problem, h: Array, token: StopToken) -> Metric:
        """Return the metric of other curvatures in the same coordinates."""
        return Metric.of(problem, h, token, self.frame)

    def solve(self, vectors: Array) -> Array:
        """Return H⁻¹v for each row v of a table."""
        return np.array([self.factor.solve(vector) for vector in vectors]).reshape(vectors.shape)

    def length(self, vector: Array) -> float:
        """Return √(vᵀH⁻¹v)."""
        return math.sqrt(max(inner(vector, self.factor.solve(vector)), 0.0))


def room_of(h: Array, leverages: Array) -> Array:
    """Return 1 − h l, and 0 where rounding hides it."""
    room = 1.0 - h * leverages
    return np.where(room > _LEAST_ROOM, room, 0.0)


def length_without(leverages: Array, room: Array, is_known: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the lengths of rows in the metric without them, infinite where no room is left, and the room.

    Where there is none it is called 1, so that what is divided by it stays a number.
    """
    is_left = room > 0
    room = np.where(is_left, room, 1.0)
    return np.where(is_left & is_known, np.sqrt(leverages / room), np.inf), room


def frame_of_rows(problem: Problem, token: StopToken) -> CentredCoordinates:
    """Return the coordinates for a problem: dense columns about their means where the offset is free."""
    rows = problem.rows.condensed(token)
    return CentredCoordinates(problem.offset, rows.n_columns, mean_of_dense_rows(problem, rows, token))


def lifted_rows(problem: Problem, frame: CentredCoordinates, which: NDArray[np.intp]) -> Array:
    """Return some rows as vectors of the frame: less its shift, with a 1 for the offset if there is one."""
    X = problem.rows.subset(which).X
    lifted = np.empty((which.size, frame.n_columns + 1))
    lifted[:, :-1] = X if isinstance(X, np.ndarray) else X.toarray()
    if frame.shift is not None:
        lifted[:, :-1] -= frame.shift
    lifted[:, -1] = 0.0 if frame.offset.is_absent else 1.0
    return lifted


@dataclass(frozen=True)
class _Forms:
    factor: Factor
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        chosen, forms = pieces
        self.factor.quadratic_forms(block, self.shift, chosen, forms, token)


# ------------------------------------------------------------------------------------------------
# A metric for rows of so many columns that no Hessian is made: what every Hessian is at least.
#
# About the mean c of the rows, each as often as its curvature says, weights and offset do not mix: Σ h (x
# − c, 1)(x − c, 1)ᵀ is Σ h for the offset and something positive for the weights. So the Hessian is at
# least the diagonal 1, …, 1, Σ h (or the offset's own penalty), whose inverse is known. Bounds in this
# metric are certain too, and good where c‖x‖² is moderate, as in text.


@dataclass(frozen=True, eq=False)
class WideMetric:
    """The diagonal about a centre, in the coordinates of a frame.

    Attributes
    ----------
    rows : Rows
    frame : CentredCoordinates
    h : row vector
        The curvatures; 0 for rows that are not part of it.
    away : array
        The centre, less the shift of the frame.
    offset_square : float
        What the inverse has for the offset.
    """

    is_hessian: ClassVar[bool] = False

    rows: Rows
    frame: CentredCoordinates
    h: Array
    away: Array
    offset_square: float

    @classmethod
    def of(cls, problem: Problem, h: Array, token: StopToken) -> WideMetric:
        """Return the metric of the curvatures h in a frame about their centre."""
        centre = _centre(problem, h, token)
        frame = CentredCoordinates(problem.offset, problem.rows.n_columns, centre)
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
    if not problem.offset.is_free or total == 0:
        return None
    return np.asarray(problem.rows.reduce(Combine(problem.rows.n_columns), h, token=token) / total)


def _offset_square(problem: Problem, h: Array) -> float:
    if not problem.offset.is_free:
        return problem.offset.square
    total = float(h.sum())
    return 1.0 / total if total > 0 else math.inf


# ------------------------------------------------------------------------------------------------
# Fewer rows than columns: the same problem in as many coordinates as there are rows.
#
# The weights are combinations of the rows, so nothing but their products with each other matters; the rows
# of the Cholesky factor of those products have the same ones.


def in_few_columns(problem: Problem, most: int, token: StopToken) -> Problem | None:
    """Return the problem with the same agreements in at most `most` columns; None if there is no such.

    It is the problem itself unless its rows that cost anything are far fewer than its columns; then the
    other rows are kept as zeros.
    """
    rows = problem.rows
    live = np.flatnonzero(problem.cost > 0)
    if rows.n_columns <= min(most, 2 * live.size):
        return problem
    if live.size > most or not isinstance(rows, MemoryRows):
        return problem if rows.n_columns <= most else None
    coordinates: Array = np.zeros((rows.n_rows, max(live.size, 1)))
    coordinates[live] = Factor(_products(rows.subset(live), token)).lower()
    narrow = MemoryRows(coordinates, threads=rows.threads)
    narrow.norms()
    return replace(problem, rows=narrow)


def _products(rows: MemoryRows, token: StopToken) -> Array:
    """Return the products of all pairs of rows: the Gram matrix of the transposed table."""
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.T.tocsr()
    columns = MemoryRows(X.T if isinstance(X, np.ndarray) else X, threads=rows.threads)
    gram = columns.reduce(Gram(rows.n_rows), np.ones(rows.n_columns), token=token)
    return np.ascontiguousarray(gram[:-1, :-1])
