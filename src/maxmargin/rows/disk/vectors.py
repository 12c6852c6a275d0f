"""Per-row arrays of rows on disk: one file each, read and written block by block.

A pass that rewrites an array writes a second copy, which becomes the valid one when the pass is complete; so
a pass that is interrupted, in whatever way, leaves the array as it was before it. Each block of a copy
has a checksum, kept in memory and in the journal of the fit: what is read is what was written, or an error.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.rows.disk.folders import OwnFolder, when_gone
from maxmargin.rows.disk.records import DamagedFile

__all__ = ["StoredVector", "VectorFile"]


Checksums = NDArray[np.uint32]  # one per block


class VectorFile:
    """A per-row array kept in files: an opaque handle for passes.

    It begins as zeros, whatever files of its name hold: `adopt` says that they hold something else.

    Parameters
    ----------
    folder : OwnFolder
        Where the files are.
    number : int
        Their name.
    dtype : dtype
    n_rows : int
    block_rows : int
        Rows per block; the last may have fewer.
    """

    def __init__(self, folder: OwnFolder, number: int, dtype: Any, n_rows: int, block_rows: int) -> None:
        self.number = number
        self.dtype = np.dtype(dtype)
        self.n_rows = n_rows
        self.block_rows = block_rows
        self.version = 0
        self._valid: Checksums | None = None  # of the valid copy; None: all zeros, in no file
        self._written = np.zeros(-(-n_rows // block_rows), dtype=np.uint32)  # of the other copy
        names = [f"{number}-{copy}" for copy in "ab"]
        self._descriptors: list[int] = []
        end = when_gone(self, _remove, folder, folder.attempt, names, self._descriptors)
        end.atexit = False  # a journal that outlives the process needs them
        for name in names:
            self._descriptors.append(folder.open(name))

    @property
    def written(self) -> Checksums:
        """The checksums of what the last pass wrote, block by block."""
        return self._written

    def adopt(self, checksums: Checksums) -> None:
        """Take over the other copy as a pass of an earlier process wrote it, with these checksums."""
        if checksums.dtype != np.uint32 or checksums.shape != self._written.shape:
            raise DamagedFile("a pass has checksums of other blocks")
        self._written = checksums

    def read(self, piece: slice) -> NDArray[Any]:
        """Return the valid entries of a range of blocks, as a new array."""
        if self._valid is None:
            return np.zeros(piece.stop - piece.start, dtype=self.dtype)
        numbers = np.empty(piece.stop - piece.start, dtype=self.dtype)
        rest = _bytes_of(numbers).data
        place = piece.start * self.dtype.itemsize
        while rest:
            count = os.preadv(self._descriptors[self.version], [rest], place)
            if count == 0:
                raise DamagedFile("per-row arrays on disk are missing")
            rest, place = rest[count:], place + count
        for k, block in self._blocks(piece, numbers):
            if _checksum(block) != self._valid[k]:
                raise DamagedFile("per-row arrays on disk were changed")
        return numbers

    def write(self, piece: slice, numbers: NDArray[Any]) -> None:
        """Write a range of blocks of the other copy."""
        plain = np.ascontiguousarray(numbers)
        self.expect(piece, plain)
        rest = _bytes_of(plain).data
        place = piece.start * self.dtype.itemsize
        while rest:
            count = os.pwrite(self._descriptors[1 - self.version], rest, place)
            rest, place = rest[count:], place + count

    def expect(self, piece: slice, numbers: NDArray[Any]) -> None:
        """Record that a range of blocks of the other copy has these entries, without writing them."""
        for k, block in self._blocks(piece, numbers):
            self._written[k] = _checksum(block)

    def _blocks(self, piece: slice, numbers: NDArray[Any]) -> list[tuple[int, NDArray[Any]]]:
        """Return the entries block by block, each with the number of the block."""
        starts = range(0, piece.stop - piece.start, self.block_rows)
        first = piece.start // self.block_rows
        return [(first + k, numbers[start : start + self.block_rows]) for k, start in enumerate(starts)]

    def turn(self) -> None:
        """Make the other copy, every block of which was written, the valid one."""
        self._valid = self._written.copy()
        self.version = 1 - self.version

    def settle(self) -> None:
        """Free the disk space of the copy that is not valid; a later pass may still write it."""
        os.ftruncate(self._descriptors[1 - self.version], 0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy it as an array: the files are open in this process only."""
        return np.asarray, (self.read(slice(0, self.n_rows)),)


class StoredVector:
    """A read-only per-row array that belongs to the rows themselves, such as their labels."""

    def __init__(self, number: int, numbers: NDArray[Any]) -> None:
        self.number = number
        self.dtype = numbers.dtype
        self.n_rows = len(numbers)
        self._numbers = numbers

    def read(self, piece: slice) -> NDArray[Any]:
        """Return the entries of a range of rows."""
        return self._numbers[piece].copy()


def _checksum(block: NDArray[Any]) -> int:
    return _core.crc32(_bytes_of(block))


def _bytes_of(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    return numbers.reshape(-1).view(np.uint8)


def _remove(folder: OwnFolder, attempt: int, names: list[str], descriptors: list[int]) -> None:
    while descriptors:
        os.close(descriptors.pop())
    if folder.attempt == attempt:
        for name in names:
            folder.remove(name)
