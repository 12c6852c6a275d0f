"""Arithmetic without rounding errors on floating-point numbers, as whole numbers of any size.

A float is a whole number times a power of two, so a row of floats times a suitable power of two is a row of
whole numbers. Arrays here have dtype object and hold Python's integers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows.base import Array

__all__ = ["Echelon", "Integers", "as_integers", "integers_and_powers", "to_floats"]


Integers = NDArray[np.object_]

_MANTISSA = 53
_FITS = 62  # bits of a shifted number that int64 still holds


def as_integers(values: Array) -> Integers:
    """Return each row of a matrix times the smallest power of two that makes it whole."""
    return integers_and_powers(values)[0]


def integers_and_powers(values: Array) -> tuple[Integers, list[int]]:
    """Return whole numbers and a power of two for each row of a matrix, whose products the values are."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, _MANTISSA).astype(np.int64)
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    is_zero = whole == 0
    trailing[is_zero] = 0
    whole >>= trailing
    power = np.where(is_zero, 1 << 20, exponent + trailing)
    least = power.min(axis=1, initial=1 << 20, keepdims=True)
    shift = np.where(is_zero, 0, power - least)
    bits = np.frexp(np.abs(whole).astype(np.float64))[1] + shift
    if bits.max(initial=0) <= _FITS:
        integers = np.asarray((whole << shift).astype(object))
    else:
        integers = np.asarray(whole.astype(object) << shift.astype(object))
    powers = np.where(is_zero.all(axis=1), 0, least[:, 0] - _MANTISSA)
    return integers, [int(power) for power in powers]


def gcd_of(values: Integers) -> int:
    """Return the greatest common divisor; 1 of zeros alone."""
    return math.gcd(*values.tolist()) or 1


def to_floats(values: Integers) -> Array:
    """Return numbers in proportion to these, the largest of size 1, each rounded once."""
    largest = max((abs(value) for value in values.tolist()), default=0) or 1
    return np.array([value / largest for value in values.tolist()], dtype=np.float64)


class Echelon:
    """Rows that are linearly independent, kept in reduced echelon form; rows can be offered one by one."""

    def __init__(self, n_columns: int) -> None:
        self._rows: list[Integers] = []
        self._pivots: list[int] = []
        self._n_columns = n_columns

    @property
    def rank(self) -> int:
        return len(self._rows)

    def take(self, row: Integers) -> bool:
        """Add a row if it does not depend on those that are there; return whether it was added."""
        rest = row.copy()
        for mine, pivot in zip(self._rows, self._pivots, strict=True):
            if rest[pivot]:
                rest = rest * mine[pivot] - mine * rest[pivot]
        nonzero = [column for column in range(self._n_columns) if rest[column]]
        if not nonzero:
            return False
        rest = rest // gcd_of(rest)
        pivot = min(nonzero, key=lambda column: abs(rest[column]))
        for k, mine in enumerate(self._rows):
            if mine[pivot]:
                mine = mine * rest[pivot] - rest * mine[pivot]
                self._rows[k] = mine // gcd_of(mine)
        self._rows.append(rest)
        self._pivots.append(pivot)
        return True

    def null_vectors(self) -> list[Integers]:
        """Return a basis of all vectors that are orthogonal to every row."""
        scale = math.lcm(*(int(row[pivot]) for row, pivot in zip(self._rows, self._pivots, strict=True)))
        found = []
        for free in sorted(set(range(self._n_columns)) - set(self._pivots)):
            vector: Any = np.zeros(self._n_columns, dtype=object)
            vector[free] = scale
            for row, pivot in zip(self._rows, self._pivots, strict=True):
                vector[pivot] = -row[free] * scale // row[pivot]
            found.append(vector // gcd_of(vector))
        return found
