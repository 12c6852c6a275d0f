"""A left-out problem solved once more, beginning at the full fit, as tightly as a decision needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from maxmargin._core import Stopped, StopToken
from maxmargin.results.solution import Status
from maxmargin.rows.kernels import Scores
from maxmargin.selection.hinge_optimum import HingeOptimum
from maxmargin.selection.warm_start import start_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["solve_again"]

_TOLERANCES = (1e-7, 1e-9, 1e-11, 1e-12)


def solve_again(
    optimum: HingeOptimum, row: int, new_cost: float, token: StopToken
) -> Iterator[tuple[float, float]]:
    """Yield the agreement of the row and the gap of the solution, each time with a smaller gap."""
    cost, alpha = optimum.problem.cost.copy(), optimum.alpha.copy()
    cost[row] = new_cost
    alpha[row] = min(alpha[row], new_cost)
    problem = replace(optimum.problem, cost=cost)
    memory = start_of(optimum.w, optimum.b, alpha)
    for tol in _TOLERANCES:
        solver, plan = choose("auto", problem, tol)
        solution = run(problem, solver, plan, Limits(tol), token=token, memory=memory)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        score = problem.rows.zeros()
        problem.rows.reduce(Scores(solution.coef), score, token=token)
        agreement = float(problem.sign[row] * (score[row] + solution.intercept))
        yield agreement, solution.certificate.gap
        if solution.status is Status.MAX_TIME:
            raise Stopped
        memory = start_of(solution.coef, solution.intercept, solution.alpha)
