"""Which rows cost anything: a bit of each row, brought here by one pass, and their numbers on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.rows.base import Rows, RowVector

__all__ = ["LiveRows"]


@dataclass(frozen=True, eq=False)
class _Marks:
    """A bit for each row of a stretch of rows, and how many are set."""

    n_rows: int
    n_set: int
    bits: NDArray[np.uint8]


@dataclass(frozen=True)
class _Mark:
    """Mark the rows that cost anything and, unless `wanted` is 0, have that sign; vectors: sign, cost."""

    wanted: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> list[_Marks]:
        sign, cost = pieces
        marked = cost > 0
        if self.wanted != 0:
            marked &= sign == self.wanted
        return [_Marks(len(marked), int(np.count_nonzero(marked)), np.packbits(marked))]

    def merge(self, first: list[_Marks], second: list[_Marks]) -> list[_Marks]:
        return first + second


class LiveRows:
    """The rows that cost anything, or those of one class among them, in order.

    They are known by rank, 0 to count − 1; `numbers` says which rows these are. An eighth of a byte per row
    is all that is kept, so that it does for rows that are not in memory.
    """

    def __init__(self, rows: Rows, sign: RowVector, cost: RowVector, wanted: int = 0) -> None:
        self._stretches = rows.reduce(_Mark(wanted), sign, cost)
        self._first_row = np.cumsum([0, *(stretch.n_rows for stretch in self._stretches)])
        self._first_rank = np.cumsum([0, *(stretch.n_set for stretch in self._stretches)])

    @property
    def count(self) -> int:
        return int(self._first_rank[-1])

    def numbers(self, ranks: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the row numbers of some ranks, in increasing order."""
        ordered = np.sort(ranks)
        ends = np.searchsorted(ordered, self._first_rank)
        found = np.empty(len(ordered), dtype=np.intp)
        for k, stretch in enumerate(self._stretches):
            mine = slice(ends[k], ends[k + 1])
            if mine.start < mine.stop:
                places = np.flatnonzero(np.unpackbits(stretch.bits, count=stretch.n_rows))
                found[mine] = self._first_row[k] + places[ordered[mine] - self._first_rank[k]]
        return found
