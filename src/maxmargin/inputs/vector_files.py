"""Numbers beside rows on disk: one file a vector, read and written in pieces.

A pass that rewrites a vector writes a second copy, which becomes the valid one when the pass is complete; so
a pass that is broken off, in whatever way, leaves the numbers as they were before it.
"""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["StoredVector", "VectorFile"]


class VectorFile:
    """One number for each row, kept in a file: a handle that rows take, and nothing to compute with.

    Parameters
    ----------
    folder : Path
        Where the file is.
    number : int
        Its name.
    dtype : dtype
    n_rows : int
    fresh : bool
        Whether to begin with zeros, or with what a file of that name holds.
    """

    def __init__(self, folder: Path, number: int, dtype: Any, n_rows: int, *, fresh: bool) -> None:
        self.number = number
        self.dtype = np.dtype(dtype)
        self.n_rows = n_rows
        self.version = 0
        paths = [folder / f"{number}-{copy}" for copy in "ab"]
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if fresh else 0)
        self._descriptors = [os.open(path, flags, 0o600) for path in paths]
        self._end = weakref.finalize(self, _remove, paths, self._descriptors)
        for descriptor in self._descriptors:
            os.ftruncate(descriptor, n_rows * self.dtype.itemsize)  # zeros that take no room yet

    def read(self, piece: slice) -> NDArray[Any]:
        """Return the valid numbers of a range of rows, in memory of their own."""
        numbers = np.empty(piece.stop - piece.start, dtype=self.dtype)
        rest = numbers.view(np.uint8).data
        place = piece.start * self.dtype.itemsize
        while rest:
            count = os.preadv(self._descriptors[self.version], [rest], place)
            if count == 0:
                raise OSError(f"a file of {self.n_rows} numbers has been shortened")
            rest, place = rest[count:], place + count
        return numbers

    def write(self, piece: slice, numbers: NDArray[Any]) -> None:
        """Write a range of rows of the other copy."""
        rest = np.ascontiguousarray(numbers).view(np.uint8).data
        place = piece.start * self.dtype.itemsize
        while rest:
            count = os.pwrite(self._descriptors[1 - self.version], rest, place)
            rest, place = rest[count:], place + count

    def turn(self) -> None:
        """Make the other copy the valid one."""
        self.version = 1 - self.version

    def settle(self) -> None:
        """Give back the room of the copy that is not valid; a later pass may still write it."""
        os.ftruncate(self._descriptors[1 - self.version], 0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies, and what other processes get, arrays: the files are open here only."""
        return np.asarray, (self.read(slice(0, self.n_rows)),)


class StoredVector:
    """Numbers that belong to the rows themselves, such as their labels: passes may read them only."""

    def __init__(self, number: int, numbers: NDArray[Any]) -> None:
        self.number = number
        self.dtype = numbers.dtype
        self.n_rows = len(numbers)
        self._numbers = numbers

    def read(self, piece: slice) -> NDArray[Any]:
        """Return the numbers of a range of rows."""
        return self._numbers[piece].copy()


def _remove(paths: list[Path], descriptors: list[int]) -> None:
    for path, descriptor in zip(paths, descriptors, strict=True):
        os.close(descriptor)
        path.unlink(missing_ok=True)
