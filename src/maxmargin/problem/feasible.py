"""The nearest dual point that obeys the constraints: 0 ≤ α ≤ its largest value, and Σ sα = 0 if b is free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.problem.problem import Problem
from maxmargin.rows import Array

__all__ = ["make_feasible"]

_ROUNDS = 3  # each leaves only the rounding error of the sum before it


def make_feasible(problem: Problem, alpha: Array) -> Array:
    """Return a feasible copy of α; numbers that are not finite become 0."""
    feasible = np.where(np.isfinite(alpha), alpha, 0.0)
    np.maximum(feasible, 0.0, out=feasible)
    np.minimum(feasible, _largest(problem), out=feasible)
    if problem.offset.kind == "free":
        for _ in range(_ROUNDS):
            _rebalance(problem, feasible)
    return feasible


def _largest(problem: Problem) -> Array:
    """Return what no optimal α exceeds.

    Where α has no upper bound, as for the squared hinge, a row costs α²/(4c) at the optimum, and all rows
    together no more than at w = 0. Without that, sums over wild numbers would overflow.
    """
    if problem.dual.bounded:
        return problem.cost
    return np.asarray(2.0 * np.sqrt(problem.cost) * np.sqrt(problem.class_costs.total))


@dataclass(frozen=True)
class _Balance:
    positive: float
    negative: float
    room: float


@dataclass(frozen=True)
class _SumBalance:
    bounded: bool

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Balance:
        alpha, sign, cost = pieces
        room = float(np.minimum(alpha, cost - alpha).sum()) if self.bounded else 0.0
        return _Balance(float(alpha[sign > 0].sum()), float(alpha[sign < 0].sum()), room)

    def merge(self, first: _Balance, second: _Balance) -> _Balance:
        return _Balance(
            first.positive + second.positive, first.negative + second.negative, first.room + second.room
        )


def _rebalance(problem: Problem, alpha: Array) -> None:
    """Remove Σ sα: rows between their bounds share it; if they cannot, the heavier class shrinks."""
    bounded = problem.dual.bounded
    sums = problem.rows.reduce(_SumBalance(bounded), alpha, problem.sign, problem.cost)
    excess = sums.positive - sums.negative
    if excess == 0:
        return
    if bounded and sums.room > 2.0 * abs(excess):
        # u = min(α, c − α) keeps every row inside its bounds because |excess| < Σ u.
        share = np.minimum(alpha, problem.cost - alpha)
        share *= problem.sign
        share *= excess / sums.room
        alpha -= share
        return
    heavier = problem.sign > 0 if excess > 0 else problem.sign < 0
    alpha[heavier] *= 1.0 - abs(excess) / max(sums.positive, sums.negative)
