"""Linear algebra without rounding: is a set of points independent, and which combination of them is 0?

Floating-point numbers are whole numbers times powers of two, so scaling the columns makes a table of
floating-point numbers one of whole numbers, with the same dependences between its rows. Which rows are
independent is found modulo a prime, quickly: a determinant that is not 0 there is not 0. That a row does
depend on those before it is then shown by solving for the combination in whole numbers, by elimination
without fractions (Bareiss, Math. Comp. 22, 1968), and multiplying it out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.solvers.exact_systems import solve_from_left

__all__ = ["WholeRows", "all_pivots", "first_dependence", "solve"]

_MANY = 24  # rows from which on digit by digit is quicker than elimination
_PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)  # products of two remainders fit into 64 bits


class WholeRows:
    """Rows of floating-point numbers as whole numbers: ``table[i, j]`` is the value times 2**shift[j]."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.table: NDArray[Any] = np.empty(rows.shape, dtype=object)
        self.shift: list[int] = []
        for j in range(rows.shape[1]):
            ratios = [value.as_integer_ratio() for value in rows[:, j].tolist()]
            largest = max(bottom for _, bottom in ratios)  # all of them are powers of two
            self.shift.append(largest.bit_length() - 1)
            self.table[:, j] = [top * (largest // bottom) for top, bottom in ratios]


def _leading_pivots(table: NDArray[Any], prime: int) -> list[int]:
    """Return a pivot column for each of the leading rows that are independent modulo the prime.

    If there are as many as rows, the rows are independent; if not, the next one may depend on them.
    """
    left = np.array(table % prime, dtype=np.int64)
    pivots: list[int] = []
    for row in range(left.shape[0]):
        found = np.flatnonzero(left[row])
        if len(found) == 0:
            break
        column = int(found[0])
        pivots.append(column)
        left[row] = left[row] * pow(int(left[row, column]), -1, prime) % prime
        below = left[row + 1 :]
        below -= below[:, column : column + 1] * left[row] % prime
        below %= prime
    return pivots


def all_pivots(rows: WholeRows) -> list[int]:
    """Return a pivot column for each of several independent rows."""
    found: list[int] = []
    for prime in _PRIMES:
        if len(found) < rows.table.shape[0]:
            found = _leading_pivots(rows.table, prime)
    return found


def solve(matrix: NDArray[Any], right: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return whole numbers N and D with matrix @ N = D · right.

    The leading minors of the matrix must not be 0, as those of pivot columns in their order are not.
    """
    size = matrix.shape[0]
    work = np.concatenate([matrix, right], axis=1)
    last = 1
    for k in range(size - 1):
        pivot = work[k, k]
        below = work[k + 1 :]
        below[...] = (pivot * below - below[:, k : k + 1] * work[k]) // last
        last = pivot
    determinant = int(work[size - 1, size - 1])
    numerators = work[:, size:]
    for k in range(size - 1, -1, -1):
        known = work[k, k + 1 : size].dot(numerators[k + 1 :]) if k + 1 < size else 0
        numerators[k] = (determinant * numerators[k] - known) // work[k, k]
    return numerators, determinant


def first_dependence(rows: WholeRows) -> list[Fraction] | None:
    """Return coefficients, the last one −1, of leading rows that add up to 0; None if all are independent."""
    table = rows.table
    for prime in _PRIMES:
        pivots = _leading_pivots(table, prime)
        rank = len(pivots)
        if rank == table.shape[0]:
            return None
        if rank >= _MANY:
            weights = solve_from_left(table[:rank], table[rank], StopToken())
            if weights is not None:
                return [*weights, Fraction(-1)]
        if rank == 0:  # the first row is 0 modulo the prime
            coefficients, scale = np.zeros((0, 1), dtype=object), 1
        else:
            square = table[:rank, pivots].T
            coefficients, scale = solve(square, table[rank, pivots].reshape(-1, 1))
        combined = coefficients[:, 0].dot(table[:rank]) if rank else np.zeros(table.shape[1], dtype=object)
        if (combined == scale * table[rank]).all():
            return [*(Fraction(int(top), int(scale)) for top in coefficients[:, 0]), Fraction(-1)]
    raise ArithmeticError("the rows look dependent modulo three primes but are not")  # odds of 2⁻⁹⁰
