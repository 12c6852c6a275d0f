"""Left-out agreements of the hinge on rows with very many columns, from the products of rows with each other.

When an example leaves, the duals of the free rows and the roles of some tens of rows near the margin change,
and nothing else does. How the near rows answer to each other is one matrix, made once from their products;
an example is then left out by a few small systems. What comes out is certified on all rows that could matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, NearRows, Stopped, StopToken
from maxmargin.rows import Array, MemoryRows
from maxmargin.selection.bands import Bands
from maxmargin.selection.hinge_optimum import HingeOptimum
from maxmargin.selection.left_out_agreements import LeftOutAgreements
from maxmargin.selection.row_products import side_by_side

__all__ = ["solve_near"]

# Rows besides the free ones, in units of these, and at least so many: a first system, and a larger one for
# what that leaves open.
_SIZES = ((0.4, 500), (1.5, 2_000))
_MOST_NEAR = 6_000  # rows of a system: its matrix takes 8 bytes a pair, and as much again while it is made
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
    """Note the left-out agreements of as many examples as the near rows can tell; return the others."""
    left = np.arange(found.groups.size)
    bands = Bands(optimum, token)
    for width, fewest in _SIZES:
        n_near = min(bands.n_free + max(int(width * bands.n_free), fewest), _MOST_NEAR)
        if n_near <= bands.n_free or (bands.n_free == 0 and bands.has_free_offset):
            break
        try:
            system = _System.near(bands, n_near, token)
        except Stopped:
            break
        if system is None:
            break
        left = _solve_on(system, found, left, token, threads, watch, signs_only=signs_only)
        if left.size < _WORTH_A_SYSTEM or token.stopped or system.is_complete:
            break
    return left


@dataclass(frozen=True, eq=False)
class _System:
    """The near rows of a fit, and what a proof needs besides."""

    core: NearRows
    bands: Bands
    place: NDArray[np.int64]  # of each row among the near ones, else −1
    n_near: int
    n_rows: int
    residual2: float  # ‖w − w(α)‖²
    balance: float

    @property
    def is_complete(self) -> bool:
        """Whether there is no larger one."""
        return self.n_near in (self.n_rows, _MOST_NEAR)

    @classmethod
    def near(cls, bands: Bands, n_near: int, token: StopToken) -> _System | None:
        """Return the system of the free rows and those next to them; None if the free ones are dependent."""
        optimum, problem = bands.optimum, bands.optimum.problem
        live = bands.nearest[problem.cost[bands.nearest] > 0]
        n_near = min(n_near, live.size)
        near, far = live[:n_near], live[n_near:]
        distance = np.abs(1.0 - optimum.agreements)
        distance[bands.gaps > 0] = 0.0
        far = far[np.argsort(distance[far], kind="stable")]
        order = np.concatenate([near, far]).astype(np.int64)
        norm2, largest = problem.rows.norms()
        is_free = problem.offset.kind == "free"
        balance = float(bands.pull.sum())
        core = NearRows(
            _in_place(optimum),
            problem.sign,
            problem.cost,
            optimum.alpha,
            optimum.agreements,
            order,
            distance[order],
            n_near,
            bands.n_free,
            balance if is_free else 0.0,
            float(norm2[near].mean()) if is_free else problem.offset.square,
            is_free,
            float(np.sqrt(largest)),
        )
        if not core.make(token):
            return None
        place = np.full(problem.rows.n_rows, -1, dtype=np.int64)
        place[near] = np.arange(n_near)
        difference = bands.w - bands.of_dual
        return cls(core, bands, place, n_near, live.size, float((difference * difference).sum()), balance)

    def leave_out(
        self, rows: NDArray[np.int64], new_costs: Array, token: StopToken
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the changes of the duals and of the offset, and which examples came to rest."""
        changes, offset_changes = np.zeros((rows.size, self.n_near + 1)), np.zeros(rows.size)
        solved = np.zeros(rows.size, dtype=bool)
        self.core.remove(rows, new_costs, changes, offset_changes, solved, token)
        return changes, offset_changes, solved

    def prove(
        self, rows: NDArray[np.int64], new_costs: Array, changes: Array, offsets: Array, token: StopToken
    ) -> tuple[Array, Array, Array]:
        """Return agreements, gaps, and how far the offset may be from the middle of the best ones."""
        values = np.zeros((rows.size, 7))
        self.core.prove(rows, new_costs, changes, offsets, values, token)
        agreements, gaps, moved, length2, error, below, above = values.T
        optimum = self.bands.optimum
        problem = optimum.problem
        gaps = gaps + 0.5 * self.residual2
        if problem.offset.kind != "free":
            return agreements, gaps, np.zeros(rows.size)
        balance = np.abs(self.balance + moved)
        gaps = self._with_balance(gaps, balance, offsets, length2)
        rounding = 4.0 * problem.rows.n_rows * np.finfo(float).eps * problem.class_costs.total
        is_between = np.minimum(below, above) > balance + rounding
        return agreements, gaps, np.where(is_between, error, np.inf)

    def _with_balance(self, gaps: Array, balance: Array, offsets: Array, length2: Array) -> Array:
        """Return the gaps with Σ sα′ ≠ 0 paid for, as `gap_of` does."""
        optimum = self.bands.optimum
        largest = optimum.problem.rows.norms()[1]
        b = np.abs(optimum.b + offsets)
        scores = float(np.abs(optimum.agreements).max(initial=0.0)) + abs(optimum.b)
        slope = balance * np.sqrt(2.0 * largest)
        constant = gaps + balance * (b + scores + np.sqrt(length2 * largest) + 1.0)
        root = 0.5 * (slope + np.sqrt(slope * slope + 4.0 * constant))
        return np.asarray(root * root)


def _solve_on(
    system: _System,
    found: LeftOutAgreements,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
    watch: Callable[[int], Any] | None,
    *,
    signs_only: bool,
) -> NDArray[np.intp]:
    """Leave examples out on one system; return those that remain open."""
    optimum = system.bands.optimum
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
