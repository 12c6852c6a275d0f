"""A sweep of dual coordinate descent, row by row in Python, in the very order of the compiled one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import scipy.special

__all__ = ["SplitMix", "Sweep"]

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15


class SplitMix:
    """SplitMix64 (Steele, Lea and Flood 2014), started from the three numbers that name an order."""

    def __init__(self, seed: int, number: int, block: int) -> None:
        self.state = _mix((_mix(_mix((seed + STEP) & MASK) ^ number) + block) & MASK)

    def next(self) -> int:
        self.state = (self.state + STEP) & MASK
        return _mix(self.state)

    def shuffle(self, items: list[int]) -> list[int]:
        """Return them in random order, by Fisher and Yates from the end."""
        items = list(items)
        for k in range(len(items) - 1, 0, -1):
            j = (self.next() * (k + 1)) >> 64
            items[k], items[j] = items[j], items[k]
        return items


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


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
