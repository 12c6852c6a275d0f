"""Rows on disk with their per-row arrays, and a journal from which an interrupted fit continues."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import count
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken, check_csr
from maxmargin.errors import FileFormatError
from maxmargin.rows.base import (
    Copy,
    Fill,
    ReduceKernel,
    RowVector,
    SweepKernel,
    Tree,
    dtype_of_row,
    looks_at_rows,
    record_type,
    will_visit,
    written_by,
)
from maxmargin.rows.disk.folders import ScratchFolder
from maxmargin.rows.disk.journal import PassJournal
from maxmargin.rows.disk.records import DamagedFile
from maxmargin.rows.disk.store import RowStore
from maxmargin.rows.disk.vectors import StoredVector, VectorFile
from maxmargin.rows.memory import MemoryRows, RowsWithArrays

__all__ = ["DiskRows", "MappedRows", "csr_parts", "gathered_rows", "stretch_of"]


# ------------------------------------------------------------------------------------------------
# Rows on disk, read through a memory map; per-row arrays in memory.

R = TypeVar("R")

MOST_CONDENSED_BYTES = 256 << 20  # memory for condensed copies
BYTES_A_COPIED_VALUE = 20.0  # itself, its column, and its part of the per-row arrays


class MappedRows(RowsWithArrays):
    """The features of a `RowStore`, read a few blocks at a time; per-row arrays are NumPy arrays.

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
        """The index of each row's class among the classes, of shape (n_rows,)."""
        return self._store.arrays["labels"]

    @property
    def weights(self) -> RowVector | None:
        """The weight of each row, of shape (n_rows,); None if all are 1."""
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
        tree = Tree[R](len(order))
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
        """Do nothing: pieces of NumPy arrays are views."""

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
        """Have the system read a block while another one is processed."""
        if k < len(self._ranges) and k not in self._shown:
            for name, piece in self._stretches(k):
                advise(self._store.arrays[name], piece, mmap.MADV_WILLNEED)

    def _release(self, k: int) -> None:
        """Release a block from the memory of this process."""
        if k in self._shown:
            return
        for name, piece in self._stretches(k):
            advise(self._store.arrays[name], piece, mmap.MADV_DONTNEED)

    def _stretches(self, k: int) -> list[tuple[str, slice]]:
        """Return the files and the ranges of their rows that make up a block."""
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
    """Advise the system on how some rows of a file will be read."""
    width = file.strides[0]
    first = (file.offset + piece.start * width) // mmap.PAGESIZE * mmap.PAGESIZE
    length = file.offset + piece.stop * width - first
    if length > 0:
        file._mmap.madvise(advice, first, length)  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------


