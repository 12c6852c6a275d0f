"""A sweep of dual coordinate descent, row by row in Python, in a given order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special

__all__ = ["Sweep", "best_alpha"]


@dataclass(eq=False)
class Sweep:
    """α and what follows from it: w = Σ sα(x − μ), κ = Σ sα. The offset in use is b₀ + γκ."""

    X: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    loss: str
    alpha: np.ndarray
    center: float = 0.0
    gamma: float = 0.0
    mean: np.ndarray | float = 0.0

    def visit(self, order: list[int]) -> None:
        """Set each α in turn to the best value while the others stay."""
        rows = self.X - self.mean
        for i in order:
            signed = self.sign * self.alpha
            m = self.sign[i] * (rows[i] @ (signed @ rows) + self.center + self.gamma * signed.sum())
            q = rows[i] @ rows[i] + self.gamma
            self.alpha[i] = best_alpha(self.loss, m, self.alpha[i], self.cost[i], q)


def best_alpha(loss: str, m: float, alpha: float, c: float, q: float) -> float:
    """Minimise m(a − α) + q/2 (a − α)² − dual value of a over the interval of a."""
    if loss == "logistic":

        def excess(t: float) -> float:
            return t - m - q * (c * scipy.special.expit(-t) - alpha)

        t = scipy.optimize.brentq(excess, m - q * alpha - 1, m + q * (c - alpha) + 1, xtol=1e-15, rtol=1e-15)
        return float(c * scipy.special.expit(-t))
    curve, upper = (0.0, c) if loss == "hinge" else (0.5 / c, np.inf)
    slope = m - 1 + curve * alpha
    if q + curve == 0:
        return alpha if slope == 0 else (upper if slope < 0 else 0.0)
    return float(np.clip(alpha - slope / (q + curve), 0.0, upper))
