"""Rows on disk, read in place by memory map; numbers beside them in memory."""

from __future__ import annotations

import mmap
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.inputs.row_store import RowStore
from maxmargin.inputs.stored_csr import csr_parts, gathered_rows, stretch_of
from maxmargin.rows import MemoryRows
from maxmargin.rows.array_vectors import RowsWithArrays
from maxmargin.rows.base import ReduceKernel, RowVector, SweepKernel, Tree, looks_at_rows, will_visit

__all__ = ["MappedRows"]

R = TypeVar("R")

MOST_CONDENSED_BYTES = 256 << 20  # that condensed copies may take
BYTES_A_COPIED_VALUE = 20.0  # itself, its column, and its part of what stands beside a row


class MappedRows(RowsWithArrays):
    """The features of a `RowStore`, a few blocks at a time; vectors are arrays.

    Equal blocks give the bits of `MemoryRows` in every pass whose order does not matter. A sweep visits the
    blocks one after the other, in an order drawn anew each time, as it does the rows inside each.

    Parameters
    ----------
    store : RowStore
    threads : int
        How many blocks a pass may read at once.
    block_rows : int, optional
        Rows per block; by default as `MemoryRows` would cut them.
    condensed_bytes : int, optional
        What condensed copies may take, and what copies of chosen rows should.
    """

    def __init__(
        self,
        store: RowStore,
        *,
        threads: int = 1,
        block_rows: int | None = None,
        condensed_bytes: int | None = None,
    ) -> None:
        super().__init__((store.n_rows, store.n_columns), store.n_values, threads, block_rows)
        self._store = store
        self._most_condensed = MOST_CONDENSED_BYTES if condensed_bytes is None else condensed_bytes
        if condensed_bytes is not None:
            self.most_copied = condensed_bytes / BYTES_A_COPIED_VALUE
        self.swept_together = 1 if len(self._ranges) == 1 else self._ranges[0].stop
        self._nothing = Block(np.zeros((0, store.n_columns)))
        self._condensed: dict[int, Block] | None = None  # copies of blocks, once they have been looked for
        self._shown: dict[int, Block] = {}  # those that passes over these rows read
        self._trusted: set[int] = set()  # sparse blocks that were looked at; shared with condensed rows

    # ------------------------------------------------------------ labels

    @property
    def labels(self) -> RowVector:
        """Each row's class, by its place among the classes."""
        return self._store.arrays["labels"]

    @property
    def weights(self) -> RowVector | None:
        """How much each row counts; None if every row counts once."""
        return self._store.arrays.get("weights")

    # ------------------------------------------------------------ passes

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        self._store.check_sizes()
        return super().reduce(kernel, *vectors, token=token)

    def _visit(self, k: int, kernel: ReduceKernel[R], token: StopToken, vectors: tuple[RowVector, ...]) -> R:
        return self._show(k, kernel, token, [vector[self._ranges[k]] for vector in vectors])

    def _show(self, k: int, kernel: ReduceKernel[R], token: StopToken, pieces: list[NDArray[Any]]) -> R:
        """Call the kernel with a block, while the system reads the next one."""
        if not looks_at_rows(kernel):
            return kernel(self._nothing, token, *pieces)
        self._announce(k + self._threads)
        record = kernel(self._open(k), token, *pieces)
        self._release(k)
        return record

    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        self._store.check_sizes()
        order = np.random.default_rng((seed, number)).permutation(len(self._ranges))
        tree: Tree[R] = Tree(len(order), kernel)
        pieces = self._pieces_to_sweep(order[0], vectors)
        for place, k in enumerate(order):
            following = order[place + 1] if place + 1 < len(order) else None
            later = [] if following is None else self._pieces_to_sweep(following, vectors)
            if following is not None and will_visit(kernel, later):
                self._announce(following)
            tree.put(place, kernel(self._open(k), token, (seed, number, int(k)), *pieces))
            self._keep_swept(k, vectors, pieces)
            self._release(k)
            pieces = later
        return tree.root()

    def _pieces_to_sweep(self, k: int, vectors: tuple[RowVector, ...]) -> list[NDArray[Any]]:
        return [vector[self._ranges[k]] for vector in vectors]

    def _keep_swept(self, k: int, vectors: tuple[RowVector, ...], pieces: list[NDArray[Any]]) -> None:
        """Pieces of arrays are the arrays themselves."""

    # ------------------------------------------------------------ features

    def condensed(self, token: StopToken) -> Self:
        # Condensed copies of all blocks, or of none: which it is must follow from the data alone.
        if self._condensed is None:
            self._store.check_sizes()
            found: list[Block | None] = []
            size = 0
            for k in range(len(self._ranges)):
                found.append(self._open(k).condensed(token))
                self._release(k)
                size += 0 if found[k] is None else found[k].owned_bytes  # type: ignore[union-attr]
                if size > self._most_condensed:
                    found = []
                    break
            self._condensed = {k: block for k, block in enumerate(found) if block is not None}
        if not self._condensed:
            return self
        other = copy(self)
        other._shown = self._condensed
        return other

    @property
    def owned_bytes(self) -> int:
        return sum(block.owned_bytes for block in self._shown.values())

    def _open(self, k: int) -> Block:
        if k in self._shown:
            return self._shown[k]
        piece = self._ranges[k]
        if not self._store.is_sparse:
            return Block(self._store.arrays["X"][piece])
        parts = csr_parts(self._store, piece, is_trusted=k in self._trusted)
        self._trusted.add(k)
        return Block(*parts, self.n_columns)

    def _announce(self, k: int) -> None:
        """Let the system read a block while another one is computed."""
        if k < len(self._ranges) and k not in self._shown:
            for name, piece in self._stretches(k):
                advise(self._store.arrays[name], piece, mmap.MADV_WILLNEED)

    def _release(self, k: int) -> None:
        """Have a block counted as memory of this process no more."""
        if k in self._shown:
            return
        for name, piece in self._stretches(k):
            advise(self._store.arrays[name], piece, mmap.MADV_DONTNEED)

    def _stretches(self, k: int) -> list[tuple[str, slice]]:
        """Return which rows of which files a block is."""
        piece = self._ranges[k]
        if not self._store.is_sparse:
            return [("X", piece)]
        inside = stretch_of(self._store, piece)
        return [("values", inside), ("columns", inside), ("starts", piece)]

    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        self._store.check_sizes()
        if not self._store.is_sparse:
            chosen: Any = self._store.arrays["X"][indices]
        else:
            from scipy.sparse import csr_array

            parts = gathered_rows(self._store, np.asarray(indices))
            chosen = csr_array(parts, shape=(len(indices), self.n_columns))
        for k in range(len(self._ranges)):
            self._release(k)
        return MemoryRows(chosen, threads=self._threads, block_rows=self._block_rows)


def advise(file: np.memmap[Any, Any], piece: slice, advice: int) -> None:
    """Tell the system what will become of some rows of a file."""
    width = file.strides[0]
    first = (file.offset + piece.start * width) // mmap.PAGESIZE * mmap.PAGESIZE
    length = file.offset + piece.stop * width - first
    if length > 0:
        file._mmap.madvise(advice, first, length)  # type: ignore[attr-defined]
