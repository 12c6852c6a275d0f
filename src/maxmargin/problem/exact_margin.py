"""The hard margin without rounding errors, where rows are few: Wolfe's nearest point of a polytope (1976).

The shortest w with s x·w ≥ 1 for every row is p/‖p‖², where p is the point nearest to 0 of the convex hull of
the rows sx. With an offset, hulls of both classes take its place: w is 2p/‖p‖² with the nearest of all
differences between them. A corral of few points is kept, whose affine hull is nearest within their convex
hull; the point that is furthest below its hyperplane joins it, and those that are in the way leave.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin._core import StopToken
from maxmargin.problem.exact_arithmetic import Integers, integers_and_powers
from maxmargin.problem.exact_rows import times_power
from maxmargin.problem.exact_systems import solve_from_left
from maxmargin.problem.problem import Problem
from maxmargin.rows import MemoryRows

__all__ = ["ExactMargin", "exact_margin"]

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
    hull = _Hull(flat.reshape(n, d), problem.sign[live], problem.offset.kind == "free")
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
