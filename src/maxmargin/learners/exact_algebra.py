"""Linear algebra without rounding: is a set of points independent, and which combination of them is 0?

Floating-point numbers are whole numbers times powers of two, so scaling the columns makes a table of
floating-point numbers one of whole numbers, with the same dependences between its rows.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem.exact_arithmetic import Echelon, Integers
from maxmargin.problem.exact_systems import independent_columns, solve_from_left

__all__ = ["WholeRows", "first_dependence", "inverse_of"]


class WholeRows:
    """Rows of floating-point numbers as whole numbers: ``table[i, j]`` is the value times 2**shift[j]."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.table: Integers = np.empty(rows.shape, dtype=object)
        self.shift: list[int] = []
        for j in range(rows.shape[1]):
            ratios = [value.as_integer_ratio() for value in rows[:, j].tolist()]
            largest = max(bottom for _, bottom in ratios)  # all of them are powers of two
            self.shift.append(largest.bit_length() - 1)
            self.table[:, j] = [top * (largest // bottom) for top, bottom in ratios]


def first_dependence(table: Integers) -> list[Fraction] | None:
    """Return coefficients, the last one −1, of leading rows that add up to 0; None if all are independent."""
    taken = independent_columns(table.T)  # modulo a prime: rows that are independent there are so
    rank = int(np.argmin(np.append(taken, -1) == np.arange(len(taken) + 1)))
    if rank == len(table):
        return None
    weights = solve_from_left(table[:rank], table[rank], StopToken()) if rank else None
    return _eliminate(table) if weights is None else [*weights, Fraction(-1)]


def _eliminate(table: Integers) -> list[Fraction] | None:
    """Return the same without a prime, which may divide what it should not; slower."""
    for count in range(1, len(table) + 1):
        columns = Echelon(count)
        for column in table[:count].T:
            columns.take(column)
        if columns.rank < count:
            (weights,) = columns.null_vectors()
            return [Fraction(-weight, weights[-1]) for weight in weights.tolist()]
    return None


def inverse_of(rows: WholeRows) -> tuple[list[int], NDArray[np.object_]]:
    """Return as many columns as there are rows, all independent, and the inverse of these in fractions."""
    size = len(rows.table)
    kept = Echelon(size)
    columns = [j for j in range(len(rows.shift)) if kept.rank < size and kept.take(rows.table[:, j])]
    square = rows.table[:, columns]
    inverse = np.empty((size, size), dtype=object)
    for i, column in enumerate(columns):
        unit = np.array([int(j == i) for j in range(size)], dtype=object)
        weights = first_dependence(np.vstack([square, unit]))
        assert weights is not None  # one row more than columns
        inverse[i] = [weight * 2 ** rows.shift[column] for weight in weights[:-1]]
    return columns, inverse
