"""The best offset for given scores: an interval for the hinge, found exactly; else one point."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem.hinge_offset import hinge_interval
from maxmargin.problem.problem import Problem
from maxmargin.problem.sample import draw_sample
from maxmargin.rows import RowVector

__all__ = ["best_offset", "chosen_from"]

_ROUNDING = 1e-14  # relative: the root is known no better
_MANY_ROWS = 100_000  # from so many on a sample pays for itself

_Derivatives = Callable[[float], tuple[float, float]]  # from b to slope and curvature


def best_offset(
    problem: Problem, z: RowVector, near: float | None = None, largest_score: float | None = None
) -> tuple[float, float]:
    """Return all offsets that minimise the objective when the scores are z.

    A missing class makes one end infinite (S37 of the lecture notes' reading: with + examples alone
    every b ≥ 1 − min z is best); no rows at all, both. To begin `near` it, and to know the largest |z| of
    rows that cost anything, saves passes.
    """
    if problem.offset.kind == "none":
        return 0.0, 0.0
    costs = problem.class_costs
    if problem.offset.kind == "free" and (costs.positive == 0 or costs.negative == 0):
        return _one_class(problem, z)
    if problem.offset.kind == "free" and problem.loss == "hinge":
        return hinge_interval(problem, z)
    point = _stationary_offset(problem, z, near, largest_score)
    return point, point


def chosen_from(interval: tuple[float, float]) -> float:
    """Return the midpoint of an interval; its finite end when the other is infinite; 0 of all numbers."""
    low, high = interval
    if math.isinf(low) and math.isinf(high):
        return 0.0 if low < high else low
    if math.isinf(low):
        return high
    if math.isinf(high):
        return low
    return low + 0.5 * (high - low)


def _one_class(problem: Problem, z: RowVector) -> tuple[float, float]:
    costs = problem.class_costs
    if costs.total == 0:
        return -math.inf, math.inf
    rest = problem.dual.rests_at  # infinite where the loss falls for ever: then so is the best offset
    least, most = problem.rows.reduce(_Range(), z, problem.cost)
    return (rest - least, math.inf) if costs.positive > 0 else (-math.inf, -rest - most)


@dataclass(frozen=True)
class _Range:
    """The smallest and the largest score of rows that cost anything."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> tuple[float, float]:
        z, cost = pieces
        live = cost > 0
        return float(z.min(initial=math.inf, where=live)), float(z.max(initial=-math.inf, where=live))

    def merge(self, first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
        return min(first[0], second[0]), max(first[1], second[1])


@dataclass(frozen=True)
class _OffsetSlope:
    loss: str
    b: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> tuple[float, float]:
        z, sign, cost = pieces
        slope, curvature = _core.offset_derivatives(self.loss, z, sign, cost, self.b)
        return slope, curvature

    def merge(self, first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
        return first[0] + second[0], first[1] + second[1]


@dataclass(frozen=True)
class _LargestScore:
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        z, cost = pieces
        return _core.largest_score(z, cost)

    def merge(self, first: float, second: float) -> float:
        return max(first, second)


def _stationary_offset(
    problem: Problem, z: RowVector, near: float | None, largest_score: float | None
) -> float:
    """Return the root of the objective's slope in b; a sample says where to begin when rows are many."""
    square = problem.offset.square

    def with_penalty(slope: float, curvature: float, b: float) -> tuple[float, float]:
        return (slope + b / square, curvature + 1.0 / square) if square > 0 else (slope, curvature)

    def of_all(b: float) -> tuple[float, float]:
        kernel = _OffsetSlope(problem.loss, b)
        return with_penalty(*problem.rows.reduce(kernel, z, problem.sign, problem.cost), b)

    if largest_score is None:
        largest_score = problem.rows.reduce(_LargestScore(), z, problem.cost)
    bracket = _bracket(problem, largest_score)
    start = min(max(near or 0.0, bracket[0]), bracket[1])
    if near is None and problem.rows.n_rows > _MANY_ROWS:
        sample = draw_sample(problem, z)

        def of_sample(b: float) -> tuple[float, float]:
            slope, curvature = _core.offset_derivatives(problem.loss, sample.z, sample.sign, sample.cost, b)
            return with_penalty(slope, curvature, b)

        if abs(int(sample.sign.sum())) < sample.sign.size:  # both classes are there
            start = _root(of_sample, bracket, start, 1e-3)
    # Where the curvature changes no faster than itself, as for the logistic loss, the step after a small one
    # is of the size of its square.
    return _root(of_all, bracket, start, 1e-8 if problem.dual.quadratic is None else 0.0)


def _root(derivatives: _Derivatives, bracket: tuple[float, float], b: float, small: float) -> float:
    """Find where a slope that only rises is 0, by Newton's method inside a shrinking bracket.

    A step is taken if it stays inside and is at most half of the last but one; otherwise the bracket is
    halved, so that the iteration cannot go round in a circle. It ends with a step that is `small`, or that
    rounding makes just as well.
    """
    low, high = bracket
    last = last_but_one = high - low
    for _ in range(200):
        slope, curvature = derivatives(b)
        if slope > 0:
            high = b
        else:
            low = b
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if slope == 0 or abs(step) <= max(small, _ROUNDING * max(1.0, abs(b))):
            return b + step if slope != 0 else b
        following = b + step
        if not (low < following < high and abs(step) <= 0.5 * last_but_one):
            following = low + 0.5 * (high - low)
            if not low < following < high:
                return following
        last_but_one, last = last, abs(following - b)
        b = following
    return b


def _bracket(problem: Problem, largest_score: float) -> tuple[float, float]:
    """Return a range that certainly holds the best offset.

    Without penalty it is the certificate's bound on |b*|; a penalty only pulls the offset towards 0.
    """
    costs, form = problem.class_costs, problem.dual
    reach = largest_score + 1.0
    if costs.positive > 0 and costs.negative > 0:
        reach += form.offset_reach(costs.positive, costs.negative)
    elif math.isinf(form.rests_at):  # one class alone pushes for ever; only the penalty holds it
        reach += problem.offset.square * costs.total
    return -reach, reach
