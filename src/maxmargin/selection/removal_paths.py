"""Following examples out: the exact left-out optimum, step by step, for problems of moderate size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import RemovalPath, StopToken
from maxmargin.problem import Problem
from maxmargin.results.leave_one_out import Reason
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine
from maxmargin.selection.cases import Cases
from maxmargin.selection.hinge_optimum import HingeOptimum, gap_of
from maxmargin.selection.row_products import products_of, side_by_side
from maxmargin.selection.verdicts import TIE, rounding_of_agreements

__all__ = ["follow_out", "is_path_short", "with_independent_free_rows"]

_MOST_ROWS = 4_000  # the products of all pairs take 8 n² bytes
_ROWS_PER_COLUMN = 30  # with more, certificates of the sign are quicker; but not for
_FEW_ROWS = 500
_MOST_FREE_ROWS = 2_000
_AT_A_TIME = 16  # examples per piece of work
_NEAR = 0.5  # from the margin: rows that may reach it while an example leaves; others are looked at after


def is_path_short(problem: Problem) -> bool:
    """Return whether following examples out is the quickest way, as measured."""
    n_rows = problem.rows.n_rows
    return n_rows <= _FEW_ROWS or n_rows <= min(_MOST_ROWS, _ROWS_PER_COLUMN * (problem.rows.n_columns + 1))


def with_independent_free_rows(optimum: HingeOptimum, token: StopToken, threads: int) -> HingeOptimum:
    """Return the same optimum with a dual point whose free rows are independent.

    The duals of an optimum need not be unique; a method may end in the middle of all of them. Moving
    dependent rows to their bounds leaves the weights as they are and lets more rows be no support vectors.
    """
    problem = optimum.problem
    free = np.flatnonzero(optimum.is_free)
    if not 0 < free.size <= _MOST_FREE_ROWS:
        return optimum
    few = replace(problem, rows=problem.rows.subset(free), sign=problem.sign[free], cost=problem.cost[free])
    start = np.ascontiguousarray(optimum.alpha[free])
    products = products_of(few, token, threads)
    path = RemovalPath(
        products.matrix,
        few.sign,
        few.cost,
        start,
        np.ones(free.size),
        b=0.0,
        constant=products.constant,
        residual2=0.0,
        rounding=np.zeros(free.size),
        product_error=products.error,
        has_free_offset=problem.offset.kind == "free",
        n_watched=free.size,
    )
    moved = path.alpha()
    if np.array_equal(moved, start):
        return optimum
    alpha = optimum.alpha.copy()
    alpha[free] = moved
    gap = gap_of(problem, optimum.w, optimum.b, optimum.scores, alpha)
    # Rounding may have cost more than it is worth, where columns have very different sizes.
    is_as_good = gap <= max(2.0 * optimum.gap, 1e-12 * optimum.objective)
    return replace(optimum, alpha=alpha, gap=gap) if is_as_good else optimum


def follow_out(
    cases: Cases,
    which: NDArray[np.intp],
    token: StopToken,
    threads: int,
    *,
    to_the_end: bool,
    tell: Callable[[int], Any],
) -> None:
    """Follow some cases until they are out; `tell` hears how many are done.

    One that is surely wrong is left there, unless `to_the_end` asks for its left-out agreement. Cases whose
    path is lost stay as they are. A stop leaves those that were not reached.
    """
    if which.size == 0:
        return
    paths = _open(cases.optimum, token, threads)
    order = which[np.argsort(cases.optimum.agreements[cases.group[which]], kind="stable")]
    stop_below = np.full(order.size, -np.inf)
    if not to_the_end:
        expected = max(cases.optimum.gap, 1e-15 * cases.optimum.objective)
        stop_below = -(10.0 * TIE + 4.0 * cases.reach(order, expected))
    pieces = [slice(start, start + _AT_A_TIME) for start in range(0, order.size, _AT_A_TIME)]

    def follow(number: int) -> None:
        piece = pieces[number]
        agreement, bound, is_out = paths.follow(cases, order[piece], stop_below[piece], token)
        unsure = ~is_out & (agreement >= -np.maximum(bound, TIE))
        if unsure.any():  # all the way, then
            again = order[piece][unsure]
            to_the_end = np.full(again.size, -np.inf)
            agreement[unsure], bound[unsure], is_out[unsure] = paths.follow(cases, again, to_the_end, token)
        cases.decide(order[piece][~is_out & ~unsure], -1, Reason.FOLLOWED)
        known = is_out
        cases.settle(order[piece][known], agreement[known], bound[known], Reason.FOLLOWED)
        tell(len(order[piece]))

    side_by_side(follow, len(pieces), threads)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The kernel, which has the rows in the order of their distance from the margin."""

    kernel: RemovalPath
    place: NDArray[np.int64]  # of each row in that order

    def follow(
        self, cases: Cases, which: NDArray[np.intp], stop_below: Array, token: StopToken
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return agreements, bounds of their errors, and which rows are out."""
        agreement, bound = np.empty(which.size), np.empty(which.size)
        is_out = np.empty(which.size, dtype=bool)
        rows = self.place[cases.group[which]]
        self.kernel.follow(rows, cases.new_cost[which], stop_below, agreement, bound, is_out, token)
        return agreement, bound, is_out


def _open(optimum: HingeOptimum, token: StopToken, threads: int) -> _Paths:
    problem = optimum.problem
    distance = np.abs(optimum.agreements - 1.0)
    order = np.argsort(distance, kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    sign, cost = problem.sign[order], problem.cost[order]
    near = replace(problem, rows=problem.rows.subset(order), sign=sign, cost=cost)
    products = products_of(near, token, threads)
    signed = problem.sign * optimum.alpha
    difference = optimum.w - problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
    residual2 = float((difference * difference).sum())
    if problem.offset.kind == "penalized":
        scale = problem.offset.scale
        residual2 += (optimum.b / scale - scale * float(signed.sum())) ** 2
    is_free = problem.offset.kind == "free"
    kernel = RemovalPath(
        products.matrix,
        near.sign,
        near.cost,
        optimum.alpha[order],
        optimum.agreements[order],
        b=optimum.b if is_free else 0.0,
        constant=products.constant,
        residual2=residual2,
        rounding=rounding_of_agreements(problem, optimum.w, optimum.b)[order],
        product_error=products.error,
        has_free_offset=is_free,
        n_watched=int(np.count_nonzero(distance <= _NEAR)),
    )
    return _Paths(kernel, place)
