"""A few rows that stand for all of them, to guess where an answer lies before it is computed exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin.problem.problem import Problem
from maxmargin.rows import Array, RowVector

__all__ = ["Sample", "draw_sample"]

_SHARE, _LARGEST = 64, 16_384  # one row in so many, and no more than that


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores, signs and costs of some rows; costs add up to that of all rows."""

    z: Array
    sign: NDArray[np.int8]
    cost: Array

    def deviation(self, share: float) -> float:
        """Return about how far the sample's share of cost below a point is off, with one row to spare."""
        squares = float(np.einsum("i,i->", self.cost, self.cost))
        rows = float(self.cost.sum()) ** 2 / squares  # so many of equal cost would say as much
        return math.sqrt(max(share * (1.0 - share), 1.0 / rows) / rows) + 1.0 / rows


def draw_sample(problem: Problem, z: RowVector) -> Sample:
    """Take one row at a random place of each of equally long stretches: the same ones every time."""
    rows, n_rows = problem.rows, problem.rows.n_rows
    count = min(max(n_rows // _SHARE, 1), _LARGEST)
    place = np.random.default_rng(0).random(count)
    chosen = ((np.arange(count) + place) * (n_rows / count)).astype(np.intp)
    np.minimum(chosen, n_rows - 1, out=chosen)
    sign, cost, scores = rows.take(chosen, problem.sign, problem.cost, z)
    live = (cost > 0) & np.isfinite(scores)
    cost = cost[live]
    return Sample(
        scores[live], sign[live], cost * (problem.class_costs.total / max(float(cost.sum()), 1e-300))
    )
