"""Is the minimiser of the hinge loss unique, and from which C on is it the soft margin?

Both are questions about the rows on the margin, F, and those short of it, L. The weights w are the soft
margin's for some C exactly if there are duals 0 ≤ α ≤ C c with

    Σ_F α s (x, 1) + C Σ_L c s (x, 1) = (w, 0) :

the smallest such C is a linear program in C and the α of F. On separable data L is empty, and it is the
largest dual variable of the hard margin, in units of c; the smallest of them where the duals are not
unique.

A change v of (w, b) leaves the loss where it is exactly if s (x, 1)·v is 0 on the rows of F with room (0 <
β < c), ≥ 0 where β = 0 and ≤ 0 where β = c, for multipliers β that prove the minimum. The minimiser is
unique exactly if only v = 0 does that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution
from maxmargin.learners.exact.record import HingeMinimum
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.separation.programs import solve_program

__all__ = ["describe_minimum"]


_ON_THE_MARGIN = 1e-8  # how far, in units of the largest score, a row that is on the margin may be from it
_AT_A_BOUND = 1e-9  # the same of a multiplier, as a share of its cost
_MOST_NUMBERS = 400_000  # of the rows on the margin: programs with more take long
_AGREE = 1e-6  # a C from a program and one from duals that differ by less are the same number
_NOTHING = 1e-7


@dataclass(frozen=True, eq=False)
class _Margin:
    """The rows on the margin, signed and lifted, in units that make columns alike; and those short of it."""

    indices: NDArray[np.intp]
    signed: Array
    unit: Array
    short: Array


def describe_minimum(problem: Problem, solution: Solution, token: StopToken) -> HingeMinimum:
    """Return what is known about the minimum that a solution without a regulariser has reached.

    Parameters
    ----------
    solution : Solution
        With the C whose soft margin it was in its warm start.
    token : StopToken
        If it ends the programs, their results remain unknown.
    """
    assert solution.warm_start is not None
    assert solution.warm_start.C is not None
    suffices, total = solution.warm_start.C, solution.certificate.objective
    weight = problem.total_cost
    mean = total / weight if weight > 0 else 0.0
    is_of_two = problem.n_outputs == 1
    margin = _margin_of(problem, solution) if is_of_two else None
    C, is_least, is_unique = suffices, False, False if total == 0 else None
    if total == 0:
        live = np.flatnonzero(problem.cost > 0)
        alpha = solution.alpha[live] if is_of_two else solution.alpha[live, problem.targets.values[live]]
        C, is_least = float((alpha / problem.cost[live]).max(initial=0.0)), is_of_two and margin is None
    try:
        if margin is not None:
            least = _least_cost(problem, solution, margin, token)
            if least is not None:
                is_same = abs(least - C) <= _AGREE * C and total == 0
                C, is_least = (C if is_same else least), True
            if total > 0:
                is_unique = _is_unique(problem, solution, margin, token)
    except Stopped:
        pass
    return HingeMinimum(total, mean, is_unique, C, is_least)


def _margin_of(problem: Problem, solution: Solution) -> _Margin | None:
    """Return the rows on the margin; None if they are too many to ask a program about."""
    rows, d = problem.rows, problem.rows.n_columns
    z = rows.zeros()
    rows.reduce(Scores(solution.coef), z)
    agreement = problem.sign * (z + solution.intercept)
    reach = _ON_THE_MARGIN * (1.0 + float(np.abs(z).max(initial=0.0, where=problem.cost > 0)))
    is_on = (np.abs(agreement - 1.0) <= reach) & (problem.cost > 0)
    indices = np.flatnonzero(is_on)
    if len(indices) * (d + 1) > _MOST_NUMBERS or not hasattr(rows, "subset"):
        return None
    X: Any = rows.subset(indices).X
    lifted = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    pull = np.where((agreement < 1.0) & ~is_on, problem.sign * problem.cost, 0.0)
    short = rows.reduce(Combine(d), pull)
    if problem.offset.is_free:
        lifted = np.hstack([lifted, np.ones((len(lifted), 1))])
        short = np.append(short, pull.sum())
    per_cost = np.abs(short) / max(problem.class_costs.total, 1e-300)
    unit = np.maximum(np.abs(lifted).max(axis=0, initial=0.0), per_cost)
    unit = np.where(unit > 0, unit, 1.0)
    return _Margin(indices, problem.sign[indices, None] * lifted / unit, unit, short / unit)


def _least_cost(problem: Problem, solution: Solution, margin: _Margin, token: StopToken) -> float | None:
    """Return the smallest C at which these weights are the soft margin, by a linear program."""
    wanted = np.zeros(len(margin.unit))
    wanted[: len(solution.coef)] = solution.coef / margin.unit[: len(solution.coef)]
    size = float(np.abs(wanted).max(initial=0.0))
    if size == 0:
        return 0.0
    largest = float(problem.cost.max(initial=0.0))
    cost = problem.cost[margin.indices] / largest
    # In units of `size` and of the largest cost: α = cost · a with 0 ≤ a ≤ C.
    equal = np.hstack([(cost[:, None] * margin.signed).T, margin.short[:, None] / largest])
    below = np.hstack([np.eye(len(cost)), -np.ones((len(cost), 1))])
    goal = np.append(np.zeros(len(cost)), 1.0)
    met = wanted / size
    result = solve_program(
        token,
        goal,
        np.vstack([below, equal]),
        (np.append(np.full(len(cost), -np.inf), met), np.append(np.zeros(len(cost)), met)),
        (0.0, np.inf),
        tolerance=1e-10,
    )
    return None if result.x is None else result.objective * size / largest


def _is_unique(problem: Problem, solution: Solution, margin: _Margin, token: StopToken) -> bool | None:
    """Return whether no change of (w, b) leaves the loss where it is."""
    signed, width = margin.signed, len(margin.unit)
    share = solution.alpha[margin.indices] / problem.cost[margin.indices]
    at_zero, at_cost = share <= _AT_A_BOUND, share >= 1.0 - _AT_A_BOUND
    held = signed[~at_zero & ~at_cost]
    if _rank(held) == width:
        return True
    free_ways = np.vstack([signed[at_zero], -signed[at_cost]])
    if len(free_ways) == 0 or _rank(signed) < width:
        return False
    result = solve_program(
        token,
        -free_ways.sum(axis=0),
        np.vstack([free_ways, held]),
        (0.0, np.append(np.full(len(free_ways), np.inf), np.zeros(len(held)))),
        (-1.0, 1.0),
    )
    return None if result.x is None else bool(-result.objective <= _NOTHING * len(free_ways))


def _rank(rows: Array) -> int:
    return int(np.linalg.matrix_rank(rows)) if len(rows) else 0
