"""The passes of the crossover over numbers beside the rows, and Σ f (x, 1) of numbers made of them.

e = s(x·w + b) − 1 throughout; `offset` is what is to be added to the stored scores z = x·w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.rows import Array
from maxmargin.rows.joins import AddsArrays, AddsNumbers, JoinsNothing

__all__ = [
    "AtStake",
    "Clip",
    "ClipSlope",
    "CountFree",
    "Judge",
    "JudgeSums",
    "PullOfDuals",
    "PullOfStep",
    "Same",
    "Settle",
    "Sizes",
    "SplitRows",
    "Stakes",
]


@dataclass(frozen=True)
class Sizes:
    """Return Σ α and Σ α²."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> tuple[float, float]:
        (alpha,) = pieces
        return float(alpha.sum()), float((alpha * alpha).sum())

    def merge(self, first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
        return first[0] + second[0], first[1] + second[1]


@dataclass(frozen=True)
class SplitRows:
    """Tell free rows from others; row vectors: sign, cost, z, then α and h, which are written.

    A row counts as free if its margin is nearer to 1 than its dual, in units of c, is to 0 or c. The duals
    of the others go to the bound that is nearer. h is the unit of a free row, else 0. Returns how far the
    margins of free rows are from 1 at most.
    """

    offset: float
    unit: float

    writes = (3, 4)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, z, alpha, h = pieces
        unit = np.minimum(np.where(cost > 0, cost, 1.0), self.unit)
        e = np.abs(sign * (z + self.offset) - 1.0)
        free = np.minimum(alpha, cost - alpha) > e * unit
        alpha[:] = np.where(free, alpha, np.where(alpha > 0.5 * cost, cost, 0.0))
        h[:] = np.where(free, unit, 0.0)
        return float(e.max(initial=0.0, where=free))

    def merge(self, first: float, second: float) -> float:
        return max(first, second)


@dataclass(frozen=True)
class Clip(JoinsNothing):
    """Clip the duals at scores z; row vectors: sign, cost, z, α₀, then α and h, which are written."""

    offset: float
    stiffness: float
    unit: float

    writes = (4, 5)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, cost, z, start, alpha, h = pieces
        sigma = self.stiffness * np.minimum(cost, self.unit)
        wanted = start - sigma * (sign * (z + self.offset) - 1.0)
        np.clip(wanted, 0.0, cost, out=alpha)
        h[:] = np.where((wanted > 0.0) & (wanted < cost), sigma, 0.0)


@dataclass(frozen=True)
class ClipSlope(AddsNumbers):
    """The slope of the rounded loss along a change of the scores; row vectors: sign, cost, z, α₀, change."""

    offset: float
    stiffness: float
    unit: float
    step: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, z, start, change = pieces
        e = sign * (z + self.step * change + self.offset) - 1.0
        sigma = self.stiffness * np.minimum(cost, self.unit)
        return -float((np.clip(start - sigma * e, 0.0, cost) * (sign * change)).sum())


@dataclass(frozen=True)
class JudgeSums:
    """Of the rows: their shares of the duality gap, Σ α and Σ sα."""

    gap: float
    dual: float
    balance: float


@dataclass(frozen=True)
class Judge:
    """The sums at scores z; row vectors: sign, cost, z, α."""

    offset: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> JudgeSums:
        sign, cost, z, alpha = pieces
        e = sign * (z + self.offset) - 1.0
        gap = np.maximum(e, 0.0) * alpha + np.maximum(-e, 0.0) * (cost - alpha)
        return JudgeSums(float(gap.sum()), float(alpha.sum()), float((sign * alpha).sum()))

    def merge(self, first: JudgeSums, second: JudgeSums) -> JudgeSums:
        return JudgeSums(first.gap + second.gap, first.dual + second.dual, first.balance + second.balance)


def _combined(block: Block, coefficients: Array, token: StopToken) -> Array:
    """Return Σ f (x, 1) of a block's rows."""
    total = np.zeros(block.n_columns + 1)
    _core.multiply(block, None, None, coefficients, total[:-1], token)
    total[-1] = coefficients.sum()
    return total


@dataclass(frozen=True)
class PullOfDuals(AddsArrays):
    """Return Σ sα (x, 1); row vectors: sign, α."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, alpha = pieces
        return _combined(block, sign * alpha, token)


@dataclass(frozen=True)
class PullOfStep(AddsArrays):
    """Return Σ s(α − he)(x, 1): the pull if every free row were to come to the margin.

    Row vectors: sign, z, α, h.
    """

    offset: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, z, alpha, h = pieces
        e = sign * (z + self.offset) - 1.0
        return _combined(block, sign * (alpha - h * e), token)


@dataclass(frozen=True)
class CountFree:
    """Count the rows with h ≠ 0."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        (h,) = pieces
        return int(np.count_nonzero(h))

    def merge(self, first: int, second: int) -> int:
        return first + second


@dataclass(frozen=True)
class Same:
    """Whether two vectors are equal."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> bool:
        first, second = pieces
        return np.array_equal(first, second)

    def merge(self, first: bool, second: bool) -> bool:
        return first and second


@dataclass(frozen=True)
class Settle(JoinsNothing):
    """Move free duals and all scores by a change of the scores, of which `beyond` is the offset's.

    Row vectors: sign, cost, h, change, then α and z, which are written.
    """

    beyond: float

    writes = (4, 5)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, cost, h, change, alpha, z = pieces
        alpha -= h * (sign * change)
        np.clip(alpha, 0.0, cost, out=alpha)
        z += change
        z += self.beyond


@dataclass(frozen=True)
class Stakes:
    """The largest |z|, how far rows below their cost fall short, and what free rows could still cost."""

    largest: float
    below: float
    room: float


@dataclass(frozen=True)
class AtStake:
    """What a rounding error below the margin may cost; row vectors: sign, cost, z, α, h."""

    offset: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Stakes:
        sign, cost, z, alpha, h = pieces
        e = sign * (z + self.offset) - 1.0
        return Stakes(
            float(np.abs(z).max(initial=0.0)),
            max(-float(e.min(initial=0.0, where=alpha < cost)), 0.0),
            float((cost - alpha).sum(where=h > 0)),
        )

    def merge(self, first: Stakes, second: Stakes) -> Stakes:
        return Stakes(
            max(first.largest, second.largest), max(first.below, second.below), first.room + second.room
        )
