"""Copies of an example as one row that costs what they cost together.

A problem with copies of the same (x, s) has the same weights and offsets as the one in which they are one
row with the sum of their costs, and leaving one copy out is lowering that cost. Rules about examples then
need no exception for copies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.targets import BinaryTargets
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows

__all__ = ["DistinctRows", "first_of_each", "merge_copies"]


_ROWS_AT_A_TIME = 4_096


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """A problem without copies, and which of its rows each example is.

    Attributes
    ----------
    problem : Problem
        On distinct rows of (x, s) that cost anything, with the sums of their costs.
    group : intp array over all examples
        The distinct row of each example; −1 for an example that costs nothing.
    cost : array over all examples
        What each example costs by itself.
    """

    problem: Problem
    group: NDArray[np.intp]
    cost: Array

    def gathered(self, values: Array) -> Array:
        """Return the sums of numbers over the copies of each distinct row."""
        live = self.group >= 0
        sums = np.bincount(self.group[live], values[live], self.problem.rows.n_rows)
        return np.asarray(sums, dtype=np.float64)

    def left_over(self, examples: NDArray[np.intp]) -> Array:
        """Return what the distinct row of each example costs once that example is left out.

        Exactly 0 without a copy; and not less than the smallest cost of a copy, whatever rounding does.
        """
        rows = self.group[examples]
        rest = np.maximum(self.problem.cost[rows] - self.cost[examples], 0.0)
        copies = np.bincount(self.group[self.group >= 0], minlength=self.problem.rows.n_rows)
        return np.where(copies[rows] > 1, rest, 0.0)


def merge_copies(problem: Problem, token: StopToken) -> DistinctRows:
    """Return the problem on distinct rows; examples of cost 0 are in none of them."""
    live = np.flatnonzero(problem.cost > 0)
    first = first_of_each(problem, live, token)
    chosen, number = np.unique(first, return_inverse=True)
    group = np.full(problem.rows.n_rows, -1, dtype=np.intp)
    group[live] = number
    if len(chosen) == problem.rows.n_rows:
        return DistinctRows(problem, group, problem.cost)
    cost: Array = np.zeros(len(chosen))
    np.add.at(cost, number, problem.cost[live])
    rows = problem.rows.subset(chosen)
    rows.norms()
    merged = replace(problem, rows=rows, targets=BinaryTargets(problem.sign[chosen], cost))
    return DistinctRows(merged, group, problem.cost)


def first_of_each(problem: Problem, live: NDArray[np.intp], token: StopToken) -> NDArray[np.intp]:
    """Return for each live row the first live row that is the same; candidates have the same product.

    Rows that are the same have the same product with any vector, to the last bit; those few that have the
    same product are compared value by value. A copy that is stored in another order may be overlooked,
    which does no harm.
    """
    rows = problem.rows
    if not isinstance(rows, MemoryRows) or live.size == 0:
        return live
    z = rows.zeros()
    # Any vector without structure will do; a fixed one makes the result reproducible.
    direction = np.random.default_rng(0).standard_normal(rows.n_columns)
    try:
        rows.reduce(Scores(direction), z, token=token)
    except Stopped:  # no time to look for copies; the caller's next pass stops as well
        return live
    ordered = np.sort(z[live])
    if (ordered[1:] != ordered[:-1]).all():
        return live
    order = np.argsort(z[live])
    repeats = z[live[order[1:]]] == z[live[order[:-1]]]
    asked = np.sort(order[np.append(repeats, False) | np.append(False, repeats)])
    first = live.copy()
    first[asked] = _leaders(problem, live[asked], z)
    return first


def _leaders(problem: Problem, rows: NDArray[np.intp], z: Array) -> NDArray[np.intp]:
    """Return the first that is the same as each of these rows, which come in order and share products z."""
    order = rows[np.lexsort((rows, problem.sign[rows], z[rows]))]
    first = order.copy()
    same = (z[order][1:] == z[order][:-1]) & (problem.sign[order][1:] == problem.sign[order][:-1])
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    leader = order[np.repeat(starts, np.diff(np.append(starts, order.size)))]
    candidates = np.flatnonzero(leader != order)
    assert isinstance(problem.rows, MemoryRows)
    is_copy = _are_equal(problem.rows, leader[candidates], order[candidates])
    first[candidates[is_copy]] = leader[candidates[is_copy]]
    return np.asarray(first[np.argsort(order, kind="stable")])


def _are_equal(rows: MemoryRows, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which pairs of rows hold the same values."""
    equal = np.empty(first.size, dtype=bool)
    for start in range(0, first.size, _ROWS_AT_A_TIME):
        piece = slice(start, start + _ROWS_AT_A_TIME)
        one, other = rows.X[first[piece]], rows.X[second[piece]]
        if isinstance(one, np.ndarray):
            equal[piece] = (one == other).all(axis=1)
        else:
            equal[piece] = np.diff((one != other).tocsr().indptr) == 0
    return equal
