"""A sample of the rows stands in for all of them while the steps are large.

The optimum of m random rows, their costs scaled up, lies about d/m of the objective above that of all rows;
Newton's method gets there at m/n of the cost and goes on from there, and the Hessian of the sample is
nearly that of all rows.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problem import Problem

__all__ = ["draw_sample", "sample_size"]

_SHARE = 16  # one row of so many
_FEWEST = 4_000
_PER_COLUMN = 10  # rows for each column: then the sample's Hessian is within a factor of two
_WORTH = 4  # a sample has to be this much smaller


def sample_size(problem: Problem) -> int | None:
    """Return how many rows to draw; None where a sample would save little."""
    rows = problem.rows
    size = max(rows.n_rows // _SHARE, _FEWEST, _PER_COLUMN * rows.n_columns)
    return size if rows.n_rows >= _WORTH * size else None


def draw_sample(problem: Problem, size: int, seed: int) -> Problem | None:
    """Return the problem of `size` random rows with as much cost in all; None if a class is missing there.

    One row is drawn from each of `size` stretches of equal length, so that they come in order.
    """
    n_rows = problem.rows.n_rows
    places = np.random.default_rng(seed).random(size)
    places += np.arange(size)
    places *= n_rows / size
    chosen = np.minimum(places.astype(np.intp), n_rows - 1)
    sign, cost = problem.sign[chosen], problem.cost[chosen]
    drawn = float(cost.sum())
    if not drawn > 0:
        return None
    cost = cost * (problem.class_costs.total / drawn)
    sample = Problem(problem.rows.subset(chosen), sign, cost, problem.loss, problem.offset)
    costs = sample.class_costs
    return sample if costs.positive > 0 and costs.negative > 0 else None
