"""Roots of increasing functions, and line searches: the slope of a convex function along a direction is one.

`find_root` evaluates one point at a time. `search_in_rounds` evaluates four steps at a time; it remains for
the semismooth Newton method, where an evaluation reads five per-row arrays and no rows, so that memory sets
its pace and four steps cost little more than one, and where the first four come with the pass that computes
the direction. To 1e-6 with C = 1 it took 1.2 further readings a step on a9a and 1.9 on 100,000 rows of
covtype, `find_root` 2.9 and 4.2, and the whole fit half as long again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from maxmargin.rows.base import Array

__all__ = ["FIRST_STEPS", "find_root", "line_search", "search_in_rounds"]

_ROUNDING = 1e-14  # relative: a Newton step below it changes nothing that is known
_INNERMOST = 0.1  # of a bracket: a secant's root is taken no nearer to its ends than that
_FLAT = 0.1  # of the slope at 0: a line search ends at a slope below it


def find_root(
    function: Callable[[float], tuple[float, float | None]],
    bracket: tuple[float, float],
    x: float,
    *,
    at_low: float = -math.inf,
    accepted: tuple[float, float] | None = None,
    smallest_step: float = 0.0,
    max_evaluations: int = 200,
) -> float:
    """Return a root of an increasing function, by Newton's method or secants inside a shrinking bracket.

    A Newton step is taken if it stays inside and is at most half of the last but one; otherwise the bracket
    is halved, so that the iteration cannot cycle. Without a derivative, the next point is the root of the
    secant through the ends of the bracket (regula falsi), kept away from both.

    Parameters
    ----------
    function : callable
        Gives the value at x, and the derivative or None. A value that is not a number counts as positive.
    bracket : (float, float)
        The ends, with the root between them. While the upper one is infinite, x is doubled.
    x : float
        Where to begin.
    at_low : float
        The value at the lower end, which secants need.
    accepted : (float, float), optional
        The smallest and the largest value that count as 0. None: none does, and the root is found to 14
        digits by Newton's method, to the last bit by secants.
    smallest_step : float
        A Newton step that is no longer is the last one.
    max_evaluations : int

    Examples
    --------
    >>> round(find_root(lambda x: (x * x - 2.0, 2.0 * x), (0.0, 2.0), 1.0), 12)
    1.414213562373
    >>> round(find_root(lambda x: (x * x - 2.0, None), (0.0, 2.0), 1.0, at_low=-2.0), 12)
    1.414213562373
    """
    low, high = bracket
    at_high = math.inf
    last = last_but_one = high - low
    for _ in range(max_evaluations):
        value, derivative = function(x)
        if accepted is not None and accepted[0] <= value <= accepted[1]:
            return x
        if value < 0:
            low, at_low = x, value
        else:
            high, at_high = x, value
        if derivative is not None:
            step = -value / derivative if derivative > 0 else math.nan
            if abs(step) <= max(smallest_step, _ROUNDING * max(1.0, abs(x))):
                return x + step
            following = x + step if abs(step) <= 0.5 * last_but_one else math.nan
        elif math.isinf(high):
            following = math.nan
        elif at_high > at_low:
            width = high - low
            following = low - width * at_low / (at_high - at_low)
            following = min(max(following, low + _INNERMOST * width), high - _INNERMOST * width)
        else:  # nothing but rounding is left of the values
            return x
        if not low < following < high:
            following = 2.0 * x if math.isinf(high) else low + 0.5 * (high - low)
            if not low < following < high:
                return following
        last_but_one, last = last, abs(following - x)
        x = following
    return x


def line_search(
    slope: Callable[[float], tuple[float, float | None]],
    at_zero: float,
    *,
    longest: float = math.inf,
    first: float = 1.0,
    max_evaluations: int = 12,
) -> float:
    """Return a step at which the slope of a convex function along a direction has all but vanished.

    Parameters
    ----------
    slope : callable
        Gives the slope at a step, and the curvature or None.
    at_zero : float
        The slope at step 0, < 0.
    longest : float
        A step that is known to be too long.
    first : float
        The step to try first.
    max_evaluations : int
    """
    enough = _FLAT * abs(at_zero)
    return find_root(
        slope,
        (0.0, longest),
        first,
        at_low=at_zero,
        accepted=(-enough, enough),
        max_evaluations=max_evaluations,
    )


# ------------------------------------------------------------------------------------------------
# Four steps at a time: a bracket shrinks to about a fifth in every round.

FIRST_STEPS = np.array([0.1, 0.4, 1.0, 2.5])

_FLAT_IN_ROUNDS = 0.05  # of the slope at 0
_ROUNDS = 10


def search_in_rounds(at_zero: float, first: Array, slopes: Callable[[Array], Array]) -> float:
    """Return a step at which a slope that only rises has all but vanished.

    Parameters
    ----------
    at_zero : float
        The slope at step 0, < 0.
    first : array
        The slopes at `FIRST_STEPS`.
    slopes : callable
        Gives the slopes at an array of steps.
    """
    low, at_low = 0.0, at_zero
    high, at_high = np.inf, np.inf
    steps, found = FIRST_STEPS, first
    for _ in range(_ROUNDS):
        if found is first and abs(first[2]) <= -_FLAT_IN_ROUNDS * at_zero:
            return 1.0  # a whole Newton step, wherever it will do
        best = int(np.argmin(np.abs(found)))
        if abs(found[best]) <= -_FLAT_IN_ROUNDS * at_zero:
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
