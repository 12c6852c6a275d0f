"""Householder's reflections with column pivoting: which columns are independent, and shortest solutions.

    A P = Q [R T; 0 0] ,   R triangular, of the rank of A.

Columns are scaled to unit length before they are compared, so that units do not decide about the rank. No
LAPACK is called: its bits depend on the number of its threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.rows.base import Array

__all__ = ["Orthogonal"]


_EPSILON = 2.0**-52


@dataclass(frozen=True, eq=False)
class Orthogonal:
    """The factors of a matrix A of n rows and m columns.

    Attributes
    ----------
    reflectors : list of arrays
        The k-th has n − k entries; Q is the product of their reflections.
    upper : array of shape (rank, m)
        [R T] of A's own columns, in their own order.
    order : array
        Columns by pivot; the first `rank` of them are independent.
    rank : int
    """

    reflectors: list[Array]
    upper: Array
    order: NDArray[np.intp]
    rank: int

    @classmethod
    def of(cls, A: Array, token: StopToken | None = None) -> Orthogonal:
        """Factorise A; a column of which less than rounding errors is left depends on those before it."""
        n, m = A.shape
        length = np.sqrt(np.einsum("ij,ij->j", A, A))
        work = A / np.where(length > 0, length, 1.0)
        order = np.arange(m)
        least = 16.0 * max(n, m) * _EPSILON
        reflectors: list[Array] = []
        for k in range(min(n, m)):
            if token is not None and k % 16 == 0:
                token.poll()  # for Ctrl-C: half a factorisation is of no use at a deadline
            rest = work[k:, k:]
            left = np.einsum("ij,ij->j", rest, rest)
            pivot = k + int(left.argmax())
            if left[pivot - k] <= least * least:
                break
            work[:, [k, pivot]] = work[:, [pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
            reflector = _reflector(work[k:, k])
            _reflect(reflector, work[k:, k:])
            reflectors.append(reflector)
        rank = len(reflectors)
        upper = np.zeros((rank, m))
        upper[:, order] = np.triu(work[:rank]) * length[order]
        return cls(reflectors, upper, order, rank)

    def rotated(self, y: Array) -> Array:
        """Return the coordinates of y in the columns' span: the first `rank` entries of Qᵀy."""
        turned = y.copy()
        for k, reflector in enumerate(self.reflectors):
            _reflect(reflector, turned[k:, None])
        return turned[: self.rank]

    def shortest(self, y: Array) -> Array:
        """Return the v of smallest ‖v‖ among those of smallest ‖Av − y‖."""
        if self.rank == 0:
            return np.zeros(self.upper.shape[1])
        target = self.rotated(y)
        if self.rank == self.upper.shape[1]:
            v = np.zeros(self.rank)
            v[self.order] = _solve_upper(self.upper[:, self.order], target)
            return v
        # The shortest solution is a combination of the rows of [R T]: turn those into a triangle as well.
        turned = Orthogonal.of(np.ascontiguousarray(self.upper.T))
        lower = turned.upper[:, turned.order].T  # v = Q (u, 0) has upper v = P lower u
        coordinates = np.zeros(self.upper.shape[1])
        coordinates[: turned.rank] = _solve_lower(lower, target[turned.order][: turned.rank])
        for k in range(turned.rank - 1, -1, -1):
            _reflect(turned.reflectors[k], coordinates[k:, None])
        return coordinates

    def inverse(self) -> Array:
        """Return the inverse of R, the triangle of the independent columns."""
        R = self.upper[:, self.order[: self.rank]]
        return np.array([_solve_upper(R, unit) for unit in np.eye(self.rank)]).reshape(R.shape).T


def _reflector(x: Array) -> Array:
    """Return the vector whose reflection turns x into a multiple of the first unit vector."""
    v = x.copy()
    norm = float(np.sqrt(np.einsum("i,i->", v, v)))
    v[0] += norm if v[0] >= 0 else -norm
    return np.asarray(v / np.sqrt(0.5 * np.einsum("i,i->", v, v)))


def _reflect(reflector: Array, columns: Array) -> None:
    """Reflect every column in place; the reflector's square is 2."""
    columns -= reflector[:, None] * np.einsum("i,ij->j", reflector, columns)


def _solve_upper(R: Array, c: Array) -> Array:
    x = c.copy()
    for k in range(len(c) - 1, -1, -1):
        x[k] = (x[k] - np.einsum("i,i->", R[k, k + 1 :], x[k + 1 :])) / R[k, k]
    return x


def _solve_lower(L: Array, c: Array) -> Array:
    x = c.copy()
    for k in range(len(c)):
        x[k] = (x[k] - np.einsum("i,i->", L[k, :k], x[:k])) / L[k, k]
    return x
