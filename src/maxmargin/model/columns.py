"""Summaries of the columns of a data set, in one pass over the stored values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.validation import check_matrix

__all__ = ["ColumnSummary", "summarise_columns"]


Array = NDArray[np.float64]


# Up to so many columns are visited one by one, even if most of them are empty.
FEW_COLUMNS = 1 << 16


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """Summaries of the first columns, and counts over all columns.

    Attributes
    ----------
    least, largest, mean, deviation, n_zeros : array
        Of the columns that are listed, from the first on.
    n_constant : int
        How many of all columns have one value only.
    spread : float
        The largest deviation over the smallest, of all columns that are not constant.
    share_of_zeros : float
        Among all values.

    Examples
    --------
    >>> found = summarise_columns([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> found.mean, found.n_zeros, found.is_constant
    (array([2., 1.]), array([1, 0]), array([False,  True]))
    >>> found.n_constant, round(found.share_of_zeros, 3)
    (1, 0.167)
    """

    least: Array
    largest: Array
    mean: Array
    deviation: Array
    n_zeros: NDArray[np.intp]
    n_constant: int
    spread: float
    share_of_zeros: float

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Which of the listed columns have one value only."""
        return np.asarray(self.least == self.largest)


class Moments(NamedTuple):
    """Summaries of some columns, one entry a column."""

    least: Array
    largest: Array
    mean: Array
    deviation: Array
    n_zeros: NDArray[np.intp]

    @property
    def n_constant(self) -> int:
        """How many have one value only."""
        return int(np.count_nonzero(self.least == self.largest))

    @property
    def spread(self) -> float:
        """The largest deviation over the smallest, of the columns that are not constant."""
        deviations = self.deviation[self.least != self.largest]
        smallest = deviations.min(initial=np.inf)
        if not deviations.size or not smallest > 0:
            return 1.0
        with np.errstate(over="ignore"):  # infinite where it overflows
            return float(deviations.max() / smallest)


def summarise_columns(X: Any, n_listed: int | None = None) -> ColumnSummary:
    """Summarise the columns; for sparse rows in memory that depends on the stored values, not on the width.

    Parameters
    ----------
    X : array or sparse array with at least one row
    n_listed : int, optional
        How many columns to list, all by default.
    """
    matrix = check_matrix(X)
    n_rows, width = matrix.shape
    n_listed = width if n_listed is None else min(n_listed, width)
    if hasattr(matrix, "nnz"):
        return summary_of_sparse(matrix, n_listed)
    found = moments_of_dense(np.asarray(matrix))
    share = float(found.n_zeros.sum() / max(n_rows * width, 1))
    return ColumnSummary(
        found.least[:n_listed],
        found.largest[:n_listed],
        found.mean[:n_listed],
        found.deviation[:n_listed],
        found.n_zeros[:n_listed],
        found.n_constant,
        found.spread,
        share,
    )


def moments_of_dense(dense: NDArray[Any]) -> Moments:
    """Summarise the columns of a table."""
    least, largest = dense.min(axis=0).astype(np.float64), dense.max(axis=0).astype(np.float64)
    unit = units_of(least, largest)
    scaled = dense if np.all(unit == 1) else dense / unit
    return Moments(
        least,
        largest,
        scaled.mean(axis=0, dtype=np.float64) * unit,
        scaled.std(axis=0, dtype=np.float64) * unit,
        np.asarray(dense.shape[0] - np.count_nonzero(dense, axis=0), dtype=np.intp),
    )


def units_of(least: Array, largest: Array) -> Array:
    """Return for each column the power of two in which its squares neither overflow nor vanish: mostly 1."""
    size = np.maximum(np.abs(least), np.abs(largest))
    extreme = (size > 1e100) | ((size > 0) & (size < 1e-100))
    return np.ldexp(1.0, np.where(extreme, np.frexp(size)[1] - 1, 0))


def summary_of_sparse(matrix: Any, n_listed: int) -> ColumnSummary:
    """Summarise the columns of sparse rows: empty columns are counted, not visited."""
    n_rows, width = matrix.shape
    columns, values = np.asarray(matrix.indices), np.asarray(matrix.data, dtype=np.float64)
    if width <= max(FEW_COLUMNS, len(values)):
        used = np.arange(width)
    else:
        used, columns = np.unique(columns, return_inverse=True)
    found = moments_of_sparse(columns, values, n_rows, len(used))
    shown = used < n_listed

    def listed(part: NDArray[Any], of_empty: int = 0) -> NDArray[Any]:
        whole = np.full(n_listed, of_empty, dtype=part.dtype)
        whole[used[shown]] = part[shown]
        return whole

    return ColumnSummary(
        listed(found.least),
        listed(found.largest),
        listed(found.mean),
        listed(found.deviation),
        listed(found.n_zeros, of_empty=n_rows),
        found.n_constant + width - len(used),
        found.spread,
        1 - np.count_nonzero(values) / max(n_rows * width, 1),
    )


def moments_of_sparse(columns: NDArray[Any], values: Array, n_rows: int, width: int) -> Moments:
    """Summarise columns from their stored values, each with its column's index; other values are 0."""
    stored = np.bincount(columns, minlength=width)
    # A value that is not stored is 0.
    least, largest = (np.where(stored < n_rows, 0.0, end) for end in (np.inf, -np.inf))
    np.minimum.at(least, columns, values)
    np.maximum.at(largest, columns, values)
    unit = units_of(least, largest)
    scaled = values / unit[columns]
    mean = np.bincount(columns, weights=scaled, minlength=width) / n_rows
    squares = np.bincount(columns, weights=(scaled - mean[columns]) ** 2, minlength=width)
    deviation = np.sqrt((squares + (n_rows - stored) * mean**2) / n_rows)
    filled = np.bincount(columns[values != 0], minlength=width)
    return Moments(least, largest, mean * unit, deviation * unit, (n_rows - filled).astype(np.intp))
