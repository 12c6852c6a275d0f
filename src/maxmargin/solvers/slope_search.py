"""Where a slope that only rises passes through zero: an exact line search, several steps at a time.

The slope along a Newton direction is a sum over all rows, so one evaluation costs a reading of their
numbers, and evaluating at four steps costs little more than at one. A bracket shrinks to about a fifth in
every round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin.rows import Array

__all__ = ["FIRST_STEPS", "find_step"]

FIRST_STEPS = np.array([0.1, 0.4, 1.0, 2.5])

_GOOD_ENOUGH = 0.05  # of the slope at the start
_ROUNDS = 10


def find_step(slope_at_zero: float, first: Array, slopes: Callable[[Array], Array]) -> float:
    """Return a step at which the slope has all but vanished.

    Parameters
    ----------
    slope_at_zero : float
        The slope at step 0, < 0.
    first : array
        The slopes at `FIRST_STEPS`.
    slopes : callable
        Gives the slopes at an array of steps.
    """
    low, at_low = 0.0, slope_at_zero
    high, at_high = np.inf, np.inf
    steps, found = FIRST_STEPS, first
    for _ in range(_ROUNDS):
        if found is first and abs(first[2]) <= -_GOOD_ENOUGH * slope_at_zero:
            return 1.0  # a whole Newton step, wherever it will do
        best = int(np.argmin(np.abs(found)))
        if abs(found[best]) <= -_GOOD_ENOUGH * slope_at_zero:
            return float(steps[best])
        below, above = found < 0, found >= 0
        if below.any():
            last = int(np.flatnonzero(below)[-1])
            low, at_low = float(steps[last]), float(found[last])
        if above.any():
            next_one = int(np.flatnonzero(above)[0])
            high, at_high = float(steps[next_one]), float(found[next_one])
        steps = _between(low, at_low, high, at_high)
        found = slopes(steps)
    best = int(np.argmin(np.abs(found)))
    return float(steps[best])


def _between(low: float, at_low: float, high: float, at_high: float) -> Array:
    """Return steps around the secant's root; far ahead while nothing bounds them."""
    if np.isinf(high):
        return low * np.array([2.0, 4.0, 8.0, 16.0])
    width = high - low
    share = -at_low / (at_high - at_low)
    if share < 0.1:  # perhaps orders of magnitude from the far end
        return np.asarray(low + width * share ** np.array([1.5, 1.0, 2.0 / 3.0, 1.0 / 3.0]))
    middle = low + width * min(share, 0.9)
    near = 0.3 * min(middle - low, high - middle)
    # Not too near on the left: where the slope flattens, every secant's root is on the right of the true one.
    return np.array([low + 0.3 * (middle - low), middle, middle + near, 0.5 * (middle + near + high)])
