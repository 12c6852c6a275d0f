"""Signed rows s(x, 1), or sx without an offset: their products, in floats and exactly.

Whether a hyperplane separates is a question about signs of products with these rows. Rows and columns may be
multiplied by positive numbers without changing the answer; powers of two do it without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.exact.arithmetic import Integers, as_integers, to_floats
from maxmargin.rows.base import Array

__all__ = ["SignedRows"]


_HALF_ULP = 2.0**-53
_TINY = 2.0**-900  # what products may lose by underflow, with much to spare
_ROWS_AT_ONCE = 8_192


@dataclass(frozen=True, eq=False)
class SignedRows:
    """The signed rows, scaled by powers of two: every column and row has a size of about 1.

    Attributes
    ----------
    matrix : array or CSR matrix of shape (n_rows, n_columns)
        With the offset's column last, if there is an offset.
    column_powers : array of int
        Column j of `matrix` is that of the signed rows times 2^-column_powers[j].
    has_offset : bool
    """

    matrix: Any
    column_powers: NDArray[np.int64]
    has_offset: bool

    @classmethod
    def of(cls, X: Any, sign: NDArray[np.int8], *, has_offset: bool) -> SignedRows:
        """Scale, sign and lift the rows of a dense array or a CSR matrix; always makes a copy."""
        n_rows, n_columns = X.shape
        if isinstance(X, np.ndarray):
            matrix: Any = np.empty((n_rows, n_columns + has_offset))
            matrix[:, :n_columns] = X
            if has_offset:
                matrix[:, -1] = 1.0
            matrix *= sign[:, None]
        else:
            lifted = [sp.csr_array(X).astype(np.float64)]
            if has_offset:
                lifted.append(sp.csr_array(np.ones((n_rows, 1))))
            matrix = sp.csr_array(
                sp.diags_array(sign.astype(np.float64)).dot(sp.hstack(lifted, format="csr"))
            )
            matrix.sum_duplicates()
            matrix.eliminate_zeros()
        powers = _scale_by_powers_of_two(matrix)
        return cls(matrix, powers, has_offset)

    @property
    def empty_columns(self) -> list[int]:
        """Columns that hold nothing but zeros."""
        is_dense = isinstance(self.matrix, np.ndarray)
        counts = np.count_nonzero(self.matrix, axis=0) if is_dense else self.matrix.count_nonzero(axis=0)
        return [int(column) for column in np.flatnonzero(counts == 0)]

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_columns(self) -> int:
        """Columns, the offset's included."""
        return int(self.matrix.shape[1])

    @cached_property
    def norms(self) -> Array:
        """The size of every row."""
        if isinstance(self.matrix, np.ndarray):
            squares = np.einsum("ij,ij->i", self.matrix, self.matrix)
        else:
            squares = np.asarray(self.matrix.power(2).sum(axis=1)).ravel()
        return np.asarray(np.sqrt(squares))

    def dense(self, indices: NDArray[np.intp]) -> Array:
        """Return some rows as an array."""
        chosen = self.matrix[indices]
        return np.asarray(chosen if isinstance(chosen, np.ndarray) else chosen.toarray())

    def integers(self, indices: NDArray[np.intp]) -> Integers:
        """Return some rows as whole numbers, each times a power of two."""
        return as_integers(self.dense(indices))

    def products(self, w: Array) -> tuple[Array, Array]:
        """Return the product of every row with w, and a bound on its error if each w_j is rounded once."""
        if isinstance(self.matrix, np.ndarray):
            value = np.einsum("ij,j->i", self.matrix, w)
        else:
            value = np.asarray(self.matrix.dot(w))
        size = float(np.sqrt(np.einsum("i,i->", w, w)))
        return value, (self.n_columns + 8) * _HALF_ULP * size * self.norms + _TINY * (1.0 + size)

    def signs(self, w: Integers, token: StopToken) -> NDArray[np.int8]:
        """Return the sign of every row's product with w, exactly."""
        value, bound = self.products(to_floats(w))
        result = np.sign(value).astype(np.int8)
        doubtful = np.flatnonzero(np.abs(value) <= bound)
        for start in range(0, len(doubtful), _ROWS_AT_ONCE):
            if token.poll():
                raise Stopped
            few = doubtful[start : start + _ROWS_AT_ONCE]
            result[few] = _exact_signs(self.dense(few), w)
        return result

    def sides(self, coef: Array, intercept: float, token: StopToken) -> NDArray[np.int8]:
        """Return the sign of s(x·w + b) of every row as it was given, exactly."""
        weights = np.append(coef, intercept) if self.has_offset else coef
        whole = as_integers(np.asarray(weights, dtype=np.float64)[None, :])[0]
        powers = self.column_powers - self.column_powers.min(initial=0)
        return self.signs(whole << powers.astype(object), token)

    def to_original(self, w: Array) -> tuple[Array, float]:
        """Return weights and offset for the rows as they were given."""
        weights = np.ldexp(w, -self.column_powers)
        return (weights[:-1], float(weights[-1])) if self.has_offset else (weights, 0.0)


def _exact_signs(rows: Array, w: Integers) -> NDArray[np.int8]:
    used = np.flatnonzero(w != 0)
    if len(used) == 0:
        return np.zeros(len(rows), dtype=np.int8)
    products = np.dot(as_integers(rows[:, used]), w[used])
    return np.asarray((products > 0).astype(np.int8) - (products < 0).astype(np.int8))


def _scale_by_powers_of_two(matrix: Any) -> NDArray[np.int64]:
    """Scale columns, then rows, in place; return the columns' powers. Numbers that would underflow stay."""
    is_dense = isinstance(matrix, np.ndarray)
    sizes = np.abs(matrix).max(axis=0) if is_dense else abs(matrix).max(axis=0).toarray().ravel()
    powers = np.where(sizes > 0, np.frexp(sizes)[1], 0).astype(np.int64)
    values = matrix if is_dense else matrix.data
    smallest = np.abs(values).min(initial=np.inf, where=values != 0)
    if smallest < 2.0**-500 or powers.max(initial=0) > 500:  # scaling could lose bits of such numbers
        return np.zeros_like(powers)
    if is_dense:
        np.ldexp(matrix, -powers, out=matrix)
        largest = np.abs(matrix).max(axis=1, initial=0.0)
        np.ldexp(matrix, -np.frexp(largest)[1][:, None], out=matrix)
        return powers
    values[:] = np.ldexp(values, -powers[matrix.indices])
    largest = abs(matrix).max(axis=1).toarray().ravel()
    values[:] = np.ldexp(values, np.repeat(-np.frexp(largest)[1], np.diff(matrix.indptr)))
    return powers
