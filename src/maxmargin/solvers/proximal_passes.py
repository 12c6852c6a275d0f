"""The passes of the semismooth Newton method as kernels of `rows.reduce`.

The kernels of a step are given the row vectors sign, cost, anchor, excess and change, in this order; the
core's header ``proximal_passes.hpp`` says what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.rows import Array
from maxmargin.rows.joins import AddsArrays, JoinsNothing

__all__ = [
    "CountShort",
    "Direction",
    "Excess",
    "FirstAnchors",
    "Move",
    "Moved",
    "Multipliers",
    "Slopes",
    "WithinCosts",
]


@dataclass(frozen=True)
class Excess(JoinsNothing):
    """Fill excess with s(x·w + b) − 1."""

    w: Array
    b: float

    writes = (1,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, excess = pieces
        _core.proximal_excess(block, self.w, self.b, sign, excess, token)


@dataclass(frozen=True, eq=False)
class Moved:
    """What a move found: see `ProximalSums` of the core; v holds changes, gram the free rows."""

    loss: float
    alpha: float
    balance: float
    gap: float
    moved: float
    free: int
    v: Array
    gram: Array


@dataclass(frozen=True, eq=False)
class Move:
    """Move the excesses by `step` of their change, with the anchors and the stiffness renewed if asked."""

    step: float
    before: float
    after: float
    anchor: bool
    shift: Array | None

    @property
    def writes(self) -> tuple[int, ...]:
        return (2, 3) if self.anchor else (3,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Moved:
        d = block.n_columns
        v, gram = np.zeros(d), np.zeros((d + 1, d + 1))
        sign, cost, anchor, excess, change = pieces
        settings = self.step, self.before, self.after, anchor if self.anchor else None, self.shift
        sums = _core.proximal_move(block, *settings, sign, cost, anchor, excess, change, v, gram, token)
        return Moved(sums.loss, sums.alpha, sums.balance, sums.gap, sums.moved, sums.free, v, gram)

    def merge(self, first: Moved, second: Moved) -> Moved:
        first.v.__iadd__(second.v)
        first.gram.__iadd__(second.gram)
        return Moved(
            first.loss + second.loss,
            first.alpha + second.alpha,
            first.balance + second.balance,
            first.gap + second.gap,
            first.moved + second.moved,
            first.free + second.free,
            first.v,
            first.gram,
        )


@dataclass(frozen=True, eq=False)
class Direction(AddsArrays):
    """Fill change with s(x·dw + db); return the slopes of the rows' terms at some steps along it."""

    dw: Array
    db: float
    stiffness: float
    steps: Array

    writes = (4,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, cost, anchor, excess, change = pieces
        slopes = np.zeros(len(self.steps))
        _core.proximal_direction(
            block,
            self.dw,
            self.db,
            self.stiffness,
            self.steps,
            sign,
            cost,
            anchor,
            excess,
            change,
            slopes,
            token,
        )
        return slopes


@dataclass(frozen=True, eq=False)
class Slopes(AddsArrays):
    """The slopes alone: no row is read."""

    stiffness: float
    steps: Array

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        _, cost, anchor, excess, change = pieces
        slopes = np.zeros(len(self.steps))
        _core.proximal_slopes(self.stiffness, self.steps, cost, anchor, excess, change, slopes)
        return slopes


@dataclass(frozen=True)
class Multipliers(JoinsNothing):
    """Fill alpha with the multipliers of the rows."""

    stiffness: float

    writes = (3,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        cost, anchor, excess, alpha = pieces
        _core.proximal_alpha(self.stiffness, cost, anchor, excess, alpha)


@dataclass(frozen=True)
class CountShort:
    """Count the rows whose excess is below a number."""

    below: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        (excess,) = pieces
        return int(np.count_nonzero(excess < self.below))

    def merge(self, first: int, second: int) -> int:
        return first + second


@dataclass(frozen=True)
class FirstAnchors(JoinsNothing):
    """Fill anchor with one share of the cost for each class; row vectors: sign, cost, anchor."""

    positive: float
    negative: float

    writes = (2,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, cost, anchor = pieces
        np.multiply(np.where(sign > 0, self.positive, self.negative), cost, out=anchor)


@dataclass(frozen=True)
class WithinCosts(JoinsNothing):
    """Fill anchor with numbers given, cut off at the costs; row vectors: given, cost, anchor."""

    writes = (2,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        given, cost, anchor = pieces
        np.minimum(given, cost, out=anchor)
