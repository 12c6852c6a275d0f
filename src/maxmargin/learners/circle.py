"""The fewest errors through the origin of a plane: directions on a circle, by a sweep.

Row k of weight w is right where u·v > 0: on an open half of the circle. Between neighbouring ends of such
halves, on open arcs, the total weight of the right rows is constant; on the ends themselves rows lie on the
boundary, which is an error, so the arcs are all that counts.

`sweep` works in floats. Ends that rounding may have put in the wrong order make a group: arcs within a group
do not count for what was found, and count with the best order for what is possible. `sweep_exactly` compares
whole numbers, and has no groups.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from maxmargin.rows import Array

__all__ = ["Arc", "Pair", "sweep", "sweep_exactly"]

Pair = tuple[int, int]

_TURN = 2.0 * np.pi
_ROUNDING_OF_ANGLES = 32.0 * 2.0**-52


@dataclass(frozen=True)
class Arc:
    """The best arc.

    Attributes
    ----------
    right : total weight of the rows that are right there
    angle : its middle
    possible : what no arc exceeds, whatever rounding did
    """

    right: float
    angle: float
    possible: float


def sweep(u: Array, size: Array, weight: Array) -> Arc:
    """Return the best arc for the rows u (m × 2), each known up to rounding errors of `size`; m ≥ 1."""
    middle = np.arctan2(u[:, 1], u[:, 0])
    doubt = _ROUNDING_OF_ANGLES * (1.0 + size / np.hypot(u[:, 0], u[:, 1]))
    start, end = np.mod(middle - 0.5 * np.pi, _TURN), np.mod(middle + 0.5 * np.pi, _TURN)
    at_zero = float(weight.sum(where=start > end))  # right at angle 0, because their half goes round past it
    angle = np.concatenate([start, end])
    change = np.concatenate([weight, -weight])
    width = np.concatenate([doubt, doubt])
    order = np.argsort(angle - width, kind="stable")
    low, high, change = (angle - width)[order], (angle + width)[order], change[order]
    reach = np.maximum.accumulate(high)
    after = at_zero + np.cumsum(change)
    gap = np.append(low[1:], low[0] + _TURN) - reach
    is_arc = gap > 0
    right, chosen = -np.inf, 0
    if is_arc.any():
        chosen = int(np.argmax(np.where(is_arc, after, -np.inf)))
        right = float(after[chosen])
    group = np.concatenate([[0], np.cumsum(is_arc[:-1])])
    gains = np.bincount(group, weights=np.maximum(change, 0.0))
    first = np.flatnonzero(np.concatenate([[True], is_arc[:-1]]))
    before = np.concatenate([[at_zero], after[:-1]])[first]
    possible = float((before + gains).max())
    if not is_arc[-1]:  # the last group and the first are one
        possible = max(possible, float(before[-1] + gains[-1] + gains[0]))
    return Arc(right, float(reach[chosen] + 0.5 * gap[chosen]), possible)


def sweep_exactly(u: list[Pair], weight: list[float]) -> tuple[float, Pair]:
    """Return the largest total weight of right rows, and a direction inside its arc; no u is (0, 0)."""
    events: list[tuple[Pair, float]] = []
    for (x, y), w in zip(u, weight, strict=True):
        events += [((y, -x), w), ((-y, x), -w)]  # a quarter turn before and after
    by_angle = functools.cmp_to_key(_compare)
    events.sort(key=lambda event: by_angle(event[0]))
    at_zero = sum(w for (x, y), w in zip(u, weight, strict=True) if _compare((y, -x), (-y, x)) > 0)
    best, found, value = -1.0, (1, 0), at_zero
    for k, (place, change) in enumerate(events):
        value += change
        following = events[(k + 1) % len(events)][0]
        if _compare(place, following) == 0:
            continue
        if value > best:
            best, found = value, _between(place, following)
    return best, found


def _half(v: Pair) -> int:
    """Return 0 for angles from 0 up to half a turn, 1 for the rest."""
    return 0 if v[1] > 0 or (v[1] == 0 and v[0] > 0) else 1


def _compare(first: Pair, second: Pair) -> int:
    """Return a negative number if the first angle is smaller, 0 if they are equal."""
    if _half(first) != _half(second):
        return _half(first) - _half(second)
    cross = first[0] * second[1] - first[1] * second[0]
    return (cross < 0) - (cross > 0)


def _between(first: Pair, second: Pair) -> Pair:
    """Return a direction after the first and before the second: neighbours, at most half a turn apart."""
    a = abs(first[0]) + abs(first[1])
    b = abs(second[0]) + abs(second[1])
    x, y = first[0] * b + second[0] * a, first[1] * b + second[1] * a
    if (x, y) == (0, 0):  # half a turn: a quarter from either
        return -first[1], first[0]
    return x, y
