"""A small problem that looks like the large one: a sample of the rows, each standing for many.

One row is drawn from each of equally long stretches, which reads nothing but the rows drawn. Where that
leaves one class with few rows, the classes are drawn separately, as many rows of each as there are, up to
half of the sample: then all of a rare class is in it. Costs are scaled class by class, so that the classes
weigh what they weigh in the whole.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.problem import Problem
from maxmargin.core.targets import BinaryTargets
from maxmargin.rows.active import PositiveCostRows
from maxmargin.rows.base import Rows

__all__ = ["largest_sample", "sample_of"]

_MOST_VALUES = 4_000_000  # of a sample's rows: more may fill memory (decision 0018)
_RARE = (
    8  # a class with less than one in so many rows of the sample is drawn on its own; chosen, not measured
)


def largest_sample(rows: Rows) -> int:
    """Return how many rows a sample may have, from the shape of the data alone."""
    return max(_MOST_VALUES * rows.n_rows // max(rows.n_values, 1), 1)


def sample_of(problem: Problem, size: int, seed: int) -> Problem:
    """Return a problem of about `size` rows, or fewer if there are not so many that cost anything."""
    random = np.random.default_rng(seed)
    rows = problem.rows
    chosen = _one_of_each_stretch(problem, size, random)
    sign, cost = rows.take(chosen, problem.sign, problem.cost)
    live = cost > 0
    chosen, sign, cost = chosen[live], sign[live], cost[live]
    if _is_short_of_a_class(sign, size):
        chosen = _both_classes(problem, size, random)
        sign, cost = rows.take(chosen, problem.sign, problem.cost)
    for own, total in ((1, problem.class_costs.positive), (-1, problem.class_costs.negative)):
        of_class = sign == own
        if of_class.any():
            cost[of_class] *= total / float(cost[of_class].sum())
    return replace(problem, rows=rows.subset(chosen), targets=BinaryTargets(sign, cost))


def _one_of_each_stretch(problem: Problem, size: int, random: np.random.Generator) -> NDArray[np.intp]:
    """Return rows in order; none if a sample would be no smaller than the problem."""
    n_rows = problem.rows.n_rows
    if size >= n_rows:
        return np.zeros(0, dtype=np.intp)
    places = random.random(size)
    places += np.arange(size)
    places *= n_rows / size
    return np.minimum(places.astype(np.intp), n_rows - 1)


def _is_short_of_a_class(sign: NDArray[np.int8], size: int) -> bool:
    positive = int(np.count_nonzero(sign > 0))
    return min(positive, len(sign) - positive) < size / _RARE


def _both_classes(problem: Problem, size: int, random: np.random.Generator) -> NDArray[np.intp]:
    positive, negative = (PositiveCostRows(problem.rows, problem.sign, problem.cost, own) for own in (1, -1))
    n_positive = min(positive.count, max(size // 2, size - negative.count))
    n_negative = min(negative.count, size - n_positive)
    drawn = [_draw(random, positive, n_positive), _draw(random, negative, n_negative)]
    return np.sort(np.concatenate(drawn))


def _draw(random: np.random.Generator, rows: PositiveCostRows, count: int) -> NDArray[np.intp]:
    if count >= rows.count:
        return rows.numbers(np.arange(rows.count))
    return rows.numbers(random.choice(rows.count, count, replace=False, shuffle=False))
