"""Which of three kinds two classes are: separable completely, but for some rows, or not at all.

With the signed rows a = s(x, 1), or sx without an offset, exactly one of these holds:

- some w has a·w > 0 for every row (complete), or else a convex combination of rows is 0 (Gordan);
- if so, some w has a·w ≥ 0 for every row and > 0 for one (quasi-complete), or else a combination of rows
  with weights > 0 is 0 and these rows span all rows (overlapping; Stiemke, Steinitz): take independent rows
  that span all; what adds up to minus their sum is in the cone of the rows.

Linear programs in floats find candidates, the simplex method in whole numbers decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.exact.arithmetic import Integers, as_integers, to_floats
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.rows.base import Array
from maxmargin.separation.guess import guess_direction, guess_separator, likely_basis, spanning_rows
from maxmargin.separation.signed_rows import SignedRows

__all__ = ["MOST_EXACT", "Verdict", "decide", "exactly"]


MOST_EXACT = 100  # columns up to which everything is decided without rounding errors
_NO_PROGRAM = 0  # numbers in the rows up to which the exact method alone decides


@dataclass(frozen=True, eq=False)
class Verdict:
    """The kind and what proves it, for the rows as they were given.

    Attributes
    ----------
    kind : "complete", "quasi-complete" or "overlapping"
    w : list of Fraction
        Weights, and the offset last if there is one; empty if the classes overlap.
    rows, weights : array and list of Fraction
        A combination of signed rows that is 0, with weights > 0 of sum 1; empty if separation is complete.
    rank : int
        That of all rows, if the classes overlap; else 0.
    n_separated : int
        How many rows are strictly on their own side.
    """

    kind: str
    w: list[Fraction]
    rows: NDArray[np.intp]
    weights: list[Fraction]
    rank: int = 0
    n_separated: int = 0


def decide(X: Any, sign: NDArray[np.int8], *, has_offset: bool, token: StopToken) -> Verdict:
    """Return the kind of separation, exactly; X has at most `MOST_EXACT` columns and at least one row."""
    rows = SignedRows.of(X, sign, has_offset=has_offset)
    origin = _Origin(X, sign, rows)
    has_programs = rows.n_rows * rows.n_columns > _NO_PROGRAM
    likely = np.zeros(0, dtype=np.intp)
    if has_programs:
        guess = guess_separator(rows, token)
        likely = guess.rows
        if guess.w is not None and _separates(rows, guess.w, token):
            return origin.complete(as_integers(guess.w[None, :])[0])
    basis = spanning_rows(rows, token)
    if len(basis) == 0:  # nothing but rows of zeros
        return Verdict("overlapping", [], np.array([0], dtype=np.intp), [Fraction(1)])
    values = rows.dense(basis)
    integers = as_integers(values.reshape(1, -1)).reshape(values.shape)
    target = -integers.sum(axis=0)
    opposite = _opposite(rows, target, basis, token, has_programs)
    if isinstance(opposite, Combination):
        shares = origin.shares(basis, integers, [Fraction(1)] * len(basis))
        shares = origin.shares(opposite.rows, opposite.integers, opposite.weights, shares)
        return Verdict("overlapping", [], *_normalised(shares), len(basis))
    nothing: Any = np.zeros(rows.n_columns, dtype=object)
    ruled_out = find_combination(rows, nothing, likely, token, sums_to_one=True)
    if isinstance(ruled_out, Combination):
        shares = origin.shares(ruled_out.rows, ruled_out.integers, ruled_out.weights)
        return origin.quasi_complete(opposite.w, shares, token)
    rounded = to_floats(ruled_out.w[:-1])  # numbers that fit into floats are easier to use
    if _separates(rows, rounded, token):
        return origin.complete(as_integers(rounded[None, :])[0])
    return origin.complete(ruled_out.w[:-1])


def exactly(
    X: Any, sign: NDArray[np.int8], w: Array, *, has_offset: bool, token: StopToken
) -> list[Fraction] | None:
    """Return weights near w that put rows near the boundary onto it and none on the wrong side; or None."""
    rows = SignedRows.of(X, sign, has_offset=has_offset)
    given = np.ldexp(w, rows.column_powers)
    found = exact_direction(rows, given / np.abs(given).max(), token)
    return None if found is None else _Origin(X, sign, rows)._weights(found)


def _opposite(
    rows: SignedRows, target: Integers, basis: NDArray[np.intp], token: StopToken, has_programs: bool
) -> Combination | Alternative:
    """Return what makes minus the sum of the basis out of the rows, or the direction that rules it out."""
    if not has_programs:
        return find_combination(rows, target, basis, token)
    guess = guess_direction(rows, -to_floats(target), token)
    if guess.w is not None:
        w = exact_direction(rows, guess.w, token)
        if w is not None:
            return Alternative(w)
    return find_combination(rows, target, guess.rows, token)


def _separates(rows: SignedRows, w: Array, token: StopToken) -> bool:
    return bool((rows.signs(as_integers(w[None, :])[0], token) > 0).all())


def _normalised(shares: dict[int, Fraction]) -> tuple[NDArray[np.intp], list[Fraction]]:
    total = sum(shares.values(), Fraction(0))
    held = sorted(shares)
    return np.array(held, dtype=np.intp), [shares[row] / total for row in held]


@dataclass(frozen=True, eq=False)
class _Origin:
    """Takes back the powers of two with which rows and columns were scaled."""

    X: Any
    sign: NDArray[np.int8]
    rows: SignedRows

    def _weights(self, w: Integers) -> list[Fraction]:
        """Return weights for the rows as they were given, of about 1 in size; 0 for a column of zeros."""
        scaled = zip(w.tolist(), self.rows.column_powers.tolist(), strict=True)
        weights = [Fraction(value) * Fraction(2) ** -power for value, power in scaled]
        for column in self.rows.empty_columns:
            weights[column] = Fraction(0)
        largest = max(abs(weight) for weight in weights)
        unit = Fraction(2) ** (largest.denominator.bit_length() - largest.numerator.bit_length())
        return [weight * unit for weight in weights]

    def complete(self, w: Integers) -> Verdict:
        none = np.zeros(0, dtype=np.intp)
        return Verdict("complete", self._weights(w), none, [], n_separated=self.rows.n_rows)

    def quasi_complete(self, w: Integers, shares: dict[int, Fraction], token: StopToken) -> Verdict:
        separated = int(np.count_nonzero(self.rows.signs(w, token)))
        return Verdict("quasi-complete", self._weights(w), *_normalised(shares), n_separated=separated)

    def shares(
        self,
        chosen: NDArray[np.intp],
        integers: Integers,
        weights: list[Fraction],
        so_far: dict[int, Fraction] | None = None,
    ) -> dict[int, Fraction]:
        """Return the weights of the rows as they were given, added to those so far."""
        result = dict(so_far or {})
        for row, values, weight in zip(chosen.tolist(), integers, weights, strict=True):
            result[row] = result.get(row, Fraction(0)) + weight * self._factor(row, values)
        return result

    def _factor(self, row: int, values: Integers) -> Fraction:
        """Return how many times the signed row the whole numbers are, but for the columns' powers."""
        column = next((j for j, value in enumerate(values.tolist()) if value), None)
        if column is None:
            return Fraction(1)  # a row of zeros
        is_offset = self.rows.has_offset and column == len(values) - 1
        given = Fraction(1 if is_offset else float(self.X[row, column])) * int(self.sign[row])
        return Fraction(values[column]) * Fraction(2) ** int(self.rows.column_powers[column]) / given


