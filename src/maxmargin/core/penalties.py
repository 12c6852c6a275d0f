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

__all__ = ["ElasticNet", "NoPenalty", "Penalty", "Ridge", "penalty_of"]

Twofold = tuple[float, float]  # a number in twice the precision: a high and a low part


class Penalty(ABC):
    """What the objective adds for the weights.

    Attributes
    ----------
    curvature : float
        ρ, if the penalty is ρ/2 ‖W‖² plus a convex function. Above 0 the optimal weights are unique, and a
        point with a small gap is near them.
    l1_ratio : float
        r, where the penalty is (1 − r)/2 ‖W‖² + r ‖W‖₁; else 0.
    is_absent : bool
        Whether there is none, so that W need not be bounded.
    """

    l1_ratio: float = 0.0
    is_absent: ClassVar[bool] = False

    @property
    @abstractmethod
    def curvature(self) -> float: ...

    @abstractmethod
    def value(self, W: Array) -> float:
        """Return the penalty of weights."""

    @abstractmethod
    def residual(self, W: Array, V: Array) -> Array:
        """Return V less the nearest slope of the penalty at W: 0 at the optimum, where V = Σ sαx."""

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
    def most_paid(self, V: Array, objective: float) -> float:
        """Return a bound of W·V − value(W) over the W whose value is at most the objective.

        The optimal weights are among them, so that a dual point need pay no more than this.
        """

    @abstractmethod
    def change_of_paid(self, conjugate: float, distance: float, objective: float) -> float:
        """Return the most by which that, or the conjugate, changes when V moves by a distance."""

    @abstractmethod
    def precise_value(self, w: Array) -> Twofold | None:
        """Return the value in twice the precision, for one output; None if it overflows."""

    @abstractmethod
    def precise_conjugate(
        self, v: Array, origin: Array, balance: Twofold, objective: float
    ) -> Twofold | None:
        """Return what v − balance · origin pays; v and balance have a high and a low part."""


