"""Rows on disk with all that is beside them on disk too, and a journal by which an ended fit goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.inputs.mapped_rows import MappedRows
from maxmargin.inputs.packed_records import DamagedFile
from maxmargin.inputs.pass_journal import PassJournal, record_type
from maxmargin.inputs.row_store import RowStore
from maxmargin.inputs.scratch_folder import ScratchFolder
from maxmargin.inputs.vector_files import StoredVector, VectorFile
from maxmargin.rows.base import ReduceKernel, RowVector, SweepKernel, written_by
from maxmargin.rows.vectors import Copy, Fill

__all__ = ["DiskRows"]

R = TypeVar("R")


class DiskRows(MappedRows):
    """Rows of a `RowStore` whose vectors are files.

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
        vector = self.zeros(numbers.dtype)
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
        """Do a pass, unless the journal knows its outcome; then make what it wrote valid."""
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
        # A vector that is given twice is one piece of memory, as it is where vectors are arrays.
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
        assert self._journal is None  # a sweep changes the state of its kernel, which no record holds
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
    """The numbers of some rows: no pass, but written down like one."""

    indices: NDArray[np.intp]
