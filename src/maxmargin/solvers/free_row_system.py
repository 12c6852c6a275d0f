"""Newton's system of the hinge, in as many unknowns as there are free rows or columns.

Of the free rows x̃ = x − shift, the rows of Z, and κ times their costs, the diagonal matrix D, the system is

    (I + ZᵀDZ) dw + ZᵀD1 dβ = g,    1ᵀDZ dw + (1ᵀD1 + δ) dβ = γ.

If fewer rows are free than there are columns, Woodbury's identity makes it smaller: dw = g − Zᵀu with
(ZZᵀ + D⁻¹) u = Zg + 1 dβ, where dβ is such that 1ᵀu + δ dβ = γ. From step to step few rows change, and the
products of those that have been free before are kept.

Source: Hager, "Updating the inverse of a matrix", 1989.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Factor, StopToken
from maxmargin.rows.base import Array, Rows
from maxmargin.rows.kernels import dense_block

__all__ = ["ColumnSystem", "FreeRowSystem"]


class FreeRowSystem:
    """The products of rows that are free or were, and the Newton step of those that are.

    Parameters
    ----------
    rows : Rows
        Dense.
    shift : array or None
        What is subtracted from the columns.
    most : int
        How many rows may be free; as many are kept.
    """

    def __init__(self, rows: Rows, shift: Array | None, most: int) -> None:
        self._rows = rows
        self._shift = shift
        self.most = most
        self._place: dict[int, int] = {}  # of each row by its number
        self._Z = np.empty((most, rows.n_columns))
        self._products = np.empty((most, most))
        self._weights = np.zeros(0)
        self._free = np.zeros(0, dtype=np.intp)  # the places of the rows that are free

    @property
    def total(self) -> float:
        """Σ κc of the free rows."""
        return float(self._weights.sum())

    def update(self, numbers: NDArray[np.intp], weights: Array, token: StopToken) -> int:
        """Take the numbers and κc of the free rows, up to `most`; return how many had to be read."""
        new = [number for number in numbers.tolist() if number not in self._place]
        if len(self._place) + len(new) > self.most:
            self._keep_only(set(numbers.tolist()))
        first, last = len(self._place), len(self._place) + len(new)
        if new:
            self._Z[first:last] = self._rows.subset(np.array(new)).X
            if self._shift is not None:
                self._Z[first:last] -= self._shift
            found = np.empty((last, len(new)))
            block, added = dense_block(self._Z[:last]), self._Z[first:last]
            _core.output_scores(block, added, np.zeros(len(new)), False, found, token)
            self._products[first:last, :last] = found.T
            self._products[:last, first:last] = found
            # Last, so that an interrupted update leaves what was there.
            self._place.update(zip(new, range(first, last), strict=True))
        self._weights = weights
        self._free = np.array([self._place[number] for number in numbers.tolist()], dtype=np.intp)
        return len(new)

    def _keep_only(self, numbers: set[int]) -> None:
        """Forget the other rows."""
        kept = {number: place for number, place in self._place.items() if number in numbers}
        places = np.array(list(kept.values()), dtype=np.intp)
        self._Z[: len(kept)] = self._Z[places]
        self._products[: len(kept), : len(kept)] = self._products[np.ix_(places, places)]
        self._place = {number: place for place, number in enumerate(kept)}

    def solve(self, gradient: Array, offset_curvature: float | None) -> Array:
        """Return the solution (dw, dβ); `offset_curvature` is δ, or None where there is no offset."""
        g, token = gradient[:-1].copy(), StopToken()
        block = dense_block(self._Z[: len(self._place)])
        scores, weights = np.empty(len(self._place)), np.zeros(len(self._place))
        _core.multiply(block, g, scores, None, None, token)
        matrix = self._products.take(self._free, axis=0).take(self._free, axis=1)
        matrix[np.diag_indices_from(matrix)] += 1.0 / np.maximum(self._weights, 1e-300)
        factor = Factor(matrix)
        u, change = factor.solve(scores[self._free]), 0.0
        if offset_curvature is not None:
            of_offset = factor.solve(np.ones(len(u)))
            change = float((gradient[-1] - u.sum()) / (of_offset.sum() + offset_curvature))
            u += change * of_offset
        weights[self._free] = u
        pull = np.zeros(len(g))
        _core.multiply(block, None, None, weights, pull, token)
        return np.append(g - pull, change)


@dataclass(frozen=True, eq=False)
class ColumnSystem:
    """The system as a matrix of columns by columns.

    Attributes
    ----------
    gram : array of shape (n_columns + 1, n_columns + 1)
        Of the free rows, weighted by κc; overwritten by `solve`.
    """

    gram: Array

    @property
    def total(self) -> float:
        """Σ κc of the free rows."""
        return float(self.gram[-1, -1])

    def solve(self, gradient: Array, offset_curvature: float | None) -> Array:
        """Return the solution (dw, dβ); `offset_curvature` is δ, or None where there is no offset."""
        np.einsum("ii->i", self.gram)[:-1] += 1.0
        if offset_curvature is None:
            self.gram[-1, :] = self.gram[:, -1] = 0.0
        else:
            self.gram[-1, -1] += offset_curvature
        return Factor(self.gram).solve(gradient)