class DiskRows(MappedRows):
    """Rows of a `RowStore` whose per-row arrays are files.

    Memory is a few blocks' pieces of the vectors and the records of a pass, however many rows there are; the
    system may keep pages of the files as long as nobody else needs the memory.

    Parameters
    ----------
    store, threads, block_rows, condensed_bytes
        As `MappedRows` takes them.
    journal : PassJournal, optional
        Where passes are written down, so that a fit which is killed can go on; its folder holds the vectors
        too. Without one they are in a folder of their own, which goes with these rows.
    """

    vectors_at_hand = False

    def __init__(
        self,
        store: RowStore,
        *,
        threads: int = 1,
        block_rows: int | None = None,
        condensed_bytes: int | None = None,
        journal: PassJournal | None = None,
    ) -> None:
        super().__init__(store, threads=threads, block_rows=block_rows, condensed_bytes=condensed_bytes)
        self._journal = journal
        self._numbers = count(1)  # shared with condensed rows, whose vectors are in the same folder
        if journal is None:
            self._scratch = ScratchFolder(store.folder / "fits")
            self._folder = self._scratch.folder
        else:
            self._folder = journal.folder

    # ------------------------------------------------------------ vectors

    @property
    def labels(self) -> StoredVector:
        return StoredVector(-1, self._store.arrays["labels"])

    @property
    def weights(self) -> StoredVector | None:
        arrays = self._store.arrays
        return StoredVector(-2, arrays["weights"]) if "weights" in arrays else None

    def zeros(self, dtype: Any = np.float64) -> VectorFile:
        return VectorFile(self._folder, next(self._numbers), dtype, self.n_rows, self._ranges[0].stop)

    def filled(self, value: float) -> VectorFile:
        vector = self.zeros()
        self.reduce(Fill(value), vector)
        return vector

    def copied(self, vector: RowVector) -> VectorFile:
        other = self.zeros(vector.dtype)
        self.reduce(Copy(), vector, other)
        return other

    def keep(self, numbers: NDArray[Any]) -> VectorFile:
        vector = self.zeros(dtype_of_row(numbers))
        if self._journal is not None and self._journal.is_replaying:
            vector.expect(slice(0, self.n_rows), numbers)  # later passes have written to the files since
        else:
            vector.write(slice(0, self.n_rows), numbers)
        vector.turn()
        return vector

    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        def work() -> list[NDArray[Any]]:
            return [self._taken(indices, vector) for vector in vectors]

        return self._once(_Take(np.asarray(indices)), vectors, list[NDArray[Any]], work)

    def _taken(self, indices: NDArray[np.intp], vector: RowVector) -> NDArray[Any]:
        found = np.empty(len(indices), dtype=vector.dtype)
        for piece in self._ranges:
            inside = np.flatnonzero((indices >= piece.start) & (indices < piece.stop))
            if len(inside):
                found[inside] = vector.read(piece)[indices[inside] - piece.start]
        return found

    def holds(self, vector: RowVector) -> bool:
        shape = (self.n_rows, self._ranges[0].stop)
        return isinstance(vector, VectorFile) and (vector.n_rows, vector.block_rows) == shape

    # ------------------------------------------------------------ passes

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        def work() -> R:
            return super(DiskRows, self).reduce(kernel, *vectors, token=token)

        return self._once(kernel, vectors, record_type(type(kernel)), work, written_by(kernel))

    def _once(
        self,
        question: Any,
        vectors: tuple[RowVector, ...],
        kind: Any,
        work: Callable[[], R],
        writes: tuple[int, ...] = (),
    ) -> R:
        """Run a pass, unless the journal has its record; then make the arrays that it wrote valid."""
        journal = self._journal
        written: list[VectorFile] = [vectors[place] for place in writes]
        if journal is not None and journal.is_replaying:
            record, checksums = journal.replay(question, vectors, kind)
            if len(checksums) != len(written):
                raise DamagedFile("a pass wrote to other vectors")
            for vector, found in zip(written, checksums, strict=True):
                vector.adopt(found)
        else:
            record = work()
            if journal is not None:
                record = journal.append(question, vectors, kind, record, [v.written for v in written])
        for vector in written:
            vector.turn()
        return record  # type: ignore[no-any-return]

    def _visit(self, k: int, kernel: ReduceKernel[R], token: StopToken, vectors: tuple[RowVector, ...]) -> R:
        piece = self._ranges[k]
        # An array that is passed twice is one piece of memory, as it is for arrays in memory.
        pieces = {id(vector): vector.read(piece) for vector in vectors}
        written = [vectors[place] for place in written_by(kernel)]
        for numbers in pieces.values():
            numbers.flags.writeable = False
        for vector in written:
            pieces[id(vector)].flags.writeable = True
        record = self._show(k, kernel, token, [pieces[id(vector)] for vector in vectors])
        for vector in written:
            vector.write(piece, pieces[id(vector)])
        return record

    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        assert self._journal is None  # a sweep changes the state of its kernel, which is in no record
        record = super().sweep(kernel, seed, number, *vectors, token=token)
        for vector in vectors:
            vector.turn()
        return record

    def _pieces_to_sweep(self, k: int, vectors: tuple[RowVector, ...]) -> list[NDArray[Any]]:
        return [vector.read(self._ranges[k]) for vector in vectors]

    def _keep_swept(self, k: int, vectors: tuple[RowVector, ...], pieces: list[NDArray[Any]]) -> None:
        for vector, numbers in zip(vectors, pieces, strict=True):
            vector.write(self._ranges[k], numbers)


@dataclass(frozen=True)
class _Take:
    """The entries of per-row arrays at some rows: not a pass, but recorded in the journal like one."""

    indices: NDArray[np.intp]


# ------------------------------------------------------------------------------------------------
# Sparse rows of a store: where they are in its files, and whether these can be trusted.
#
# The core does not check the indices that it is given. So nothing from the files goes there
# before it was checked here: a number that was changed on disk is an error that names it.

VALUES_AT_ONCE = 1 << 16  # that are gathered at once; their indices take some more memory

Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # values, columns, starts


def stretch_of(store: RowStore, piece: slice) -> slice:
    """Return where the values of a range of rows are."""
    starts = store.arrays["starts"]
    first, end = int(starts[piece.start]), int(starts[piece.stop])
    if not 0 <= first <= end <= store.n_values:
        raise _damaged(
            store,
            "starts",
            f"rows {piece.start} to {piece.stop - 1} (counted from 0) would be the values {first} to {end} "
            f"of {store.n_values}",
        )
    return slice(first, end)


