"""The exponential loss: exp(-m) (B's last slide, boosting).

Overflows to inf below m = -709.8. Conjugate: p log p - p with p = -u ≥ 0.
"""

from __future__ import annotations

import numpy as np

from maxmargin.losses.base import FloatArray, Loss

__all__ = ["Exponential"]


class Exponential(Loss):
    """exp(-m).

    Examples
    --------
    >>> Exponential().value([-1.0, 0.0, 1.0]).round(3)
    array([2.718, 1.   , 0.368])
    """

    name = "exponential"
    formula = "exp(-m)"
    is_convex = True
    is_smooth = True
    dominates_zero_one = True

    def _value(self, m: FloatArray) -> FloatArray:
        return np.exp(-m)

    def _slope(self, m: FloatArray) -> FloatArray:
        return -np.exp(-m)

    def _curvature(self, m: FloatArray) -> FloatArray:
        return np.exp(-m)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        p = np.maximum(0.0, -u)
        # 0 log 0 = 0: where p is 0, the logarithm is taken of 1 instead.
        return np.where(u <= 0, p * (np.log(np.where(p > 0, p, 1.0)) - 1.0), np.inf)
