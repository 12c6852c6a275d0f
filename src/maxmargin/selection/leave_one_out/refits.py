"""The last resort of leave-one-out: solve the problem without the example, as tightly as rounding allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.exact.arithmetic import Integers, as_integers
from maxmargin.core.exact.systems import solve_from_left
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status
from maxmargin.errors import InvalidParameter
from maxmargin.rows.base import Array
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.cases import HingeCases
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum, find_optimum
from maxmargin.selection.leave_one_out.record import Reason
from maxmargin.selection.leave_one_out.removals import with_independent_free_rows
from maxmargin.solvers.choose import BASELINES, SOLVERS

__all__ = ["exact_agreement", "refit"]


def refit(
    cases: HingeCases,
    which: NDArray[np.intp],
    token: StopToken,
    *,
    threads: int,
    seed: int,
    tell: Callable[[int], Any],
) -> None:
    """Solve the left-out problem of some cases, one by one; `tell` hears how many are done.

    Where rounding leaves the sign open, the split of the rows that was found is solved without rounding
    errors; and if it was not quite right, other methods may find the right one.
    """
    names = (name for name, solver in SOLVERS.items() if "hinge" in solver.needs.losses)
    methods = ("auto", *(name for name in names if name not in BASELINES))
    for case in which:
        cost = cases.optimum.problem.cost.copy()
        cost[cases.group[case]] = cases.new_cost[case]
        problem = cases.optimum.problem.with_cost(cost)
        for name in methods:
            try:
                found = find_optimum(problem, token, solver=name, seed=seed)
            except InvalidParameter:  # a method for fewer columns
                continue
            _raise_if_stopped(found.solution)
            _settle(cases, case, found)
            if cases.outcome[case] == 0:
                _settle_exactly(cases, case, with_independent_free_rows(found, token, threads), token)
            if cases.outcome[case] != 0:
                break
        tell(1)


def _raise_if_stopped(solution: Solution) -> None:
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.MAX_TIME:
        raise Stopped


def _settle(cases: HingeCases, case: np.intp, found: HingeOptimum) -> None:
    which = np.array([case])
    agreement = found.agreements[cases.group[which]]
    cases.settle(which, agreement, cases.reach(which, found.gap, found), Reason.REFITTED)


def _settle_exactly(cases: HingeCases, case: np.intp, found: HingeOptimum, token: StopToken) -> None:
    exact = exact_agreement(found.problem, found.alpha, int(cases.group[case]), token)
    if exact is not None:
        agreement, bound = np.array([float(exact)]), np.zeros(1)
        cases.settle(np.array([case]), agreement, bound, Reason.REFITTED)


# ------------------------------------------------------------------------------------------------
# The sign of an agreement that rounding errors leave open, by arithmetic without rounding errors.
#
# Which rows are at 0, at their cost and between them determines the optimum: the free rows' equations are
# linear, and the data are whole numbers times powers of two. Solved exactly, they either satisfy all
# conditions of optimality exactly, and then this is the optimum, or the split was not right and nothing is
# known.

_MOST_FREE, _MOST_VALUES = 120, 1_000_000  # beyond, whole numbers of any size take too long


def exact_agreement(problem: Problem, alpha: Array, row: int, token: StopToken) -> Fraction | None:
    """Return the agreement of a row with the optimum of a hinge problem; None if α does not lead to it.

    Parameters
    ----------
    problem : Problem
        Of the rows that stay: the row asked about may cost nothing.
    alpha : row vector
        Nearly optimal, with exact zeros and costs, and free rows that are independent.
    """
    is_free = (alpha > 0) & (alpha < problem.cost)
    if np.count_nonzero(is_free) > _MOST_FREE or problem.rows.n_values > _MOST_VALUES:
        return None
    whole = _Whole.of(problem)
    beta = _solve_free(whole, is_free, alpha >= problem.cost, token)
    if beta is None:
        return None
    return _agreement_at(whole, beta, row, n_eps=problem.rows.n_rows * 2.0**-52)


@dataclass(frozen=True, eq=False)
class _Whole:
    """Rows and costs as whole numbers: x = X · (a power of two), c = cost · (another), `one` is 1 in scores.

    Scores of duals in units of the costs come in units in which 1 is `one`.
    """

    X: Integers
    sign: Integers
    cost: Integers
    one: Fraction
    has_free_offset: bool

    @classmethod
    def of(cls, problem: Problem) -> _Whole:
        assert isinstance(problem.rows, MemoryRows)
        given = problem.rows.X
        values = np.asarray(given if isinstance(given, np.ndarray) else given.toarray(), dtype=np.float64)
        X, unit = _whole(problem.offset.augment(values))
        cost, unit_of_cost = _whole(problem.cost)
        sign: Any = problem.sign.astype(object)
        one = 1 / (unit_of_cost * unit * unit)
        return cls(X, sign, cost, one, problem.offset.is_free)


def _whole(values: Array) -> tuple[Integers, Fraction]:
    """Return the values as whole numbers, and what 1 of these stands for."""
    found = as_integers(values.reshape(1, -1)).reshape(values.shape)
    largest = int(np.abs(values).argmax()) if values.size else 0
    if values.size == 0 or values.flat[largest] == 0:
        return found, Fraction(1)
    return found, Fraction(float(values.flat[largest])) / int(found.flat[largest])


def _solve_free(
    whole: _Whole, is_free: NDArray[np.bool_], is_full: NDArray[np.bool_], token: StopToken
) -> list[Fraction] | None:
    """Return sα of every row if the split makes a feasible dual point, else None."""
    free, full = np.flatnonzero(is_free), np.flatnonzero(is_full)
    held: Any = np.where(is_full, whole.sign * whole.cost, 0)
    pull = np.dot(held[full], whole.X[full]) if full.size else np.zeros(whole.X.shape[1], dtype=object)
    n = free.size
    beta = [Fraction(int(value)) for value in held]
    if n:
        by, one = whole.one.denominator, whole.one.numerator
        matrix: Any = by * np.dot(whole.X[free], whole.X[free].T)
        target: Any = one * whole.sign[free] - by * np.dot(whole.X[free], pull)
        if whole.has_free_offset:
            beside, below = np.full((n, 1), by, dtype=object), np.ones((1, n), dtype=object)
            matrix = np.block([[matrix, beside], [below, 0]])
            target = np.append(target, -held.sum())
        solved = solve_from_left(np.asarray(matrix, dtype=object).T, target, token)
        if solved is None:
            return None
        for j, value in zip(free, solved[:n], strict=True):
            beta[j] = value
    if whole.has_free_offset and sum(beta) != 0:
        return None
    signed = [s * value for s, value in zip(whole.sign, beta, strict=True)]
    is_feasible = all(0 <= value <= c for value, c in zip(signed, whole.cost, strict=True))
    return beta if is_feasible else None


def _agreement_at(whole: _Whole, beta: list[Fraction], row: int, n_eps: float) -> Fraction | None:
    """Return the agreement of a row if the point is optimal, else None."""
    scale = math.lcm(whole.one.denominator, *(value.denominator for value in beta))
    duals: Any = np.array([int(value * scale) for value in beta], dtype=object)
    moved = np.flatnonzero(duals != 0)
    weights = np.dot(duals[moved], whole.X[moved]) if moved.size else np.zeros(whole.X.shape[1], dtype=object)
    z = np.dot(whole.X, weights)
    one = int(whole.one * scale)
    low, high = (0, 0)
    if whole.has_free_offset:
        ends = _interval(one * whole.sign - z, whole, n_eps)
        if ends is None:
            return None
        low, high = ends
    # In units of half of one: the middle of the interval is a whole number then.
    agreement: Any = whole.sign * (2 * z + (low + high))
    carried: Any = whole.sign * duals
    too_small = (agreement < 2 * one) & (carried < whole.cost * scale)
    too_large = (agreement > 2 * one) & (carried > 0)
    if (too_small | too_large).any():
        return None
    return Fraction(int(agreement[row]), 2 * one)


def _interval(breakpoints: Integers, whole: _Whole, n_eps: float) -> tuple[int, int] | None:
    """Return the first and the last best offset: where the running cost reaches that of the + class.

    Costs that differ by no more than the rounding of their sum count as equal, here as everywhere.
    """
    live = [k for k in range(len(breakpoints)) if whole.cost[k] > 0]
    order = sorted(live, key=lambda k: breakpoints[k])
    target = sum(int(whole.cost[k]) for k in live if whole.sign[k] > 0)
    tie = Fraction(n_eps) * sum(int(whole.cost[k]) for k in live)
    running = 0
    for place, k in enumerate(order):
        running += int(whole.cost[k])
        if running >= target - tie:
            if running > target + tie or place + 1 == len(order):
                return int(breakpoints[k]), int(breakpoints[k])
            return int(breakpoints[k]), int(breakpoints[order[place + 1]])
    return None