def csr_parts(store: RowStore, piece: slice, *, is_trusted: bool = False) -> Parts:
    """Return a range of rows as a CSR matrix's parts, in the files but for the starts.

    Parameters
    ----------
    store : RowStore
    piece : slice
        The rows.
    is_trusted : bool
        Whether they were looked at before.
    """
    inside = stretch_of(store, piece)
    columns = store.arrays["columns"][inside]
    starts = np.asarray(store.arrays["starts"][piece.start : piece.stop + 1]) - inside.start
    if not is_trusted:
        _check_lengths(store, np.diff(starts), lambda place: piece.start + place)
    narrow = starts.astype(columns.dtype)
    if not is_trusted:
        _check_columns(store, columns, narrow, lambda place: piece.start + place)
    return store.arrays["values"][inside], columns, narrow


def gathered_rows(store: RowStore, indices: NDArray[np.intp]) -> Parts:
    """Return a copy of some rows as a CSR matrix's parts, in memory that depends on these rows alone."""
    arrays = store.arrays
    firsts = np.asarray(arrays["starts"][indices])
    lengths = np.asarray(arrays["starts"][indices + 1]) - firsts
    _check_lengths(store, lengths, lambda place: int(indices[place]))
    _check_inside(store, firsts, lengths, lambda place: int(indices[place]))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    values = np.empty(ends[-1], dtype=arrays["values"].dtype)
    columns = np.empty(ends[-1], dtype=arrays["columns"].dtype)
    for some in _few_at_a_time(ends):
        inside = slice(int(ends[some.start]), int(ends[some.stop]))
        places = np.repeat(firsts[some] - ends[some], lengths[some])
        places += np.arange(inside.start, inside.stop)
        values[inside] = arrays["values"][places]
        columns[inside] = arrays["columns"][places]
    if ends[-1] > np.iinfo(columns.dtype).max:
        columns = columns.astype(np.int64)
    starts = ends.astype(columns.dtype, copy=False)
    _check_columns(store, columns, starts, lambda place: int(indices[place]))
    return values, columns, starts


def _few_at_a_time(ends: NDArray[np.int64]) -> Iterator[slice]:
    """Yield ranges of rows of not too many values, or of one row."""
    start, n_rows = 0, len(ends) - 1
    while start < n_rows:
        fitting = int(np.searchsorted(ends, ends[start] + VALUES_AT_ONCE, side="right")) - 1
        stop = min(max(fitting, start + 1), n_rows)
        yield slice(start, stop)
        start = stop


# ---------------------------------------------------------------- whether they can be trusted


def _check_lengths(store: RowStore, lengths: NDArray[Any], row_of: Callable[[int], int]) -> None:
    if len(lengths) and lengths.min() < 0:
        row = row_of(int(np.argmax(lengths < 0)))
        raise _damaged(store, "starts", f"row {row} (counted from 0) ends before it begins")


def _check_inside(
    store: RowStore, firsts: NDArray[Any], lengths: NDArray[Any], row_of: Callable[[int], int]
) -> None:
    outside = (firsts < 0) | (firsts > store.n_values - lengths)
    if outside.any():
        row = row_of(int(np.argmax(outside)))
        raise _damaged(store, "starts", f"row {row} (counted from 0) lies outside the stored values")


def _check_columns(
    store: RowStore, columns: NDArray[Any], starts: NDArray[Any], row_of: Callable[[int], int]
) -> None:
    found = check_csr(columns, starts, store.n_columns)
    if found.bad_starts:
        row = row_of(found.bad_row)
        raise _damaged(store, "starts", f"row {row} (counted from 0) lies outside the stored values")
    if found.bad_row >= 0:
        raise _damaged(
            store,
            "columns",
            f"row {row_of(found.bad_row)} (counted from 0) names column {found.bad_column}, and there are "
            f"{store.n_columns} (0 to {store.n_columns - 1})",
        )
    if found.repeats:
        first, last = row_of(0), row_of(len(starts) - 2)
        raise _damaged(
            store, "columns", f"a row between {first} and {last} (counted from 0) names a column twice"
        )


def _damaged(store: RowStore, name: str, what: str) -> FileFormatError:
    return FileFormatError(f"{what}: the file is damaged; store the rows again", store.folder / f"{name}.npy")
