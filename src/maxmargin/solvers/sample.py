"""A small problem that looks like the large one: a sample of the rows, each standing for many.

Both classes are drawn separately, as many rows of each as there are, up to half of the sample: where one is
rare, all of it is in the sample. Costs are scaled class by class, so that the classes weigh what they weigh
in the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problem import Problem

__all__ = ["sample_of"]


def sample_of(problem: Problem, size: int, seed: int) -> Problem:
    """Return a problem of `size` rows, or fewer if there are not so many that cost anything."""
    random = np.random.default_rng(seed)
    live = problem.cost > 0
    positive = np.flatnonzero(live & (problem.sign > 0))
    negative = np.flatnonzero(live & (problem.sign < 0))
    n_positive = min(len(positive), max(size // 2, size - len(negative)))
    n_negative = min(len(negative), size - n_positive)
    chosen = np.sort(
        np.concatenate([_draw(random, positive, n_positive), _draw(random, negative, n_negative)])
    )
    sign, cost = problem.sign[chosen], problem.cost[chosen].copy()
    for own, total in ((1, problem.class_costs.positive), (-1, problem.class_costs.negative)):
        of_class = sign == own
        if of_class.any():
            cost[of_class] *= total / float(cost[of_class].sum())
    return Problem(problem.rows.subset(chosen), sign, cost, problem.loss, problem.offset)


def _draw(random: np.random.Generator, rows: NDArray[np.intp], count: int) -> Any:
    return rows if count >= len(rows) else random.choice(rows, count, replace=False, shuffle=False)
