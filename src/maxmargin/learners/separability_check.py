"""Going through the witness of a separability again."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem.exact_arithmetic import Echelon, Integers, as_integers
from maxmargin.problem.exact_systems import independent_columns
from maxmargin.results.separability import Separability
from maxmargin.rows import Array
from maxmargin.solvers.signed_rows import SignedRows
from maxmargin.solvers.spanning_rows import likely_basis, spanning_rows

__all__ = ["Recheck"]

_HALF_ULP = 2.0**-53


@dataclass(frozen=True, eq=False)
class Recheck:
    """Whether a witness proves the kind, for these rows and signs; `numbers` are the rows' names."""

    X: Any
    sign: NDArray[np.int8]
    numbers: NDArray[np.intp] | None

    def __call__(self, found: Separability) -> bool:
        X, sign, numbers = self.X, self.sign, self.numbers
        if numbers is not None:
            if not np.isin(found.rows, numbers).all():
                return False
            found = replace(found, rows=np.searchsorted(numbers, found.rows))
        if X.shape[0] != found.n_rows or len(sign) != found.n_rows:
            return False
        rows = SignedRows.of(X, sign, has_offset=found.fit_intercept)
        if found.kind == "complete":
            return _smallest_sign(rows, found) == (1, 1)
        size = rows.n_columns
        if not _adds_up_to_zero(X, sign, found):
            return False
        if found.kind == "quasi-complete":
            return len(found.rows) <= size + 1 and _smallest_sign(rows, found) == (0, 1)
        return len(found.rows) <= max(2 * size, 1) and _has_rank_of_all(rows, found)


# ---------------------------------------------------------------- directions


def _smallest_sign(rows: SignedRows, found: Separability) -> tuple[int, int]:
    """Return the smallest and the largest sign of an agreement."""
    w = _whole(found, rows)
    if found.is_exact:
        signs = rows.signs(w, StopToken())
        return int(signs.min()), int(signs.max())
    value, bound = rows.products(np.ldexp(_floats(found), rows.column_powers))
    if found.kind == "complete":
        signs = rows.signs(w, StopToken())  # single products are cheap without rounding errors
        return int(signs.min()), int(signs.max())
    slack = 64.0 * rows.n_columns * bound
    return (0 if (value >= -slack).all() else -1), (1 if (value > slack).any() else 0)


def _floats(found: Separability) -> Array:
    return np.array([float(weight) for weight in found.exact_direction])


def _whole(found: Separability, rows: SignedRows) -> Integers:
    """Return the direction as whole numbers, for the rows as `SignedRows` scales them."""
    scaled = [
        weight * Fraction(2) ** int(power)
        for weight, power in zip(found.exact_direction, rows.column_powers, strict=True)
    ]
    scale = math.lcm(*(weight.denominator for weight in scaled))
    return np.array([int(weight * scale) for weight in scaled], dtype=object)


# ---------------------------------------------------------------- combinations


def _adds_up_to_zero(X: Any, sign: NDArray[np.int8], found: Separability) -> bool:
    """Whether the weights are above 0, and the signed rows with these weights add up to 0."""
    weights = found.exact_weights
    if len(weights) == 0 or len(weights) != len(found.rows) or min(weights) <= 0:
        return False
    if len(np.unique(found.rows)) != len(found.rows) or not 0 <= found.rows.min() <= found.rows.max() < len(
        sign
    ):
        return False
    signed = _signed(X, sign, found)
    if not found.is_exact:
        return _nearly_zero(signed, np.array([float(weight) for weight in weights]))
    if sum(weights) != 1:
        return False
    scale = math.lcm(*(weight.denominator for weight in weights))
    whole = np.array([int(weight * scale) for weight in weights], dtype=object)
    # All rows times one power of two, so that the combination is the same.
    integers = as_integers(signed.reshape(1, -1)).reshape(signed.shape)
    return not np.dot(whole, integers).any()


def _signed(X: Any, sign: NDArray[np.int8], found: Separability) -> Array:
    chosen = X[found.rows]
    values = np.asarray(chosen if isinstance(chosen, np.ndarray) else chosen.toarray(), dtype=np.float64)
    if found.fit_intercept:
        values = np.hstack([values, np.ones((len(values), 1))])
    return np.asarray(values * sign[found.rows][:, None])


def _nearly_zero(signed: Array, weights: Array) -> bool:
    total = np.abs(np.einsum("i,ij->j", weights, signed))
    size = np.einsum("i,ij->j", weights, np.abs(signed))
    norm = float(np.sqrt(np.einsum("i,i->", size, size)))
    return bool((total <= 64.0 * sum(signed.shape) * _HALF_ULP * norm).all())


def _has_rank_of_all(rows: SignedRows, found: Separability) -> bool:
    if not found.is_exact:
        span = likely_basis(rows, np.arange(rows.n_rows), 2 * rows.n_columns)
        return bool(np.linalg.matrix_rank(rows.dense(found.rows)) == found.rank == len(span))
    integers = rows.integers(found.rows)
    rank = len(independent_columns(integers))  # never more than the rank
    if rank < rows.n_columns:
        echelon = Echelon(rows.n_columns)
        rank = sum(echelon.take(row) for row in integers)
    return rank == rows.n_columns or rank == len(spanning_rows(rows, StopToken()))
