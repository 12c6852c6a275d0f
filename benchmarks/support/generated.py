"""Generated tasks; the same numbers on every machine. Values are exact in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = [
    "at_zero",
    "covtype_like",
    "embeddings",
    "generated_text",
    "one_hot_ties",
    "overlapping",
    "sparse_binary",
]


def overlapping(rows: int, columns: int, seed: int = 0, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return normal columns and labels that a plane explains up to noise as large as its own signal.

    Written block by block, so that ten million rows need no second copy.
    """
    plane = np.random.default_rng(seed).normal(size=columns) / np.sqrt(columns)
    X, y = np.empty((rows, columns), dtype=np.float32), np.empty(rows)
    step = 100_000
    for number, first in enumerate(range(0, rows, step)):
        rng = np.random.default_rng((seed, number))
        piece = X[first : first + step]
        piece[:] = rng.standard_normal(piece.shape, dtype=np.float32)
        score = np.einsum("ij,j->i", piece, plane) + noise * rng.standard_normal(len(piece))
        y[first : first + step] = np.where(score > 0, 1.0, -1.0)
    return X, y


def embeddings(
    rows: int, columns: int, classes: int, dtype: Any = np.float32, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length 1 around a centre for each class, and their classes.

    The variance falls with the number of the column, as in the principal components of embeddings.
    """
    rng = np.random.default_rng(seed)
    deviation = (1.0 + np.arange(columns)) ** -0.5
    centres = rng.normal(size=(classes, columns)) * deviation
    y = rng.integers(0, classes, rows)
    X = np.empty((rows, columns), dtype)
    step = 20_000
    for first in range(0, rows, step):
        of_step = y[first : first + step]
        piece = centres[of_step] + rng.normal(size=(len(of_step), columns)) * deviation
        X[first : first + step] = piece / np.linalg.norm(piece, axis=1, keepdims=True)
    return X, y


def covtype_like(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return ten columns in [0, 1] and 44 one-hot ones, as in covtype, with labels of both."""
    rng = np.random.default_rng(seed)
    dense = rng.beta(2.0, 3.0, size=(rows, 10)).astype(np.float32)
    area, soil = rng.integers(0, 4, rows), np.minimum(rng.geometric(0.08, rows), 40) - 1
    X = np.concatenate([dense, np.eye(4, dtype=np.float32)[area], np.eye(40, dtype=np.float32)[soil]], axis=1)
    score = X @ rng.normal(size=54) + 0.7 * rng.standard_normal(rows)
    return X, np.where(score > np.median(score), 1.0, -1.0)


def one_hot_ties(rows: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return twelve 0/1 columns as CSR: at most 4,096 different rows, so that most of them tie."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rows, 12)) < 0.4).astype(np.float64)
    score = X @ rng.normal(size=12) + 0.5 * rng.standard_normal(rows)
    return sp.csr_matrix(X), np.where(score > np.median(score), 1.0, -1.0)


def at_zero(rows: int, columns: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return labels, one in a thousand positive, that have nothing to do with the rows: w = 0 is optimal."""
    rng = np.random.default_rng(seed)
    y = np.full(rows, -1.0)
    y[: max(rows // 1000, 5)] = 1.0
    return rng.standard_normal((rows, columns), dtype=np.float32), y


def sparse_binary(rows: int, columns: int = 123, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return CSR rows of fourteen ones each, as in a9a."""
    rng = np.random.default_rng(seed)
    groups = np.array_split(np.arange(columns), 14)
    chosen = np.stack([group[rng.integers(0, len(group), rows)] for group in groups], axis=1)
    starts = np.arange(0, 14 * rows + 1, 14)
    X = sp.csr_matrix((np.ones(14 * rows), chosen.ravel(), starts), shape=(rows, columns))
    score = X @ rng.normal(size=columns) + 1.5 * rng.standard_normal(rows)
    return X, np.where(score > np.quantile(score, 0.75), 1.0, -1.0)


def generated_text(rows: int = 4000, words: int = 20000, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Return rows of unit norm with word counts that fall off as in real text."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(30, 200, rows)
    columns = np.minimum((rng.pareto(0.7, lengths.sum()) * 20).astype(np.int64), words - 1)
    starts = np.repeat(np.arange(rows), lengths)
    X = sp.csr_matrix((np.ones(len(columns)), (starts, columns)), shape=(rows, words))
    X.data = np.log1p(X.data)
    X = sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X
    y = np.where(X @ rng.normal(size=words) + 0.1 * rng.normal(size=rows) > 0, 1.0, -1.0)
    return sp.csr_matrix(X), y
