"""The unknowns (w, b) of a problem as one vector, with the columns shifted where that costs nothing.

With a free offset, subtracting a constant from a column changes b and nothing else: b = b' − shift·w. The
means as shift keep columns that are far from the origin from looking like the offset. Sums over rows come
as they are stored, with Σ coefficients last, and are shifted here. Sparse rows stay as they are: shifted
they would be dense.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, inner
from maxmargin.rows.kernels import Combine

__all__ = ["Frame"]


@dataclass(frozen=True, eq=False)
class Frame:
    """Where the unknowns stand and how they are penalised.

    Attributes
    ----------
    shift : array or None
        What is subtracted from the columns.
    penalty : array
        The diagonal of E: ones for w; for the offset 0 when it is free, 1/scale² when it is penalised, and
        no entry at all when there is none.
    """

    shift: Array | None
    penalty: Array
    n_columns: int

    @classmethod
    def of(cls, problem: Problem, token: StopToken) -> Frame:
        rows = problem.rows
        penalty = np.ones(rows.n_columns + (problem.offset.kind != "none"))
        if problem.offset.kind != "none":
            penalty[-1] = 0.0 if problem.offset.kind == "free" else 1.0 / problem.offset.square
        is_dense = rows.n_values == rows.n_rows * rows.n_columns
        n_live = problem.class_costs.n_live
        shift = None
        if problem.offset.kind == "free" and is_dense and n_live > 0:
            share = np.where(problem.cost > 0, 1.0 / n_live, 0.0)
            shift = rows.reduce(Combine(rows.n_columns), share, token=token)
        return cls(shift, penalty, rows.n_columns)

    @property
    def has_offset(self) -> bool:
        return bool(self.penalty.shape[0] > self.n_columns)

    def join(self, w: Array, b: float) -> Array:
        """Return weights and shifted offset as one vector."""
        return np.append(w, b) if self.has_offset else w

    def split(self, x: Array) -> tuple[Array, float]:
        """Return the weights, and what is to be added to the score x·w of a row as it is stored."""
        w = np.ascontiguousarray(x[: self.n_columns])
        b = float(x[-1]) if self.has_offset else 0.0
        return w, b if self.shift is None else b - inner(self.shift, w)

    def place(self, w: Array, b: float) -> Array:
        """Return the vector of these weights and this offset of the rows as they are stored."""
        return self.join(w, b if self.shift is None else b + inner(self.shift, w))

    def centred(self, sums: Array) -> Array:
        """Return Σ f (x − shift, 1) from Σ f (x, 1)."""
        if not self.has_offset:
            return np.ascontiguousarray(sums[:-1])
        if self.shift is None:
            return sums
        return np.append(sums[:-1] - self.shift * sums[-1], sums[-1])

    def factor(self, gram: Array, *, hold: float = 0.0) -> Factor:
        """Return the factors of E + Gram, which is overwritten; `hold` keeps an offset that no row keeps."""
        size = self.penalty.shape[0]
        matrix = np.ascontiguousarray(gram[:size, :size])
        matrix[np.arange(size), np.arange(size)] += self.penalty
        if self.has_offset:
            matrix[-1, -1] += hold
        return Factor(matrix)
