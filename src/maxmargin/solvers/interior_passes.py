"""The interior point's passes over the rows, as kernels of `rows.reduce`.

The arithmetic and its formulas are in the compiled core; here each pass gets a record that can be joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.rows import Array
from maxmargin.rows.joins import AddsNumbers

__all__ = [
    "Correct",
    "LeastProducts",
    "Move",
    "PointRecord",
    "Predict",
    "Refine",
    "SmoothSlope",
    "StepRecord",
]


_PREDICTOR = (6,)  # where δα is among the predictor's vectors
_DIRECTION = (6, 7, 8)
_REFINED = (9, 10, 11)


def _three(pieces: list[NDArray[Any]]) -> tuple[Array, Array, Array]:
    alpha, t, xi = pieces
    return alpha, t, xi


def _four(pieces: list[NDArray[Any]]) -> tuple[Array, Array, Array, Array]:
    alpha, beta, t, xi = pieces
    return alpha, beta, t, xi


@dataclass(eq=False)
class PointRecord:
    """Sums at a point: the five numbers of the core's PointSums, right-hand sides, and the matrix."""

    loss: float
    gap: float
    dual: float
    balance: float
    complementarity: float
    pull: Array
    push: Array
    matrix: Array | None


@dataclass(frozen=True)
class Move:
    """Move every row to the point (w, offset), along a direction or (`mu`) onto the central path.

    Row vectors: sign, cost, the new α, the state α, β, t, ξ, and the direction's three. All of the state is
    rewritten but α, which has its new place.
    """

    w: Array
    offset: float
    step: float = 0.0
    mu: float | None = None
    shift: Array | None = None
    with_matrix: bool = True

    writes = (2, 4, 5, 6)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> PointRecord:
        sign, cost, new_alpha, *numbers = pieces
        size = self.w.shape[0] + 1
        pull, push = np.zeros(size), np.zeros(size)
        matrix = np.zeros((size, size)) if self.with_matrix else None
        along = _three(numbers[4:]) if self.mu is None else None
        after = (new_alpha, *_three(numbers[1:4]))
        found = _core.interior_move(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            along,
            self.step,
            self.mu if self.mu is not None else 0.0,
            self.w,
            self.offset,
            after,
            pull,
            push,
            matrix,
            self.shift,
            token,
        )
        return PointRecord(
            found.loss, found.gap, found.dual, found.balance, found.complementarity, pull, push, matrix
        )

    def merge(self, first: PointRecord, second: PointRecord) -> PointRecord:
        first.loss += second.loss
        first.gap += second.gap
        first.dual += second.dual
        first.balance += second.balance
        first.complementarity += second.complementarity
        first.pull += second.pull
        first.push += second.push
        if first.matrix is not None and second.matrix is not None:
            first.matrix += second.matrix
        return first


@dataclass(eq=False)
class StepRecord:
    """How long a step may be, what it does to Σ αt + βξ, and the next right-hand sides."""

    largest_ratio: float
    first: float
    second: float
    sides: tuple[Array, ...]

    def merged(self, other: StepRecord) -> StepRecord:
        for mine, theirs in zip(self.sides, other.sides, strict=True):
            mine += theirs
        self.largest_ratio = max(self.largest_ratio, other.largest_ratio)
        self.first += other.first
        self.second += other.second
        return self


@dataclass(frozen=True)
class Predict:
    """The predictor. Row vectors: sign, cost, the state's four, and δα, which is written."""

    dw: Array
    offset: float

    writes = _PREDICTOR

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> StepRecord:
        sign, cost, *numbers = pieces
        centring, second_order = np.zeros(self.dw.shape[0] + 1), np.zeros(self.dw.shape[0] + 1)
        found = _core.interior_predict(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            self.dw,
            self.offset,
            numbers[4],
            centring,
            second_order,
            token,
        )
        return StepRecord(found.largest_ratio, found.first, found.second, (centring, second_order))

    def merge(self, first: StepRecord, second: StepRecord) -> StepRecord:
        return first.merged(second)


@dataclass(frozen=True)
class Correct:
    """The corrector. Row vectors: sign, cost, the state's four, the direction's three.

    The first of the direction holds the predictor's δα; all three are overwritten.
    """

    dw: Array
    offset: float
    target: float
    trial: float

    writes = _DIRECTION

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> StepRecord:
        sign, cost, *numbers = pieces
        pull_back = np.zeros(self.dw.shape[0] + 1)
        found = _core.interior_correct(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            self.dw,
            self.offset,
            _three(numbers[4:]),
            self.target,
            self.trial,
            pull_back,
            token,
        )
        return StepRecord(found.largest_ratio, found.first, found.second, (pull_back,))

    def merge(self, first: StepRecord, second: StepRecord) -> StepRecord:
        return first.merged(second)


@dataclass(frozen=True)
class Refine:
    """One of Gondzio's correctors. Row vectors: as for the corrector, then three for the new direction."""

    dw: Array
    offset: float
    target: float
    trial: float
    next_trial: float

    writes = _REFINED

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> StepRecord:
        sign, cost, *numbers = pieces
        pull_back = np.zeros(self.dw.shape[0] + 1)
        found = _core.interior_refine(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            self.dw,
            self.offset,
            _three(numbers[4:7]),
            _three(numbers[7:]),
            self.target,
            self.trial,
            self.next_trial,
            pull_back,
            token,
        )
        return StepRecord(found.largest_ratio, found.first, found.second, (pull_back,))

    def merge(self, first: StepRecord, second: StepRecord) -> StepRecord:
        return first.merged(second)


@dataclass(frozen=True)
class LeastProducts:
    """The smallest product after each of some steps, as a share of its mean product times c.

    Row vectors as for the corrector.
    """

    steps: Array
    means: Array

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, cost, *numbers = pieces
        least = np.full(self.steps.shape, np.inf)
        state, along = _four(numbers[:4]), _three(numbers[4:])
        _core.interior_least_products(sign, cost, state, along, self.steps, self.means, least)
        return least

    def merge(self, first: Array, second: Array) -> Array:
        return np.minimum(first, second)


@dataclass(frozen=True)
class SmoothSlope(AddsNumbers):
    """The slope of the smoothed loss at a step. Row vectors: sign, cost, the state's four, scores' change."""

    step: float
    mu: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, *numbers = pieces
        state = _four(numbers[:4])
        return _core.interior_smooth_slope(sign, cost, state, numbers[4], self.step, self.mu)
