"""The squared hinge loss: max(0, 1 - m)².

Smooth: the slope -2(1 - m) reaches 0 at m = 1; the curvature falls from 2 to 0 there.
Conjugate: u + u²/4 for u ≤ 0.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.losses.base import DualForm, FloatArray, Loss

__all__ = ["SquaredHinge"]


class SquaredHinge(Loss):
    """max(0, 1 - m)².

    Examples
    --------
    >>> SquaredHinge().value([-1.0, 0.0, 1.0, 2.0])
    array([4., 1., 0., 0.])
    """

    name = "squared_hinge"
    formula = "max(0, 1 - m)^2"
    is_convex = True
    is_smooth = True
    dominates_zero_one = True
    dual = DualForm(
        bounded=False,
        quadratic=0.5,
        least_curvature=0.5,
        has_barrier=False,
        rests_at=1.0,
        least_cost=lambda p, n: 4.0 * (p / (p + n)) * n,
        loss_change=lambda loss, cost, e: 2.0 * e * math.sqrt(loss) * math.sqrt(cost) + cost * e * e,
    )

    def _value(self, m: FloatArray) -> FloatArray:
        return np.square(np.maximum(0.0, 1.0 - m))

    def _slope(self, m: FloatArray) -> FloatArray:
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def _curvature(self, m: FloatArray) -> FloatArray:
        return np.where(m < 1, 2.0, 0.0)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        # As a product, because the sum would be inf - inf at u = -inf.
        return np.where(u <= 0, u * (1.0 + 0.25 * u), np.inf)
