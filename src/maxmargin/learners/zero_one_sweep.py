"""The fewest errors exactly, for up to three unknowns (two columns and an offset): a sweep over all lines.

Signed lifted rows a = s(x, 1) are right where a·v > 0. The planes a·v = 0 cut the space of all v into cells;
every cell has a side on one of the planes, so that on some plane an open arc of directions (circle.py) leads
to it: on the arc the other rows have their signs, and a step to one side decides about the plane's own row
and those in line with it. All planes in turn take O(n² log n).

Floats come first. Where rounding leaves open whether more rows could be right, the plane is swept again in
whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.learners.circle import Pair, sweep, sweep_exactly
from maxmargin.problem.exact_arithmetic import as_integers
from maxmargin.rows import Array

__all__ = ["Found", "sweep_lines"]

_PARALLEL = 64.0 * 2.0**-52


@dataclass(frozen=True, eq=False)
class Found:
    """Directions, weights and offset in one vector, and the largest total weight of right rows.

    Attributes
    ----------
    directions : the best ones, of which the last may be too delicate for floats
    possible : what no direction exceeds
    is_complete : whether every plane was looked at
    """

    directions: list[Array]
    possible: float
    is_complete: bool = True


def sweep_lines(A: Array, weight: Array, token: StopToken) -> Found:
    """Return the best direction for signed rows A of one, two or three columns, none of them 0."""
    if A.shape[1] == 1:
        up = float(weight.sum(where=A[:, 0] > 0))
        down = float(weight.sum(where=A[:, 0] < 0))
        return Found([np.array([1.0 if up >= down else -1.0])], max(up, down))
    if A.shape[1] == 2:
        return _in_the_plane(A, weight)
    return _in_space(A, weight, token)


def _in_the_plane(A: Array, weight: Array) -> Found:
    arc = sweep(A, np.zeros(len(A)), weight)
    found = np.array([np.cos(arc.angle), np.sin(arc.angle)])
    if arc.right >= arc.possible:
        return Found([found], arc.right)
    rows = [(row[0], row[1]) for row in as_integers(A).tolist()]
    right, direction = sweep_exactly(rows, weight.tolist())
    return Found([found, _floats(direction)], right)


@dataclass
class _BestTurn:
    right: float
    v: Array


def _in_space(A: Array, weight: Array, token: StopToken) -> Found:
    norms = np.sqrt(np.einsum("ij,ij->i", A, A))
    B = A / norms[:, None]
    best = _BestTurn(-np.inf, np.zeros(3))
    open_planes: list[tuple[float, int]] = []
    for pivot in range(len(A)):
        if pivot % 64 == 0 and token.poll():
            return Found([best.v], float(weight.sum()), is_complete=False)
        possible = _look_at_plane(B, weight, pivot, best)
        open_planes.append((possible, pivot))
    whole = None
    certain, directions = best.right, [best.v]
    for possible, pivot in sorted(open_planes, reverse=True):
        if possible <= certain + 1e-13 * float(weight.sum()):  # sums of weights are no better known
            break
        if token.poll():
            return Found(directions, possible, is_complete=False)
        whole = as_integers(A).tolist() if whole is None else whole
        right, v = _plane_exactly(whole, weight.tolist(), pivot)
        if right > certain:
            certain, directions = right, [best.v, v]
    return Found(directions, certain)


def _look_at_plane(B: Array, weight: Array, pivot: int, best: _BestTurn) -> float:
    """Sweep the directions on one row's plane in floats; return what is possible there."""
    normal = B[pivot]
    first = np.zeros(3)
    first[int(np.abs(normal).argmin())] = 1.0
    first -= np.einsum("i,i->", first, normal) * normal
    first /= np.sqrt(np.einsum("i,i->", first, first))
    second = np.cross(normal, first)
    u = np.stack([np.einsum("ij,j->i", B, first), np.einsum("ij,j->i", B, second)], axis=1)
    along = np.einsum("ij,j->i", B, normal)
    in_line = np.hypot(u[:, 0], u[:, 1]) <= _PARALLEL
    plus = float(weight.sum(where=in_line & (along > 0)))
    minus = float(weight.sum(where=in_line & (along < 0)))
    is_exact = bool((np.abs(B[in_line]) == np.abs(normal)).all())
    side = max(plus, minus)
    others = ~in_line
    if not others.any():
        right, possible, v = 0.0, 0.0, first
    else:
        arc = sweep(u[others], np.ones(int(others.sum())), weight[others])
        right, possible = arc.right, arc.possible
        v = np.cos(arc.angle) * first + np.sin(arc.angle) * second
    if right + side > best.right:
        best.right = right + side
        best.v = _off_the_plane(B, v, normal if plus >= minus else -normal, in_line)
    return possible + (side if is_exact else plus + minus)


def _off_the_plane(B: Array, v: Array, way: Array, in_line: NDArray[np.bool_]) -> Array:
    """Step off the plane without changing any other row's sign: half the way to the nearest."""
    scores, moves = np.einsum("ij,j->i", B, v)[~in_line], np.einsum("ij,j->i", B, way)[~in_line]
    against = scores * moves < 0
    nearest = float((np.abs(scores[against]) / np.abs(moves[against])).min(initial=1.0))
    return np.asarray(v + 0.5 * nearest * way)


def _plane_exactly(rows: list[list[int]], weight: list[float], pivot: int) -> tuple[float, Array]:
    """Sweep the directions on one row's plane in whole numbers; return what is right, and a direction."""
    a = rows[pivot]
    last = max(range(3), key=lambda k: abs(a[k]))
    i, j = (k for k in range(3) if k != last)
    # On the plane v_last = −(a_i v_i + a_j v_j)/a_last; times a_last, with its sign, rows are pairs.
    sign = 1 if a[last] > 0 else -1
    pairs: list[Pair] = []
    others: list[int] = []
    plus = minus = 0.0
    for k, row in enumerate(rows):
        pair = (
            sign * (a[last] * row[i] - row[last] * a[i]),
            sign * (a[last] * row[j] - row[last] * a[j]),
        )
        if pair != (0, 0):
            pairs.append(pair)
            others.append(k)
        elif sum(x * y for x, y in zip(a, row, strict=True)) > 0:
            plus += weight[k]
        else:
            minus += weight[k]
    right, place = (0.0, (1, 0)) if not pairs else sweep_exactly(pairs, [weight[k] for k in others])
    v = [0, 0, 0]
    v[i], v[j] = abs(a[last]) * place[0], abs(a[last]) * place[1]
    v[last] = -sign * (a[i] * place[0] + a[j] * place[1])
    way = a if plus >= minus else [-x for x in a]
    return right + max(plus, minus), _floats(_stepped(v, way, [rows[k] for k in others]))


def _stepped(v: list[int], way: list[int], others: list[list[int]]) -> list[int]:
    """Return v n + way with n so large that no other row's sign changes."""
    n = 1
    for row in others:
        score = abs(sum(x * y for x, y in zip(row, v, strict=True)))
        move = abs(sum(x * y for x, y in zip(row, way, strict=True)))
        n = max(n, 2 * move // score + 1)
    return [n * x + y for x, y in zip(v, way, strict=True)]


def _floats(values: list[int] | Pair) -> Array:
    largest = max(abs(value) for value in values) or 1
    return np.array([value / largest for value in values])
