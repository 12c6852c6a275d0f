"""The nearest dual point that obeys the constraints: 0 ≤ α ≤ its largest value, and Σ sα = 0 if b is free."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, DualBalance, StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.base import RowVector

__all__ = ["make_feasible"]


_ROUNDS = 3  # each leaves only the rounding error of the sum before it


def make_feasible(problem: Problem, alpha: RowVector) -> RowVector:
    """Return a feasible copy of α; numbers that are not finite become 0."""
    rows, sign, cost = problem.rows, problem.sign, problem.cost
    feasible = rows.zeros()
    sums = rows.reduce(_clamp_of(problem), alpha, sign, cost, feasible)
    if problem.offset.is_free:
        for _ in range(_ROUNDS):
            if sums.positive == sums.negative:
                break
            sums = rows.reduce(_correction_of(problem, sums), feasible, sign, cost)
    return feasible


@dataclass(frozen=True)
class _Clamp:
    bounded: bool
    reach: float

    writes = (3,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> DualBalance:
        given, sign, cost, feasible = pieces
        alpha = np.ascontiguousarray(given, dtype=np.float64)  # anybody's numbers may be asked about
        return _core.clamp_dual(alpha, sign, cost, self.bounded, self.reach, feasible)


def _clamp_of(problem: Problem) -> _Clamp:
    """Return the kernel that knows what no optimal α exceeds.

    Where α has no upper bound, as for the squared hinge, a row costs α²/(4c) at the optimum, and all rows
    together no more than at w = 0. Without that, sums over wild numbers would overflow.
    """
    bounded = problem.dual.bounded
    return _Clamp(bounded, 0.0 if bounded else 2.0 * math.sqrt(problem.class_costs.total))


@dataclass(frozen=True)
class _Correct:
    bounded: bool
    share: float = 0.0
    factors: tuple[float, float] = (1.0, 1.0)

    writes = (0,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> DualBalance:
        alpha, sign, cost = pieces
        return _core.correct_dual(alpha, sign, cost, self.bounded, self.share, self.factors)


def _correction_of(problem: Problem, sums: DualBalance) -> _Correct:
    """Return what removes Σ sα: rows between their bounds share it, or else the heavier class shrinks."""
    bounded = problem.dual.bounded
    excess = sums.positive - sums.negative
    if bounded and sums.room > 2.0 * abs(excess):
        # u = min(α, c − α) keeps every row inside its bounds because |excess| < Σ u.
        return _Correct(bounded, share=excess / sums.room)
    factor = 1.0 - abs(excess) / max(sums.positive, sums.negative)
    return _Correct(bounded, factors=(factor, 1.0) if excess > 0 else (1.0, factor))
