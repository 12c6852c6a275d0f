"""What the regularised problem needs to know of a loss beyond its formula.

The row-by-row formulas (share of the gap, dual value, best α) are in the core; here stand the few facts
about whole problems. A loss with a dual form can be trained and certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["DualForm"]


@dataclass(frozen=True)
class DualForm:
    """Facts about the dual of ½‖w‖² + Σ c ℓ(m).

    Attributes
    ----------
    bounded : bool
        Whether α ≤ c; otherwise only α ≥ 0.
    quadratic : float or None
        κ if a row's dual value is α − κα²/(2c); None if it is no such parabola.
    least_curvature : float
        A row's dual value curves by at least this much divided by c.
    has_barrier : bool
        Whether the dual value has infinite slope at its bounds, so that every α stays inside.
    rests_at : float
        The smallest agreement at which the loss is 0; infinite if there is none.
    least_cost : callable
        From the total costs p, n > 0 of the two classes to the smallest p ℓ(b) + n ℓ(−b) over b: the
        objective at w = 0 with the best free offset.
    loss_change : callable
        From a total loss Σ c ℓ(m), the total cost Σ c and a number e to the most by which the total loss can
        change when no agreement changes by more than e.
    """

    bounded: bool
    quadratic: float | None
    least_curvature: float
    has_barrier: bool
    rests_at: float
    least_cost: Callable[[float, float], float]
    loss_change: Callable[[float, float, float], float]

    def offset_reach(self, positive: float, negative: float) -> float:
        """Return r such that the best free offset is at most max|x·w| + r, given the costs of both classes.

        A loss that rests at 1 has both classes at agreements of at most 1 there; without rest, the classes
        balance where their odds do.
        """
        if math.isfinite(self.rests_at):
            return self.rests_at
        return abs(math.log(positive) - math.log(negative))

    def value_at_zero(self, positive: float, negative: float) -> float:
        """Return the objective at w = 0 with the best free offset: what doing nothing costs."""
        if positive == 0 or negative == 0:
            return 0.0
        return self.least_cost(positive, negative)
