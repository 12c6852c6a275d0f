"""Passes over rows that are cut into blocks, on several threads, whatever the blocks are read from."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import wait
from functools import cached_property
from typing import TypeVar

import numpy as np

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput
from maxmargin.rows.base import ReduceKernel, Rows, RowVector, Tree
from maxmargin.rows.kernels import Inspect, Inspected
from maxmargin.rows.waiting import Helpers, results_of

__all__ = ["BlockedRows", "block_size", "refuse_bad_values"]

R = TypeVar("R")

FEWEST_BLOCKS = 16  # so that a handful of cores share a pass evenly
SMALLEST_BLOCK, LARGEST_BLOCK = 8_192, 65_536  # rows: handing out a block costs as much as reading some 100


def block_size(n_rows: int, n_columns: int, n_values: int) -> int:
    """Return the rows per block, from the shape of the data alone.

    A sixteenth of the rows within limits; and so many that the records which products and Gram matrices
    leave per block (as long as a row, or its square) cost little beside the block itself.
    """
    share = -(-n_rows // (64 * FEWEST_BLOCKS)) * 64  # whole cache lines of every vector beside the rows
    is_dense = n_values == n_rows * n_columns
    worth_a_record = 8 * n_columns if is_dense else 8 * n_columns * n_rows // max(n_values, 1)
    return min(max(share, SMALLEST_BLOCK, worth_a_record), LARGEST_BLOCK)


class BlockedRows(Rows):
    """Rows in blocks that only the data decide; threads change the time of a pass, never its bits."""

    def __init__(self, shape: tuple[int, int], n_values: int, threads: int, block_rows: int | None) -> None:
        self.n_rows, self.n_columns = shape
        self.n_values = n_values
        self._threads = threads
        self._block_rows = block_rows
        rows = block_rows or block_size(self.n_rows, self.n_columns, self.n_values)
        starts = range(0, max(self.n_rows, 1), rows)
        self._ranges = [slice(start, min(start + rows, self.n_rows)) for start in starts]

    @property
    def largest_block(self) -> int:
        return max(piece.stop - piece.start for piece in self._ranges)

    @property
    def threads(self) -> int:
        """How many blocks a pass may read at once."""
        return self._threads

    @cached_property
    def _helpers(self) -> Helpers:
        return Helpers(self._threads - 1)

    @abstractmethod
    def _visit(self, k: int, kernel: ReduceKernel[R], token: StopToken, vectors: tuple[RowVector, ...]) -> R:
        """Call the kernel with block k and its pieces of the vectors."""

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        asked = token if token is not None else StopToken()
        tree = Tree(len(self._ranges), kernel)
        waiting = deque(range(len(self._ranges)))

        def work() -> None:
            """Take the next block until none is left; whoever fails leaves none for the others."""
            try:
                while True:
                    try:
                        k = waiting.popleft()
                    except IndexError:
                        return
                    # A thread has NumPy's settings of its own; who asked for the sums looks at them anyway.
                    with np.errstate(all="ignore"):
                        found = self._visit(k, kernel, asked, vectors)
                    tree.put(k, found)
            except BaseException:
                waiting.clear()
                raise

        self._share(work, asked)
        return tree.root()

    def _share(self, work: Callable[[], None], asked: StopToken) -> None:
        """Do the work on all threads, this one included; return when nobody is at it any more."""
        n_helpers = min(self._threads, len(self._ranges)) - 1
        if n_helpers < 1:
            work()
            return
        futures = [self._helpers.submit(work) for _ in range(n_helpers)]
        try:
            work()
            # One that has not begun is needed no more: the helpers may be busy with somebody else's pass.
            begun = [future for future in futures if not future.cancel()]
            results_of(begun)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                asked.stop()  # this thread alone hears Ctrl-C
            wait([future for future in futures if not future.cancel()])
            raise

    def norms(self) -> tuple[RowVector, float]:
        return self._norms

    @cached_property
    def _norms(self) -> tuple[RowVector, float]:
        norm2 = self.zeros()
        found = self.reduce(Inspect(), norm2, token=StopToken())
        refuse_bad_values(found)
        return norm2, found.largest


def refuse_bad_values(found: Inspected, whereabouts: Callable[[int], str] = lambda row: "") -> None:
    """Refuse values that are not finite, or too large to square.

    Parameters
    ----------
    found : Inspected
    whereabouts : callable
        What to say besides of the place of a row.
    """
    if found.bad_row is not None and found.bad_value is not None:
        raise InvalidInput(
            f"X contains {_name(found.bad_value)}: row {found.bad_row}, column {found.bad_column} "
            f"(counted from 0{whereabouts(found.bad_row)}). Remove or impute such values."
        )
    if found.overflow_row is not None:
        raise InvalidInput(
            f"row {found.overflow_row} of X (counted from 0{whereabouts(found.overflow_row)}) is so large "
            "that its square is infinite in double precision. Scale the columns, for example to the range "
            "[-1, 1]."
        )


def _name(value: float) -> str:
    if np.isnan(value):
        return "NaN"
    return "infinity (inf)" if value > 0 else "minus infinity (-inf)"
