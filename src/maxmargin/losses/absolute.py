"""The absolute loss: |1 - m|, which is |y - score| for y = ±1 (B's robust regression).

Slope -1 for m < 1, 1 for m > 1 and [-1, 1] at the kink m = 1; there we choose -1, as for the hinge, which it
equals for m ≤ 1. Conjugate: u on [-1, 1].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxmargin.losses.base import FloatArray, Loss

__all__ = ["Absolute"]


class Absolute(Loss):
    """|1 - m|.

    Examples
    --------
    >>> Absolute().value([-1.0, 0.0, 1.0, 2.0])
    array([2., 1., 0., 1.])
    """

    name = "absolute"
    formula = "|1 - m|"
    is_convex = True
    is_smooth = False
    dominates_zero_one = True
    kinks: ClassVar[tuple[float, ...]] = (1.0,)

    def _value(self, m: FloatArray) -> FloatArray:
        return np.abs(1.0 - m)

    def _slope(self, m: FloatArray) -> FloatArray:
        return np.where(m > 1, 1.0, -1.0)

    def _slope_high(self, m: FloatArray) -> FloatArray:
        return np.where(m < 1, -1.0, 1.0)

    def _curvature(self, m: FloatArray) -> FloatArray:
        return np.zeros_like(m)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        return np.where(np.abs(u) <= 1, u, np.inf)
