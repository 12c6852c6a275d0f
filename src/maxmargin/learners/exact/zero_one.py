"""The fewest errors: the smallest Σ c over rows with agreement ≤ 0, which is NP-hard in general.

Up to two columns and an offset it is exact by a sweep (zero_one_sweep.py); beyond, subsystems that no
hyperplane satisfies are covered (zero_one_cover.py) until the bound meets the best hyperplane or a limit ends
it. What is known then is an honest interval. Of all hyperplanes with the rows right that were found, the one
with the largest margin is returned, where floats can tell.

A row is right if its agreement is above 0 without rounding errors, and as `predict` computes it, too. A bound
from sums or programs in floats is lowered by what these may be off; it holds then for the next total that the
weights can have.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.exact.arithmetic import as_integers
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidInput, NoFiniteOptimum
from maxmargin.learners.columns import of_moderate_size
from maxmargin.learners.exact.exponential import exponential_loss
from maxmargin.learners.exact.hard_margin import hard_margin
from maxmargin.learners.exact.least_squares import least_squares
from maxmargin.learners.exact.record import ExactSolution
from maxmargin.learners.exact.zero_one_cover import Cover, cover_errors, next_total
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.separation.signed_rows import SignedRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["fewest_errors", "sweep", "sweep_exactly"]


_MOST_SWEPT = 5_000  # distinct rows: a minute
_ROUNDING = 1e-13  # of all weights: sums of them in floats are no better known
_SOLVED = 1e-7  # of the errors: what weights without a common measure may leave open


def fewest_errors(
    task: TwoClasses, node_limit: int = 1_000, deadline: Deadline | None = None
) -> ExactSolution:
    """Return the hyperplane with the fewest errors, and what is proved about them.

    Parameters
    ----------
    node_limit : int
        The most nodes of the cover problems.
    deadline : Deadline, optional
        When the task's token will say that the time is up: a cover problem has to end before, to tell its
        bound.
    """
    deadline = Deadline() if deadline is None else deadline
    A, weight, hopeless = _signed_rows(task)
    best = _Best(task)
    status, bound, reason = Status.SOLVED, hopeless, "a sweep over all lines"
    try:
        with np.errstate(all="ignore"):  # what overflows proposes nothing: errors are counted exactly
            best.propose(surrogates(task))
        if best.errors > hopeless and A.shape[1] <= 3 and len(A) <= _MOST_SWEPT:
            found = sweep_lines(A, weight, task.token)
            best.propose(_split(task, v) for v in found.directions)
            bound = hopeless + float(weight.sum()) * (1.0 - _ROUNDING) - found.possible
            status = Status.STALLED if found.is_complete else Status.MAX_TIME  # unless the bound is met
        elif best.errors > hopeless:
            reason = "covers of subsystems that no hyperplane satisfies"
            cover = Cover(
                A, weight, _joined(task, best), lambda v: best.errors_of(*_split(task, v)) - hopeless
            )
            cover.propose(improve(A, weight, cover.v, task.token))
            try:
                cover_errors(
                    cover, node_limit, lambda v: improve(A, weight, v, task.token), task.token, deadline.left
                )
            finally:
                best.propose([_split(task, cover.v)])
                bound, status = hopeless + cover.bound, cover.status
        if not task.token.poll():
            best.widen(task)
    except Stopped:
        status = Status.MAX_TIME
    except KeyboardInterrupt:
        task.token.stop()  # the classes that are left end at once
        status = Status.INTERRUPTED
    return _solution(task, best, min(bound, best.errors), status, reason)


class _Best:
    """The hyperplane with the fewest errors so far."""

    def __init__(self, task: TwoClasses) -> None:
        self.task = replace(task, token=StopToken())  # what was found is counted to the end
        self._rows = SignedRows.of(task.rows.X, task.sign, has_offset=task.has_offset)
        self.w: Array = np.zeros(task.rows.n_columns)
        self.b = 0.0
        self.errors = math.fsum(task.cost)

    def propose(self, candidates: Iterable[tuple[Array, float]]) -> None:
        for w, b in candidates:
            errors = self.errors_of(w, b)
            if errors < self.errors:
                self.w, self.b, self.errors = w, b, errors

    def widen(self, task: TwoClasses) -> None:
        """Move to the largest margin with the same rows right."""
        found = widest(task, self._is_right(self.w, self.b) & (self.task.cost > 0))
        if found is None:
            return
        errors = self.errors_of(*found)
        if errors <= self.errors:  # fewer, where other rows come right by the way
            (self.w, self.b), self.errors = found, errors

    def errors_of(self, w: Array, b: float) -> float:
        """Return the weight of the rows that are not right, rounded once."""
        return math.fsum(self.task.cost[~self._is_right(w, b)])

    def _is_right(self, w: Array, b: float) -> NDArray[np.bool_]:
        if not (np.isfinite(w).all() and math.isfinite(b)):
            return np.zeros(len(self.task.cost), dtype=bool)
        is_right = self._rows.sides(w, b, self.task.token) > 0
        return np.asarray(is_right & (self.task.agreements(w, b) > 0))


def _signed_rows(task: TwoClasses) -> tuple[Array, Array, float]:
    """Return the distinct signed rows s(x, 1), their weights, and the weight of rows that are always wrong.

    Without an offset a row of zeros has agreement 0 whatever the weights.
    """
    live = task.live
    A = task.dense(live)
    if task.has_offset:
        A = np.hstack([A, np.ones((len(live), 1))])
    A = A * task.sign[live, None]
    distinct, place = np.unique(A + 0.0, axis=0, return_inverse=True)
    weight = np.bincount(place.ravel(), weights=task.cost[live]).astype(np.float64)
    nonzero = distinct.any(axis=1)
    return distinct[nonzero], weight[nonzero], float(weight[~nonzero].sum())


def _joined(task: TwoClasses, best: _Best) -> Array:
    return np.append(best.w, best.b) if task.has_offset else best.w


def _split(task: TwoClasses, v: Array) -> tuple[Array, float]:
    return (v[:-1].copy(), float(v[-1])) if task.has_offset else (v, 0.0)


def _solution(task: TwoClasses, best: _Best, bound: float, status: Status, reason: str) -> ExactSolution:
    bound = min(next_total(task.cost[task.live], bound), best.errors)
    gap = best.errors - bound
    proof = Certificate("zero-one-bound", best.errors, bound)
    if best.errors == 0:
        reason = "a surrogate separates the classes"
    n_rows = plural(len(task.live), "row")
    about = f"{n_rows}, {plural(task.rows.n_columns, 'column')}, zero-one"
    if gap <= _SOLVED * best.errors and status is not Status.INTERRUPTED:
        status = Status.SOLVED
    return ExactSolution(best.w, best.b, proof, Plan("fewest errors", reason, about), status=status)


# ------------------------------------------------------------------------------------------------
# A good hyperplane to begin with: the best of the surrogates, improved in planes.
#
# For two vectors v and d the fewest errors of all combinations of them are found exactly by one sweep of a
# circle (circle.py). The directions d that are tried are the unit vectors and the rows that are wrong.

_ROUNDS = 20
_MOST_DIRECTIONS = 400


def surrogates(task: TwoClasses) -> list[tuple[Array, float]]:
    """Return the minima of the squared, exponential, hinge and logistic losses; each is quick.

    Where the task's token ends one early, what it had by then; Ctrl-C raises KeyboardInterrupt.
    """
    rows, powers = of_moderate_size(task.rows)
    found = _minima(task if rows is task.rows else replace(task, rows=rows))
    return [(np.ldexp(w, -powers), b) for w, b in found]


def _minima(task: TwoClasses) -> list[tuple[Array, float]]:
    squared = least_squares(task)
    found = [(squared.coef, squared.intercept)]
    try:
        exponential = exponential_loss(task, max_iter=30)
        _hand_on_interrupt(exponential.status)
        found.append((exponential.coef, exponential.intercept))
    except NoFiniteOptimum as error:
        found.append((error.direction, error.offset))
    for loss in ("hinge", "logistic"):
        problem = task.problem(loss, Ridge())
        found.append(_solved(problem, 1e-4, task.token))
    return found


def improve(A: Array, weight: Array, v: Array, token: StopToken) -> Array:
    """Return a direction at which no fewer signed rows A are right, by sweeps of planes through v."""
    best = float(weight.sum(where=_scores(A, v) > 0))
    for _ in range(_ROUNDS):
        before = best
        wrong = A[_scores(A, v) <= 0][:_MOST_DIRECTIONS]
        for direction in (*np.eye(A.shape[1])[:_MOST_DIRECTIONS], *wrong):
            if token.poll():
                return v
            right, following = _best_in_plane(A, weight, v, direction)
            if right > best and float(weight.sum(where=_scores(A, following) > 0)) > best:
                v = following
                best = float(weight.sum(where=_scores(A, v) > 0))
        if best == before:
            break
    return v


def _best_in_plane(A: Array, weight: Array, v: Array, direction: Array) -> tuple[float, Array]:
    unit = float(np.sqrt(np.einsum("i,i->", v, v))) or 1.0
    other = direction / (float(np.sqrt(np.einsum("i,i->", direction, direction))) or 1.0)
    u = np.stack([_scores(A, v / unit), _scores(A, other)], axis=1)
    size = np.sqrt(np.einsum("ij,ij->i", A, A))
    seen = np.hypot(u[:, 0], u[:, 1]) > 1e-12 * size
    if not seen.any():
        return -np.inf, v
    arc = sweep(u[seen], size[seen], weight[seen])
    return arc.right, np.asarray(np.cos(arc.angle) * v / unit + np.sin(arc.angle) * other)


def widest(task: TwoClasses, right: NDArray[np.bool_]) -> tuple[Array, float] | None:
    """Return the hyperplane with the largest margin that has these rows right; None if none was found."""
    chosen = np.flatnonzero(right)
    sign = np.ascontiguousarray(task.sign[chosen])
    if len(chosen) == 0 or abs(int(sign.sum())) == len(sign):
        return None
    subset = TwoClasses(task.rows.subset(chosen), sign, np.ones(len(chosen)), task.has_offset, task.token)
    try:
        found = hard_margin(subset, on_inseparable="closest")
    except InvalidInput:  # its weights do not fit into floats
        return None
    _hand_on_interrupt(found.status)
    return found.coef, found.intercept


def _solved(problem: Problem, tol: float, token: StopToken) -> tuple[Array, float]:
    solver, plan = choose("auto", problem, tol)
    solution = run(problem, solver, plan, Limits(tol), token=token)
    _hand_on_interrupt(solution.status)
    return solution.coef, solution.intercept


def _hand_on_interrupt(status: Status) -> None:
    """Raise what a learner has kept to itself, so that it could return what it had."""
    if status is Status.INTERRUPTED:
        raise KeyboardInterrupt


def _scores(A: Array, v: Array) -> Array:
    return np.asarray(np.einsum("ij,j->i", A, v))


# ------------------------------------------------------------------------------------------------
# The fewest errors exactly, for up to three unknowns (two columns and an offset): a sweep over all lines.
#
# Signed lifted rows a = s(x, 1) are right where a·v > 0. The planes a·v = 0 cut the space of all v into
# cells; every cell has a side on one of the planes, so that on some plane an open arc of directions
# (circle.py) leads to it: on the arc the other rows have their signs, and a step to one side decides about
# the plane's own row and those in line with it. All planes in turn take O(n² log n).
#
# Floats come first. Where rounding leaves open whether more rows could be right, the plane is swept again
# in whole numbers.

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


# ------------------------------------------------------------------------------------------------
# The fewest errors through the origin of a plane: directions on a circle, by a sweep.
#
# Row k of weight w is right where u·v > 0: on an open half of the circle. Between neighbouring ends of
# such halves, on open arcs, the total weight of the right rows is constant; on the ends themselves rows
# lie on the boundary, which is an error, so the arcs are all that counts.
#
# `sweep` works in floats. Ends that rounding may have put in the wrong order make a group: arcs within a
# group do not count for what was found, and count with the best order for what is possible.
# `sweep_exactly` compares whole numbers, and has no groups.

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
