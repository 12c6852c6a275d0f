"""The rows near the margin of a hinge fit, in one table, for thousands of small problems on them.

When one example leaves, the optimum moves a little, and only rows near the margin are affected. The duals of
all others are fixed: what they add to the weights, to Σ sα and to the duality gap is summed up once. A
penalised offset is one more column, of the value `scale`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Band, StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Helpers, results_of
from maxmargin.rows.kernels import Combine
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum

__all__ = ["MOST_COLUMNS", "Bands", "RowsNearMargin", "decide_by_certificates", "dense_rows", "side_by_side"]


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
        self.signed_alpha: Array = self.sign * optimum.alpha
        self.has_free_offset = problem.offset.is_free
        of_dual = problem.rows.reduce(Combine(problem.rows.n_columns), self.signed_alpha, token=token)
        self.w = problem.offset.augment_weights(optimum.w, optimum.b)
        self.of_dual = problem.offset.augment_dual_weights(of_dual, self.signed_alpha.sum())
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
        """Return a bound on the size of the offsets that matter.

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
        held = self.of_dual - np.einsum("ij,i->j", table, self.signed_alpha[chosen])
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
            float(self.signed_alpha[outside].sum()),
            float(self.gaps[outside].sum()),
            optimum.objective,
            self.offset_reach,
            self.has_free_offset,
        )
        place = np.full(problem.rows.n_rows, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)
        return RowsNearMargin(core, chosen, place)


def side_by_side(work: Callable[[int], None], count: int, threads: int) -> None:
    """Call work(0) … work(count − 1) on several threads, this one among them; the first error is raised.

    This thread works too, because only the main thread receives Ctrl-C.
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
            for _ in numbers:  # so that the other threads begin nothing
                pass
            raise
        results_of(others)


# ------------------------------------------------------------------------------------------------
# Examples that are certainly right when they are left out, without fitting anything without them.
#
# If some (w, b) with s_g(x_g·w + b) ≤ 0 were as good for the left-out problem as the full fit is, every lower
# bound on such points would be below the full fit's value L(w, b) there. A dual point α' of the left-out
# problem and a multiplier μ ≥ 0 of that constraint give such a bound, and
#
#     bound − L(w, b) = μ m_g − ½‖w − w(α') + μ s_g x_g‖² − Σ (share of the gap of every row at α'),
#
# in which nothing cancels and the gap of the full fit is included. If it is positive, the example is
# right in every optimum of the left-out problem. Only rows near the margin cost little there, so α' is looked
# for on a band of them, small bands first.

# Rows of the bands besides the free ones, in units of the columns; and how often they cover every column.
_BANDS = ((0.0, 0), (0.5, 4), (2.5, 10))
_REACH = 6.0  # cost of the constraint, in units of the dual that leaves
_MAX_STEPS = 25
_PIECE = 32  # examples per call of the kernel
_PORTION = 256  # examples after which a band is judged
_PAYS = 0.4  # the share of them that it must decide to go on


def decide_by_certificates(
    optimum: HingeOptimum,
    groups: NDArray[np.intp],
    new_costs: Array,
    token: StopToken,
    threads: int,
    decisions: NDArray[np.int8] | None = None,
) -> NDArray[np.int8]:
    """Return +1 for examples that are right for certain when left out, 0 for the undecided.

    Parameters
    ----------
    optimum : HingeOptimum
        A full fit on distinct rows; how tight it is only decides how much can be certified.
    groups : array
        The row of each example.
    new_costs : array
        What that row still costs without the example.
    token : StopToken
        When it says stop, the examples that are left stay undecided.
    decisions : array, optional
        Where to write, so that Ctrl-C leaves what was decided.
    """
    groups = np.asarray(groups, dtype=np.intp)
    if decisions is None:
        decisions = np.zeros(groups.size, dtype=np.int8)
    bands = Bands(optimum, token)
    examples = _Examples(groups, new_costs, decisions)
    left = np.flatnonzero(optimum.agreements[groups] > 0.0)
    for width, cover in _BANDS:
        # With few free rows, a band of them alone is too small to decide anything.
        n_rows = max(int(width * bands.size), bands.size - bands.n_free)
        band = bands.around(n_rows, cover)
        is_last = cover == _BANDS[-1][1] or band.chosen.size == optimum.problem.rows.n_rows
        _decide_while_it_pays(bands, band, examples, left, token, threads, is_last=is_last)
        left = left[decisions[left] == 0]
        if left.size == 0 or token.stopped or is_last:
            break
    return decisions


@dataclass(frozen=True, eq=False)
class _Examples:
    """The row of each example, what it still costs, and what is decided."""

    groups: NDArray[np.intp]
    new_costs: Array
    decisions: NDArray[np.int8]


def _decide_while_it_pays(
    bands: Bands,
    band: RowsNearMargin,
    examples: _Examples,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
    *,
    is_last: bool,
) -> None:
    """Decide on one band, the clearest examples first; what it hardly ever decides waits for a larger one."""
    order = left[np.argsort(-bands.optimum.agreements[examples.groups[left]], kind="stable")]
    for some in np.array_split(order, max(1, order.size // _PORTION)):
        _decide_on(bands, band, examples, some, token, threads)
        share = np.count_nonzero(examples.decisions[some]) / max(some.size, 1)
        if token.stopped or (share < _PAYS and not is_last):
            return


def _decide_on(
    bands: Bands,
    band: RowsNearMargin,
    examples: _Examples,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
) -> None:
    optimum = bands.optimum

    def work(piece: int) -> None:
        if token.poll():
            return
        some = left[piece * _PIECE : (piece + 1) * _PIECE]
        rows = examples.groups[some]
        decided, steps = np.zeros(some.size, np.int8), np.zeros(some.size, np.int32)
        try:
            band.core.decide(
                dense_rows(optimum.problem, rows),
                bands.sign[rows],
                optimum.alpha[rows],
                optimum.agreements[rows],
                np.ascontiguousarray(examples.new_costs[some]),
                band.place[rows],
                _REACH,
                _MAX_STEPS,
                decided,
                steps,
                token,
            )
        finally:
            examples.decisions[some] = decided

    side_by_side(work, -(-left.size // _PIECE), threads)
