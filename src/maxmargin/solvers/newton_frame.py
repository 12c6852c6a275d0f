"""The coordinates in which the Newton equations are solved.

With a free offset the columns may be shifted by anything without changing the problem: with t = (x − shift)
the offset becomes b + shift·w. Shifted by their means, the columns are no longer nearly collinear with the
offset. Vectors of the frame have n_columns + 1 entries, the last one for the offset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin.problem import Offset
from maxmargin.rows import Array, inner

__all__ = ["Frame"]


@dataclass(frozen=True, eq=False)
class Frame:
    """What the penalty ½‖w‖² and the offset add to the losses' derivatives."""

    offset: Offset
    shift: Array | None

    @property
    def stiffness(self) -> float:
        """The curvature of the offset's own penalty."""
        return 1.0 / self.offset.square if self.offset.kind == "penalized" else 0.0

    def penalty(self, w: Array, b: float) -> float:
        """Return what the objective has beside the losses."""
        return 0.5 * inner(w, w) + self.offset.penalty(b)

    def gradient(self, w: Array, b: float, of_w: Array, of_b: float) -> Array:
        """Return the objective's gradient, given that of the losses as the rows are stored."""
        whole = np.empty(w.shape[0] + 1)
        np.add(w, of_w, out=whole[:-1])
        if self.shift is not None:
            whole[:-1] -= of_b * self.shift
        whole[-1] = 0.0 if self.offset.kind == "none" else of_b + self.stiffness * b
        return whole

    def matrix(self, gram: Array) -> Array:
        """Return the objective's Hessian, given the Gram matrix of the shifted rows; overwrites it."""
        diagonal = np.einsum("ii->i", gram)
        diagonal[:-1] += 1.0
        diagonal[-1] += self.stiffness
        if self.offset.kind == "none":
            gram[-1, :] = gram[:, -1] = 0.0
            gram[-1, -1] = 1.0
        return gram

    def step(self, change: Array) -> tuple[Array, float]:
        """Return the change of (w, b) that a vector of the frame means."""
        moved = change[:-1]
        shifted = inner(self.shift, moved) if self.shift is not None else 0.0
        return moved, float(change[-1]) - shifted

    def gap(self, gradient: Array, curvature: float) -> float:
        """Return the duality gap of (w, b) and α = −c ℓ′(m): half the square of the gradient, w − Σ sαx.

        With a free offset α is moved a little until Σ sα = 0, which costs about slope² / (2 Σ h).
        """
        gap = 0.5 * inner(gradient[:-1], gradient[:-1])
        slope = float(gradient[-1])
        if slope == 0:
            return gap
        stiffness = self.stiffness if self.offset.kind == "penalized" else curvature
        return gap + (0.5 * slope * slope / stiffness if stiffness > 0 else math.inf)

    def product(self, change: Array, of_losses: Array) -> Array:
        """Return the Hessian times a vector, given that of the losses as the rows are stored."""
        whole = of_losses.copy()
        if self.shift is not None:
            whole[:-1] -= of_losses[-1] * self.shift
        whole[:-1] += change[:-1]
        whole[-1] = change[-1] if self.offset.kind == "none" else whole[-1] + self.stiffness * change[-1]
        return whole

    def diagonal(self, squares: Array, sums: Array, curvature: float) -> Array:
        """Return the Hessian's diagonal from Σ h x², Σ h x and Σ h."""
        whole = np.empty(squares.shape[0] + 1)
        whole[:-1] = squares
        if self.shift is not None:
            whole[:-1] -= self.shift * (2.0 * sums - curvature * self.shift)
        np.maximum(whole, 0.0, out=whole)
        whole[:-1] += 1.0
        whole[-1] = 1.0 if self.offset.kind == "none" else curvature + self.stiffness
        if not whole[-1] > 0:
            whole[-1] = 1.0
        return whole
