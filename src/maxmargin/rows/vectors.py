"""The passes that need only numbers beside the rows: sums, multiples, order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.rows.base import Array
from maxmargin.rows.joins import AddsNumbers, JoinsNothing

__all__ = ["Copy", "Fill", "Inner", "Scale", "Smallest"]


@dataclass(frozen=True)
class Inner(AddsNumbers):
    """Add up the products of two vectors."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        a, b = pieces
        return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Scale(JoinsNothing):
    """Fill the second vector with the first, times a number; they may be the same."""

    factor: float

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        a, scaled = pieces
        np.multiply(a, self.factor, out=scaled)


@dataclass(frozen=True)
class Smallest:
    """Return the so many smallest sizes |a| of rows with c > 0, in no order; vectors a and c."""

    count: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        a, c = pieces
        return self._least(np.abs(a[c > 0]))

    def merge(self, first: Array, second: Array) -> Array:
        return self._least(np.concatenate([first, second]))

    def _least(self, sizes: Array) -> Array:
        return sizes if len(sizes) <= self.count else np.partition(sizes, self.count - 1)[: self.count]


@dataclass(frozen=True)
class Fill(JoinsNothing):
    """Fill a vector with one number."""

    value: float

    writes = (0,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        (a,) = pieces
        a[:] = self.value


@dataclass(frozen=True)
class Copy(JoinsNothing):
    """Fill the second vector with the first."""

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        a, copy = pieces
        copy[:] = a
