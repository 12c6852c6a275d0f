"""Rows that a pass marks, such as those with positive cost: one bit per row, and row numbers on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.rows.base import Rows, RowVector

__all__ = ["MarkedRows", "Marks", "PositiveCostRows"]


@dataclass(frozen=True, eq=False)
class Marks:
    """One bit for each row of a block, packed into bytes, and how many are set."""

    n_rows: int
    n_set: int
    bits: NDArray[np.uint8]

    @classmethod
    def of(cls, marked: NDArray[np.bool_]) -> Self:
        """Return the marks of the rows of a block."""
        return cls(len(marked), int(np.count_nonzero(marked)), np.packbits(marked))


@dataclass(frozen=True)
class _Mark:
    """Mark rows with positive cost and, unless `wanted` is 0, that sign; per-row arrays: sign, cost."""

    wanted: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> list[Marks]:
        sign, cost = pieces
        marked = cost > 0
        if self.wanted != 0:
            marked &= sign == self.wanted
        return [Marks.of(marked)]


class MarkedRows:
    """The rows that a pass has marked, in order.

    They are identified by rank, 0 to count − 1; `numbers` returns their row numbers. Only one bit per row is
    kept, so it can be used for rows that are not in memory.

    Parameters
    ----------
    blocks : list of Marks
        Of all blocks, as the pass returns them.
    """

    def __init__(self, blocks: list[Marks]) -> None:
        self._blocks = blocks
        self._first_row = np.cumsum([0, *(block.n_rows for block in self._blocks)])
        self._first_rank = np.cumsum([0, *(block.n_set for block in self._blocks)])

    @property
    def count(self) -> int:
        return int(self._first_rank[-1])

    def numbers(self, ranks: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the row numbers of some ranks, in increasing order."""
        ordered = np.sort(ranks)
        ends = np.searchsorted(ordered, self._first_rank)
        found = np.empty(len(ordered), dtype=np.intp)
        for k, block in enumerate(self._blocks):
            mine = slice(ends[k], ends[k + 1])
            if mine.start < mine.stop:
                places = np.flatnonzero(np.unpackbits(block.bits, count=block.n_rows))
                found[mine] = self._first_row[k] + places[ordered[mine] - self._first_rank[k]]
        return found


class PositiveCostRows(MarkedRows):
    """The rows with positive cost, or those of one class among them, in order."""

    def __init__(self, rows: Rows, sign: RowVector, cost: RowVector, wanted: int = 0) -> None:
        super().__init__(rows.reduce(_Mark(wanted), sign, cost))
