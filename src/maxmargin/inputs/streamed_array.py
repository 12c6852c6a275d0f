"""One of NumPy's arrays, read some rows at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError
from maxmargin.inputs.numpy_arrays import check_size, damage_named, read_shape, usable

__all__ = ["StreamedArray"]


class StreamedArray:
    """An array in an open file, row after row; only the rows that are asked for are in memory.

    Parameters
    ----------
    file : object with ``read``
        The file, at its start.
    size : int or None
        How long it is, where that is known.
    source : str
        What error messages call it.
    what : str
        What they call the kind of file.
    """

    def __init__(self, file: Any, size: int | None, source: str, what: str = "an .npy file") -> None:
        self._file = file
        self._source = source
        self._what = what
        counted = _Counted(file)
        with damage_named(what, source):
            found = read_shape(counted, source)
        if size is not None:
            check_size(found.n_bytes, size - counted.n_bytes, source)
        self.shape, self.is_fortran, self.dtype = found
        if not self.shape:
            raise FileFormatError("expected an array with rows, found a single number", source)
        self._n_left = self.shape[0]

    def take(self, n_rows: int) -> NDArray[Any]:
        """Return so many of the next rows, fewer at the end only; the end of the file is behind the last."""
        n_rows = min(n_rows, self._n_left)
        shape = (n_rows, *self.shape[1:])
        n_bytes = math.prod(shape) * self.dtype.itemsize
        rows = np.empty(n_bytes, dtype=np.uint8)
        with damage_named(self._what, self._source):
            self._fill(rows)
            self._n_left -= n_rows
            if self._n_left == 0 and self._file.read(1):
                raise FileFormatError("the array goes on behind its end", self._source)
        return usable(rows.view(self.dtype).reshape(shape), self._source)

    def _fill(self, rows: NDArray[np.uint8]) -> None:
        target, done = memoryview(rows.data), 0
        while done < len(target):
            piece = self._file.read(min(len(target) - done, 1 << 24))
            if not piece:
                raise FileFormatError("the file ends in the middle of an array", self._source)
            target[done : done + len(piece)] = piece
            done += len(piece)


class _Counted:
    """A file of which it is known how much was read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.n_bytes = 0

    def read(self, size: int) -> bytes:
        found: bytes = self._file.read(size)
        self.n_bytes += len(found)
        return found
