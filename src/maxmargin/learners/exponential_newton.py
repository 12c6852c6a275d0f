"""Newton's method for the exponential loss: its direction, and along it the lowest point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.errors import InvalidParameter
from maxmargin.learners.exponential_line import lowest
from maxmargin.learners.no_minimum import look_for_separation, refuse, refuse_if_all_right
from maxmargin.problem import Problem
from maxmargin.problem.exponential import Place, certify_exponential
from maxmargin.problem.newton_decrement import MOST_COLUMNS, curvature_matrix
from maxmargin.results.solution import Status
from maxmargin.rows import Array, inner
from maxmargin.rows.kernels import Combine, Gram, Scores

__all__ = ["Course", "newton_steps"]

_MOST_STEPS = 200
_FIRST_LOOK = 8  # steps after which an optimum, had there been one, would mostly have been reached
_SMALL_STEP = 0.5  # in agreements: the quadratic model is good to a few per cent there
_LONGEST_STEP = 30.0


@dataclass
class Course:
    """The best place so far, and why and after how many steps it is the last.

    Attributes
    ----------
    rounds : list of (column, step)
        What coordinate steps did; the column after the last is the offset.
    """

    place: Place
    status: Status = Status.MAX_ITER
    n_iter: int = 0
    rounds: list[tuple[int, float]] = field(default_factory=list)


def newton_steps(
    problem: Problem, course: Course, tol: float, max_iter: int | None, token: StopToken
) -> None:
    """Walk until rounding errors are left, whatever `tol`; the course tells where it got."""
    if problem.rows.n_columns > MOST_COLUMNS:
        raise InvalidParameter(
            f"method='newton' needs a matrix of all columns by all columns, at most {MOST_COLUMNS:,}; X has "
            f"{problem.rows.n_columns:,}. Take method='coordinate'."
        )
    look = _FIRST_LOOK
    for step in range(1, (max_iter or _MOST_STEPS) + 1):
        if token.poll():
            course.status = Status.MAX_TIME
            return
        here = course.place
        dw, db, decrement = _newton_direction(problem, here)
        if not 1e-30 * here.value < decrement < math.inf:
            course.status = Status.STALLED
            return
        change = problem.rows.zeros()
        problem.rows.reduce(Scores(dw), change)
        share = _share(problem, here, change + db)
        there = Place.at(problem, here.w + share * dw, here.b + share * db)
        if not there.value < here.value:  # rounding hides what is left
            course.status = Status.STALLED
            return
        course.place, course.n_iter = there, step
        refuse_if_all_right(problem, there)
        if step == look:
            if certify_exponential(problem, there.w, there.b).bound <= 0:  # else there is an optimum
                refuse(look_for_separation(problem, there, token))
            look *= 4


def _newton_direction(problem: Problem, here: Place) -> tuple[Array, float, float]:
    """Return the change of weights and offset, and the square of the Newton decrement."""
    rows, shift = problem.rows, None
    pull = here.pull(problem)
    if problem.offset.kind == "free":
        shift = rows.reduce(Combine(rows.n_columns), here.q / here.value)
        pull[:-1] -= pull[-1] * shift
    pull[problem.null_space.dependent] = 0.0
    matrix = curvature_matrix(problem, rows.reduce(Gram(rows.n_columns, shift), here.q))
    if not (np.einsum("ii->i", matrix) > 0).all():  # lost to cancellation, or all rows are far away
        return np.zeros(rows.n_columns), 0.0, math.nan
    change = Factor(matrix).solve(pull)
    db = float(change[-1]) if problem.offset.kind == "free" else 0.0
    if shift is not None:
        db -= inner(shift, change[:-1])
    return change[:-1].copy(), db, inner(pull, change)


def _share(problem: Problem, here: Place, change: Array) -> float:
    """Return how much of a step to take: all of it where it is small, else as far as it leads down."""
    moves = problem.sign * change
    longest = float(np.abs(moves).max(where=problem.cost > 0, initial=0.0))
    return 1.0 if longest <= _SMALL_STEP else lowest(here.q, moves, _LONGEST_STEP / longest)
