"""The best offset for given scores: an interval for the hinge, found exactly; else one point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem.problem import Problem
from maxmargin.rows import Array

__all__ = ["best_offset", "chosen_from"]

_SMALL_STEP = 1e-14  # relative; the step after it would be its square


def best_offset(problem: Problem, z: Array) -> tuple[float, float]:
    """Return all offsets that minimise the objective when the scores are z.

    A missing class makes one end infinite (S37 of the lecture notes' reading: with + examples alone
    every b ≥ 1 − min z is best); no rows at all, both.
    """
    if problem.offset.kind == "none":
        return 0.0, 0.0
    costs = problem.class_costs
    if problem.offset.kind == "free" and (costs.positive == 0 or costs.negative == 0):
        return _one_class(problem, z)
    if problem.offset.kind == "free" and problem.loss == "hinge":
        low, high = _core.hinge_offset(z, problem.sign, problem.cost)
        return low, high
    point = _stationary_offset(problem, z)
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


def _one_class(problem: Problem, z: Array) -> tuple[float, float]:
    costs = problem.class_costs
    if costs.total == 0:
        return -math.inf, math.inf
    live = z[problem.cost > 0]
    rest = problem.dual.rests_at  # infinite where the loss falls for ever: then so is the best offset
    if costs.positive > 0:
        return rest - float(live.min()), math.inf
    return -math.inf, -rest - float(live.max())


@dataclass(frozen=True)
class _OffsetSlope:
    loss: str
    b: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> tuple[float, float]:
        z, sign, cost = pieces
        slope, curvature = _core.offset_derivatives(self.loss, z, sign, cost, self.b)
        return slope, curvature

    def merge(self, first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
        return first[0] + second[0], first[1] + second[1]


def _stationary_offset(problem: Problem, z: Array) -> float:
    """Find the root of the objective's slope in b by Newton's method inside a shrinking bracket.

    A step is taken if it stays inside and is at most half of the last but one; otherwise the bracket is
    halved, so that the iteration cannot go round in a circle.
    """
    square = problem.offset.square
    low, high = _bracket(problem, z)
    b = min(max(0.0, low), high)
    last = last_but_one = high - low
    for _ in range(200):
        slope, curvature = problem.rows.reduce(_OffsetSlope(problem.loss, b), z, problem.sign, problem.cost)
        if square > 0:
            slope, curvature = slope + b / square, curvature + 1.0 / square
        if slope > 0:
            high = b
        else:
            low = b
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if slope == 0 or abs(step) <= _SMALL_STEP * max(1.0, abs(b)):
            return b + step if slope != 0 else b
        following = b + step
        if not (low < following < high and abs(step) <= 0.5 * last_but_one):
            following = low + 0.5 * (high - low)
            if not low < following < high:
                return following
        last_but_one, last = last, abs(following - b)
        b = following
    return b


def _bracket(problem: Problem, z: Array) -> tuple[float, float]:
    """Return a range that certainly holds the best offset.

    Without penalty it is the certificate's bound on |b*|; a penalty only pulls the offset towards 0.
    """
    costs, form = problem.class_costs, problem.dual
    reach = float(np.abs(z).max(initial=0.0, where=problem.cost > 0)) + 1.0
    if costs.positive > 0 and costs.negative > 0:
        reach += form.offset_reach(costs.positive, costs.negative)
    elif math.isinf(form.rests_at):  # one class alone pushes for ever; only the penalty holds it
        reach += problem.offset.square * costs.total
    return -reach, reach
