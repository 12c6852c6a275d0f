"""Rows of an array or a CSR matrix in memory, read in place."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Inspection, StopToken
from maxmargin.data import CsrRows
from maxmargin.errors import InvalidInput
from maxmargin.rows.base import Helpers, ReduceKernel, Rows, RowVector, SweepKernel, Tree, results_of
from maxmargin.rows.kernels import Condense, Inspect, dense_block

__all__ = ["MemoryRows", "RowsWithArrays", "block_size", "refuse_bad_values"]


# ------------------------------------------------------------------------------------------------
# Passes over blocks of rows on several threads, for any storage.

R = TypeVar("R")

FEWEST_BLOCKS = 16  # so that a handful of cores share a pass evenly
SMALLEST_BLOCK, LARGEST_BLOCK = 8_192, 65_536  # rows: handing out a block costs as much as reading some 100


def block_size(n_rows: int, n_columns: int, n_values: int) -> int:
    """Return the rows per block, from the shape of the data alone.

    A sixteenth of the rows within limits; and so many that the records of products and Gram matrices (of
    n_columns or n_columns² values per block) cost little compared with the block itself.
    """
    share = -(-n_rows // (64 * FEWEST_BLOCKS)) * 64  # whole cache lines of every per-row array
    is_dense = n_values == n_rows * n_columns
    worth_a_record = 8 * n_columns if is_dense else 8 * n_columns * n_rows // max(n_values, 1)
    return min(max(share, SMALLEST_BLOCK, worth_a_record), LARGEST_BLOCK)


class BlockedRows(Rows):
    """Rows in blocks that depend on the data only; threads change the time of a pass, never its bits."""

    def __init__(self, shape: tuple[int, int], n_values: int, threads: int, block_rows: int | None) -> None:
        self.n_rows, self.n_columns = shape
        self.n_values = n_values
        self._threads = threads
        self._block_rows = block_rows
        rows = block_rows or block_size(self.n_rows, self.n_columns, self.n_values)
        starts = range(0, max(self.n_rows, 1), rows)
        self._ranges = [slice(start, min(start + rows, self.n_rows)) for start in starts]

    @property
    def largest_block(self) -> int:
        return max(piece.stop - piece.start for piece in self._ranges)

    @property
    def threads(self) -> int:
        """How many blocks a pass may read at once."""
        return self._threads

    @cached_property
    def _helpers(self) -> Helpers:
        return Helpers(self._threads - 1)

    @abstractmethod
    def _visit(self, k: int, kernel: ReduceKernel[R], token: StopToken, vectors: tuple[RowVector, ...]) -> R:
        """Call the kernel with block k and its pieces of the per-row arrays."""

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        stop = token if token is not None else StopToken()
        if len(self._ranges) == 1:
            with np.errstate(all="ignore"):
                return self._visit(0, kernel, stop, vectors)
        tree = Tree[R](len(self._ranges))
        waiting = deque(range(len(self._ranges)))

        def work() -> None:
            """Process the next block until none is left; after an error none is left for other threads."""
            try:
                while True:
                    try:
                        k = waiting.popleft()
                    except IndexError:
                        return
                    # Each thread has NumPy settings of its own; callers check the sums anyway.
                    with np.errstate(all="ignore"):
                        found = self._visit(k, kernel, stop, vectors)
                    tree.put(k, found)
            except BaseException:
                waiting.clear()
                raise

        self._share(work, stop)
        return tree.root()

    def _share(self, work: Callable[[], None], stop: StopToken) -> None:
        """Do the work on all threads, this one included; return when all have finished."""
        n_helpers = min(self._threads, len(self._ranges)) - 1
        if n_helpers < 1:
            work()
            return
        futures = [self._helpers.submit(work) for _ in range(n_helpers)]
        try:
            work()
            # Those that have not begun are not needed: the pool may be busy with another pass.
            begun = [future for future in futures if not future.cancel()]
            results_of(begun)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                stop.stop()  # Ctrl-C reaches this thread only
            wait([future for future in futures if not future.cancel()])
            raise

    def norms(self) -> tuple[RowVector, float]:
        return self._norms

    @cached_property
    def _norms(self) -> tuple[RowVector, float]:
        norm2 = self.zeros()
        found = self.reduce(Inspect(), norm2, token=StopToken())
        refuse_bad_values(found)
        return norm2, found.largest_norm2


def refuse_bad_values(found: Inspection, whereabouts: Callable[[int], str] = lambda row: "") -> None:
    """Refuse values that are not finite, or too large to square.

    Parameters
    ----------
    found : Inspection
    whereabouts : callable
        Returns a remark on the position of a row, for the message.
    """
    if found.bad_row >= 0:
        raise InvalidInput(
            f"X contains {_name(found.bad_value)}: row {found.bad_row}, column {found.bad_column} "
            f"(counted from 0{whereabouts(found.bad_row)}). Remove or impute such values."
        )
    if found.overflow_row >= 0:
        raise InvalidInput(
            f"row {found.overflow_row} of X (counted from 0{whereabouts(found.overflow_row)}) is so large "
            "that its square is infinite in double precision. Scale the columns, for example to the range "
            "[-1, 1]."
        )


def _name(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    return "infinity (inf)" if value > 0 else "minus infinity (-inf)"


# ------------------------------------------------------------------------------------------------
# Per-row arrays in memory, for any storage of the rows.


class RowsWithArrays(BlockedRows):
    """Rows in blocks whose per-row arrays are NumPy arrays."""

    vectors_at_hand = True

    def zeros(self, dtype: Any = np.float64) -> RowVector:
        return np.zeros(self.n_rows, dtype=dtype)

    def filled(self, value: float) -> RowVector:
        return np.full(self.n_rows, value, dtype=np.float64)

    def keep(self, numbers: NDArray[Any]) -> RowVector:
        return np.ascontiguousarray(numbers)

    def copied(self, vector: RowVector) -> RowVector:
        return np.array(vector)

    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        return [np.asarray(vector[indices]) for vector in vectors]

    def holds(self, vector: RowVector) -> bool:
        return np.shape(vector)[:1] == (self.n_rows,)


# ------------------------------------------------------------------------------------------------


class MemoryRows(RowsWithArrays):
    """A dense array (any strides, any dtype) or a CSR matrix, cut into blocks of rows.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns), or CSR matrix
        Already validated; it is read in place and never copied.
    threads : int
        How many blocks a pass may read at once. It changes the time, never a bit of the result.
    block_rows : int or None
        Rows per block, by default from the shape of the data. It determines the order of sums, so it must
        not depend on the machine.
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
            return dense_block(X[piece])
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
        """Return the same rows, read by so many threads; norms and condensed copies are shared."""
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
        # In memory a sweep draws its order over all rows: if rows are sorted by label, most blocks hold one
        # class only, and coordinate descent over one block at a time would make little progress.
        return kernel(self._whole, token, (seed, number, 0), *vectors)

    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        # A chosen row of a CSR matrix keeps the index type, and a dense one its dtype. For contiguous arrays
        # `take` is several times faster; others it would copy as a whole first.
        is_contiguous = isinstance(self._X, np.ndarray) and self._X.flags.c_contiguous
        chosen = self._X.take(indices, axis=0) if is_contiguous else self._X[indices]
        return MemoryRows(chosen, threads=self._threads, block_rows=self._block_rows)

    def columns(self, chosen: NDArray[np.intp]) -> MemoryRows:
        """Copy some columns, in the order given, each at most once; sparse rows stay sparse."""
        is_dense = isinstance(self._X, np.ndarray)
        X = np.ascontiguousarray(self._X[:, chosen]) if is_dense else _columns_of_csr(self._X, chosen)
        return MemoryRows(X, threads=self._threads, block_rows=self._block_rows)

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


def _columns_of_csr(X: Any, chosen: NDArray[np.intp]) -> CsrRows:
    place = np.full(X.shape[1], -1, dtype=X.indices.dtype)
    place[chosen] = np.arange(len(chosen))
    moved = place[X.indices]
    kept = moved >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])
    starts = ends[X.indptr].astype(X.indptr.dtype)
    return CsrRows((X.data[kept], moved[kept], starts), (X.shape[0], len(chosen)))
