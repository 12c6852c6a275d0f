"""A grid of C for one problem of all classes: a certified fit at each, from where the last ones lead.

Between two values nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status
from maxmargin.rows.base import Array
from maxmargin.selection.path.steps import FollowedPath, Solve, Stop
from maxmargin.selection.warm_start import PathOfStarts

__all__ = ["visit_grid"]


_ENDINGS = (Status.INTERRUPTED, Status.MAX_TIME, Status.STOPPED)


def visit_grid(problem: Problem, solve: Solve, values: Sequence[float], weights: Array) -> FollowedPath:
    """Fit the problem at each of these values of C, in increasing order.

    Parameters
    ----------
    problem : Problem
        Of all classes, with the costs of C = 1.
    solve : function
        From C and a list of one warm start (or None) to a list of one solution; None when there is no time
        left. The first call has to be answered.
    values : sequence of float
    weights : array of shape (n_rows,)
        What each row counts among the errors.
    """
    stops: list[Stop] = []
    starts = PathOfStarts()
    ended: Status | None = None
    for C in values:
        try:
            solutions = solve(C, [starts.at(C)])
            if solutions is None:
                ended = Status.MAX_TIME
                break
            (solution,) = solutions
            stops.append(_stop_at(problem, C, solution, weights))
        except KeyboardInterrupt:
            if not stops:
                raise
            ended = Status.INTERRUPTED
            break
        starts.add(C, solution)
        if solution.status in _ENDINGS:
            ended = solution.status
            break
    return FollowedPath(stops, [], len(stops), ended)


def _stop_at(problem: Problem, C: float, solution: Solution, weights: Array) -> Stop:
    kernel = _Errors(solution.coef, solution.intercept)
    error = problem.rows.reduce(kernel, problem.targets.values, weights)
    is_kept = isinstance(solution.alpha, np.ndarray)
    n_support = int(np.count_nonzero(solution.alpha.any(axis=1))) if is_kept else problem.rows.n_rows
    return Stop(C, solution.coef, solution.intercept, [solution.certificate], float(error), n_support)


@dataclass(frozen=True, eq=False)
class _Errors:
    """Return what the rows weigh whose class does not have the largest score; vectors: labels, weights."""

    W: Array
    b: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        label, weights = pieces
        scores = np.empty((len(label), len(self.b)))
        _core.output_scores(block, self.W, self.b, False, scores, token)
        return float(weights[scores.argmax(axis=1) != label].sum())
