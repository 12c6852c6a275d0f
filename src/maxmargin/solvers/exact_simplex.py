"""Is a vector a combination of rows with weights ≥ 0? The simplex method in whole numbers, without rounding.

Either  Σ μᵢ mᵢ = target  with μ ≥ 0 on linearly independent rows, or some w has  mᵢ·w ≥ 0 for every row and
target·w < 0  (Farkas). Phase one of the simplex method finds which: it begins with one artificial row
per column and drives them out. The tableau is kept as integers with a common denominator (Edmonds), the
ratio test is lexicographic, so it cannot cycle. Floats choose the row that enters: only where they cannot
tell the sign of a product is it computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem.exact_arithmetic import Integers, as_integers, to_floats
from maxmargin.problem.exact_systems import solve_from_left
from maxmargin.rows import Array
from maxmargin.solvers.signed_rows import SignedRows

__all__ = ["Alternative", "Combination", "find_combination"]

_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True, eq=False)
class Combination:
    """Rows, the whole numbers that stood for them, and weights > 0 with which these add up to the target."""

    rows: NDArray[np.intp]
    integers: Integers
    weights: list[Fraction]


@dataclass(frozen=True, eq=False)
class Alternative:
    """Whole numbers w with mᵢ·w ≥ 0 for every row and target·w < 0."""

    w: Integers


def find_combination(
    rows: SignedRows,
    target: Integers,
    likely: NDArray[np.intp],
    token: StopToken,
    *,
    sums_to_one: bool = False,
) -> Combination | Alternative:
    """Decide whether the target is in the cone of the rows.

    Parameters
    ----------
    target : whole numbers
    likely : array of int
        Rows to try first; good ones save most of the work.
    sums_to_one : bool
        Give every row a further entry 1, and the target too.

    Raises
    ------
    Stopped
        If the token says so first.
    """
    source = _Source(rows, sums_to_one)
    if sums_to_one:
        target = np.append(target, 1)
    likely = np.unique(likely)
    weights = (
        solve_from_left(source.integers(likely), target, token) if 0 < len(likely) <= len(target) else None
    )
    if weights is not None and min(weights) >= 0:
        held = np.array([weight > 0 for weight in weights])
        return source.combination(likely[held], [weight for weight in weights if weight > 0])
    tableau = _Tableau(target)
    while not tableau.is_done:
        if token.poll():
            raise Stopped
        w = tableau.prices()
        entering = source.improving(w, likely)
        if entering is None:
            entering = source.improving(w, None)
        if entering is None:
            return Alternative(-w)
        tableau.enter(entering, source.integers(np.array([entering]))[0])
    return source.combination(*tableau.combination())


@dataclass(frozen=True, eq=False)
class _Source:
    """The rows, with a further entry 1 where weights are to sum to one."""

    rows: SignedRows
    lifted: bool

    def integers(self, indices: NDArray[np.intp]) -> Integers:
        values = self.rows.dense(indices)
        return as_integers(np.hstack([values, np.ones((len(indices), 1))]) if self.lifted else values)

    def combination(self, rows: NDArray[np.intp], weights: list[Fraction]) -> Combination:
        integers = self.integers(rows)
        return Combination(rows, integers[:, :-1] if self.lifted else integers, weights)

    def improving(self, w: Integers, among: NDArray[np.intp] | None) -> int | None:
        """Return a row with m·w > 0, the largest in floats; None if there is none."""
        w_float = to_floats(w)
        value, bound = self._products(w_float, among)
        if len(value) == 0:
            return None
        best = int(np.argmax(value - bound))
        if value[best] > bound[best]:
            return best if among is None else int(among[best])
        doubtful = np.flatnonzero(np.abs(value) <= bound)
        for start in range(0, len(doubtful), _ROWS_AT_ONCE):
            few = doubtful[start : start + _ROWS_AT_ONCE]
            chosen = few if among is None else among[few]
            positive = np.flatnonzero(np.dot(self.integers(chosen), w) > 0)
            if len(positive):
                return int(chosen[positive[0]])
        return None

    def _products(self, w: Array, among: NDArray[np.intp] | None) -> tuple[Array, Array]:
        inner = w[:-1] if self.lifted else w
        if among is None:
            value, bound = self.rows.products(inner)
        else:
            few = SignedRows(self.rows.matrix[among], self.rows.column_powers, self.rows.has_offset)
            value, bound = few.products(inner)
        if self.lifted:
            value = value + w[-1]
            bound = bound + 2.0**-50 * (abs(w[-1]) + np.abs(value))
        return value, bound


class _Tableau:
    """det·B⁻¹ and det·B⁻¹·target in one integer matrix; row k belongs to basis[k], artificial if negative."""

    def __init__(self, target: Integers) -> None:
        size = len(target)
        sign = np.array([-1 if value < 0 else 1 for value in target.tolist()], dtype=object)
        cells: Any = np.zeros((size, size + 1), dtype=object)
        for k in range(size):
            cells[k, 1 + k] = sign[k]
        cells[:, 0] = target * sign  # first, because the ratio test compares from the left
        self._cells: Integers = cells
        self._determinant = 1
        self._basis = [-1 - k for k in range(size)]

    def _artificial(self) -> list[int]:
        return [k for k, row in enumerate(self._basis) if row < 0]

    @property
    def is_done(self) -> bool:
        """Whether the artificial rows have no weight any more."""
        return not any(self._cells[k, 0] for k in self._artificial())

    def prices(self) -> Integers:
        """Return w with m·w = 0 for the rows in the basis and 1, times det, for the artificial ones."""
        return np.asarray(self._cells[self._artificial(), 1:].sum(axis=0), dtype=object)

    def enter(self, row: int, values: Integers) -> None:
        """Put a row into the basis, and take out the one whose weight reaches 0 first."""
        cells = self._cells
        column = np.dot(cells[:, 1:], values)
        leaving = self._leaving(column)
        pivot = column[leaving]
        kept = cells[leaving].copy()
        factors = column.copy()
        factors[leaving] = 0
        cells = (cells * pivot - np.multiply.outer(factors, kept)) // self._determinant
        cells[leaving] = kept
        self._cells, self._determinant = cells, pivot
        self._basis[leaving] = row

    def _leaving(self, column: Integers) -> int:
        """Return the row of the tableau with the lexicographically smallest cells/column."""
        rivals = [k for k in range(len(column)) if column[k] > 0]
        for position in range(self._cells.shape[1]):
            best = rivals[0]
            ties = [best]
            for k in rivals[1:]:
                ours, least = self._cells[k, position] * column[best], self._cells[best, position] * column[k]
                if ours < least:
                    best, ties = k, [k]
                elif ours == least:
                    ties.append(k)
            rivals = ties
            if len(rivals) == 1:
                break
        return rivals[0]

    def combination(self) -> tuple[NDArray[np.intp], list[Fraction]]:
        """Return the rows with a weight above 0."""
        held = [(row, k) for k, row in enumerate(self._basis) if row >= 0 and self._cells[k, 0] > 0]
        held.sort()
        weights = [Fraction(self._cells[k, 0], self._determinant) for _, k in held]
        return np.array([row for row, _ in held], dtype=np.intp), weights
