"""What the columns of a data set are like, in one pass over the values that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.validation import check_matrix

__all__ = ["ColumnSummary", "summarise_columns"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """Least and largest value, mean, standard deviation and number of zeros of each column.

    Examples
    --------
    >>> found = summarise_columns([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> found.mean, found.n_zeros, found.is_constant
    (array([2., 1.]), array([1, 0]), array([False,  True]))
    """

    least: Array
    largest: Array
    mean: Array
    deviation: Array
    n_zeros: NDArray[np.intp]

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Which columns have one value only."""
        return np.asarray(self.least == self.largest)

    @property
    def spread(self) -> float:
        """The largest deviation over the smallest, of the columns that are not constant."""
        deviations = self.deviation[~self.is_constant]
        smallest = deviations.min(initial=np.inf)
        return float(deviations.max() / smallest) if deviations.size and smallest > 0 else 1.0


def summarise_columns(X: Any) -> ColumnSummary:
    """Return what each column is like.

    Parameters
    ----------
    X : array or sparse array with at least one row
    """
    matrix = check_matrix(X)
    n_rows = matrix.shape[0]
    if not hasattr(matrix, "nnz"):
        dense = np.asarray(matrix)
        return ColumnSummary(
            dense.min(axis=0).astype(np.float64),
            dense.max(axis=0).astype(np.float64),
            dense.mean(axis=0, dtype=np.float64),
            dense.std(axis=0, dtype=np.float64),
            np.asarray(n_rows - np.count_nonzero(dense, axis=0), dtype=np.intp),
        )
    columns, values = np.asarray(matrix.indices), np.asarray(matrix.data, dtype=np.float64)
    width = matrix.shape[1]
    stored = np.bincount(columns, minlength=width)
    mean = np.bincount(columns, weights=values, minlength=width) / n_rows
    squares = np.bincount(columns, weights=(values - mean[columns]) ** 2, minlength=width)
    squares = squares + (n_rows - stored) * mean**2
    # A value that is not stored is 0.
    least, largest = (np.where(stored < n_rows, 0.0, end) for end in (np.inf, -np.inf))
    np.minimum.at(least, columns, values)
    np.maximum.at(largest, columns, values)
    filled = np.bincount(columns[values != 0], minlength=width)
    return ColumnSummary(least, largest, mean, np.sqrt(squares / n_rows), (n_rows - filled).astype(np.intp))
