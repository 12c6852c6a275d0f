"""Which of three kinds two classes are: separable completely, but for some rows, or not at all.

With the signed rows a = s(x, 1), or sx without an offset, exactly one of these holds:

- some w has a·w > 0 for every row (complete), or else a convex combination of rows is 0 (Gordan);
- if so, some w has a·w ≥ 0 for every row and > 0 for one (quasi-complete), or else a combination of rows
  with weights > 0 is 0 and these rows span all rows (overlapping; Stiemke, Steinitz): take independent rows
  that span all; what adds up to minus their sum is in the cone of the rows.

Linear programs in floats find candidates, the simplex method in whole numbers decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem.exact_arithmetic import Integers, as_integers, to_floats
from maxmargin.rows import Array
from maxmargin.solvers.exact_direction import exact_direction
from maxmargin.solvers.exact_simplex import Alternative, Combination, find_combination
from maxmargin.solvers.separation_guess import guess_direction, guess_separator
from maxmargin.solvers.signed_rows import SignedRows
from maxmargin.solvers.spanning_rows import spanning_rows

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
