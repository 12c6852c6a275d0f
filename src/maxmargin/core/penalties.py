"""The penalty of the weights: its value, its convex conjugate, and its share of the duality gap.

Weights are an array of shape (n_columns,), or of shape (n_outputs, n_columns) for several outputs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import maxmargin._core as _core
from maxmargin.rows.base import Array, inner

__all__ = ["NoPenalty", "Penalty", "Ridge"]

Twofold = tuple[float, float]  # a number in twice the precision: a high and a low part


class Penalty(ABC):
    """What the objective adds for the weights.

    Attributes
    ----------
    curvature : float
        ρ, if the penalty is ρ/2 ‖W‖² plus a convex function. Above 0 the optimal weights are unique, and a
        point with a small gap is near them.
    """

    curvature: ClassVar[float]

    @abstractmethod
    def value(self, W: Array) -> float:
        """Return the penalty of weights."""

    @abstractmethod
    def slope(self, W: Array) -> Array:
        """Return the gradient of the penalty."""

    @abstractmethod
    def conjugate(self, V: Array) -> float:
        """Return the supremum of W·V − value(W) over W: what the dual point with Σ sαx = V pays."""

    @abstractmethod
    def fenchel_gap(self, W: Array, V: Array) -> float:
        """Return value(W) + conjugate(V) − W·V, without cancellation."""

    # What a certificate needs to know about rounding errors.

    @abstractmethod
    def norm_bound(self, value: float) -> float:
        """Return the largest ‖W‖ of weights with that value."""

    @abstractmethod
    def conjugate_change(self, conjugate: float, distance: float) -> float:
        """Return the most by which the conjugate changes when V moves by a distance."""

    @abstractmethod
    def precise_value(self, w: Array) -> Twofold | None:
        """Return the value in twice the precision, for one output; None if it overflows."""

    @abstractmethod
    def precise_conjugate(self, v: Array, origin: Array, balance: Twofold) -> Twofold | None:
        """Return the conjugate of v − balance · origin; v and balance have a high and a low part."""


@dataclass(frozen=True)
class Ridge(Penalty):
    """½‖W‖².

    Examples
    --------
    >>> W, V = np.array([3.0, 4.0]), np.array([3.0, 2.0])
    >>> Ridge().value(W), Ridge().conjugate(V), Ridge().fenchel_gap(W, V)
    (12.5, 6.5, 2.0)
    """

    curvature = 1.0

    def value(self, W: Array) -> float:
        return 0.5 * _square(W)

    def slope(self, W: Array) -> Array:
        return W

    def conjugate(self, V: Array) -> float:
        return 0.5 * _square(V)

    def fenchel_gap(self, W: Array, V: Array) -> float:
        return 0.5 * _square(W - V)

    def norm_bound(self, value: float) -> float:
        return math.sqrt(2.0 * value)

    def conjugate_change(self, conjugate: float, distance: float) -> float:
        return math.sqrt(2.0 * conjugate) * distance + distance * distance

    def precise_value(self, w: Array) -> Twofold | None:
        return self.precise_conjugate(np.stack([w, np.zeros_like(w)]), np.zeros_like(w), (0.0, 0.0))

    def precise_conjugate(self, v: Array, origin: Array, balance: Twofold) -> Twofold | None:
        high, low = _core.precise_norm2(v[0], v[1], origin, balance)
        if not (math.isfinite(high) and math.isfinite(low)):
            return None
        return 0.5 * high, 0.5 * low


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """No penalty at all: the loss alone is minimised, and Σ sαx = 0 in the dual.

    Examples
    --------
    >>> NoPenalty().value(np.array([3.0])), NoPenalty().conjugate(np.array([3.0]))
    (0.0, inf)
    """

    curvature = 0.0

    def value(self, W: Array) -> float:
        return 0.0

    def slope(self, W: Array) -> Array:
        return np.zeros_like(W)

    def conjugate(self, V: Array) -> float:
        return math.inf if V.any() else 0.0

    def fenchel_gap(self, W: Array, V: Array) -> float:
        return self.conjugate(V)

    def norm_bound(self, value: float) -> float:
        return math.inf

    def conjugate_change(self, conjugate: float, distance: float) -> float:
        return math.inf if distance > 0 else 0.0

    def precise_value(self, w: Array) -> Twofold | None:
        return 0.0, 0.0

    def precise_conjugate(self, v: Array, origin: Array, balance: Twofold) -> Twofold | None:
        return None if v.any() else (0.0, 0.0)


def _square(W: Array) -> float:
    if W.ndim == 1:
        return inner(W, W)
    return float(np.einsum("kj,kj->k", W, W).sum())  # errors grow with K + n_columns, not with K · n_columns
