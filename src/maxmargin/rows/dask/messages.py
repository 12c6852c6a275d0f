"""Messages between the driver of a fit and the workers that hold its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["LABELS", "WEIGHTS", "BlockSpan", "Done", "Failed", "Loaded", "NotReady", "Pass", "Share"]


LABELS, WEIGHTS = -1, -2  # the numbers of the per-row arrays that come with the rows


@dataclass(frozen=True)
class BlockSpan:
    """A block: its number, its position among those that have rows, and its rows, `first` to `end` - 1."""

    number: int
    position: int
    first: int
    end: int


@dataclass(frozen=True)
class Share:
    """What a worker has to do in a pass: its blocks, in order, and how many threads may work on them."""

    blocks: tuple[BlockSpan, ...]
    n_threads: int


@dataclass(frozen=True)
class Pass:
    """A pickled kernel, and the per-row arrays that it is given: number, dtype, shape of a row."""

    number: int
    kernel: bytes
    arrays: tuple[tuple[int, tuple[str, tuple[int, ...]]], ...]
    condensed: bool = False


@dataclass(frozen=True, eq=False)
class Loaded:
    """Properties of a block that has been loaded."""

    n_rows: int
    n_columns: int
    n_values: int
    labels: NDArray[Any]  # those that occur
    has_weights: bool
    is_sparse: bool


@dataclass(frozen=True)
class Done:
    """The records of those branches of the reduction tree that a worker could join, pickled."""

    branches: bytes


@dataclass(frozen=True)
class NotReady:
    """Nothing was done: these blocks are missing, or (if none is named) per-row arrays are out of date."""

    missing: tuple[int, ...]


@dataclass(frozen=True)
class Failed:
    """A pickled exception, and the number of the block at which it was raised."""

    block: int
    error: bytes
