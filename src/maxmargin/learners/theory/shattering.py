"""The VC dimension of linear classifiers, by explicit constructions.

A linear classifier with an offset is one through the origin of the lifted points (x, 1). Points z₁ … zₙ
are given every labelling exactly if they are linearly independent:

- independent: Zw = y has a solution for every y, and its agreements are all 1;
- dependent: Σ aᵢzᵢ = 0 with some aᵢ ≠ 0. Labels + where aᵢ > 0 and − where aᵢ < 0 would make every
  aᵢ(w·zᵢ) ≥ 0 and some > 0, though they add up to 0. (If all aᵢ ≠ 0 have one sign, label these points −.)

Hence at most d points through the origin and d + 1 with an offset. For lifted points Σ aᵢ = 0 too, and the
convex hulls of the two groups meet: Radon's theorem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin._core import StopToken
from maxmargin.core.exact.arithmetic import Echelon, Integers
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.presentation.wording import Readable, plural
from maxmargin.validation import check_matrix, check_positive

__all__ = ["WholeRows", "first_dependence", "radon_partition", "shatters", "vc_dimension"]


_LISTED = 12  # points up to which all 2ⁿ separators are listed


def vc_dimension(d: int, fit_intercept: bool = True) -> int:
    """Return the VC dimension of linear classifiers: d through the origin, d + 1 with an offset.

    So many points can be given every labelling, and no set of one more can. The unit vectors, with an offset
    also the origin, are such a set; see `shatters` and `radon_partition`.

    Parameters
    ----------
    d : int
        The number of columns.
    fit_intercept : bool, default True
        Whether there is an offset.

    Examples
    --------
    >>> vc_dimension(2), vc_dimension(2, fit_intercept=False)
    (3, 2)
    """
    return int(check_positive("d", d, integer=True)) + bool(fit_intercept)


def shatters(points: Any, fit_intercept: bool = True) -> Shattering:
    """Return whether linear classifiers give these points every labelling, with the proof.

    Decided without rounding: they are shattered exactly if the lifted points are linearly independent.

    Parameters
    ----------
    points : array of shape (n, d)
        No labels: all of them are tried.
    fit_intercept : bool, default True
        Whether the classifiers have an offset.

    Returns
    -------
    Shattering
        For up to 12 points with a classifier for each labelling; if not shattered, with the `RadonPartition`
        that prevents it.

    Examples
    --------
    >>> corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> print(shatters(corners))
    3 points in 2 columns are shattered with an offset: all 8 labellings occur
    >>> shatters(corners).separator([1, -1, -1])
    (array([-2., -2.]), 1.0)
    >>> print(shatters([*corners, [1.0, 1.0]]))
    4 points in 2 columns are not shattered with an offset: points {1, 2} against {0, 3}: their convex hulls
    meet in (0.5, 0.5)
    """
    table, has_offset = _finite(points), bool(fit_intercept)
    n, d = table.shape
    obstacle = _partition(table, has_offset)
    if obstacle is not None or n > _LISTED:
        return Shattering(obstacle is None, n, d, has_offset, obstacle, points=table)
    columns, inverse = inverse_of(WholeRows(_lifted(table, has_offset)))
    found = Shattering(True, n, d, has_offset, columns=columns, inverse=inverse, points=table)
    labellings = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.int8)
    weights = _separators(found, labellings)
    return replace(
        found,
        labellings=labellings,
        coefs=np.ascontiguousarray(weights[:, :-1]),
        intercepts=np.ascontiguousarray(weights[:, -1]),
    )


def radon_partition(points: Any, fit_intercept: bool = True) -> RadonPartition:
    """Return two groups of the points that no linear classifier tells apart, and where they meet.

    Any d + 2 points have such groups, and any d + 1 if the classifiers go through the origin; fewer have them
    where they are dependent, as three points on a line are.

    Parameters
    ----------
    points : array of shape (n, d)
    fit_intercept : bool, default True
        True: the convex hulls of the groups meet (Radon's theorem). False, through the origin: their cones.

    Raises
    ------
    InvalidInput
        If the points are shattered.

    Examples
    --------
    >>> split = radon_partition([[0.0], [1.0], [3.0]])
    >>> print(split)
    points {1} against {0, 2}: their convex hulls meet in (1)
    >>> [str(weight) for weight in split.weights]
    ['1', '2/3', '1/3']
    """
    table = _finite(points)
    found = _partition(table, bool(fit_intercept))
    if found is None:
        n, d = table.shape
        needed = vc_dimension(d, fit_intercept=bool(fit_intercept)) + 1
        raise InvalidInput(
            f"these {n} points are given every labelling by linear classifiers in {d} columns, so no two "
            f"groups of them meet; {needed} points always have such groups"
        )
    return found


def _finite(points: Any) -> NDArray[np.float64]:
    table = check_matrix(points)
    dense = table.toarray() if hasattr(table, "tocsr") else table
    dense = np.asarray(dense, dtype=np.float64)
    if not np.isfinite(dense).all():
        row, column = np.argwhere(~np.isfinite(dense))[0]
        raise InvalidInput(f"points contain NaN or infinity, the first in row {row}, column {column}.")
    return dense


def _lifted(table: NDArray[np.float64], fit_intercept: bool) -> NDArray[np.float64]:
    return np.hstack([table, np.ones((len(table), 1))]) if fit_intercept else table


def _partition(table: NDArray[np.float64], fit_intercept: bool) -> RadonPartition | None:
    lifted = _lifted(table, fit_intercept)
    needed = lifted[: lifted.shape[1] + 1]  # so many are dependent for certain
    found = first_dependence(WholeRows(needed).table)
    if found is None:
        return None
    coefficients = np.array(found, dtype=object)
    positive, negative = np.flatnonzero(coefficients > 0), np.flatnonzero(coefficients < 0)
    if fit_intercept:
        coefficients = coefficients / sum(found[k] for k in positive)
    weights = tuple(abs(Fraction(coefficients[k])) for k in (*positive, *negative))
    rows = [[Fraction(value) for value in table[k].tolist()] for k in negative]
    shares = weights[len(positive) :]
    meeting = tuple(
        sum((share * row[j] for share, row in zip(shares, rows, strict=True)), Fraction(0))
        for j in range(table.shape[1])
    )
    return RadonPartition(positive, negative, weights, meeting, table, fit_intercept)


def _separators(found: Shattering, labellings: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return (θ, θ₀) for each labelling, rounded."""
    assert found.columns is not None
    assert found.inverse is not None
    weights = np.zeros((len(labellings), found.n_columns + 1))
    for column, row in zip(found.columns, found.inverse, strict=True):
        bottom = math.lcm(*(value.denominator for value in row))
        tops = np.array([value.numerator * (bottom // value.denominator) for value in row], dtype=object)
        try:  # the quotient of two whole numbers is rounded once, without a common divisor to look for
            weights[:, column] = labellings.astype(object).dot(tops) / bottom
        except OverflowError:
            return np.array([np.append(*found.separator(labels)) for labels in labellings])
    return weights


# ------------------------------------------------------------------------------------------------
# Sets of points that linear classifiers label in every way, and what prevents it for others.

_SHOWN = 12  # indices that a sentence lists at most
_COUNTED = 20  # points up to which the number of labellings is written out


@dataclass(frozen=True, eq=False)
class RadonPartition(Readable):
    """Two groups of points that no linear classifier tells apart, because they meet in a point.

    With an offset the convex hulls of the two groups meet (Radon); through the origin their cones do. All
    numbers are exact: fractions, checked by multiplying out.

    Attributes
    ----------
    positive, negative : array of int
        The two groups; points in neither are not needed. Through the origin ``positive`` may be empty: the
        cone of ``negative`` then contains a line, or one of its points is the origin.
    weights : tuple of Fraction
        One positive number for each point of ``positive`` and then of ``negative``: the weighted sums of the
        two groups are equal. With an offset the weights of each group add up to 1.
    exact_point : tuple of Fraction
        The point in which they meet: that sum.
    points : array of shape (n, d)
    fit_intercept : bool
    """

    positive: NDArray[np.intp]
    negative: NDArray[np.intp]
    weights: tuple[Fraction, ...]
    exact_point: tuple[Fraction, ...]
    points: NDArray[np.float64] = field(repr=False)
    fit_intercept: bool = True

    @property
    def point(self) -> NDArray[np.float64]:
        """The point in which the two groups meet, rounded."""
        return np.array([float(value) for value in self.exact_point])

    @property
    def labels(self) -> NDArray[np.int8]:
        """A labelling that no linear classifier gives: + and − for the groups, + for points in neither."""
        labels = np.ones(len(self.points), dtype=np.int8)
        labels[self.negative] = -1
        return labels

    def check(self) -> bool:
        """Multiply everything out again, in fractions."""
        count, weights = len(self.positive), self.weights
        sides = [
            self._combine(self.positive, weights[:count]),
            self._combine(self.negative, weights[count:]),
        ]
        same = all(side == self.exact_point for side in sides)
        totals = (sum(weights[:count]), sum(weights[count:])) == (1, 1) or not self.fit_intercept
        apart = not set(self.positive.tolist()) & set(self.negative.tolist())
        return same and totals and apart and len(self.negative) > 0 and all(weight > 0 for weight in weights)

    def _combine(self, group: NDArray[np.intp], weights: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        rows = [[Fraction(value) for value in self.points[k].tolist()] for k in group]
        return tuple(
            sum((weight * row[j] for weight, row in zip(weights, rows, strict=True)), Fraction(0))
            for j in range(self.points.shape[1])
        )

    def __str__(self) -> str:
        what = "convex hulls" if self.fit_intercept else "cones"
        place = ", ".join(f"{value:.4g}" for value in self.point[:_SHOWN]).replace("-", "−")
        more = ", …" if len(self.point) > _SHOWN else ""
        if len(self.positive) == 0:
            return f"points {_listed(self.negative)}: positive multiples of them add up to 0"
        return (
            f"points {_listed(self.positive)} against {_listed(self.negative)}: "
            f"their {what} meet in ({place}{more})"
        )


@dataclass(frozen=True, eq=False)
class Shattering(Readable):
    """Whether linear classifiers give some points every labelling; true or false in an ``if``.

    Attributes
    ----------
    is_shattered : bool
    n_points, n_columns : int
    fit_intercept : bool
    obstacle : RadonPartition or None
        If not shattered, two groups that no hyperplane separates.
    labellings : array of shape (2ⁿ, n), or None
        All labellings, if shattered and there are at most 12 points.
    coefs, intercepts : array of shape (2ⁿ, d) and (2ⁿ,), or None
        A classifier for each: its agreements with the labels are 1, up to rounding. Where points are
        dependent but for rounding, only `exact_separator` is good enough.
    columns, inverse : list of int, array of shape (n, n), or None
        The proof: on these columns of the lifted points, the inverse in fractions.
    points : array of shape (n, d)
    """

    is_shattered: bool
    n_points: int
    n_columns: int
    fit_intercept: bool
    obstacle: RadonPartition | None = None
    labellings: NDArray[np.int8] | None = field(default=None, repr=False)
    coefs: NDArray[np.float64] | None = field(default=None, repr=False)
    intercepts: NDArray[np.float64] | None = field(default=None, repr=False)
    columns: list[int] | None = field(default=None, repr=False)
    inverse: NDArray[Any] | None = field(default=None, repr=False)
    points: NDArray[np.float64] | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return self.is_shattered

    def separator(self, labels: ArrayLike) -> tuple[NDArray[np.float64], float]:
        """Return θ and θ₀ of a classifier that gives the points these labels (−1 or +1)."""
        weights = self.exact_separator(labels)
        # Only where points are so small that 1/x is beyond double precision, the agreement is not 1.
        size = max(Fraction(1), max(abs(value) for value in weights) / Fraction(2) ** 1000)
        values = np.array([float(value / size) for value in weights])
        return values[:-1], float(values[-1])

    def exact_separator(self, labels: ArrayLike) -> tuple[Fraction, ...]:
        """Return (θ, θ₀) as fractions: every agreement is exactly 1."""
        if self.columns is None or self.inverse is None:
            raise InvalidParameter("separators are listed for shattered sets of at most 12 points")
        wanted = np.asarray(labels)
        if wanted.shape != (self.n_points,) or not np.isin(wanted, (-1, 1)).all():
            raise InvalidInput(f"labels must hold {self.n_points} numbers, each -1 or +1")
        weights = [Fraction(0)] * (self.n_columns + 1)
        for column, row in zip(self.columns, self.inverse, strict=True):
            weights[column] = sum((int(a) * b for a, b in zip(wanted, row, strict=True)), Fraction(0))
        return tuple(weights)

    def check(self) -> bool:
        """Multiply the proof out again, in fractions: all labellings at once, or the obstacle."""
        if self.obstacle is not None:
            return self.obstacle.check()
        if self.columns is None or self.inverse is None or self.points is None:
            raise InvalidParameter("more than 12 points: no separators are listed that could be checked")
        lifted = [[*(Fraction(value) for value in point), Fraction(1)] for point in self.points.tolist()]
        square = np.array([[row[column] for column in self.columns] for row in lifted], dtype=object)
        uses_offset = self.n_columns in self.columns
        product = square.dot(self.inverse)
        return bool((product == np.eye(self.n_points)).all()) and (self.fit_intercept or not uses_offset)

    def __str__(self) -> str:
        points = f"{plural(self.n_points, 'point')} in {plural(self.n_columns, 'column')}"
        verb = "is" if self.n_points == 1 else "are"
        how = "with an offset" if self.fit_intercept else "through the origin"
        if self.is_shattered:
            count = f"{2**self.n_points:,}" if self.n_points <= _COUNTED else f"2^{self.n_points:,}"
            return f"{points} {verb} shattered {how}: all {count} labellings occur"
        return f"{points} {verb} not shattered {how}: {self.obstacle}"


def _listed(group: NDArray[np.intp]) -> str:
    shown = ", ".join(str(k) for k in group[:_SHOWN])
    return f"{{{shown}{', …' if len(group) > _SHOWN else ''}}}"


# ------------------------------------------------------------------------------------------------
# Linear algebra without rounding: is a set of points independent, and which combination of them is 0?
#
# Floating-point numbers are whole numbers times powers of two, so scaling the columns makes a table of
# floating-point numbers one of whole numbers, with the same dependences between its rows.


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
