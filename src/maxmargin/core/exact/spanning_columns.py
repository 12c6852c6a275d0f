"""Columns that span those of the rows, and sums over rows that keep their digits.

Columns that are combinations of others have nothing of their own, or next to nothing where they are so but
for rounding errors: then what they have left spans the same with the others as they do, and can be told from
them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin._core import StopToken
from maxmargin.core.exact.arithmetic import as_integers
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import UNIT, precise_scores
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows

__all__ = ["centred_sums", "is_dense", "leftovers", "with_few_digits"]


_MOST_PATTERNS = 200
_ROWS_AT_ONCE = 8_192


def is_dense(problem: Problem) -> bool:
    """Whether the rows are an array in memory."""
    return isinstance(problem.rows, MemoryRows) and isinstance(problem.rows.X, np.ndarray)


def centred_sums(problem: Problem, pull: Array, shift: Array | None, token: StopToken | None) -> Array:
    """Return Σ pull (x − shift, 1); dense rows are shifted first. Without an offset the last entry is 0."""
    rows: Any = problem.rows
    if shift is None:
        return np.append(rows.reduce(Combine(rows.n_columns), pull, token=token), 0.0)
    total = float(pull.sum())
    if not is_dense(problem):
        return np.append(rows.reduce(Combine(rows.n_columns), pull, token=token) - total * shift, total)
    X = rows.X
    sums = np.zeros(rows.n_columns)
    for start in range(0, len(X), _ROWS_AT_ONCE):
        piece = slice(start, start + _ROWS_AT_ONCE)
        sums += np.einsum("i,ij->j", pull[piece], X[piece].astype(np.float64) - shift)
    return np.append(sums, total)


def leftovers(problem: Problem, lengths: Array) -> tuple[Array, float]:
    """Return what columns that depend on others have left, scaled to length 1, and how far it may be off.

    Changes of (w, b) that no row notices are found in floats. One that is made of whole numbers is mostly
    exactly so, and leaves nothing; nor does a column that is a combination of others in fractions. Rows that
    are not in memory are believed.
    """
    if not isinstance(problem.rows, MemoryRows):
        return np.zeros((0, problem.rows.n_rows)), 0.0
    X, live, left, off = problem.rows.X, problem.cost > 0, [], 0.0
    for column, change in zip(problem.null_space.dependent, problem.null_space.basis, strict=True):
        share = np.abs(change) * lengths
        change = np.where(share < 2.0**-40 * share.max(), 0.0, change)
        score, error = precise_scores(X, *_split(with_few_digits(change)))
        if not (np.abs(score) + error)[live].any() or _is_combination(problem, change, int(column)):
            continue
        score, error = precise_scores(X, *_split(change))
        score, error = np.where(live, score, 0.0), np.where(live, error, 0.0)
        length = math.sqrt(inner(problem.cost * score, score))
        left.append(score / length if length > 0 else score)
        wrong = math.sqrt(inner(problem.cost * error, error)) * (1.0 + 2.0**-20)
        off = max(off, wrong / length if length > 0 else math.inf)
    return np.array(left).reshape(-1, problem.rows.n_rows), off + 8.0 * UNIT


def _split(change: Array) -> tuple[Array, float]:
    return change[:-1], float(change[-1])


def _is_combination(problem: Problem, change: Array, column: int) -> bool:
    """Whether a column is one of the others that a change names, and a constant, without rounding errors.

    Asked of rows that hold few different values only, as codes of categories do: of many rows whose values
    are rounded, none is.
    """
    live = np.flatnonzero(problem.cost > 0)
    others = np.setdiff1d(np.flatnonzero(change[:-1]), column)
    X: Any = problem.rows.subset(live).X[:, np.append(others, column)]
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    if len(others) >= _MOST_PATTERNS or len(np.unique(dense[:, -1])) > _MOST_PATTERNS:
        return False
    patterns = np.unique(dense, axis=0)
    if len(patterns) > _MOST_PATTERNS:
        return False
    if problem.offset.is_free:
        patterns = np.hstack([np.ones((len(patterns), 1)), patterns])
    columns = as_integers(np.ascontiguousarray(patterns.T))
    independent = independent_columns(columns[:-1].T)
    return solve_from_left(columns[independent], columns[-1], StopToken()) is not None


def with_few_digits(change: Array) -> Array:
    """Return numbers rounded to 40 bits: where they were meant to be whole, they are."""
    mantissa, exponent = np.frexp(change)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, 40)), exponent - 40))
