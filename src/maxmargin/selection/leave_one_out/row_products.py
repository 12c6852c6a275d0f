"""Products of all rows with each other, for problems so small that this is the cheapest way to know them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Band, Block, StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Helpers, results_of
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum

__all__ = ["MOST_COLUMNS", "Bands", "RowsNearMargin", "dense_rows", "products_of", "side_by_side"]


@dataclass(frozen=True, eq=False)
class RowProducts:
    """x·x′ + constant for all pairs of rows, as the offset of the problem needs them.

    Attributes
    ----------
    matrix : array of shape (n_rows, n_rows)
    constant : float
        What a free offset lets us add to every entry: the duals' balance makes it drop out, and with it as
        many rows as columns and one more are independent. 0 for the other offsets; a penalised one is part
        of the rows themselves.
    error : float
        How far a product may be off by rounding before the constant is added, in units of its rows' norms.
    """

    matrix: Array
    constant: float
    error: float


def products_of(problem: Problem, token: StopToken, threads: int = 1) -> RowProducts:
    """Return the products of all pairs of rows; with a free offset, of dense rows about their mean."""
    assert isinstance(problem.rows, MemoryRows)
    X, n = problem.rows.X, problem.rows.n_rows
    if isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X, dtype=np.float64)
        if problem.offset.is_free:
            X = X - X.mean(axis=0)
        block, n_terms = Block(X), X.shape[1]
    else:
        n_terms = int(np.diff(X.indptr).max(initial=0))
        block = Block(X.data.astype(np.float64), X.indices, X.indptr, problem.rows.n_columns)
    matrix = np.empty((n, n))
    # Each piece of the triangle is about as large.
    cuts = np.sqrt(np.linspace(0.0, 1.0, 4 * threads + 1)) * n
    ends = np.unique(cuts.astype(int))

    def fill(piece: int) -> None:
        _core.row_gram(block, int(ends[piece]), int(ends[piece + 1]), matrix, token)

    side_by_side(fill, len(ends) - 1, threads)
    constant = 0.0
    if problem.offset.is_free:
        constant = max(float(matrix.trace()) / max(n, 1), 1e-300)
        matrix += constant
    else:
        matrix += problem.offset.square
    return RowProducts(matrix, constant, (n_terms + 3) * 2.0**-53)


def side_by_side(work: Callable[[int], None], count: int, threads: int) -> None:
    """Call work(0) … work(count − 1) on several threads, this one among them; the first error is raised.

    This thread works too because only it hears of Ctrl-C.
    """
    numbers = iter(range(count))  # `next` on it is one step for the interpreter, so threads can share it

    def loop() -> None:
        for number in numbers:
            work(number)

    if threads == 1 or count <= 1:
        loop()
        return
    with Helpers(min(threads, count) - 1) as pool:
        others = [pool.submit(loop) for _ in range(min(threads, count) - 1)]
        try:
            loop()
        except BaseException:
            for _ in numbers:  # leaves nothing for the others to begin
                pass
            raise
        results_of(others)


# ------------------------------------------------------------------------------------------------
# The rows near the margin of a hinge fit, in one table, for thousands of small problems on them.
#
# When one example leaves, the optimum moves a little, and only rows near the margin notice. All others are
# held where they are: what they add to the weights, to Σ sα and to the duality gap is summed up once. A
# penalised offset is one more column, of the value `scale`.

_COVER_AMONG = 50  # rows that may cover a rare column, in units of the columns
MOST_COLUMNS = 1_500  # the bands' systems have one equation more


def dense_rows(problem: Problem, chosen: NDArray[np.intp]) -> Array:
    """Copy some rows into a table of float64, with the column of a penalised offset."""
    X: Any = problem.rows.subset(chosen).X
    table = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return np.ascontiguousarray(problem.offset.augment(table))


@dataclass(frozen=True, eq=False)
class RowsNearMargin:
    """A band for the kernels, which rows it holds, and where each row is in it (−1: outside)."""

    core: Band
    chosen: NDArray[np.intp]
    place: NDArray[np.int64]


class Bands:
    """Makes bands of any size around the margin of one fit."""

    def __init__(self, optimum: HingeOptimum, token: StopToken) -> None:
        self.optimum = optimum
        problem = optimum.problem
        self.sign = problem.sign.astype(np.float64)
        self.pull: Array = self.sign * optimum.alpha
        self.has_free_offset = problem.offset.is_free
        of_dual = problem.rows.reduce(Combine(problem.rows.n_columns), self.pull, token=token)
        self.w = problem.offset.augment_weights(optimum.w, optimum.b)
        self.of_dual = problem.offset.augment_dual_weights(of_dual, self.pull.sum())
        excess = optimum.agreements - 1.0
        alpha, cost = optimum.alpha, problem.cost
        self.gaps: Array = np.maximum(excess, 0.0) * alpha + np.maximum(-excess, 0.0) * (cost - alpha)

    @cached_property
    def nearest(self) -> NDArray[np.intp]:
        """All rows, the free ones first and then by their distance from the margin."""
        distance = np.abs(1.0 - self.optimum.agreements)
        distance[self.optimum.is_free] = -1.0
        return np.argsort(distance, kind="stable")

    @property
    def n_free(self) -> int:
        """Rows that every band holds."""
        return int(self.optimum.is_free.sum())

    @property
    def size(self) -> int:
        """Columns and the offset: how many free rows determine a solution."""
        return len(self.w) + self.has_free_offset

    @cached_property
    def offset_reach(self) -> float:
        """Return what no offset exceeds that could matter.

        No better point has longer weights than √(2·objective), and no best offset lies beyond all
        breakpoints.
        """
        optimum = self.optimum
        largest = optimum.problem.rows.norms()[1]
        return math.sqrt(2.0 * optimum.objective * largest) + 1.0 + abs(optimum.b)

    def around(self, n_rows: int, cover: int = 0) -> RowsNearMargin:
        """Return the band of the free rows and so many others that are nearest to the margin.

        And, of each column, the `cover` nearest rows that are not 0 there: where a column is rare, the
        weight of the example's own depends on them, however far from the margin they are.
        """
        rows = self.nearest[: self.n_free + n_rows]
        if cover > 0:
            rows = np.union1d(rows, self._covering(cover))
        return self.of_rows(rows)

    def _covering(self, count: int) -> NDArray[np.intp]:
        """Return rows that together have so many numbers other than 0 in each column, nearest first."""
        among = self.nearest[: _COVER_AMONG * self.size]
        filled = dense_rows(self.optimum.problem, among) != 0.0
        is_wanted = (filled & (np.cumsum(filled, axis=0) <= count)).any(axis=1)
        return np.asarray(among[is_wanted])

    def of_rows(self, chosen: NDArray[np.intp]) -> RowsNearMargin:
        """Return the band of these rows."""
        optimum, problem = self.optimum, self.optimum.problem
        chosen = np.sort(chosen)
        table = dense_rows(problem, chosen)
        held = self.of_dual - np.einsum("ij,i->j", table, self.pull[chosen])
        outside = np.ones(problem.rows.n_rows, dtype=bool)
        outside[chosen] = False
        core = Band(
            table,
            self.sign[chosen],
            problem.cost[chosen],
            optimum.alpha[chosen],
            optimum.agreements[chosen],
            self.w,
            optimum.b if self.has_free_offset else 0.0,
            held,
            float(self.pull[outside].sum()),
            float(self.gaps[outside].sum()),
            optimum.objective,
            self.offset_reach,
            self.has_free_offset,
        )
        place = np.full(problem.rows.n_rows, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)
        return RowsNearMargin(core, chosen, place)
