"""The last resort of leave-one-out: solve the problem without the example, as tightly as rounding allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem import Problem
from maxmargin.results.leave_one_out import Reason
from maxmargin.results.solution import Solution, Status
from maxmargin.rows.kernels import Scores
from maxmargin.selection.cases import Cases
from maxmargin.selection.hinge_optimum import TIGHT
from maxmargin.solvers.choose import SOLVERS, choose
from maxmargin.solvers.run import Limits, run

__all__ = ["refit"]


def refit(
    cases: Cases, which: NDArray[np.intp], token: StopToken, *, seed: int, tell: Callable[[int], Any]
) -> None:
    """Solve the left-out problem of some cases, one by one; `tell` hears how many are done.

    Where one method leaves the sign open, others are tried: they end at different rounding errors.
    """
    optimum = cases.optimum
    for case in which:
        group = cases.group[case]
        cost = optimum.problem.cost.copy()
        cost[group] = cases.new_cost[case]
        problem = replace(optimum.problem, cost=cost)
        for name in ("auto", *(name for name, solver in SOLVERS.items() if "hinge" in solver.needs.losses)):
            _settle(cases, case, _solved(problem, name, token, seed))
            if cases.outcome[case] != 0 and cases.bound[case] < np.inf:
                break
        tell(1)


def _solved(problem: Problem, name: str, token: StopToken, seed: int) -> Solution:
    solver, plan = choose(name, problem, TIGHT)
    solution = run(problem, solver, plan, Limits(TIGHT), token=token, seed=seed)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.MAX_TIME:
        raise Stopped
    return solution


def _settle(cases: Cases, case: np.intp, solution: Solution) -> None:
    problem, which = cases.optimum.problem, np.array([case])
    row = cases.group[which]
    few = problem.rows.subset(row)
    score = few.zeros()
    few.reduce(Scores(solution.coef), score)
    agreement = problem.sign[row] * (score + solution.intercept)
    bound = cases.reach(which, solution.certificate.gap)
    cases.settle(which, agreement, bound, Reason.REFITTED)
