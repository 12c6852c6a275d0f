"""The mean of the splits' solutions: a start for all rows, and the best there is when time is up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problem import Problem, examine
from maxmargin.results.solution import History, Plan, Solution, Status
from maxmargin.selection.warm_start import start_of

__all__ = ["average_of", "solution_at"]


def average_of(splits: Sequence[Sequence[Solution]], present: NDArray[np.intp]) -> list[dict[str, Any]]:
    """Return, for each problem, the splits' mean as a solver's memory.

    Parameters
    ----------
    splits : for each split its solutions, one per problem
        Where they differ in the number of problems there is no mean, and the list is empty. It means nothing
        where splits learn from different classes.
    present : array of shape (n_rows,)
        How many splits learn from each row: a dual variable is the mean over those.
    """
    if len({len(solutions) for solutions in splits}) != 1:
        return []
    means = []
    for of_problem in zip(*splits, strict=True):
        alpha = np.zeros_like(of_problem[0].alpha)
        for solution in of_problem:
            alpha += solution.alpha
        alpha /= np.maximum(present, 1)
        w = sum((solution.coef for solution in of_problem), np.zeros_like(of_problem[0].coef))
        offset = sum(solution.intercept for solution in of_problem)
        means.append(start_of(w / len(splits), offset / len(splits), alpha))
    return means


def solution_at(problem: Problem, start: dict[str, Any], status: Status) -> Solution:
    """Return a memory as a solution, certified as it is."""
    found = examine(problem, start["w"], None, start["alpha"])
    return Solution(
        coef=found.w,
        intercept=found.b,
        intercept_interval=found.interval,
        alpha=found.alpha,
        certificate=found.certificate,
        status=status,
        n_iter=0,
        history=History.of([]),
        plan=Plan("mean of the splits", "there was no time for a fit of all rows"),
        memory=start,
    )
