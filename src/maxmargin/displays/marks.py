"""Marks for any number of examples: each its own while they are few, one per cell of a grid when many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_MARKS", "Marks", "marks_of"]

MOST_MARKS = 500  # of one kind; more would only hide each other
CELLS = 60  # along each axis

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marks:
    """Where marks are, and how many examples each stands for.

    Attributes
    ----------
    places : array of shape (n_marks, n_axes)
        The mean of the examples that a mark stands for.
    counts : array of int
    """

    places: Array
    counts: NDArray[np.intp]

    @property
    def is_joint(self) -> bool:
        """Whether some mark stands for several examples."""
        return bool((self.counts > 1).any())

    def areas(self, single: float, largest: float, most: int) -> Array:
        """Return the areas to draw, `single` for one example and `largest` for `most` of them.

        In between they grow with the root of the number, or one crowded place would shrink all others.
        """
        share = np.sqrt((self.counts - 1) / max(most - 1, 1))
        return np.asarray(single + (largest - single) * share)


def marks_of(points: Array, low: Array, high: Array, *, most: int = MOST_MARKS, cells: int = CELLS) -> Marks:
    """Return a mark for each point or, with more than `most` of them, for each cell that holds any.

    Parameters
    ----------
    points : array of shape (n, n_axes)
        Within the limits.
    low, high : arrays of shape (n_axes,)
        The limits of what is drawn.
    most : int
    cells : int
        Along each axis.

    Examples
    --------
    >>> many = np.repeat([[0.1, 0.2], [0.7, 0.9]], 1000, axis=0)
    >>> joint = marks_of(many, np.zeros(2), np.ones(2))
    >>> joint.places.round(12).tolist(), joint.counts.tolist()
    ([[0.1, 0.2], [0.7, 0.9]], [1000, 1000])
    """
    if len(points) <= most:
        return Marks(points, np.ones(len(points), dtype=np.intp))
    width = np.where(high > low, high - low, 1.0)
    cell = np.clip((cells * (points - low) / width).astype(np.intp), 0, cells - 1)
    number = np.ravel_multi_index(tuple(cell.T), (cells,) * points.shape[1])
    _, place, counts = np.unique(number, return_inverse=True, return_counts=True)
    sums = [np.bincount(place.ravel(), weights=column, minlength=len(counts)) for column in points.T]
    return Marks(np.stack(sums, axis=1) / counts[:, None], counts)
