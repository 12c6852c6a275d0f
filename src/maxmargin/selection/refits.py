"""The last resort of leave-one-out: solve the problem without the example, as tightly as rounding allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidParameter
from maxmargin.results.leave_one_out import Reason
from maxmargin.results.solution import Solution, Status
from maxmargin.selection.cases import Cases
from maxmargin.selection.exact_left_out import exact_agreement
from maxmargin.selection.hinge_optimum import HingeOptimum, find_optimum
from maxmargin.selection.removal_paths import with_independent_free_rows
from maxmargin.solvers.choose import BASELINES, SOLVERS

__all__ = ["refit"]


def refit(
    cases: Cases,
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
        problem = replace(cases.optimum.problem, cost=cost)
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


def _settle(cases: Cases, case: np.intp, found: HingeOptimum) -> None:
    which = np.array([case])
    agreement = found.agreements[cases.group[which]]
    cases.settle(which, agreement, cases.reach(which, found.gap, found), Reason.REFITTED)


def _settle_exactly(cases: Cases, case: np.intp, found: HingeOptimum, token: StopToken) -> None:
    exact = exact_agreement(found.problem, found.alpha, int(cases.group[case]), token)
    if exact is not None:
        agreement, bound = np.array([float(exact)]), np.zeros(1)
        cases.settle(np.array([case]), agreement, bound, Reason.REFITTED)
