"""The hinge loss: max(0, 1 - m).

Slope -1 for m < 1, 0 for m > 1 and [-1, 0] at the kink m = 1, where the subgradient methods choose -1.
Conjugate: u on [-1, 0].
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxmargin.losses.base import DualForm, FloatArray, Loss

__all__ = ["Hinge"]


class Hinge(Loss):
    """max(0, 1 - m).

    Examples
    --------
    >>> Hinge().value(0.5)
    np.float64(0.5)
    """

    name = "hinge"
    formula = "max(0, 1 - m)"
    is_convex = True
    is_smooth = False
    dominates_zero_one = True
    kinks: ClassVar[tuple[float, ...]] = (1.0,)
    dual = DualForm(
        bounded=True,
        quadratic=0.0,
        least_curvature=0.0,
        has_barrier=False,
        rests_at=1.0,
        least_cost=lambda p, n: 2.0 * min(p, n),
        loss_change=lambda loss, cost, e: cost * e,
    )

    def _value(self, m: FloatArray) -> FloatArray:
        return np.maximum(0.0, 1.0 - m)

    def _slope(self, m: FloatArray) -> FloatArray:
        return np.where(m > 1, 0.0, -1.0)

    def _slope_high(self, m: FloatArray) -> FloatArray:
        return np.where(m < 1, -1.0, 0.0)

    def _curvature(self, m: FloatArray) -> FloatArray:
        return np.zeros_like(m)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        return np.where((u >= -1) & (u <= 0), u, np.inf)
