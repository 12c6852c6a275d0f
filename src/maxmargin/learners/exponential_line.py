"""The lowest point of a sum of exponentials along a line."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.rows import Array

__all__ = ["lowest"]


def lowest(q: Array, moves: Array, most: float) -> float:
    """Return the t in [−most, most] at which Σ q exp(−t·moves) is smallest, by Newton's method in a bracket.

    There are moves of both signs, or `most` is finite.
    """
    q, moves = q[q > 0], moves[q > 0]  # 0 times an overflow would be no number
    low, high, t = -most, most, 0.0
    for _ in range(200):
        with np.errstate(over="ignore", under="ignore"):
            terms = q * np.exp(-t * moves)
            slope, bend = -float((terms * moves).sum()), float((terms * moves * moves).sum())
        if slope <= 0:
            low = t
        if slope >= 0 or not math.isfinite(slope):
            high = t
        if slope == 0 or low == high:
            return t
        step = -slope / bend if bend > 0 and math.isfinite(slope) and math.isfinite(bend) else math.nan
        following = t + step
        if abs(step) <= 1e-14 * max(abs(t), 1e-300):
            return following if low <= following <= high else t
        if not low < following < high:
            following = _halfway(low, high, t)
            if following in (low, high):
                return following
        t = following
    return t


def _halfway(low: float, high: float, t: float) -> float:
    """Return a point inside the bracket; beyond its finite end where the other is infinite."""
    if math.isinf(low) or math.isinf(high):
        return 2.0 * t if t != 0 else (1.0 if math.isinf(high) else -1.0)
    return low + 0.5 * (high - low)
