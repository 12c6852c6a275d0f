"""Left-out agreements from a few folds, for problems whose systems of equations would be too large.

Every fold is left out once, as costs of 0 over the same rows, and the rest is fitted from where the full
fit ended. An example's agreement is then that with a classifier which did not see it, nor a fifth of the
others: an estimate on the cautious side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem import Problem
from maxmargin.results.solution import Status
from maxmargin.rows import Array
from maxmargin.rows.kernels import Scores
from maxmargin.selection.warm_start import start_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["TOLERANCE", "ByFolds", "agreements_by_folds"]

_FOLDS = 5
# A fit that begins at the optimum of all rows must get away from it: what it keeps would flatter its fold.
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class ByFolds:
    """Agreements, and how they were found."""

    agreements: Array
    by: str


def agreements_by_folds(
    problem: Problem,
    w: Array,
    b: float,
    alpha: Array,
    agreements: Array,
    token: StopToken,
    *,
    tol: float = TOLERANCE,
) -> ByFolds:
    """Return every example's agreement with the fit, certified to `tol`, that leaves its fold out.

    A deadline or Ctrl-C raises as a pass over the rows would: half of the folds are no estimate.
    """
    fold = _folds(problem)
    count = int(fold.max(initial=-1)) + 1
    found, z = agreements.copy(), problem.rows.zeros()
    passes = 0.0
    for k in range(count):
        held = fold == k
        part = replace(problem, cost=np.where(held, 0.0, problem.cost))
        solver, plan = choose("auto", part, tol)
        memory = start_of(w, b, np.where(held, 0.0, alpha)) if problem.is_regularised else None
        fit = run(part, solver, plan, Limits(tol), token=token, memory=memory, seed=k)
        if fit.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if fit.status is Status.MAX_TIME:
            raise Stopped
        passes += float(fit.history.passes[-1]) if len(fit.history) else 0.0
        problem.rows.reduce(Scores(fit.coef), z)
        found[held] = problem.sign[held] * (z[held] + fit.intercept)
    return ByFolds(found, f"by {count} folds, {passes:,.0f} passes over the rows")


def _folds(problem: Problem) -> NDArray[np.intp]:
    """Return the fold of every row, both classes spread evenly; −1 for one that costs nothing.

    A class of fewer examples than folds makes fewer folds, so that no fit lacks a class; that of one example
    is in every fit.
    """
    live = problem.cost > 0
    classes = [np.flatnonzero(live & (problem.sign == sign)) for sign in (1, -1)]
    sizes = [rows.size for rows in classes if rows.size > 1]
    count = min([_FOLDS, *sizes])
    fold = np.full(problem.rows.n_rows, -1, dtype=np.intp)
    random = np.random.default_rng(0)
    for rows in classes:
        if rows.size > 1:
            fold[random.permutation(rows)] = np.arange(rows.size) % count
    return fold
