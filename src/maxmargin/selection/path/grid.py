"""A grid of C for one problem of all classes: a certified fit at each value, each from where the last ones point.

Between two values nothing is claimed. From the smallest C upwards the weights change like a power of C where
the regulariser holds them, and like its logarithm where the rows are separated: from one value to the next
of an even grid, the differences of the weights then have a constant ratio, and a fit begins where the next
difference leads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.rows.base import Array, inner
from maxmargin.selection.path.steps import FollowedPath, Solve, Stop
from maxmargin.selection.warm_start import start_at_other_cost

__all__ = ["PathOfStarts", "visit_grid"]


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
            solutions = solve(C, None if not stops else [starts.at(C)])
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
    """Return what the rows weigh whose own class does not have the largest score; vectors: labels, weights."""

    W: Array
    b: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        label, weights = pieces
        scores = np.empty((len(label), len(self.b)))
        _core.output_scores(block, self.W, self.b, False, scores, token)
        return float(weights[scores.argmax(axis=1) != label].sum())


class PathOfStarts:
    """The last solutions along growing C, and where they lead."""

    def __init__(self) -> None:
        self._last: list[tuple[float, Solution]] = []

    def add(self, C: float, solution: Solution) -> None:
        """Note the solution at the next C."""
        self._last = [*self._last[-2:], (C, replace(solution, warm_start=None))]

    def at(self, C: float) -> WarmStart:
        """Return where a fit at a larger C begins: at least one solution has been noted."""
        last, solution = self._last[-1]
        start = start_at_other_cost(solution, C / last)
        if len(self._last) < 3:
            return start
        (first, one), (second, two), _ = self._last
        before = two.coef - one.coef, two.intercept - one.intercept
        after = solution.coef - two.coef, solution.intercept - two.intercept
        size, along = _product(before, before), _product(before, after)
        if not (size > 0 and along > 0):
            return start
        # The differences grow like C^power, on steps in log C that need not be even.
        steps = math.log(second / first), math.log(last / second), math.log(C / last)
        power = math.log(along * steps[0] / (size * steps[1])) / (0.5 * (steps[0] + steps[1]))
        power = min(max(power, -_STEEPEST), _STEEPEST)
        share = math.exp(power * 0.5 * (steps[1] + steps[2])) * steps[2] / steps[1]
        return replace(
            start, w=solution.coef + share * after[0], b=np.asarray(solution.intercept + share * after[1])
        )


_STEEPEST = 1.0  # power of C: where nothing but the regulariser holds the weights, they are proportional to it


def _product(first: tuple[Array, Any], second: tuple[Array, Any]) -> float:
    """Return the product of two differences of weights; offsets follow the weights."""
    return inner(first[0].reshape(-1), second[0].reshape(-1))
