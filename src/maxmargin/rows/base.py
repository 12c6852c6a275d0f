"""What solvers may ask of the data: two kinds of pass, and numbers kept beside the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken

if TYPE_CHECKING:
    from maxmargin.rows.memory import MemoryRows

__all__ = ["Array", "ReduceKernel", "Rows", "SweepKernel", "merge_in_tree"]

Array = NDArray[np.float64]
R = TypeVar("R")
Record = TypeVar("Record", covariant=True)


class ReduceKernel(Protocol[R]):
    """One block's share of a pass in which order does not matter."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> R:
        """Read the block and its pieces of the row vectors; may rewrite the pieces."""
        ...

    def merge(self, first: R, second: R) -> R:
        """Join the records of two neighbouring ranges of blocks."""
        ...


class SweepKernel(Protocol[R]):
    """One block's share of a pass that visits rows one by one and changes a state on the way."""

    def __call__(
        self, block: Block, token: StopToken, order: tuple[int, int, int], *pieces: NDArray[Any]
    ) -> R:
        """Visit the block's rows in the order named by (seed, pass, block)."""
        ...

    def merge(self, first: R, second: R) -> R:
        """Join the records of two blocks, in the order of their visits."""
        ...


class Rows(ABC):
    """The rows of a problem, cut into blocks that only the data decide.

    Numbers beside the rows (duals, scores, flags) are made by `zeros`; a solver hands them to the passes
    and leaves it to the rows where they are kept.
    """

    n_rows: int
    n_columns: int
    n_values: int  # stored numbers: n_rows · n_columns when dense

    @abstractmethod
    def zeros(self, dtype: Any = np.float64) -> NDArray[Any]:
        """One number for each row."""

    @abstractmethod
    def reduce(self, kernel: ReduceKernel[R], *vectors: NDArray[Any], token: StopToken | None = None) -> R:
        """Let the kernel read every block; join its records in one binary tree over block numbers."""

    @abstractmethod
    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: NDArray[Any], token: StopToken
    ) -> R:
        """Let the kernel visit every row once, in an order drawn for (seed, number)."""

    @abstractmethod
    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        """Copy a few of the rows into memory, for a problem that only they decide."""

    @abstractmethod
    def norms(self) -> tuple[Array, float]:
        """Squared norms of the rows and the largest of them; refuses values that are not finite."""


def merge_in_tree(records: Sequence[R], kernel: ReduceKernel[R] | SweepKernel[R]) -> R:
    """Join records pairwise, always in the same shape, so that sums have the same bits everywhere."""
    level = list(records)
    while len(level) > 1:
        pairs = [kernel.merge(level[k], level[k + 1]) for k in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]
