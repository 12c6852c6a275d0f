"""Sets of points that linear classifiers label in every way, and what prevents it for others."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.results.wording import Readable, plural

__all__ = ["RadonPartition", "Shattering"]

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
        If not shattered, two groups that cannot be told apart.
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
