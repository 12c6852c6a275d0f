"""Columns of the rows, one at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.problem import Problem
from maxmargin.errors import InvalidInput
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import HessianDiagonal
from maxmargin.rows.memory import MemoryRows

__all__ = ["Columns", "are_far_apart", "of_common_size", "of_moderate_size", "refuse_vanishing_columns"]

_FAR_APART = 2.0**-30  # of the largest column: smaller ones are nearly lost beside it
_MODERATE = 100  # powers of two: products of four such numbers and a cost are far from overflow


def refuse_vanishing_columns(rows: MemoryRows) -> None:
    """Refuse columns that are not 0 while all their squares are: no proof could see them."""
    squares, _ = rows.reduce(HessianDiagonal(rows.n_columns), np.ones(rows.n_rows))
    for column in np.flatnonzero(squares == 0):
        values: Any = rows.X[:, [column]]
        if (values != 0).sum() > 0:
            raise InvalidInput(
                f"column {column} of X (counted from 0) is so small that its squares vanish in double "
                "precision. Scale it, for example to the range [-1, 1]."
            )


def of_moderate_size(rows: MemoryRows) -> tuple[MemoryRows, NDArray[np.int64]]:
    """Return rows whose squares neither overflow nor vanish: columns far from 1 are scaled by powers of two.

    The powers come with them: column j is that of the rows times 2^-powers[j], without rounding errors.
    """
    X: Any = rows.X
    is_dense = isinstance(X, np.ndarray)
    size = np.abs(X).max(axis=0, initial=0.0) if is_dense else abs(X).max(axis=0).toarray().ravel()
    powers = np.frexp(np.asarray(size, dtype=np.float64))[1].astype(np.int64)
    powers[np.abs(powers) <= _MODERATE] = 0
    if not powers.any():
        return rows, powers
    if is_dense:
        return MemoryRows(np.ldexp(X.astype(np.float64), -powers)), powers
    scaled = X.astype(np.float64)
    scaled.data = np.ldexp(scaled.data, -powers[scaled.indices])
    return MemoryRows(scaled), powers


def of_common_size(rows: MemoryRows) -> tuple[MemoryRows, int]:
    """Return rows whose largest value is near 1, if it was far from that, and the power of two it takes.

    All columns are that of the rows times the same 2^-power.
    """
    X: Any = rows.X
    power = int(np.frexp(float(abs(X).max()))[1])
    if abs(power) <= _MODERATE:
        return rows, 0
    scaled = X.astype(np.float64)
    if isinstance(X, np.ndarray):
        scaled = np.ldexp(scaled, -power)
    else:
        scaled.data = np.ldexp(scaled.data, -power)
    return MemoryRows(scaled), power


def are_far_apart(rows: MemoryRows) -> bool:
    """Whether columns differ so much in size that methods in floats may lose one beside the other."""
    X: Any = rows.X
    size = np.abs(X).max(axis=0, initial=0.0) if isinstance(X, np.ndarray) else abs(X).max(axis=0).toarray()
    sizes = np.asarray(size, dtype=np.float64).ravel()
    sizes = sizes[sizes > 0]
    return len(sizes) > 0 and float(sizes.max()) * _FAR_APART > float(sizes.min())


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table in memory; beyond the last, a column of ones for the offset."""

    X: Any  # an array, or a CSC matrix
    sizes: dict[int, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> Columns:
        """Make the columns of a problem's rows easy to reach."""
        rows = problem.rows
        if not isinstance(rows, MemoryRows):
            raise TypeError("columns are taken from rows in memory")
        return cls(rows.X if isinstance(rows.X, np.ndarray) else rows.X.tocsc())

    def column(self, number: int) -> Array:
        """Return one column as a vector of doubles."""
        n_rows, n_columns = self.X.shape
        if number == n_columns:
            return np.ones(n_rows)
        if isinstance(self.X, np.ndarray):
            return np.array(self.X[:, number], dtype=np.float64)
        values = np.zeros(n_rows)
        piece = slice(self.X.indptr[number], self.X.indptr[number + 1])
        values[self.X.indices[piece]] = self.X.data[piece]
        return values

    def size_if_one(self, number: int) -> float | None:
        """Return |x| if all values of the column that are not 0 have the same, else None."""
        if number not in self.sizes:
            sizes = np.abs(self.column(number))
            largest = float(sizes.max(initial=0.0))
            is_one = largest > 0 and bool(((sizes == 0) | (sizes == largest)).all())
            self.sizes[number] = largest if is_one else None
        return self.sizes[number]
