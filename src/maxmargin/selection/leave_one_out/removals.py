"""Left-out agreements of the hinge on rows with very many columns, from the products of rows with each other.

When an example leaves, the duals of the free rows and the roles of some tens of rows near the margin change,
and nothing else does. How the near rows answer to each other is one matrix, made once from their products;
an example is then left out by a few small systems. What comes out is certified on all rows that could matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, NearRows, RemovalPath, Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.targets import BinaryTargets
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.bands import Bands, side_by_side
from maxmargin.selection.leave_one_out.cases import (
    TIE,
    HingeCases,
    LeftOutAgreements,
    rounding_of_agreements,
    sides,
)
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum, gap_of
from maxmargin.selection.leave_one_out.record import Reason

__all__ = ["NearSystem", "follow_out", "is_path_short", "solve_near", "with_independent_free_rows"]


# Rows besides the free ones, in units of these, and at least so many: a first system, and a larger one for
# what that leaves open.
_SIZES = ((0.4, 500), (1.5, 2_000))
_MOST_NEAR = 9_000  # rows of a system: its matrix takes 650 MB, and as much again while it is made
_WORTH_A_SYSTEM = 8  # examples that are left open: for fewer, the larger system costs more than it saves
_PIECE = 24  # examples per call of the kernels: their columns are made together
_ENOUGH = 1e-10  # of the objective: the gap of an agreement that counts as exact


def solve_near(
    found: LeftOutAgreements,
    optimum: HingeOptimum,
    token: StopToken,
    threads: int,
    watch: Callable[[int], Any] | None,
    *,
    signs_only: bool,
) -> NDArray[np.intp]:
    """Note the left-out agreements of as many examples as the near rows decide; return the others."""
    left = np.arange(found.groups.size)
    bands = Bands(optimum, token)
    for width, fewest in _SIZES:
        n_near = min(bands.n_free + max(int(width * bands.n_free), fewest), _MOST_NEAR)
        if n_near <= bands.n_free or (bands.n_free == 0 and bands.has_free_offset):
            break
        system = NearSystem(bands, n_near)
        try:
            if not system.make(token):
                break
        except Stopped:
            break
        left = _solve_on(system, found, left, token, threads, watch, signs_only=signs_only)
        if left.size < _WORTH_A_SYSTEM or token.stopped or n_near >= min(_MOST_NEAR, system.n_rows):
            break
    return left


def _solve_on(
    system: NearSystem,
    found: LeftOutAgreements,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
    watch: Callable[[int], Any] | None,
    *,
    signs_only: bool,
) -> NDArray[np.intp]:
    """Leave examples out on one system; return those that remain open."""
    optimum = system.optimum
    enough = max(_ENOUGH * optimum.objective, 4.0 * optimum.gap)
    # Rows that are not near come first: their columns are made a piece at a time, so a piece should be full.
    order = left[np.argsort(system.place[found.groups[left]] >= 0, kind="stable")]
    is_open = np.ones(order.size, dtype=bool)

    def work(piece: int) -> None:
        if token.poll():
            return
        chosen = np.arange(piece * _PIECE, min((piece + 1) * _PIECE, order.size))
        some = order[chosen]
        rows, new_costs = found.groups[some].astype(np.int64), found.new_costs[some]
        try:
            changes, offsets, solved = system.leave_out(rows, new_costs, token)
            agreements, gaps, errors = system.prove(rows, new_costs, changes, offsets, token)
        except Stopped:
            return
        for k in np.flatnonzero(solved):
            found.note(some[k], agreements[k], gaps[k], errors[k])
        bounds = found.bounds[some]
        is_known = bounds < np.abs(found.agreements[some]) if signs_only else gaps <= enough
        is_open[chosen] = ~(solved & is_known & (bounds < np.inf))
        if watch is not None:
            watch(int(np.count_nonzero(~is_open[chosen])))

    side_by_side(work, -(-order.size // _PIECE), threads)
    return np.sort(order[is_open])


# ------------------------------------------------------------------------------------------------
# The rows near the margin of a hinge fit as one system of equations, from which examples are left out.


class NearSystem:
    """The free rows and those next to them, so many in all; and proofs that read all rows.

    Attributes
    ----------
    optimum : HingeOptimum
    n_near, n_rows : int
        Rows of the system, and rows that cost anything.
    place : int64 row vector
        The place of each row among the near ones; −1 elsewhere.
    """

    def __init__(self, bands: Bands, n_near: int) -> None:
        optimum, problem = bands.optimum, bands.optimum.problem
        live = bands.nearest[problem.cost[bands.nearest] > 0]
        self.n_rows = live.size
        self.n_near = min(n_near, live.size)
        near, far = live[: self.n_near], live[self.n_near :]
        self.place = np.full(problem.rows.n_rows, -1, dtype=np.int64)
        self.place[near] = np.arange(self.n_near)
        distance = np.abs(1.0 - optimum.agreements)
        distance[bands.gaps > 0] = 0.0  # on the wrong side of the margin for its dual: always looked at
        far = far[np.argsort(distance[far], kind="stable")]
        order = np.concatenate([near, far]).astype(np.int64)
        norm2, largest = problem.rows.norms()
        is_free = problem.offset.is_free
        self.optimum = optimum
        self._balance = float(bands.signed_alpha.sum())
        difference = bands.w - bands.of_dual
        self._residual2 = float((difference * difference).sum())
        self._core = NearRows(
            _in_place(optimum),
            problem.sign,
            problem.cost,
            optimum.alpha,
            optimum.agreements,
            order,
            distance[order],
            self.n_near,
            bands.n_free,
            self._balance if is_free else 0.0,
            float(norm2[near].mean()) if is_free else problem.offset.square,
            is_free,
            float(np.sqrt(largest)),
        )

    def make(self, token: StopToken) -> bool:
        """Set up the equations; False if the free rows are dependent."""
        return self._core.make(token)

    def leave_out(
        self, rows: NDArray[np.int64], new_costs: Array, token: StopToken
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the changes of the duals and of the offset, and for which examples this converged."""
        changes, offset_changes = np.zeros((rows.size, self.n_near + 1)), np.zeros(rows.size)
        solved = np.zeros(rows.size, dtype=bool)
        self._core.remove(rows, new_costs, changes, offset_changes, solved, token)
        return changes, offset_changes, solved

    def prove(
        self, rows: NDArray[np.int64], new_costs: Array, changes: Array, offsets: Array, token: StopToken
    ) -> tuple[Array, Array, Array]:
        """Return agreements, gaps, and how far the offset may be from the middle of the best ones."""
        values = np.zeros((rows.size, 7))
        self._core.prove(rows, new_costs, changes, offsets, values, token)
        agreements, gaps, moved, length2, error, below, above = values.T
        optimum = self.optimum
        problem = optimum.problem
        gaps = gaps + 0.5 * self._residual2
        if not problem.offset.is_free:
            return agreements, gaps, np.zeros(rows.size)
        balance = np.abs(self._balance + moved)
        gaps = self._with_balance(gaps, balance, offsets, length2)
        rounding = 4.0 * problem.rows.n_rows * np.finfo(float).eps * problem.class_costs.total
        is_between = np.minimum(below, above) > balance + rounding
        return agreements, gaps, np.where(is_between, error, np.inf)

    def _with_balance(self, gaps: Array, balance: Array, offsets: Array, length2: Array) -> Array:
        """Return the gaps including the cost of Σ sα′ ≠ 0, as `gap_of` does."""
        optimum = self.optimum
        largest = optimum.problem.rows.norms()[1]
        b = np.abs(optimum.b + offsets)
        scores = float(np.abs(optimum.agreements).max(initial=0.0)) + abs(optimum.b)
        slope = balance * np.sqrt(2.0 * largest)
        constant = gaps + balance * (b + scores + np.sqrt(length2 * largest) + 1.0)
        root = 0.5 * (slope + np.sqrt(slope * slope + 4.0 * constant))
        return np.asarray(root * root)


