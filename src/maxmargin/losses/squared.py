"""The squared loss: (1 - m)², which is (y - score)² for y = ±1 (B's least squares).

It also punishes agreements above 1: right, but "too right". Conjugate: u + u²/4.
"""

from __future__ import annotations

import numpy as np

from maxmargin.losses.base import FloatArray, Loss

__all__ = ["Squared"]


class Squared(Loss):
    """(1 - m)².

    Examples
    --------
    >>> Squared().value([-1.0, 0.0, 1.0, 2.0])
    array([4., 1., 0., 1.])
    """

    name = "squared"
    formula = "(1 - m)^2"
    is_convex = True
    is_smooth = True
    dominates_zero_one = True

    def _value(self, m: FloatArray) -> FloatArray:
        return np.square(1.0 - m)

    def _slope(self, m: FloatArray) -> FloatArray:
        return 2.0 * (m - 1.0)

    def _curvature(self, m: FloatArray) -> FloatArray:
        return np.full_like(m, 2.0)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        # As a product, because the sum would be inf - inf at u = -inf.
        return u * (1.0 + 0.25 * u)
