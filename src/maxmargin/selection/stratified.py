"""Splits that hold out every row once and keep the shares of the classes, without scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["stratified_splits"]


def stratified_splits(
    codes: NDArray[np.integer[Any]], n_splits: int, seed: int = 0
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return (training rows, held-out rows) of each split; each class is dealt out evenly, in random order.

    Files are often sorted, by class, date or source; neighbours therefore go to different splits by chance.

    Parameters
    ----------
    codes : array of int
        The number of each row's class.
    n_splits : int
        At most the number of rows.
    seed : int
        Of the order.

    Examples
    --------
    >>> splits = stratified_splits(np.array([0, 0, 0, 0, 1, 1]), 2)
    >>> [held_out.tolist() for _, held_out in splits]
    [[1, 2, 4], [0, 3, 5]]
    """
    random = np.random.RandomState(seed % 2**32)  # its numbers are the same in every version of NumPy
    fold = np.empty(len(codes), dtype=np.intp)
    dealt = 0  # every class goes on where the last one ended, so that splits are of equal size
    for code in np.unique(codes):
        rows = random.permutation(np.flatnonzero(codes == code))
        fold[rows] = (dealt + np.arange(len(rows))) % n_splits
        dealt += len(rows)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]