def _in_place(optimum: HingeOptimum) -> Block:
    """Return all rows in a storage that is read where it is: other number types are converted."""
    rows = optimum.problem.rows
    assert isinstance(rows, MemoryRows)
    if rows.X.dtype in (np.float32, np.float64) and (rows.n_columns < 2 or _is_by_rows(rows.X)):
        return rows.whole
    X = rows.X.astype(np.float64)
    return MemoryRows(np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X).whole


def _is_by_rows(X: Any) -> bool:
    return not isinstance(X, np.ndarray) or X.strides[1] == X.itemsize


# ------------------------------------------------------------------------------------------------
# Following examples out: the exact left-out optimum, step by step, for problems of moderate size.

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
    few = problem.part(free)
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
        has_free_offset=problem.offset.is_free,
        n_watched=free.size,
    )
    moved = path.alpha()
    if np.array_equal(moved, start):
        return optimum
    alpha = optimum.alpha.copy()
    alpha[free] = moved
    gap = gap_of(problem, optimum.w, optimum.b, optimum.scores, alpha)
    # With columns of very different sizes, rounding may have made it worse.
    is_as_good = gap <= max(2.0 * optimum.gap, 1e-12 * optimum.objective)
    return replace(optimum, alpha=alpha, gap=gap) if is_as_good else optimum


def follow_out(
    cases: HingeCases,
    which: NDArray[np.intp],
    token: StopToken,
    threads: int,
    *,
    to_the_end: bool,
    report: Callable[[int], Any],
) -> None:
    """Follow some cases until they are out; `report` is called with the number of cases done.

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
        unsure = ~is_out & (sides(agreement + bound, cases.rounding[order[piece]]) != -1)
        if unsure.any():  # to the end, then
            again = order[piece][unsure]
            to_the_end = np.full(again.size, -np.inf)
            agreement[unsure], bound[unsure], is_out[unsure] = paths.follow(cases, again, to_the_end, token)
        surely = ~is_out & ~unsure
        cases.decide_wrong(order[piece][surely], agreement[surely] + bound[surely], Reason.FOLLOWED)
        cases.settle(order[piece][is_out], agreement[is_out], bound[is_out], Reason.FOLLOWED)
        report(len(order[piece]))

    side_by_side(follow, len(pieces), threads)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The kernel, which has the rows in the order of their distance from the margin."""

    kernel: RemovalPath
    place: NDArray[np.int64]  # of each row in that order

    def follow(
        self, cases: HingeCases, which: NDArray[np.intp], stop_below: Array, token: StopToken
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
    near = replace(problem, rows=problem.rows.subset(order), targets=BinaryTargets(sign, cost))
    products = products_of(near, token, threads)
    signed = problem.sign * optimum.alpha
    difference = optimum.w - problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
    residual2 = float((difference * difference).sum())
    if not problem.offset.is_free:
        residual2 += 2.0 * problem.offset.gap(optimum.b, float(signed.sum()), 0.0)
    is_free = problem.offset.is_free
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


# ------------------------------------------------------------------------------------------------
# Products of all rows with each other, for problems so small that this is the cheapest way to know them.


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
