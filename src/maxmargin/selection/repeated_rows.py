"""Which rows of one table are rows of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from maxmargin.rows import MemoryRows
from maxmargin.rows.kernels import Scores

__all__ = ["repeated_rows"]

_ROWS_AT_A_TIME = 4_096


def repeated_rows(X: Any, others: Any) -> NDArray[np.bool_]:
    """Return for each row of X whether the same row is among the others.

    Rows that are the same have the same product with any vector, to the last bit; those few that have the
    same product as another row are compared with it value by value.

    Parameters
    ----------
    X, others : array or CSR matrix with the same columns, checked

    Examples
    --------
    >>> repeated_rows(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 2.0]])).tolist()
    [True, False]
    """
    X, others = _alike(X), _alike(others)
    if scipy.sparse.issparse(X) != scipy.sparse.issparse(others):
        X, others = scipy.sparse.csr_array(X), scipy.sparse.csr_array(others)
    products, known = _products(X), _products(others)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, products, sorter=order), len(known) - 1)]
    found = products == known[place]
    candidates = np.flatnonzero(found)
    for start in range(0, len(candidates), _ROWS_AT_A_TIME):
        piece = candidates[start : start + _ROWS_AT_A_TIME]
        found[piece] = _rows_are_equal(X[piece], others[place[piece]])
    return np.asarray(found)


def _alike(X: Any) -> Any:
    """Return the rows in one number type and order, so that equal rows have equal products."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    csr = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
    csr.sort_indices()
    csr.eliminate_zeros()
    return csr


def _products(X: Any) -> NDArray[np.float64]:
    rows = MemoryRows(X)
    z: NDArray[np.float64] = rows.zeros()
    # Any vector without structure will do; the same one makes the same answer every time.
    rows.reduce(Scores(np.random.default_rng(0).standard_normal(rows.n_columns)), z)
    return z


def _rows_are_equal(first: Any, second: Any) -> NDArray[np.bool_]:
    if isinstance(first, np.ndarray):
        return np.asarray((first == second).all(axis=1))
    return np.asarray(np.diff(scipy.sparse.csr_array(first != second).indptr) == 0)
