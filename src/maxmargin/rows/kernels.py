"""Passes that all solvers share: products of the rows with vectors, Gram matrices, and a check of the values.

Every kernel is a small picklable record, called once per block; the arithmetic is in the compiled core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Inspection, StopToken
from maxmargin.rows.base import Array

__all__ = [
    "Combine",
    "Condense",
    "Gram",
    "HessianDiagonal",
    "Inspect",
    "ManyScores",
    "Scores",
    "ScoresAndCombine",
    "dense_block",
]


def dense_block(X: NDArray[Any]) -> Block:
    """Return the rows of a dense array of any type of numbers, bfloat16 of ml_dtypes included."""
    is_bfloat16 = X.dtype.name == "bfloat16"
    return Block(X.view(np.uint16) if is_bfloat16 else X, is_bfloat16)


@dataclass(frozen=True)
class Scores:
    """Write the scores x·w + offset to z; `w` has shape (n_columns,)."""

    w: Array
    offset: float = 0.0

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        (z,) = pieces
        _core.multiply(block, self.w, z, None, None, token)
        if self.offset != 0.0:
            z += self.offset


@dataclass(frozen=True)
class ManyScores:
    """Fill z, of shape (n_rows, n_outputs), with the scores W x + b; every row is read once.

    Attributes
    ----------
    W : array of shape (n_outputs, n_columns)
    b : array of shape (n_outputs,)
    """

    W: Array
    b: Array

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        (z,) = pieces
        _core.multiply_many(block, self.W.ravel(), len(self.W), z.reshape(-1), token)
        z += self.b


@dataclass(frozen=True)
class Combine:
    """Return v = Xᵀa, of shape (n_columns,)."""

    n_columns: int

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (a,) = pieces
        v = np.zeros(self.n_columns)
        _core.multiply(block, None, None, a, v, token)
        return v


@dataclass(frozen=True)
class ScoresAndCombine:
    """Both products in one read of the rows: write x·w to z, return v = Xᵀa."""

    w: Array

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        z, a = pieces
        v = np.zeros(self.w.shape[0])
        _core.multiply(block, self.w, z, a, v, token)
        return v


@dataclass(frozen=True)
class HessianDiagonal:
    """Return Σ h x² and Σ h x by column, as an array of shape (2, n_columns)."""

    n_columns: int

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (h,) = pieces
        both = np.zeros((2, self.n_columns))
        _core.hessian_diagonal(block, h, both[0], both[1], token)
        return both


@dataclass(frozen=True)
class Gram:
    """Return Σ h (x − shift, 1)(x − shift, 1)ᵀ, of shape (n_columns + 1, n_columns + 1).

    Rows with h = 0 are not read. `single` allows products of dense rows in single precision, with totals in
    double precision: seven to eight digits, in about two thirds of the time from 50 columns on.
    """

    n_columns: int
    shift: Array | None = None
    single: bool = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (h,) = pieces
        total = np.zeros((self.n_columns + 1, self.n_columns + 1))
        _core.weighted_gram(block, h, self.shift, total, self.single, token)
        return total


@dataclass(frozen=True)
class Condense:
    """Return every block in the storage that is fastest to read: its own, or a condensed copy."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> list[Block]:
        return [block.condensed(token) or block]


@dataclass(frozen=True)
class Inspect:
    """Write squared norms to norm2; find values that are not finite."""

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Inspection:
        (norm2,) = pieces
        return _core.inspect(block, norm2, token)
