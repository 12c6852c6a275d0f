"""The passes of Newton's method as kernels of `rows.reduce`; the arithmetic is in the compiled core."""

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
    "AlongLine",
    "Evaluate",
    "HessianProduct",
    "LineSums",
    "OwnDuals",
    "PredictDuals",
    "Promised",
    "Sums",
]


@dataclass(frozen=True, eq=False)
class Sums:
    """Losses, slope and curvature in the offset, gradient and, if asked for, Gram matrix of some rows."""

    loss: float
    slope: float
    curvature: float
    gradient: Array
    gram: Array | None


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Read every row at (w, b): fill the scores z and the curvatures h, return the sums.

    With `gram`, the Gram matrix of the rows less `shift`, weighted by h, is added up on the way.
    """

    loss: str
    w: Array
    b: float
    gram: bool = False
    shift: Array | None = None
    single: bool = False

    writes = (2, 3)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Sums:
        sign, cost, z, h = pieces
        size = self.w.shape[0]
        gradient = np.zeros(size)
        gram = np.zeros((size + 1, size + 1)) if self.gram else None
        loss, slope, curvature = _core.newton_evaluate(
            block, self.loss, self.w, self.b, sign, cost, z, h, gradient, gram, self.shift, self.single, token
        )
        return Sums(loss, slope, curvature, gradient, gram)

    def merge(self, first: Sums, second: Sums) -> Sums:
        np.add(first.gradient, second.gradient, out=first.gradient)
        if first.gram is not None and second.gram is not None:
            np.add(first.gram, second.gram, out=first.gram)
        return Sums(
            first.loss + second.loss,
            first.slope + second.slope,
            first.curvature + second.curvature,
            first.gradient,
            first.gram,
        )


@dataclass(frozen=True, eq=False)
class HessianProduct(AddsArrays):
    """Return Σ h (x·d + e)(x, 1): the Hessian of the losses times (d, e)."""

    d: Array
    e: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (h,) = pieces
        product = np.zeros(self.d.shape[0] + 1)
        product[-1] = _core.hessian_product(block, h, self.d, self.e, product[:-1], token)
        return product


@dataclass(frozen=True)
class LineSums:
    """Losses at one point of a line, with slope and curvature along it."""

    loss: float
    slope: float
    curvature: float


@dataclass(frozen=True)
class AlongLine:
    """Sum the losses at the share t of the way from scores z, offset b, to scores `to`, offset `to_b`."""

    loss: str
    b: float
    to_b: float
    t: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> LineSums:
        z, sign, cost, to = pieces
        return LineSums(*_core.line_sums(self.loss, z, sign, cost, self.b, to, self.to_b, self.t))

    def merge(self, first: LineSums, second: LineSums) -> LineSums:
        return LineSums(
            first.loss + second.loss, first.slope + second.slope, first.curvature + second.curvature
        )


@dataclass(frozen=True)
class Promised:
    """The rows' share of the gap, by how much the promise missed, and by how much clipping changed it."""

    gap: float
    missed: float
    clipped: float


@dataclass(frozen=True)
class PredictDuals:
    """Fill α with the duals that the quadratic model at z, b promised at the scores `to`, offset `to_b`."""

    loss: str
    b: float
    to_b: float

    writes = (5,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Promised:
        z, sign, cost, h, to, alpha = pieces
        return Promised(*_core.predicted_duals(self.loss, z, sign, cost, self.b, h, to, self.to_b, alpha))

    def merge(self, first: Promised, second: Promised) -> Promised:
        return Promised(first.gap + second.gap, first.missed + second.missed, first.clipped + second.clipped)


@dataclass(frozen=True)
class OwnDuals(JoinsNothing):
    """Fill α with the duals −c ℓ′(m) of a point's own; row vectors: scores, sign, cost, α."""

    loss: str
    b: float

    writes = (3,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        z, sign, cost, alpha = pieces
        alpha[:] = _core.loss_best_alpha(self.loss, sign * (z + self.b), cost)
