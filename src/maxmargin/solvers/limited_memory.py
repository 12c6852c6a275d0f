"""The inverse of a Hessian from the last steps (L-BFGS).

The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno.

Source: Nocedal and Wright, "Numerical Optimization", 2006, algorithm 7.4.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from maxmargin.rows.base import Array, inner

__all__ = ["LimitedMemory"]


class LimitedMemory:
    """The last steps and what the gradient did along them.

    Parameters
    ----------
    most : int
        How many steps are remembered.
    """

    def __init__(self, most: int) -> None:
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=most)

    def add(self, step: Array, change: Array) -> None:
        """Remember a step, unless rounding made its curvature meaningless."""
        curvature = _dot(step, change)
        if curvature > 1e-10 * math.sqrt(_dot(step, step) * _dot(change, change)):
            self._pairs.append((step, change, curvature))

    def times(self, gradient: Array, solve: Callable[[Array], Array]) -> Array:
        """Return about the inverse Hessian times the gradient; `solve` is near the inverse, too."""
        left, shares = gradient.copy(), []
        for step, change, curvature in reversed(self._pairs):
            shares.append(_dot(step, left) / curvature)
            left -= shares[-1] * change
        found = solve(left)
        for (step, change, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            found += (share - _dot(change, found) / curvature) * step
        return found


def _dot(u: Array, v: Array) -> float:
    return inner(u.reshape(-1), v.reshape(-1))
