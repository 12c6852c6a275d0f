"""The problem in NumPy: slow, obvious, and in long double, so that its own rounding plays no part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["FORMULAS", "Task"]

Wide = np.longdouble


@dataclass(frozen=True)
class Formulas:
    """A loss and its slope at agreements m, and the rows' dual values for α and costs above 0."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    dual: Callable[[Any, Any], Any]
    bounded: bool  # whether α ≤ c


FORMULAS = {
    "hinge": Formulas(
        value=lambda m: np.maximum(0, 1 - m),
        slope=lambda m: -(m < 1).astype(Wide),
        dual=lambda a, c: a,
        bounded=True,
    ),
    "squared_hinge": Formulas(
        value=lambda m: np.maximum(0, 1 - m) ** 2,
        slope=lambda m: -2 * np.maximum(0, 1 - m),
        dual=lambda a, c: a - a * a / (4 * c),
        bounded=False,
    ),
    "logistic": Formulas(
        value=lambda m: np.logaddexp(Wide(0), -m),
        slope=lambda m: -np.exp(-np.logaddexp(Wide(0), m)),
        dual=lambda a, c: -c * (_x_log_x(a / c) + _not_x_log_not_x(a / c)),
        bounded=True,
    ),
}


@dataclass(frozen=True, eq=False)
class Task:
    """Minimise ½‖w‖² (+ b²/(2·scale²)) + Σ c ℓ(s(x·w + b)).

    `kind` is "free", "penalized" or "none", as in `maxmargin.core.problem.Offset`; X is a dense array.
    """

    X: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    loss: str
    kind: str = "free"
    scale: float = 1.0

    @cached_property
    def wide(self) -> Any:
        return np.asarray(self.X, dtype=Wide)

    @cached_property
    def wide_cost(self) -> Any:
        return np.asarray(self.cost, dtype=Wide)

    @cached_property
    def wide_sign(self) -> Any:
        return np.asarray(self.sign, dtype=Wide)

    def scores(self, w: Any) -> Any:
        return self.wide @ np.asarray(w, dtype=Wide)

    def weights(self, alpha: Any) -> Any:
        """Return Σ s α x."""
        return (self.wide_sign * alpha) @ self.wide

    def losses(self, m: Any) -> Any:
        return FORMULAS[self.loss].value(m)

    def slopes(self, m: Any) -> Any:
        return FORMULAS[self.loss].slope(m)

    def value_of_scores(self, z: Any, b: Any) -> Any:
        """Return Σ c ℓ(s(z + b)); a row of cost 0 counts nothing, whatever its loss."""
        with np.errstate(over="ignore"):
            return self.wide_cost @ self.losses(self.wide_sign * (z + b))

    def primal(self, w: Any, b: Any) -> Any:
        w = np.asarray(w, dtype=Wide)
        value = w @ w / 2 + self.value_of_scores(self.scores(w), Wide(b))
        if self.kind == "penalized":
            value += Wide(b) ** 2 / (2 * Wide(self.scale) ** 2)
        return value

    def value_at_zero(self) -> Any:
        """Return what it costs to do nothing: w = 0, and the best offset if that is free."""
        zero = np.zeros(self.X.shape[1])
        return self.primal(zero, self.best_offset(self.scores(zero)) if self.kind == "free" else 0.0)

    def dual(self, alpha: Any) -> Any:
        """Return the dual value of a point inside its bounds; a free offset also wants Σ sα = 0."""
        alpha = np.asarray(alpha, dtype=Wide)
        v = self.weights(alpha)
        live = self.cost > 0
        value = FORMULAS[self.loss].dual(alpha[live], self.wide_cost[live]).sum() - v @ v / 2
        if self.kind == "penalized":
            value -= (Wide(self.scale) * (self.wide_sign @ alpha)) ** 2 / 2
        return value

    def best_offset(self, z: Any) -> float:
        """Return one b that minimises the objective when the scores are z; 0 without offset."""
        if self.kind == "none":
            return 0.0
        z = np.asarray(z, dtype=Wide)
        if self.kind == "free" and self.loss == "hinge":
            breaks = (self.wide_sign - z)[self.cost > 0]
            values = [self.value_of_scores(z, b) for b in breaks]
            return float(breaks[int(np.argmin(values))])
        return self._root_of_slope(z)

    def _root_of_slope(self, z: Any) -> float:
        reach = Wide(np.abs(z).max(initial=0)) + 100 + self.scale**2 * self.cost.sum() * (self.kind != "free")
        low, high = -reach, reach
        for _ in range(200):
            middle = (low + high) / 2
            slope = self.wide_cost @ (self.wide_sign * self.slopes(self.wide_sign * (z + middle)))
            if self.kind == "penalized":
                slope += middle / Wide(self.scale) ** 2
            low, high = (low, middle) if slope > 0 else (middle, high)
        return float((low + high) / 2)

    def feasible(self, alpha: Any) -> Any:
        """Return a feasible point near α: clipped, and balanced by shrinking the heavier class."""
        alpha = np.maximum(np.asarray(alpha, dtype=Wide), 0)
        alpha[self.cost == 0] = 0
        if FORMULAS[self.loss].bounded:
            alpha = np.minimum(alpha, self.wide_cost)
        if self.kind == "free":
            for _ in range(5):
                up, down = alpha[self.sign > 0].sum(), alpha[self.sign < 0].sum()
                if max(up, down) > 0:
                    alpha[self.sign > 0] *= min(up, down) / up if up > 0 else 0
                    alpha[self.sign < 0] *= min(up, down) / down if down > 0 else 0
        return alpha


def _x_log_x(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, x * np.log(x), 0)


def _not_x_log_not_x(x: Any) -> Any:
    """Return (1 − x) log(1 − x), which is about −x when x is too small for 1 − x to show it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x < 1, (1 - x) * np.log1p(-x), 0)
