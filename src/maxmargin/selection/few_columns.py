"""Fewer rows than columns: the same problem in as many coordinates as there are rows.

The weights are combinations of the rows, so nothing but their products with each other matters; the rows of
the Cholesky factor of those products have the same ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.kernels import Gram

__all__ = ["in_few_columns"]


def in_few_columns(problem: Problem, most: int, token: StopToken) -> Problem | None:
    """Return the problem with the same agreements in at most `most` columns; None if there is no such.

    It is the problem itself unless its rows that cost anything are far fewer than its columns; then the
    other rows are kept as zeros.
    """
    rows = problem.rows
    live = np.flatnonzero(problem.cost > 0)
    if rows.n_columns <= min(most, 2 * live.size):
        return problem
    if live.size > most or not isinstance(rows, MemoryRows):
        return problem if rows.n_columns <= most else None
    coordinates: Array = np.zeros((rows.n_rows, max(live.size, 1)))
    coordinates[live] = Factor(_products(rows.subset(live), token)).lower()
    narrow = MemoryRows(coordinates, threads=rows.threads)
    narrow.norms()
    return replace(problem, rows=narrow)


def _products(rows: MemoryRows, token: StopToken) -> Array:
    """Return the products of all pairs of rows: the Gram matrix of the transposed table."""
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.T.tocsr()
    columns = MemoryRows(X.T if isinstance(X, np.ndarray) else X, threads=rows.threads)
    gram = columns.reduce(Gram(rows.n_rows), np.ones(rows.n_columns), token=token)
    return np.ascontiguousarray(gram[:-1, :-1])