@dataclass(frozen=True)
class Ridge(Penalty):
    """½‖W‖².

    Examples
    --------
    >>> W, V = np.array([3.0, 4.0]), np.array([3.0, 2.0])
    >>> Ridge().value(W), Ridge().conjugate(V), Ridge().fenchel_gap(W, V)
    (12.5, 6.5, 2.0)
    """

    @property
    def curvature(self) -> float:
        return 1.0

    def value(self, W: Array) -> float:
        return 0.5 * _square(W)

    def residual(self, W: Array, V: Array) -> Array:
        return V - W

    def conjugate(self, V: Array) -> float:
        return 0.5 * _square(V)

    def fenchel_gap(self, W: Array, V: Array) -> float:
        return 0.5 * _square(W - V)

    def norm_bound(self, value: float) -> float:
        return math.sqrt(2.0 * value)

    def most_paid(self, V: Array, objective: float) -> float:
        return self.conjugate(V)

    def change_of_paid(self, conjugate: float, distance: float, objective: float) -> float:
        return math.sqrt(2.0 * conjugate) * distance + distance * distance

    def precise_value(self, w: Array) -> Twofold | None:
        return _half_square(np.stack([w, np.zeros_like(w)]), np.zeros_like(w), (0.0, 0.0))

    def precise_conjugate(
        self, v: Array, origin: Array, balance: Twofold, objective: float
    ) -> Twofold | None:
        return _half_square(v, origin, balance)


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """No penalty at all: the loss alone is minimised, and Σ sαx = 0 in the dual.

    Examples
    --------
    >>> NoPenalty().value(np.array([3.0])), NoPenalty().conjugate(np.array([3.0]))
    (0.0, inf)
    """

    is_absent = True

    @property
    def curvature(self) -> float:
        return 0.0

    def value(self, W: Array) -> float:
        return 0.0

    def residual(self, W: Array, V: Array) -> Array:
        return V

    def conjugate(self, V: Array) -> float:
        return math.inf if V.any() else 0.0

    def fenchel_gap(self, W: Array, V: Array) -> float:
        return self.conjugate(V)

    def norm_bound(self, value: float) -> float:
        return math.inf

    def most_paid(self, V: Array, objective: float) -> float:
        return self.conjugate(V)

    def change_of_paid(self, conjugate: float, distance: float, objective: float) -> float:
        return math.inf if distance > 0 else 0.0

    def precise_value(self, w: Array) -> Twofold | None:
        return 0.0, 0.0

    def precise_conjugate(
        self, v: Array, origin: Array, balance: Twofold, objective: float
    ) -> Twofold | None:
        return None if v.any() else (0.0, 0.0)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """(1 − r)/2 ‖W‖² + r ‖W‖₁ with 0 < r ≤ 1: weights of columns that matter little are 0.

    Examples
    --------
    >>> half, W, V = ElasticNet(0.5), np.array([3.0, 0.0]), np.array([2.0, 0.4])
    >>> half.value(W), half.conjugate(V), half.fenchel_gap(W, V)
    (3.75, 2.25, 0.0)
    >>> ElasticNet(1.0).conjugate(V), ElasticNet(1.0).conjugate(V / 2)
    (inf, 0.0)
    """

    l1_ratio: float

    @property
    def curvature(self) -> float:
        return 1.0 - self.l1_ratio

    def value(self, W: Array) -> float:
        of_squares = 0.5 * self.curvature * _square(W) if self.curvature > 0 else 0.0
        return of_squares + self.l1_ratio * _sum_of_sizes(W)

    def residual(self, W: Array, V: Array) -> Array:
        r = self.l1_ratio
        return np.where(W == 0, V - np.clip(V, -r, r), V - self.curvature * W - r * np.sign(W))

    def conjugate(self, V: Array) -> float:
        beyond = np.maximum(np.abs(V) - self.l1_ratio, 0.0)
        if self.curvature > 0:
            return 0.5 * _square(beyond) / self.curvature
        return math.inf if beyond.any() else 0.0

    def fenchel_gap(self, W: Array, V: Array) -> float:
        r, rho = self.l1_ratio, self.curvature
        within = np.clip(V, -r, r)
        of_sizes = float(np.einsum("i,i->", np.abs(W).ravel(), (r - np.sign(W) * within).ravel()))
        beyond = V - within
        if rho > 0:
            return of_sizes + 0.5 * rho * _square(W - beyond / rho)
        return math.inf if beyond.any() else of_sizes

    def norm_bound(self, value: float) -> float:
        by_squares = math.sqrt(2.0 * value / self.curvature) if self.curvature > 0 else math.inf
        return min(by_squares, value / self.l1_ratio)

    def most_paid(self, V: Array, objective: float) -> float:
        beyond = float(np.abs(V).max(initial=0.0)) - self.l1_ratio
        return min(self.conjugate(V), max(beyond, 0.0) * objective / self.l1_ratio)

    def change_of_paid(self, conjugate: float, distance: float, objective: float) -> float:
        return self.norm_bound(objective) * distance

    def precise_value(self, w: Array) -> Twofold | None:
        squares = _half_square(np.stack([w, np.zeros_like(w)]), np.zeros_like(w), (0.0, 0.0))
        if squares is None:
            return None
        value = self.curvature * sum(squares) + self.l1_ratio * math.fsum(np.abs(w).ravel())
        return value * _UP, 0.0

    def precise_conjugate(
        self, v: Array, origin: Array, balance: Twofold, objective: float
    ) -> Twofold | None:
        taken = np.abs(sum(balance) * origin)
        moved = v[0] - balance[0] * origin  # a rounding error of the product and of the difference
        sizes = np.abs(moved) + np.abs(v[1] - balance[1] * origin) + 2.0**-51 * taken
        if not np.isfinite(sizes).all():
            return None
        return self.most_paid(sizes * _UP, objective * _UP) * _UP, 0.0


def penalty_of(C: float, l1_ratio: float) -> Penalty:
    """Return the penalty beside C Σ loss: none where C is infinite."""
    if math.isinf(C):
        return NoPenalty()
    return ElasticNet(l1_ratio) if l1_ratio > 0 else Ridge()


_UP = 1.0 + 2.0**-48  # rounds a number of a few operations up


def _half_square(v: Array, origin: Array, balance: Twofold) -> Twofold | None:
    """Return ½‖v − balance · origin‖² in twice the precision; None if it overflows."""
    high, low = _core.precise_norm2(v[0], v[1], origin, balance)
    if not (math.isfinite(high) and math.isfinite(low)):
        return None
    return 0.5 * high, 0.5 * low


def _sum_of_sizes(W: Array) -> float:
    sizes = np.abs(W)
    return float(sizes.sum()) if W.ndim == 1 else float(sizes.sum(axis=1).sum())


def _square(W: Array) -> float:
    if W.ndim == 1:
        return inner(W, W)
    return float(np.einsum("kj,kj->k", W, W).sum())  # errors grow with K + n_columns, not with K · n_columns
