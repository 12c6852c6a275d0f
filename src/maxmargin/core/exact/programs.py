"""The smallest total of a loss made of two straight pieces, without rounding errors.

    minimise  Σ c max(r, λr)  over v,  r = 1 − a·v ;   maximise  Σ β  with  Σ β a = 0  and  λc ≤ β ≤ c :

λ = 0 is the hinge, λ = −1 the absolute deviation. Both have the same optimum. From the corner that floats
found, where as many independent rows as possible are met (r = 0), edges lead down: along each, all rows but
one stay met, until as many others have been passed as it takes to make the total grow. It ends where the
multipliers of the rows that are met obey their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.exact.arithmetic import Integers, integers_and_powers
from maxmargin.core.exact.rows import ExactRows, rounded_point, times_power
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array
from maxmargin.rows.memory import MemoryRows

__all__ = ["ExactMargin", "ExactOptimum", "exact_margin", "exact_optimum"]


_MOST_EDGES = 60
_BY_NUMBER = 20  # edges after which the first row that may leave does, so that none comes back for ever


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """A corner where the total is smallest.

    Attributes
    ----------
    minimum : Fraction
    point : list of Fraction
        Weights, and the offset last if there is one.
    multipliers : list of Fraction
        β of every row that counts; they prove the minimum.
    rank : int
        Of the rows.
    """

    minimum: Fraction
    point: list[Fraction]
    multipliers: list[Fraction]
    rank: int

    def rounded(self, has_offset: bool) -> tuple[Array, float] | None:
        """Return weights and offset in floats; None if they do not fit."""
        return rounded_point(self.point, has_offset)


def exact_optimum(
    rows: ExactRows, least: int, likely: NDArray[np.intp], is_short: NDArray[np.bool_], token: StopToken
) -> ExactOptimum | None:
    """Walk to the optimum; None if it takes too long, or, rarely, a prime divides what it should not.

    Parameters
    ----------
    least : 0 or -1
        λ.
    likely : array of whole numbers
        All rows, those first that are likely to be met.
    is_short : array of bool
        Whether rows that are not met have β = c, for r > 0; else it is λc.
    """
    columns = independent_columns(rows.table[likely])
    if len(columns) == 0:
        return None
    table = rows.table[:, columns]
    met = likely[independent_columns(table[likely].T)]
    if len(met) < len(columns):
        return None
    cost = rows.cost
    beta: Any = np.where(is_short, cost, least * cost)
    for count in range(_MOST_EDGES):
        corner = _Corner.at(table, met, beta, cost, least, token)
        if corner is None:
            return None
        beta = corner.others
        leaving = _leaving(corner.beta, cost[met], least, is_first=count >= _BY_NUMBER)
        if leaving is None:
            return _optimum(rows, columns, met, beta, corner)
        others = np.setdiff1d(np.arange(len(cost)), met)
        way = 1 if corner.beta[leaving] > 0 else -1  # of the residual of the row that leaves
        rate = corner.rate(table, met, leaving, -way, token)
        if rate is None:
            return None
        excess = abs(corner.beta[leaving] - (cost[met[leaving]] if way > 0 else least * cost[met[leaving]]))
        passed = _passed(corner.residual, rate, beta, cost, least, others, excess)
        if passed is None:
            return None
        for row in passed[:-1]:
            beta[row] = cost[row] if beta[row] != cost[row] else least * cost[row]
        beta[met[leaving]] = cost[met[leaving]] if way > 0 else least * cost[met[leaving]]
        met = np.append(np.delete(met, leaving), passed[-1])
    return None


@dataclass(frozen=True, eq=False)
class _Corner:
    """Where the rows that are met meet.

    Attributes
    ----------
    point : whole numbers
        Weights of the independent columns, to be divided by `unit`.
    residual : whole numbers
        1 − a·v of every row, to be divided by `unit`.
    beta : list of Fraction
        The multipliers of the rows that are met.
    others : whole numbers
        The multipliers of the others, which their residuals decide; 0 for those that are met.
    """

    point: Integers
    unit: int
    residual: Integers
    beta: list[Fraction]
    others: Integers

    @classmethod
    def at(
        cls,
        table: Integers,
        met: NDArray[np.intp],
        beta: Integers,
        cost: Integers,
        least: int,
        token: StopToken,
    ) -> _Corner | None:
        v = solve_from_left(table[met].T, np.ones(len(met), dtype=object), token)
        if v is None:
            return None
        point, unit = _over_one_denominator(v)
        residual = unit - np.dot(table, point)
        others = np.where(residual > 0, cost, np.where(residual < 0, least * cost, beta))
        others[met] = 0
        multipliers = solve_from_left(table[met], -np.dot(others, table), token)
        return None if multipliers is None else cls(point, unit, residual, multipliers, others)

    def rate(
        self, table: Integers, met: NDArray[np.intp], leaving: int, side: int, token: StopToken
    ) -> Integers | None:
        """Return how fast a·v grows along the edge on which row `leaving` moves by `side`, up to a factor."""
        unit = np.zeros(len(met), dtype=object)
        unit[leaving] = side
        direction = solve_from_left(table[met].T, unit, token)
        if direction is None:
            return None
        whole, denominator = _over_one_denominator(direction)
        # In units in which the row that leaves moves by 1: so are the slopes.
        return np.array(
            [Fraction(value, denominator) for value in np.dot(table, whole).tolist()], dtype=object
        )


def _over_one_denominator(values: Sequence[Fraction]) -> tuple[Integers, int]:
    unit = math.lcm(*(value.denominator for value in values))
    return np.array([value.numerator * (unit // value.denominator) for value in values], dtype=object), unit


def _leaving(beta: list[Fraction], cost: Integers, least: int, *, is_first: bool) -> int | None:
    """Return the place of the row whose multiplier is furthest beyond its bounds; None if none is."""
    beyond = [max(value / int(c) - 1, least - value / int(c)) for value, c in zip(beta, cost, strict=True)]
    outside = [k for k, share in enumerate(beyond) if share > 0]
    if not outside:
        return None
    return outside[0] if is_first else max(outside, key=lambda k: beyond[k])


def _passed(
    residual: Integers,
    rate: Integers,
    beta: Integers,
    cost: Integers,
    least: int,
    others: NDArray[np.intp],
    excess: Fraction,
) -> list[int] | None:
    """Return the rows whose residual changes its sign on the way down, the one where it ends last."""
    stops = []
    for row in others.tolist():
        is_short = beta[row] == cost[row]
        if rate[row] and (rate[row] > 0) == is_short:
            stops.append((residual[row] / rate[row], row))
    stops.sort()
    passed = []
    for _, row in stops:
        passed.append(row)
        excess -= (1 - least) * int(cost[row]) * abs(rate[row])
        if excess <= 0:
            return passed
    return None


def _optimum(
    rows: ExactRows, columns: NDArray[np.intp], met: NDArray[np.intp], beta: Integers, corner: _Corner
) -> ExactOptimum | None:
    """Return the corner with what its multipliers prove: they have to balance every column."""
    whole, unit = _over_one_denominator(corner.beta)
    balanced = beta * unit
    balanced[met] = whole
    if np.dot(balanced, rows.table).any():
        return None
    multipliers = [times_power(value, rows.cost_power) / unit for value in balanced.tolist()]
    point = [Fraction(0)] * rows.table.shape[1]
    for value, column in zip(corner.point.tolist(), columns.tolist(), strict=True):
        point[column] = times_power(value, -rows.powers[column]) / corner.unit
    return ExactOptimum(sum(multipliers, Fraction(0)), point, multipliers, len(columns))


# ------------------------------------------------------------------------------------------------
# The hard margin without rounding errors, where rows are few: Wolfe's nearest point of a polytope (1976).
#
# The shortest w with s x·w ≥ 1 for every row is p/‖p‖², where p is the point nearest to 0 of the convex
# hull of the rows sx. With an offset, hulls of both classes take its place: w is 2p/‖p‖² with the nearest
# of all differences between them. A corral of few points is kept, whose affine hull is nearest within
# their convex hull; the point that is furthest below its hyperplane joins it, and those that are in the
# way leave.

_MOST_NUMBERS, _MOST_COLUMNS, _MOST_BITS = 10_000, 30, 4_000  # what takes no time
_MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class ExactMargin:
    """The shortest weights with every agreement at least 1.

    Attributes
    ----------
    half_square : Fraction
        ½‖w‖², the optimum.
    w : list of Fraction
    alpha : list of Fraction
        The dual variables of the rows that count.
    """

    half_square: Fraction
    w: list[Fraction]
    alpha: list[Fraction]


def exact_margin(problem: Problem, token: StopToken) -> ExactMargin | None:
    """Return the hard margin; None where rows are too many, or no hyperplane separates them strictly."""
    live = np.flatnonzero(problem.cost > 0)
    n, d = len(live), problem.rows.n_columns
    if not isinstance(problem.rows, MemoryRows) or n * d > _MOST_NUMBERS or d > _MOST_COLUMNS:
        return None
    X: Any = problem.rows.subset(live).X
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    flat, (power,) = integers_and_powers(dense.reshape(1, -1))
    if max((abs(value).bit_length() for value in flat.ravel().tolist()), default=0) > _MOST_BITS:
        return None
    hull = _Hull(flat.reshape(n, d), problem.sign[live], problem.offset.is_free)
    corral = _nearest(hull, token)
    if corral is None:
        return None
    point, unit = _combined(corral)
    square = Fraction(int(np.dot(point, point)), unit * unit)
    if square == 0:
        return None
    factor = Fraction(2 if hull.has_offset else 1)
    alpha = [Fraction(0)] * n
    for pair, _, share in corral:
        for row in pair:
            alpha[row] += share * factor / square * times_power(1, -2 * power)
    w = [factor * Fraction(value, unit) / square * times_power(1, -power) for value in point.tolist()]
    return ExactMargin(factor * factor / square * times_power(1, -2 * power) / 2, w, alpha)


_Corral = list[tuple[tuple[int, ...], Integers, Fraction]]  # rows, the point that they make, its share


@dataclass(frozen=True, eq=False)
class _Hull:
    """Signed rows, or all differences of rows of either class; none of these is written down."""

    rows: Integers
    sign: Any
    has_offset: bool

    def lowest(self, direction: Integers) -> tuple[tuple[int, ...], Integers]:
        """Return the point that is lowest in a direction, and the rows that make it."""
        height = np.dot(self.rows, direction) * self.sign
        if not self.has_offset:
            row = int(np.argmin(height))
            return (row,), self.rows[row] * int(self.sign[row])
        classes = (np.flatnonzero(self.sign > 0), np.flatnonzero(self.sign < 0))
        up, down = (int(of_class[np.argmin(height[of_class])]) for of_class in classes)
        return (up, down), self.rows[up] - self.rows[down]


def _nearest(hull: _Hull, token: StopToken) -> _Corral | None:
    """Return points of the hull with shares > 0 that make the one nearest to 0."""
    pair, point = hull.lowest(np.zeros(hull.rows.shape[1], dtype=object))
    corral: _Corral = [(pair, point, Fraction(1))]
    for _ in range(_MOST_STEPS):
        here, unit = _combined(corral)
        pair, lowest = hull.lowest(here)
        is_known = any(pair == known for known, _, _ in corral)
        if is_known or not here.any() or unit * int(np.dot(lowest, here)) >= int(np.dot(here, here)):
            return corral
        corral = [*corral, (pair, lowest, Fraction(0))]
        while True:
            aim = _affine_minimum([point for _, point, _ in corral], token)
            if aim is None:
                return None
            if all(share > 0 for share in aim):
                corral = [(pair, point, share) for (pair, point, _), share in zip(corral, aim, strict=True)]
                break
            # As far towards it as no share falls below 0.
            steps = [
                before / (before - after)
                for (_, _, before), after in zip(corral, aim, strict=True)
                if after <= 0 and before != after
            ]
            step = min([Fraction(1), *steps])
            moved = [
                (pair, point, before + step * (after - before))
                for (pair, point, before), after in zip(corral, aim, strict=True)
            ]
            corral = [member for member in moved if member[2] > 0]
    return None


def _combined(corral: _Corral) -> tuple[Integers, int]:
    """Return the point that the shares make, as whole numbers and what they are to be divided by."""
    unit = math.lcm(*(share.denominator for _, _, share in corral))
    total: Any = 0
    for _, point, share in corral:
        total = total + point * (share.numerator * (unit // share.denominator))
    return total, unit


def _affine_minimum(points: list[Integers], token: StopToken) -> list[Fraction] | None:
    """Return the shares, of sum 1, of the point nearest to 0 in the affine hull of independent points."""
    stacked = np.array(points, dtype=object)
    size = len(points)
    shares = solve_from_left(np.dot(stacked, stacked.T) + 1, np.ones(size, dtype=object), token)
    if shares is None:
        return None
    total = sum(shares)
    return None if total == 0 else [share / total for share in shares]
