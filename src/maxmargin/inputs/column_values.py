"""What stands for missing values in columns of numbers that do not fit into memory.

The numbers are written to one file, column after column, and used there by memory map.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NumberColumns"]

AT_ONCE = 1 << 20  # numbers


class NumberColumns:
    """Columns of numbers on disk, without their gaps; use it in a ``with`` statement.

    Parameters
    ----------
    folder : Path
        Where the file is while it is needed.
    counts : list of int
        How many numbers each column has.
    dtype : dtype
        Their type, in which they were read.
    """

    def __init__(self, folder: Path, counts: list[int], dtype: Any) -> None:
        self._folder = folder
        self._ends = np.cumsum(counts).tolist()
        self._starts = [0, *self._ends[:-1]]
        self._dtype = np.dtype(dtype)

    def __enter__(self) -> NumberColumns:
        self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".maxmargin-columns-")
        size = max(self._ends[-1], 1)
        self._file.truncate(size * self._dtype.itemsize)
        self._numbers: NDArray[Any] = np.memmap(self._file, dtype=self._dtype, mode="r+", shape=(size,))
        self._at = list(self._starts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._numbers
        self._file.close()

    def add(self, numbers: NDArray[Any]) -> None:
        """Append the rows of a batch, a column each."""
        for column in range(numbers.shape[1]):
            values = numbers[:, column]
            present = values[~np.isnan(values)]
            self._numbers[self._at[column] : self._at[column] + len(present)] = present
            self._at[column] += len(present)

    def usual_value(self, column: int, rule: str) -> float:
        """Return the mean, the median or the most frequent number, as for a column in memory."""
        values = self._numbers[self._starts[column] : self._ends[column]]
        if rule == "mean":
            return float(np.mean(values, dtype=np.float64))
        values.sort()  # in place, in the file
        if rule == "median":
            middle = values[(len(values) - 1) // 2 : len(values) // 2 + 1]
            return float(np.mean(middle.astype(np.float64)))
        return _most_frequent(values)


def _most_frequent(values: NDArray[Any]) -> float:
    """Return the number that ascending numbers have most often, the smallest of several."""
    best, most = values[0], 0
    begun, length = values[0], 0  # a run that may go on in the next piece
    for first in range(0, len(values), AT_ONCE):
        distinct, counts = np.unique(values[first : first + AT_ONCE], return_counts=True)
        if distinct[0] == begun:
            counts[0] += length
        elif length > most:
            best, most = begun, length
        if counts[:-1].size and counts[:-1].max() > most:
            place = int(np.argmax(counts[:-1]))
            best, most = distinct[place], int(counts[place])
        begun, length = distinct[-1], int(counts[-1])
    return float(begun if length > most else best)
