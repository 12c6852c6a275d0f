"""The rows near the margin of a hinge fit as one system of equations, from which examples are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, NearRows, StopToken
from maxmargin.rows import Array, MemoryRows
from maxmargin.selection.bands import Bands
from maxmargin.selection.hinge_optimum import HingeOptimum

__all__ = ["NearSystem"]


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
        is_free = problem.offset.kind == "free"
        self.optimum = optimum
        self._balance = float(bands.pull.sum())
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
        """Return the changes of the duals and of the offset, and which examples came to rest."""
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
        if problem.offset.kind != "free":
            return agreements, gaps, np.zeros(rows.size)
        balance = np.abs(self._balance + moved)
        gaps = self._with_balance(gaps, balance, offsets, length2)
        rounding = 4.0 * problem.rows.n_rows * np.finfo(float).eps * problem.class_costs.total
        is_between = np.minimum(below, above) > balance + rounding
        return agreements, gaps, np.where(is_between, error, np.inf)

    def _with_balance(self, gaps: Array, balance: Array, offsets: Array, length2: Array) -> Array:
        """Return the gaps with Σ sα′ ≠ 0 paid for, as `gap_of` does."""
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
