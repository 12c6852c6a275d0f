"""A good hyperplane to begin with: the best of the surrogates, improved in planes.

For two vectors v and d the fewest errors of all combinations of them are found exactly by one sweep of a
circle (circle.py). The directions d that are tried are the unit vectors and the rows that are wrong.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput, NoFiniteOptimum
from maxmargin.learners.circle import sweep
from maxmargin.learners.columns import of_moderate_size
from maxmargin.learners.exponential import exponential_loss
from maxmargin.learners.hard_margin import hard_margin
from maxmargin.learners.least_squares import least_squares
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.problem import Offset, Problem
from maxmargin.results.solution import Status
from maxmargin.rows import Array
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["improve", "surrogates", "widest"]

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
        problem = Problem(task.rows, task.sign, task.cost, loss, _offset(task))
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


def _offset(task: TwoClasses) -> Offset:
    return Offset("free" if task.has_offset else "none")


def _scores(A: Array, v: Array) -> Array:
    return np.asarray(np.einsum("ij,j->i", A, v))
