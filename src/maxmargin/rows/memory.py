"""Rows of an array or a CSR matrix in memory, read in place."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.errors import InvalidInput
from maxmargin.rows.base import Array, ReduceKernel, Rows, SweepKernel, merge_in_tree
from maxmargin.rows.kernels import Inspect

__all__ = ["MemoryRows"]

R = TypeVar("R")

BLOCK_ROWS = 65_536


class MemoryRows(Rows):
    """A dense array (any strides, any number type) or a CSR matrix, cut into blocks of rows.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns), or CSR matrix
        Already validated; it is read where it is and never copied.
    threads : int
        How many blocks a pass may read at once. It changes the time, never a bit of the result.
    block_rows : int
        Rows per block. It decides the order of sums and sweeps, so it belongs to the data, not to the
        machine.
    """

    def __init__(self, X: Any, *, threads: int = 1, block_rows: int = BLOCK_ROWS) -> None:
        self.n_rows, self.n_columns = (int(size) for size in X.shape)
        self._X = X
        self.n_values = int(X.size if isinstance(X, np.ndarray) else X.indptr[-1])
        self._block_rows = block_rows
        self._threads = threads
        starts = range(0, max(self.n_rows, 1), block_rows)
        self._ranges = [slice(start, min(start + block_rows, self.n_rows)) for start in starts]
        self._blocks = [self._open(piece) for piece in self._ranges]
        self._whole = self._open(slice(0, self.n_rows))

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

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="maxmargin")

    def zeros(self, dtype: Any = np.float64) -> NDArray[Any]:
        return np.zeros(self.n_rows, dtype=dtype)

    def reduce(self, kernel: ReduceKernel[R], *vectors: NDArray[Any], token: StopToken | None = None) -> R:
        asked = token if token is not None else StopToken()

        def part(k: int) -> R:
            return kernel(self._blocks[k], asked, *(vector[self._ranges[k]] for vector in vectors))

        numbers = range(len(self._blocks))
        if self._threads == 1 or len(self._blocks) == 1:
            return merge_in_tree([part(k) for k in numbers], kernel)
        try:
            return merge_in_tree(list(self._pool.map(part, numbers)), kernel)
        except KeyboardInterrupt:
            asked.stop()
            raise

    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: NDArray[Any], token: StopToken
    ) -> R:
        # In memory a sweep draws its order over all rows: blocks in turn would each hold one class only
        # where rows are sorted by label, and coordinate descent would hardly move.
        return kernel(self._whole, token, (seed, number, 0), *vectors)

    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        # A chosen row of a CSR matrix keeps the index type, and a dense one its number type.
        return MemoryRows(self._X[indices], block_rows=self._block_rows)

    def norms(self) -> tuple[Array, float]:
        return self._norms

    @cached_property
    def _norms(self) -> tuple[Array, float]:
        norm2 = self.zeros()
        token = StopToken()
        found = self.reduce(Inspect(), norm2, token=token)
        if found.bad_value is not None:
            raise InvalidInput(
                f"X contains {_name(found.bad_value)}: row {found.bad_row}, column {found.bad_column} "
                "(counted from 0). Remove or impute such values."
            )
        if found.overflow_row is not None:
            raise InvalidInput(
                f"row {found.overflow_row} of X (counted from 0) is so large that its square is infinite in "
                "double precision. Scale the columns, for example to the range [-1, 1]."
            )
        return norm2, found.largest


def _name(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    return "infinity (inf)" if value > 0 else "minus infinity (-inf)"
