"""The classifier that some of the examples determine, and its errors among all others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem import Problem
from maxmargin.results.solution import Status
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.kernels import Scores
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["scores_of_refit"]


def scores_of_refit(
    problem: Problem, kept: NDArray[np.intp], tol: float, solver: str, token: StopToken
) -> Array:
    """Solve the problem on some of its rows alone, and return x·w + b for all of them.

    The kept rows keep their costs. If they hold every support vector, the optimum is that of all rows.
    `Stopped` is raised when the token ends before: what the clock had a part in, the rows do not determine.
    """
    rows = problem.rows
    assert isinstance(rows, MemoryRows)
    few = replace(problem, rows=rows.subset(kept), sign=problem.sign[kept], cost=problem.cost[kept])
    method, plan = choose(solver, few, tol)
    found = run(few, method, plan, Limits(tol=tol), token=token)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if found.status is Status.MAX_TIME:
        raise Stopped
    z: Array = rows.zeros()
    rows.reduce(Scores(np.ascontiguousarray(found.coef)), z, token=token)
    return np.asarray(z + found.intercept)
