"""What the scores of the rows would be if each had been left out of the fit, to fit probabilities to.

A weight means repetition. So that a row of weight 3 and three rows of weight 1 give the same, copies of a row
count as one row that costs what they cost together, and one copy of it leaves. Weights that are not whole
numbers count no copies: there the row leaves with its weight.

At a tiny C nothing but the balance of the classes holds a free offset. Without one row of a class it jumps
across the scores of all of that class, and the scores of left-out rows say the opposite of what the model
knows. Folds that take equal shares of both classes do not have this trouble. They are also taken without a
regulariser, where few rows can hold the weights between them and a step of Newton's method goes astray.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.selection.leave_one_out.distinct_rows import first_of_each
from maxmargin.selection.leave_one_out.estimates import agreements_by_folds, curvatures, estimate_agreements

__all__ = ["LeftOutScores", "left_out_scores"]


Rows = NDArray[np.intp]

JUMP = 0.1  # of the distance between the classes' mean scores
TOLERANCE = 1e-2  # of fits without a fold: probabilities are the same to four digits with 1e-4


@dataclass(frozen=True, eq=False)
class LeftOutScores:
    """Scores of every row, NaN for those that cost nothing; and how they were found."""

    scores: Array
    source: str


def left_out_scores(
    problem: Problem, solution: Solution, token: StopToken, *, weights: Array | None = None
) -> LeftOutScores:
    """Estimate the score of every row by the fit without it.

    Parameters
    ----------
    problem, solution
        The problem of all rows, and its solution.
    token : StopToken
    weights : row vector, optional
        Sample weights, where there are any.
    """
    live = np.flatnonzero(problem.cost > 0)
    first = first_of_each(problem, live, token)
    copies = _copies(live, first, weights)
    merged, alpha, leaving = problem, solution.alpha, problem.cost
    if copies is not None:

        def gathered(values: Array) -> Array:
            return np.asarray(np.bincount(first, values, problem.rows.n_rows), dtype=np.float64)

        merged, alpha = problem.with_cost(gathered(problem.cost[live])), gathered(solution.alpha[live])
        count = gathered(copies)
        leaving = np.divide(merged.cost, count, out=np.zeros_like(count), where=count > 0)
    if not problem.is_regularised or _is_held_by_balance(merged, solution, alpha, token):
        return _by_folds(problem, solution, token)
    w, b = solution.coef, solution.intercept
    found = estimate_agreements(merged, w, b, alpha, token, leaving=leaving, tol=TOLERANCE)
    scores = np.full(problem.rows.n_rows, np.nan)
    scores[live] = (problem.sign * found.agreements)[first]
    return LeftOutScores(scores, f"their left-out scores estimated {found.by}")


def _copies(live: Rows, first: Rows, weights: Array | None) -> Array | None:
    """Return for how many copies of itself each live row stands; None if each is alone."""
    if weights is not None and bool((weights[live] == np.round(weights[live])).all()):
        return weights[live]
    return None if np.array_equal(live, first) else np.ones(live.size)


def _by_folds(problem: Problem, solution: Solution, token: StopToken) -> LeftOutScores:
    """Return scores by fits without a fifth of the rows; NaN for a row that is the only one of its class."""
    unknown = np.full(problem.rows.n_rows, np.nan)
    w, b, alpha = solution.coef, solution.intercept, solution.alpha
    found = agreements_by_folds(problem, w, b, alpha, unknown, token, tol=TOLERANCE)
    return LeftOutScores(
        np.asarray(problem.sign * found.agreements), f"their left-out scores found {found.by}"
    )


def _is_held_by_balance(problem: Problem, solution: Solution, alpha: Array, token: StopToken) -> bool:
    """Whether one row that leaves moves a free offset by much of the distance between the classes' scores."""
    if not problem.offset.is_free:
        return False
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(solution.coef), z, token=token)
    curvature = curvatures(problem, problem.sign * (z + solution.intercept), alpha).sum()
    costs = problem.class_costs
    positive = np.where(problem.sign > 0, problem.cost, 0.0)
    of_positive, of_all = np.einsum("i,i->", positive, z), np.einsum("i,i->", problem.cost, z)
    distance = of_positive / costs.positive - (of_all - of_positive) / costs.negative
    return bool(2.0 * alpha.sum() > JUMP * curvature * distance * np.count_nonzero(problem.cost))
