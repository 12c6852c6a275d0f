"""Rows on disk with all that is beside them on disk too, and a journal by which a killed fit goes on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.inputs.mapped_rows import MappedRows
from maxmargin.inputs.pass_journal import PassJournal
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
            self._folder = self._scratch.path
        else:
            self._folder = journal.folder

    @property
    def _is_replaying(self) -> bool:
        return self._journal is not None and self._journal.is_replaying

    # ------------------------------------------------------------ vectors

    @property
    def labels(self) -> StoredVector:
        return StoredVector(-1, self._store.arrays["labels"])

    @property
    def weights(self) -> StoredVector | None:
        arrays = self._store.arrays
        return StoredVector(-2, arrays["weights"]) if "weights" in arrays else None

    def zeros(self, dtype: Any = np.float64) -> VectorFile:
        return VectorFile(self._folder, next(self._numbers), dtype, self.n_rows, fresh=not self._is_replaying)

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
        if not self._is_replaying:
            vector.write(slice(0, self.n_rows), numbers)
        vector.turn()
        return vector

    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        if self._journal is None:
            return [self._taken(indices, vector) for vector in vectors]
        question = _Take(np.asarray(indices))
        known, numbers = self._journal.replay(question, vectors)
        if not known:
            numbers = [self._taken(indices, vector) for vector in vectors]
            self._journal.append(question, vectors, numbers)
        return list(numbers)

    def _taken(self, indices: NDArray[np.intp], vector: RowVector) -> NDArray[Any]:
        found = np.empty(len(indices), dtype=vector.dtype)
        for piece in self._ranges:
            inside = np.flatnonzero((indices >= piece.start) & (indices < piece.stop))
            if len(inside):
                found[inside] = vector.read(piece)[indices[inside] - piece.start]
        return found

    def holds(self, vector: RowVector) -> bool:
        return isinstance(vector, VectorFile) and vector.n_rows == self.n_rows

    # ------------------------------------------------------------ passes

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        known, record = (False, None) if self._journal is None else self._journal.replay(kernel, vectors)
        if not known:
            record = super().reduce(kernel, *vectors, token=token)
            if self._journal is not None:
                self._journal.append(kernel, vectors, record)
        for place in written_by(kernel):
            vectors[place].turn()
        return record  # type: ignore[return-value]

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
