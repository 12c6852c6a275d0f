"""Rows of many columns, in as many coordinates as there are rows.

A soft margin knows the rows by their inner products only. A triangular matrix L with L Lᵀ = X Xᵀ has rows of
the same inner products, and with them the same duals and the same margin; the weights of X are Σ α s x.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.kernels import Gram

__all__ = ["MOST_ROWS", "in_few_coordinates"]

MOST_ROWS = 2_000  # a triangular matrix of more takes longer than descent
_DEPENDENT = 1e-13  # of its square: what is left of a row that others explain


def in_few_coordinates(problem: Problem, token: StopToken) -> Problem | None:
    """Return the problem with rows of the same inner products, one coordinate a row; None if no gain."""
    rows = problem.rows
    if not (isinstance(rows, MemoryRows) and rows.n_rows < rows.n_columns and rows.n_rows <= MOST_ROWS):
        return None
    X: Any = rows.X
    turned = np.ascontiguousarray(X.T) if isinstance(X, np.ndarray) else X.T.tocsr()
    columns = MemoryRows(turned)
    products = columns.reduce(Gram(rows.n_rows), np.ones(rows.n_columns), token=token)
    return replace(problem, rows=MemoryRows(_triangle(np.tril(products[:-1, :-1]))))


def _triangle(products: Array) -> Array:
    """Return the lower triangular factor; rows that others explain get no coordinate of their own."""
    n = len(products)
    factor = np.zeros((n, n))
    for j in range(n):
        left = products[j:, j] - np.einsum("ik,k->i", factor[j:, :j], factor[j, :j])
        if left[0] > _DEPENDENT * products[j, j]:
            factor[j:, j] = left / np.sqrt(left[0])
    return factor
