"""Losses of all classes at once: softmax, and the hinge of Crammer and Singer.

Both have duals r = c (e_y − α) with α in the simplex: α ≥ 0, Σ α = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.losses.base import FloatArray, MulticlassLoss

__all__ = ["JOINT_FORMS", "CrammerSinger", "Softmax", "multiclass_loss"]


_FLUSHED = 1e-304  # more than exp(−700): passes take probabilities below that, beside the largest, for 0


@dataclass(frozen=True)
class _SimplexLoss(MulticlassLoss):
    n_outputs: int

    def feasible_duals(self, duals: FloatArray, label: NDArray[np.int32], cost: FloatArray) -> FloatArray:
        alpha = _projected(self._of_simplex(duals, label, cost))
        result: FloatArray = -cost[:, None] * alpha
        rows = np.arange(len(label))
        alpha[rows, label] = 0.0
        result[rows, label] = cost * alpha.sum(axis=1)
        return result

    def _of_simplex(self, duals: FloatArray, label: NDArray[np.int32], cost: FloatArray) -> FloatArray:
        """Return α = e_y − r/c, or e_y where a row costs nothing."""
        alpha = np.zeros(duals.shape)
        np.divide(-duals, cost[:, None], out=alpha, where=cost[:, None] > 0)
        alpha[np.arange(len(label)), label] += 1.0
        return alpha


@dataclass(frozen=True)
class Softmax(_SimplexLoss):
    """log Σ exp(z) − z_y: the multinomial logistic loss, minus the logarithm of the class's probability.

    Examples
    --------
    >>> loss, label = Softmax(3), np.array([0], dtype=np.int32)
    >>> loss.value(np.zeros((1, 3)), label).round(4), loss.slope(np.zeros((1, 3)), label).round(4)
    (array([1.0986]), array([[-0.6667,  0.3333,  0.3333]]))
    """

    name: ClassVar[str] = "softmax"
    is_smooth: ClassVar[bool] = True

    def value(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        own = np.take_along_axis(scores, label[:, None].astype(np.intp), axis=1)
        return np.asarray(np.logaddexp.reduce(scores - own, axis=1))

    def slope(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        p = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        p[np.arange(len(label)), label] -= 1.0
        return np.asarray(p)

    def dual_value(self, duals: FloatArray, label: NDArray[np.int32], cost: FloatArray) -> FloatArray:
        alpha = np.clip(self._of_simplex(duals, label, cost), 0.0, 1.0)
        logs = np.log(alpha, out=np.zeros_like(alpha), where=alpha > 0)
        return np.asarray(-cost * (alpha * logs).sum(axis=1))

    def fenchel_gap(
        self, scores: FloatArray, label: NDArray[np.int32], duals: FloatArray, cost: FloatArray
    ) -> FloatArray:
        alpha = np.clip(self._of_simplex(duals, label, cost), 0.0, 1.0)
        logs = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        ratio = np.log(alpha, out=np.zeros_like(alpha), where=alpha > 0) - logs
        # Of each entry α log(α/p) − α + p ≥ 0, which add up to the same.
        return np.asarray(cost * np.maximum(alpha * ratio - alpha + np.exp(logs), 0.0).sum(axis=1))

    def loss_change(self, loss: float, cost: float, error: float) -> float:
        # With S = Σ exp(z_k − z_y) over the other classes the loss is log(1 + S), and S changes by a factor
        # of at most exp(2e): the loss by no more than expm1(2e) S / (1 + S), and S / (1 + S) ≤ loss.
        change = 2.0 * cost * error
        if error < 0.25:
            change = min(change, 1.001 * math.expm1(2.0 * error) * loss)
        return change + cost * self.n_outputs * _FLUSHED

    def offset_reach(self, costs: FloatArray, largest_score: float) -> float:
        # At the optimum a class's mean probability is its share of the costs. Scores of at most s change
        # every probability by a factor between exp(−2 s) and exp(2 s), so that up to a constant, which may be
        # added to all offsets, each is the logarithm of its class's cost up to 2 s.
        logs = np.log(costs[costs > 0])
        return 2.0 * largest_score + 0.5 * float(np.ptp(logs)) if len(logs) > 1 else 0.0

    def value_at_zero(self, costs: FloatArray, has_free_offset: bool) -> float:
        total = float(costs.sum())
        if not has_free_offset:
            return total * float(np.log(self.n_outputs))
        some = costs[costs > 0]
        return float((some * (np.log(total) - np.log(some))).sum())


@dataclass(frozen=True)
class CrammerSinger(_SimplexLoss):
    """max(0, 1 + max over k ≠ y of z_k − z_y): one hinge, for the most violating class.

    Examples
    --------
    >>> loss, label = CrammerSinger(3), np.array([0], dtype=np.int32)
    >>> loss.value(np.array([[0.5, 0.0, -3.0]]), label), loss.slope(np.array([[0.5, 0.0, -3.0]]), label)
    (array([0.5]), array([[-1.,  1.,  0.]]))
    """

    name: ClassVar[str] = "crammer_singer"
    is_smooth: ClassVar[bool] = False

    def _violations(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        own = np.take_along_axis(scores, label[:, None].astype(np.intp), axis=1)
        result = scores - own + 1.0
        result[np.arange(len(label)), label] = 0.0
        return np.asarray(result)

    def value(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        return np.asarray(self._violations(scores, label).max(axis=1))

    def slope(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        result, rows = np.zeros(scores.shape), np.arange(len(label))
        result[rows, self._violations(scores, label).argmax(axis=1)] = 1.0
        result[rows, label] -= 1.0
        return result

    def dual_value(self, duals: FloatArray, label: NDArray[np.int32], cost: FloatArray) -> FloatArray:
        return np.asarray(duals[np.arange(len(label)), label])

    def fenchel_gap(
        self, scores: FloatArray, label: NDArray[np.int32], duals: FloatArray, cost: FloatArray
    ) -> FloatArray:
        alpha = np.clip(self._of_simplex(duals, label, cost), 0.0, 1.0)
        violations = self._violations(scores, label)
        short = violations.max(axis=1, keepdims=True) - violations
        return np.asarray(cost * (alpha * short).sum(axis=1))

    def loss_change(self, loss: float, cost: float, error: float) -> float:
        # Differences of scores near 1 are rounded as well, those of W = 0 included.
        return 2.0 * cost * (error + 2.0**-53)

    def offset_reach(self, costs: FloatArray, largest_score: float) -> float:
        # Let G = 2 s + 1 with all scores within s. Where sorted offsets leave a gap above G, rows of the
        # classes above it do not feel those below, and rows of those below have their largest violation
        # above: closing the gap to G costs the former nothing and the latter less. So some best offsets have
        # no larger gap, and those with the sum 0 are within Σ j G / K = G (K − 1)/2, j = 1 … K − 1.
        return (2.0 * largest_score + 1.0) * (len(costs) - 1) / 2.0

    def value_at_zero(self, costs: FloatArray, has_free_offset: bool) -> float:
        total = float(costs.sum())
        if not has_free_offset or len(costs) < 2:
            return total
        # If class m is ahead of all others by t ≥ 0, its rows lose max(0, 1 − t) and the others at least
        # 1 + t, and no more if they are level: the sum is least at t = 0 or 1.
        return min(total, 2.0 * (total - float(costs.max())))


# What one problem of all classes is called.
JOINT_FORMS = {"softmax": "softmax", "crammer_singer": "hinge (Crammer–Singer)"}

_LOSSES = {loss.name: loss for loss in (Softmax, CrammerSinger)}


def multiclass_loss(name: str, n_classes: int) -> MulticlassLoss:
    """Return the loss of that name for so many classes."""
    return _LOSSES[name](n_classes)


def _projected(alpha: FloatArray) -> FloatArray:
    """Return the nearest points of the simplex."""
    alpha = np.nan_to_num(alpha, nan=0.0, posinf=1e300, neginf=-1e300)
    alpha = np.clip(alpha, -1e9, 1e9)
    ordered = -np.sort(-alpha, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    count = np.arange(1, alpha.shape[1] + 1)
    last = (ordered > excess / count).sum(axis=1) - 1
    level = excess[np.arange(len(alpha)), last] / (last + 1)
    result = np.maximum(alpha - level[:, None], 0.0)
    return np.asarray(result / result.sum(axis=1, keepdims=True))
