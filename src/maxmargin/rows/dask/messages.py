"""What the driver of a fit and the workers that have its rows tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["LABELS", "WEIGHTS", "Done", "Failed", "Loaded", "Pass", "Place", "Wanting"]


LABELS, WEIGHTS = -1, -2  # the vectors that come with the rows


@dataclass(frozen=True)
class Place:
    """Which block it is, where it stands among those that have rows, and which of all rows are its own."""

    number: int
    position: int
    first: int
    end: int


@dataclass(frozen=True)
class Pass:
    """A kernel, pickled, and its vectors: their numbers and number types."""

    number: int
    kernel: bytes
    vectors: tuple[tuple[int, str], ...]
    condensed: bool = False


@dataclass(frozen=True, eq=False)
class Loaded:
    """What there is to know of a block when it is there."""

    n_rows: int
    n_columns: int
    n_values: int
    labels: NDArray[Any]  # those that occur
    has_weights: bool
    is_sparse: bool


@dataclass(frozen=True)
class Done:
    """The records of the branches of the tree of sums that a worker could join, pickled."""

    branches: bytes


@dataclass(frozen=True)
class Wanting:
    """Nothing was done: these blocks are not here, or (if none is named) numbers are not up to date."""

    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Failed:
    """An exception, pickled, and the block at which it was raised."""

    block: int
    error: bytes
