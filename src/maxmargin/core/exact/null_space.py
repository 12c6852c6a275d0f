"""Changes of (w, b) that no row notices: combinations of columns that are 0 on every row that counts.

Duplicated and constant columns, or one column for each value of a category beside a free offset, make them.
Without ½‖w‖² such a change costs nothing: the optimum is not a point but a plane, and Hessians are singular.
The coordinates named `dependent` are the way out: fixed at any value, they leave a problem with the same
agreements, the same optimum, and no such plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Factor
from maxmargin.rows.base import Array, Rows
from maxmargin.rows.kernels import Combine, Gram, Scores

__all__ = ["ColumnsOfRows", "NullSpace", "find_null_space"]


_EPSILON = 2.0**-52
_CONSTANT = 2.0**-44  # a column whose values differ by less than this share of their mean is constant
_NOTHING = (
    2.0**-50
)  # scores below this share of what was added up are rounding errors, of ours or in the data
_REFINEMENTS = 2


def _largest_doubt(size: int) -> float:
    """Return the pivot, of a matrix scaled to a unit diagonal, below which rounding may have made it."""
    return 64.0 * size * _EPSILON


@dataclass(frozen=True, eq=False)
class NullSpace:
    """The changes of (w, b) that change no agreement.

    Attributes
    ----------
    dependent : array of k whole numbers
        Columns that are combinations of the others and, if there is one, the offset.
    basis : array of shape (k, n_columns + 1)
        Changes of (w, b), the k-th with a 1 at the k-th dependent column.
    """

    dependent: NDArray[np.intp]
    basis: Array

    def shortest(self, w: Array, b: float) -> tuple[Array, float]:
        """Return the (w, b) of smallest ‖w‖ that has the same agreements.

        It is the limit of the regularised optima as C grows.
        """
        if len(self.dependent) == 0:
            return w, b
        basis = self.of_moderate_size()
        of_w = np.ascontiguousarray(basis[:, :-1])
        share = Factor(np.einsum("ij,kj->ik", of_w, of_w)).solve(np.einsum("ij,j->i", of_w, w))
        change = np.einsum("i,ij->j", share, basis)
        return w - change[:-1], b - float(change[-1])

    def of_moderate_size(self) -> Array:
        """Return the basis, every change scaled so that its largest entry is about 1."""
        largest = np.abs(self.basis).max(axis=1, initial=0.0, keepdims=True)
        return np.asarray(np.ldexp(self.basis, -np.frexp(largest)[1]))


@dataclass(frozen=True, eq=False)
class ColumnsOfRows:
    """The columns of some of the rows, their mean taken off if there is a free offset.

    Attributes
    ----------
    dependent, kept : arrays of whole numbers
        Columns that the others explain as far as their Gram matrix can tell, and the rest.
    """

    rows: Rows
    chosen: Array  # 1 for the rows that count, 0 for the others
    shift: Array | None
    size: Array  # of each column's values, mean included: the unit of rounding errors
    scale: Array
    dependent: NDArray[np.intp]
    kept: NDArray[np.intp]
    factor: Factor | None

    @classmethod
    def of(cls, rows: Rows, chosen: NDArray[np.bool_], *, has_offset: bool) -> ColumnsOfRows:
        """Read the rows that are chosen."""
        ones = chosen.astype(np.float64)
        count = max(float(ones.sum()), 1.0)
        shift = rows.reduce(Combine(rows.n_columns), ones) / count if has_offset else None
        whole = rows.reduce(Gram(rows.n_columns, shift), ones)
        gram = whole[:-1, :-1]
        if shift is not None:  # the mean of many rows is rounded: take off what it missed, too
            missed = whole[-1, :-1] / count
            shift = shift + missed
            gram = gram - count * missed[:, None] * missed[None, :]
            np.einsum("ii->i", gram)[:] = np.maximum(np.einsum("ii->i", gram), 0.0)
        diagonal = np.einsum("ii->i", gram)
        spread = np.sqrt(diagonal / count)
        size = spread if shift is None else spread + np.abs(shift)
        is_empty = spread <= _CONSTANT * size  # what is left of a constant column is rounding
        scale = np.where(is_empty, 0.0, 1.0 / np.sqrt(np.where(is_empty, 1.0, diagonal)))
        scaled = gram * scale[:, None] * scale[None, :]
        dependent = _dependent_columns(scaled)
        kept = np.setdiff1d(np.arange(rows.n_columns), dependent)
        factor = Factor(np.ascontiguousarray(scaled[np.ix_(kept, kept)])) if len(kept) else None
        return cls(rows, ones, shift, size, scale, dependent, kept, factor)

    def silence(self, v: Array) -> tuple[bool, float]:
        """Change v on the kept columns until the chosen rows score 0; return whether they do, and the offset.

        The offset is what makes their mean score 0, if there is one.
        """
        count = max(float(self.chosen.sum()), 1.0)
        for attempt in range(_REFINEMENTS + 2):
            rest, offset = self.rows.zeros(), 0.0
            self.rows.reduce(Scores(v), rest)
            for _ in range(0 if self.shift is None else 2):  # twice, because the first mean is rounded
                mean = float(np.einsum("i,i->", rest, self.chosen)) / count
                rest -= mean
                offset -= mean
            rest *= self.chosen
            unit = float(np.einsum("i,i->", np.abs(v), self.size))
            if float(np.einsum("i,i->", rest, rest)) <= count * (_NOTHING * unit) ** 2:
                return True, offset
            if self.factor is None or attempt > _REFINEMENTS:
                break
            sums = self.rows.reduce(Combine(self.rows.n_columns), rest)
            if self.shift is not None:
                sums -= float(rest.sum()) * self.shift
            scale = self.scale[self.kept]
            v[self.kept] -= scale * self.factor.solve(scale * sums[self.kept])
        return False, offset


def find_null_space(rows: Rows, cost: Array, *, has_offset: bool) -> NullSpace:
    """Find the changes of w, and of b if there is a free offset, that change no agreement.

    Every one is checked on the rows themselves: columns that differ by little are not the same column.
    """
    columns = ColumnsOfRows.of(rows, cost > 0, has_offset=has_offset)
    found, basis = [], []
    for j in columns.dependent:
        v = np.zeros(rows.n_columns)
        v[j] = 1.0
        is_null, offset = columns.silence(v)
        if is_null:
            found.append(j)
            basis.append(np.append(v, offset))
    return NullSpace(np.array(found, dtype=np.intp), np.array(basis).reshape(-1, rows.n_columns + 1))


def _dependent_columns(scaled: Array) -> NDArray[np.intp]:
    """Return the columns that the others explain as far as the matrix can tell."""
    size = scaled.shape[0]
    diagonal = np.einsum("ii->i", scaled)
    if diagonal.all():
        factor = Factor(np.ascontiguousarray(scaled))
        if factor.ridge == 0 and factor.smallest_pivot > _largest_doubt(size):
            return np.zeros(0, dtype=np.intp)
    left, lower = diagonal.copy(), np.zeros((size, size))
    for k in range(size):  # Cholesky's method, the largest pivot first
        pivot = int(left.argmax())
        if left[pivot] <= _largest_doubt(size):
            break
        explained = np.einsum("ij,j->i", lower[:, :k], lower[pivot, :k])
        lower[:, k] = (scaled[:, pivot] - explained) / np.sqrt(left[pivot])
        left -= lower[:, k] ** 2
        left[pivot] = -np.inf
    return np.flatnonzero(left > -np.inf)
