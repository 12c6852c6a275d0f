"""The unknowns (w, b) of a problem as one vector x = (w, β), the columns centred where that costs nothing.

With a free offset, subtracting a constant from a column changes b and nothing else: b = β − shift·w. The
means as shift keep columns that are far from the origin from being nearly collinear with the constant one.
Sums over rows are those of the rows as they are stored, with Σ coefficients last, and are shifted here.
Vectors have n_columns + 1 entries, the last one for the offset; where there is none, a unit curvature keeps
it at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.core.offset import Offset
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Rows, inner
from maxmargin.rows.kernels import Combine

__all__ = ["CentredCoordinates", "mean_of_dense_rows", "mean_row"]


@dataclass(frozen=True, eq=False)
class CentredCoordinates:
    """The coordinates of the unknowns, and the quadratic penalty of the objective in them.

    Attributes
    ----------
    offset : Offset
    n_columns : int
    shift : array or None
        What is subtracted from the columns; only where the offset is free.
    ridge : float
        ρ of the penalty ρ/2 ‖w‖²; an L1 term beside it is left to the solver.
    """

    offset: Offset
    n_columns: int
    shift: Array | None = None
    ridge: float = 1.0

    @cached_property
    def curvature(self) -> Array:
        """The diagonal of E, where ½x·Ex is the penalty in the objective."""
        diagonal = np.full(self.n_columns + 1, self.ridge)
        diagonal[-1] = 1.0 if self.offset.is_absent else self.offset.stiffness
        return diagonal

    # ------------------------------------------------------------------ points

    def join(self, w: Array, b: float) -> Array:
        """Return x = (w, β) of weights and offset."""
        return np.append(w, b if self.shift is None else b + inner(self.shift, w))

    def split(self, x: Array) -> tuple[Array, float]:
        """Return the weights and the offset b of x = (w, β)."""
        w, b = x[:-1], float(x[-1])
        return w, b if self.shift is None else b - inner(self.shift, w)

    def penalty(self, w: Array, b: float) -> float:
        """Return the quadratic terms of the objective."""
        return 0.5 * self.ridge * inner(w, w) + self.offset.penalty(b)

    # ------------------------------------------------------------------ derivatives

    def centred(self, sums: Array) -> Array:
        """Return Σ f (x − shift, 1) from Σ f (x, 1), as a new vector."""
        whole = sums.copy()
        if self.shift is not None:
            whole[:-1] -= sums[-1] * self.shift
        if self.offset.is_absent:
            whole[-1] = 0.0
        return whole

    def gradient(self, w: Array, b: float, of_losses: Array) -> Array:
        """Return the objective's gradient, given that of the losses in the stored columns."""
        whole = self.centred(of_losses)
        whole[:-1] += w if self.ridge == 1.0 else self.ridge * w
        whole[-1] += self.offset.stiffness * b
        return whole

    def product(self, change: Array, of_losses: Array) -> Array:
        """Return the Hessian times a vector, given that of the losses in the stored columns."""
        whole = self.centred(of_losses)
        whole += self.curvature * change
        return whole

    def matrix(self, gram: Array) -> Array:
        """Return E + Gram, the Hessian, given the Gram matrix of the centred rows; overwrites it."""
        if self.offset.is_absent:
            gram[-1, :] = gram[:, -1] = 0.0
        np.einsum("ii->i", gram)[:] += self.curvature
        return gram

    def factor(self, gram: Array, *, hold: float = 0.0) -> Factor:
        """Return the factors of E + Gram, which is overwritten; `hold` is added to the offset's curvature."""
        matrix = self.matrix(gram)
        matrix[-1, -1] += hold
        return Factor(matrix)

    def diagonal(self, squares: Array, sums: Array, curvature: float) -> Array:
        """Return the Hessian's diagonal from Σ h x², Σ h x and Σ h."""
        whole = np.append(squares, 0.0 if self.offset.is_absent else curvature)
        if self.shift is not None:
            whole[:-1] -= self.shift * (2.0 * sums - curvature * self.shift)
        np.maximum(whole, 0.0, out=whole)
        whole += self.curvature
        if not whole[-1] > 0:
            whole[-1] = 1.0
        return whole

    def estimate_gap(self, gradient: Array, curvature: float) -> float:
        """Return the duality gap of (w, b) and α = −c ℓ′(m): half the square of the gradient, w − Σ sαx.

        With a free offset α is moved a little until Σ sα = 0, which costs about slope² / (2 Σ h).
        """
        gap = 0.5 * inner(gradient[:-1], gradient[:-1])
        slope = float(gradient[-1])
        if slope == 0:
            return gap
        stiffness = self.offset.stiffness or curvature
        return gap + (0.5 * slope * slope / stiffness if stiffness > 0 else math.inf)


def mean_row(problem: Problem, rows: Rows, token: StopToken | None = None) -> Array | None:
    """Return the mean of the rows, weighted by their costs; None unless the offset is free."""
    total = problem.total_cost
    if not problem.offset.is_free or total == 0:
        return None
    return np.asarray(rows.reduce(Combine(rows.n_columns), problem.cost, token=token) / total)


def mean_of_dense_rows(problem: Problem, rows: Rows, token: StopToken | None = None) -> Array | None:
    """Return `mean_row` of dense rows; None of sparse ones, which centring would make dense."""
    is_dense = rows.n_values == rows.n_rows * rows.n_columns
    return mean_row(problem, rows, token) if is_dense else None
