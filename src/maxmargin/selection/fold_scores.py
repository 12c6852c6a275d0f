"""Scores of every row by a fit without it: five folds, each a vector of costs on the same rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem import Problem
from maxmargin.results.solution import Solution, Status
from maxmargin.rows import Array
from maxmargin.rows.kernels import Scores
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["fold_scores", "spread_over_folds"]

FOLDS = 5
# Calibration does not notice more digits than these.
ACCURATE_ENOUGH = 1e-3


def spread_over_folds(codes: NDArray[np.integer], cost: Array, folds: int, seed: int) -> NDArray[np.intp]:
    """Return the fold of each row: as equal shares of every class as there can be."""
    fold = np.zeros(codes.shape[0], dtype=np.intp)
    order = np.random.default_rng(seed).permutation(codes.shape[0])
    order = order[cost[order] > 0]
    ranked = order[np.argsort(codes[order], kind="stable")]
    fold[ranked] = np.arange(ranked.shape[0]) % folds
    return fold


def fold_scores(problem: Problem, solution: Solution, token: StopToken, *, seed: int = 0) -> Array:
    """Return x·w + b of every row by the fit that left its fifth out; the costs of the others stay.

    NaN where the other four fifths hold one class only.

    Raises
    ------
    Stopped
        When the token's time is over before all folds are fitted.
    """
    fold = spread_over_folds(problem.sign, problem.cost, FOLDS, seed)
    result: Array = problem.rows.zeros()
    limits = Limits(max(ACCURATE_ENOUGH, solution.certificate.relative_gap))
    for k in range(FOLDS):
        rest = replace(problem, cost=np.where(fold == k, 0.0, problem.cost))
        if min(rest.class_costs.positive, rest.class_costs.negative) == 0:
            result[fold == k] = np.nan  # one class alone says nothing about scores
            continue
        solver, plan = choose("auto", rest, limits.tol)
        found = run(rest, solver, plan, limits, token=token, seed=seed)
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if found.status is Status.MAX_TIME:
            raise Stopped
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(found.coef), z, token=token)
        result[fold == k] = z[fold == k] + found.intercept
    return result
