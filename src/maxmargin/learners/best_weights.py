"""The best weights that an online learner has come by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from maxmargin.rows import Array

__all__ = ["BestWeights"]


@dataclass(eq=False)
class BestWeights:
    """Weights with the smallest risk that was measured, and whether to look for better ones.

    Attributes
    ----------
    min_improvement : float or None
        The least fall of the best risk from one measurement to the next that is worth going on for.
    weights : (θ, θ₀) or None
    risk : float
    """

    min_improvement: float | None = None
    weights: tuple[Array, float] | None = None
    risk: float = math.inf
    _n_measured: int = 0

    def offer(self, weights: tuple[Array, float], risk: float) -> str:
        """Keep the weights if they are better; return why to end, or nothing."""
        gain = self.risk - risk
        self._n_measured += 1
        if gain > 0:
            self.weights, self.risk = weights, risk
        if risk == 0:
            return "the risk is 0: no better weights exist"
        least = self.min_improvement
        if least is not None and self._n_measured > 1 and max(gain, 0.0) < least:
            return f"the best risk fell by less than min_improvement={least:g}"
        return ""
