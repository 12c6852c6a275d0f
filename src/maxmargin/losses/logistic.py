"""The logistic loss: log(1 + exp(-m)), natural logarithm.

It is -log P(y|x) for P(y|x) = g(m), g(z) = 1/(1 + exp(-z)); the slope is -(1 - P).
Conjugate: p log p + (1 - p) log(1 - p) with p = -u in [0, 1].

It does not dominate the zero-one loss: at m = 0 it is ln 2 = 0.693, not 1. In base 2, which is
``value(m) / ln 2``, it does; a factor changes no minimiser of the unregularised risk.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin.losses.base import DualForm, FloatArray, Loss

__all__ = ["Logistic"]


class Logistic(Loss):
    """log(1 + exp(-m)).

    Examples
    --------
    >>> round(float(Logistic().value(0.0) / np.log(2)), 12)
    1.0
    """

    name = "logistic"
    formula = "log(1 + exp(-m))"
    is_convex = True
    is_smooth = True
    dominates_zero_one = False
    dual = DualForm(
        bounded=True,
        quadratic=None,
        least_curvature=4.0,
        has_barrier=True,
        rests_at=math.inf,
        least_cost=lambda p, n: p * math.log((p + n) / p) + n * math.log((p + n) / n),
        loss_change=lambda loss, cost, e: min(cost * e, loss * math.expm1(min(e, 700.0))),
    )

    def _value(self, m: FloatArray) -> FloatArray:
        return np.log1p(np.exp(-np.abs(m))) + np.maximum(0.0, -m)

    def _slope(self, m: FloatArray) -> FloatArray:
        e = np.exp(-np.abs(m))
        return -np.where(m > 0, e, 1.0) / (1.0 + e)

    def _curvature(self, m: FloatArray) -> FloatArray:
        e = np.exp(-np.abs(m))
        return e / np.square(1.0 + e)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        p = np.clip(-u, 0.0, 1.0)
        # 0 log 0 = 0: where the factor is 0, the logarithm is taken of 1 instead.
        p_log_p = p * np.log(np.where(p > 0, p, 1.0))
        q_log_q = (1.0 - p) * np.log1p(-np.where(p < 1, p, 0.0))
        return np.where((u >= -1) & (u <= 0), p_log_p + q_log_q, np.inf)
