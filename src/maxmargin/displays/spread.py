"""How far the columns of a table spread, without a copy of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.validation import refuse_masked

__all__ = ["column_deviations"]

ROWS_AT_ONCE = 65536

Array = NDArray[np.float64]


def column_deviations(X: Any) -> Array:
    """Return the standard deviation of every column, of dense or sparse rows.

    Examples
    --------
    >>> column_deviations([[0.0, 5.0], [2.0, 5.0]])
    array([1., 0.])
    """
    if hasattr(X, "tocsr"):
        return _of_sparse(X.tocsr())
    refuse_masked("X", X)
    try:
        rows = np.asarray(X)
        rows = rows if rows.dtype.kind in "biuf" else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("X must hold numbers.") from None
    if rows.ndim != 2 or len(rows) == 0:
        raise InvalidInput(f"X must be a matrix with rows; got shape {rows.shape}")
    middle = rows[0].astype(np.float64)  # near the data: without it, large means would eat the digits
    total, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for start in range(0, len(rows), ROWS_AT_ONCE):
        block = rows[start : start + ROWS_AT_ONCE] - middle
        total += block.sum(axis=0)
        squares += np.einsum("ij,ij->j", block, block)
    return _deviation(total, squares, len(rows))


def _of_sparse(X: Any) -> Array:
    """Return the same from the values that are not 0."""
    if X.shape[0] == 0:
        raise InvalidInput(f"X must be a matrix with rows; got shape {X.shape}")
    if not X.has_canonical_format:  # the same place may be written twice
        X = X.copy()
        X.sum_duplicates()
    values = X.data.astype(np.float64)
    total = np.bincount(X.indices, weights=values, minlength=X.shape[1])
    squares = np.bincount(X.indices, weights=values * values, minlength=X.shape[1])
    return _deviation(np.asarray(total, np.float64), np.asarray(squares, np.float64), X.shape[0])


def _deviation(total: Array, squares: Array, n_rows: int) -> Array:
    if not np.isfinite(squares).all():
        column = int(np.flatnonzero(~np.isfinite(squares))[0])
        raise InvalidInput(f"column {column} of X has no finite deviation: it contains NaN or infinity.")
    mean = total / n_rows
    return np.asarray(np.sqrt(np.maximum(squares / n_rows - mean * mean, 0.0)))
