"""The zero-one loss: 1 if m ≤ 0, else 0.

An agreement of 0 is an error: if only m < 0 counted, θ = 0 would be perfect.
The mean is the training error. It is not convex: the chord from m = -1 to m = 1 passes below the loss at
m = 0. Its slope is 0 on both sides of the jump, so gradient descent learns nothing from it; at m = 0 there is
no subdifferential, and the interval given is that of the one-sided derivatives, -inf to the right, 0 to the
left.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxmargin.losses.base import FloatArray, Loss

__all__ = ["ZeroOne"]


class ZeroOne(Loss):
    """1 if m ≤ 0, else 0.

    Examples
    --------
    >>> ZeroOne().value([-1.0, 0.0, 1.0, 2.0])
    array([1., 1., 0., 0.])
    """

    name = "zero_one"
    formula = "1 if m <= 0, else 0"
    is_convex = False
    is_smooth = False
    dominates_zero_one = True
    kinks: ClassVar[tuple[float, ...]] = (0.0,)

    def _value(self, m: FloatArray) -> FloatArray:
        return np.where(m > 0, 0.0, 1.0)

    def _slope(self, m: FloatArray) -> FloatArray:
        return np.zeros_like(m)

    def _slope_low(self, m: FloatArray) -> FloatArray:
        return np.where(m == 0, -np.inf, 0.0)

    def _curvature(self, m: FloatArray) -> FloatArray:
        return np.zeros_like(m)
