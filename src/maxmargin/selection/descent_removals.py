"""Leaving examples out of a hinge fit on rows with very many columns, by descent in the dual."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken, decide_by_descent
from maxmargin.rows import Array, MemoryRows
from maxmargin.selection.bands import Bands
from maxmargin.selection.hinge_optimum import HingeOptimum
from maxmargin.selection.row_products import side_by_side

__all__ = ["decide_by_descents"]

_PIECE = 8  # examples per call of the kernel
_FEWEST = 500  # rows that may move


def decide_by_descents(
    optimum: HingeOptimum,
    groups: NDArray[np.intp],
    new_costs: Array,
    token: StopToken,
    threads: int,
    decisions: NDArray[np.int8],
) -> None:
    """Write +1 for examples that are right for certain when left out."""
    problem, bands = optimum.problem, Bands(optimum, token)
    block = _in_place(optimum)
    norm2, _ = problem.rows.norms()
    columns = problem.rows.n_columns
    free = problem.offset.kind == "free"
    square = float(norm2.mean()) if free else problem.offset.square
    # What a fit's own inexactness leaves of r at the start; of a free offset, how far Σ sα is from 0.
    residual = np.ascontiguousarray((bands.w - bands.of_dual)[:columns])
    tail = -math.sqrt(square) * float(bands.pull.sum()) if free else 0.0
    if problem.offset.kind == "penalized":
        tail = float(bands.w[-1] - bands.of_dual[-1])
    candidates = _candidates(bands)

    def work(piece: int) -> None:
        if token.poll():
            return
        chosen = slice(piece * _PIECE, (piece + 1) * _PIECE)
        decided = np.zeros(groups[chosen].size, dtype=np.int8)
        try:
            decide_by_descent(
                block,
                problem.sign,
                problem.cost,
                optimum.alpha,
                optimum.agreements,
                norm2,
                residual,
                tail,
                square,
                free,
                float(bands.gaps.sum()),
                optimum.objective,
                bands.offset_reach,
                candidates,
                groups[chosen].astype(np.int64),
                np.ascontiguousarray(new_costs[chosen]),
                decided,
                token,
            )
        finally:
            decisions[chosen] = decided

    side_by_side(work, -(-groups.size // _PIECE), threads)


def _candidates(bands: Bands) -> NDArray[np.uint32]:
    """Return the free rows, or a few of those nearest to the margin where hardly any is free.

    In random order: rows are often sorted by class, and descent that sees one class after the other hardly
    moves.
    """
    n_rows = min(max(bands.n_free, _FEWEST), bands.nearest.size)
    return np.random.default_rng(0).permutation(bands.nearest[:n_rows]).astype(np.uint32)


def _in_place(optimum: HingeOptimum) -> Block:
    """Return all rows in a storage that descent reads where it is: other number types are converted."""
    rows = optimum.problem.rows
    assert isinstance(rows, MemoryRows)
    if rows.X.dtype in (np.float32, np.float64) and (rows.n_columns < 2 or _is_by_rows(rows.X)):
        return rows.whole
    X = rows.X.astype(np.float64)
    return MemoryRows(np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X).whole


def _is_by_rows(X: Any) -> bool:
    return not isinstance(X, np.ndarray) or X.strides[1] == X.itemsize
