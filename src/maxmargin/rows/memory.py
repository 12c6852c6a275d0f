"""Rows of an array or a CSR matrix in memory, read in place."""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.rows.array_vectors import RowsWithArrays
from maxmargin.rows.base import ReduceKernel, RowVector, SweepKernel
from maxmargin.rows.kernels import Condense

__all__ = ["MemoryRows"]

R = TypeVar("R")


class MemoryRows(RowsWithArrays):
    """A dense array (any strides, any number type) or a CSR matrix, cut into blocks of rows.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns), or CSR matrix
        Already validated; it is read where it is and never copied.
    threads : int
        How many blocks a pass may read at once. It changes the time, never a bit of the result.
    block_rows : int or None
        Rows per block. It decides the order of sums, so it belongs to the data, not to the machine; None
        takes it from their shape.
    """

    def __init__(self, X: Any, *, threads: int = 1, block_rows: int | None = None) -> None:
        n_rows, n_columns = (int(size) for size in X.shape)
        n_values = int(X.size if isinstance(X, np.ndarray) else X.indptr[-1])
        super().__init__((n_rows, n_columns), n_values, threads, block_rows)
        self._X = X
        self._blocks = [self._open(piece) for piece in self._ranges]
        self._whole = self._open(slice(0, self.n_rows))
        self._condensed: MemoryRows | None = None
        self._is_condensed = False  # as far as it pays

    def _open(self, piece: slice) -> Block:
        X = self._X
        if isinstance(X, np.ndarray):
            return Block(X[piece])
        starts = X.indptr[piece.start : piece.stop + 1]
        return Block(X.data, X.indices, starts, self.n_columns)

    @property
    def X(self) -> Any:
        """The array or matrix itself."""
        return self._X

    @property
    def whole(self) -> Block:
        """All rows as one block."""
        return self._whole

    def on_threads(self, threads: int) -> MemoryRows:
        """Return the same rows, read by so many threads; what is known of them by now is shared."""
        other = copy(self)
        other.__dict__.pop("_helpers", None)
        other._threads = threads
        if self._condensed is not None:
            other._condensed = self._condensed.on_threads(threads)
        return other

    def _visit(self, k: int, kernel: ReduceKernel[R], token: StopToken, vectors: tuple[RowVector, ...]) -> R:
        return kernel(self._blocks[k], token, *(vector[self._ranges[k]] for vector in vectors))

    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        # In memory a sweep draws its order over all rows: blocks in turn would each hold one class only
        # where rows are sorted by label, and coordinate descent would hardly move.
        return kernel(self._whole, token, (seed, number, 0), *vectors)

    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        # A chosen row of a CSR matrix keeps the index type, and a dense one its number type. Where rows lie
        # in one piece `take` is several times faster; elsewhere it would copy the whole array first.
        lies_together = isinstance(self._X, np.ndarray) and self._X.flags.c_contiguous
        chosen = self._X.take(indices, axis=0) if lies_together else self._X[indices]
        return MemoryRows(chosen, threads=self._threads, block_rows=self._block_rows)

    def condensed(self, token: StopToken) -> MemoryRows:
        if self._condensed is None and not self._is_condensed:
            blocks = self.reduce(Condense(), token=token)
            if any(block.owned_bytes for block in blocks):
                self._condensed = copy(self)  # sweeps and subsets read X itself, as before
                self._condensed._blocks = blocks
                self._condensed._is_condensed = True
            else:
                self._is_condensed = True
        return self if self._condensed is None else self._condensed

    @property
    def owned_bytes(self) -> int:
        return sum(block.owned_bytes for block in self._blocks)