# ------------------------------------------------------------------------------------------------
# Is a vector a combination of rows with weights ≥ 0? The simplex method in whole numbers, without
# rounding.
#
# Either Σ μᵢ mᵢ = target with μ ≥ 0 on linearly independent rows, or some w has mᵢ·w ≥ 0 for every row and
# target·w < 0 (Farkas). Phase one of the simplex method finds which: it begins with one artificial row per
# column and drives them out. The tableau is kept as integers with a common denominator (Edmonds), the
# ratio test is lexicographic, so it cannot cycle. Floats choose the row that enters: only where they
# cannot tell the sign of a product is it computed exactly.

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


# ------------------------------------------------------------------------------------------------
# From weights that nearly put rows on the boundary to weights that do, without rounding errors.

_ON_THE_BOUNDARY = 1e-9  # of the largest product
_BITS = 30  # of the weights that stay as they are


def exact_direction(rows: SignedRows, w: Array, token: StopToken) -> Integers | None:
    """Return weights near w with m·w ≥ 0 for every row and > 0 for one; None if w does not lead to any.

    Rows near the boundary are put onto it: some of the weights keep the values that they have, the others
    are solved for.
    """
    value, _ = rows.products(w)
    near = np.flatnonzero(np.abs(value) <= _ON_THE_BOUNDARY * np.abs(value).max(initial=0.0))
    exact: Any = np.array([int(entry) for entry in np.rint(np.ldexp(w, _BITS))], dtype=object)
    if len(near):
        integers = rows.integers(likely_basis(rows, near))
        solved = independent_columns(integers)
        if len(solved) < len(integers):
            return None
        kept = np.setdiff1d(np.arange(rows.n_columns), solved)
        target = (
            -np.dot(integers[:, kept], exact[kept]) if len(kept) else np.zeros(len(integers), dtype=object)
        )
        weights = solve_from_left(integers[:, solved].T, target, token)
        if weights is None:
            return None
        scale = math.lcm(*(weight.denominator for weight in weights))
        exact = exact * scale
        exact[solved] = [int(weight * scale) for weight in weights]
    signs = rows.signs(exact, token)
    return exact if (signs >= 0).all() and (signs > 0).any() else None
