"""What rounding errors may have made of a number, and numbers that hold in spite of them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin._core import Factor
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows

__all__ = [
    "UNIT",
    "Shortfalls",
    "above",
    "below",
    "is_worth_precision",
    "least_eigenvalue",
    "precise_scores",
    "score_sizes",
    "sizes_of_scores",
    "total",
]


UNIT = 2.0**-53  # the relative error of one operation
_SMALL = 2.0**-900  # products, and their errors, of larger numbers do not underflow
_TINY = 2.0**-1060  # what underflow may change
_ROWS_AT_ONCE = 8_192
_QUICK = 500_000  # numbers whose products in more digits take a tenth of a second
_HALVES = 2.0**27 + 1.0


def above(number: Fraction) -> float:
    """Return the smallest float that is not below a fraction."""
    nearest = _nearest(number)
    if math.isinf(nearest) or Fraction(nearest) >= number:
        return nearest if nearest > -math.inf else -sys.float_info.max
    return math.nextafter(nearest, math.inf)


def below(number: Fraction) -> float:
    """Return the largest float that is not above a fraction."""
    return -above(-number)


def _nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@dataclass(frozen=True, eq=False)
class Shortfalls:
    """How far the agreements of a point are below 1, r = 1 − s(x·w + b), and how far off that may be.

    Attributes
    ----------
    r, error : arrays
        For every row; 0 for those that do not count.
    sizes : array
        What is added up to make r.
    """

    r: Array
    error: Array
    sizes: Array

    @classmethod
    def at(cls, problem: Problem, w: Array, b: float, z: Array | None = None) -> Shortfalls:
        """Compute them in floats; the scores z = x·w may be given."""
        if z is None:
            z = problem.rows.zeros()
            problem.rows.reduce(Scores(w), z)
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = 1.0 + sizes_of_scores(problem, w, b)
            return cls._of(problem, 1.0 - problem.sign * (z + b), (len(w) + 4) * UNIT * sizes, sizes)

    @classmethod
    def precisely(cls, problem: Problem, w: Array, b: float) -> Shortfalls:
        """Compute them in more than twice the precision where rows are in memory, and in floats elsewhere."""
        if not isinstance(problem.rows, MemoryRows):
            return cls.at(problem, w, b)
        score, error = precise_scores(problem.rows.X, w, b)
        with np.errstate(over="ignore", invalid="ignore"):
            r = 1.0 - problem.sign * score
            return cls._of(problem, r, error + UNIT * np.abs(r), 1.0 + sizes_of_scores(problem, w, b))

    @classmethod
    def _of(cls, problem: Problem, r: Array, error: Array, sizes: Array) -> Shortfalls:
        live = problem.cost > 0
        error = np.where(np.isfinite(r + error), error, np.inf)
        r = np.where(np.isfinite(r), r, 0.0)
        return cls(np.where(live, r, 0.0), np.where(live, error, 0.0), np.where(live, sizes, 0.0))


def sizes_of_scores(problem: Problem, w: Array, b: float) -> Array:
    """Return Σ |x||w| + |b| of every row, or what that is at most."""
    if isinstance(problem.rows, MemoryRows):
        return score_sizes(problem.rows.X, w, b)
    length = math.sqrt(inner(w, w)) * (1.0 + len(w) * UNIT)
    return np.asarray(np.sqrt(problem.rows.norms()[0]) * length + abs(b))


def is_worth_precision(problem: Problem, doubt: float, value: float) -> bool:
    """Whether a doubt about a value is so large, or rows so few, that more digits are worth their time."""
    enough = 1e-13 if problem.rows.n_values <= _QUICK else 1e-10
    return isinstance(problem.rows, MemoryRows) and not doubt <= enough * value


def total(values: Array) -> float:
    """Return a sum, rounded once; infinite where a value is not finite."""
    return math.fsum(values.tolist()) if np.isfinite(values).all() else math.inf


def score_sizes(X: Any, w: Array, b: float) -> Array:
    """Return Σ |x||w| + |b| of every row: what is added up to make its score."""
    weights = np.abs(w)
    if not isinstance(X, np.ndarray):
        return np.asarray(abs(X) @ weights) + abs(b)
    sizes = np.empty(len(X))
    for start in range(0, len(X), _ROWS_AT_ONCE):
        piece = slice(start, start + _ROWS_AT_ONCE)
        sizes[piece] = np.einsum("ij,j->i", np.abs(X[piece].astype(np.float64)), weights)
    return sizes + abs(b)


def precise_scores(X: Any, w: Array, b: float) -> tuple[Array, Array]:
    """Return x·w + b of every row, rounded once, and a bound of the error: 0 where the score is exactly 0.

    Products are split into halves whose errors are exact (Dekker; Knuth), sums keep three parts, and what
    even these lose is added up.
    """
    size = np.abs(X).max(axis=0, initial=0.0) if isinstance(X, np.ndarray) else abs(X).max(axis=0).toarray()
    power = np.frexp(np.asarray(size, dtype=np.float64).ravel())[1]
    with np.errstate(over="ignore"):
        scaled = np.ldexp(w, power)  # and the column the other way: both are of moderate size then
    used = np.flatnonzero(w)
    if isinstance(X, np.ndarray):
        scores, errors = np.empty(X.shape[0]), np.empty(X.shape[0])
        for start in range(0, X.shape[0], _ROWS_AT_ONCE):
            piece = slice(start, start + _ROWS_AT_ONCE)
            columns = np.ascontiguousarray(X[piece].T, dtype=np.float64)
            sums = _ThreeParts(columns.shape[1], b)
            for j in used:
                sums.add_product(slice(None), np.ldexp(columns[j], -power[j]), float(scaled[j]))
            scores[piece], errors[piece] = sums.rounded()
        return scores, errors
    columns = X.tocsc()
    sums = _ThreeParts(X.shape[0], b)
    for j in used:
        piece = slice(columns.indptr[j], columns.indptr[j + 1])
        values = columns.data[piece].astype(np.float64)
        sums.add_product(columns.indices[piece], np.ldexp(values, -power[j]), float(scaled[j]))
    return sums.rounded()


class _ThreeParts:
    """A sum for each row in three parts, and how much they have lost."""

    def __init__(self, n_rows: int, start: float) -> None:
        self._parts = [np.full(n_rows, start), np.zeros(n_rows), np.zeros(n_rows)]
        self._lost = np.zeros(n_rows)

    def add(self, where: Any, values: Array) -> None:
        rest = values
        for part in self._parts:
            part[where], rest = _sum(part[where], rest)
        self._lost[where] += np.abs(rest)

    def add_product(self, where: Any, values: Array, weight: float) -> None:
        high, low = _product(values, weight)
        self.add(where, high)
        self.add(where, low)
        sizes = np.abs(values)
        least = float(sizes.min(initial=math.inf, where=sizes > 0))
        if least < _SMALL or least * abs(weight) < _SMALL:
            is_tiny = (sizes > 0) & (np.minimum(sizes, np.abs(high)) < _SMALL)
            self._lost[where] += np.where(is_tiny, _TINY * (1.0 + abs(weight)), 0.0)

    def rounded(self) -> tuple[Array, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            high, middle = _sum(self._parts[0], self._parts[1])
            high, rest = _sum(high, middle + self._parts[2])
            error = np.abs(rest) + UNIT * (np.abs(middle) + np.abs(self._parts[2]))
            error = (error + self._lost) * (1.0 + 2.0**-20)
            return high, np.where(np.isfinite(high + error), error, np.inf)


def _sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b and its rounding error, exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        part = total - a
        return total, (a - (total - part)) + (b - part)


def _product(a: Array, b: float) -> tuple[Array, Array]:
    """Return a·b and its rounding error, exactly where nothing underflows."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product = a * b
        shifted, shift = _HALVES * a, _HALVES * b
        a_high, b_high = shifted - (shifted - a), shift - (shift - b)
        a_low, b_low = a - a_high, b - b_high
        return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def least_eigenvalue(matrix: Array, smallest: float) -> float:
    """Return what the eigenvalues of the matrix, scaled to a unit diagonal, are not below; 0 if unknown.

    They are at least τ where the matrix less τ of its diagonal has Cholesky factors.
    """
    factor = Factor(matrix)
    share = 0.5 * factor.smallest_pivot if factor.ridge == 0 else 0.0
    while share >= smallest:
        less = matrix.copy()
        np.einsum("ii->i", less)[:] *= 1.0 - share
        if Factor(less).ridge == 0:
            return share * 15.0 / 16.0
        share /= 8.0
    return 0.0
