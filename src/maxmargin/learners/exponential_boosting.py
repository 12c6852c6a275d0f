"""The exponential loss one column at a time: boosting, with the columns as weak classifiers.

With the weights q = c exp(−m) of the rows, the column that promises most, the largest
(Σ q s xⱼ)² / Σ q xⱼ², gets the step that is best for it alone. For columns of values ±1 that is AdaBoost's
round: the smallest weighted error, and the step ½ log(right/wrong).
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin._core import StopToken
from maxmargin.learners.columns import Columns
from maxmargin.learners.exponential_line import lowest
from maxmargin.learners.exponential_newton import Course
from maxmargin.learners.no_minimum import look_for_separation, refuse, refuse_if_all_right
from maxmargin.problem import Problem
from maxmargin.problem.exponential import Place, certify_exponential
from maxmargin.results.solution import Status
from maxmargin.rows import Array
from maxmargin.rows.kernels import HessianDiagonal
from maxmargin.solvers.separation import Separation, check_direction

__all__ = ["coordinate_steps"]

_ROUNDS = 10_000
_FIRST_PROOF, _PROOF_GROWTH = 16, 1.5  # rounds between certificates


def coordinate_steps(
    problem: Problem, course: Course, tol: float, max_iter: int | None, token: StopToken
) -> None:
    """Move one column a round until the gap is proved to be at most `tol`."""
    columns = Columns.of(problem)
    proof_due = _FIRST_PROOF
    for number in range(1, (max_iter or _ROUNDS) + 1):
        if token.poll():
            course.status = Status.MAX_TIME
            return
        here = course.place
        column = _most_promising(problem, here)
        if column < 0:
            course.status = Status.STALLED
            return
        values = columns.column(column)
        step = _best_step(problem, here, columns, column, values, token)
        w, b = here.w.copy(), here.b
        if column < len(w):
            w[column] += step
        else:
            b += step
        z = here.z + step * values if column < len(w) else here.z
        there = Place.at(problem, w, b, z)
        if not there.value < here.value:
            course.status = Status.STALLED
            return
        course.place, course.n_iter = there, number
        course.rounds.append((column, step))
        if number >= proof_due:
            proof_due = int(_PROOF_GROWTH * number)
            if _is_done(problem, course, tol, token):
                return


def _is_done(problem: Problem, course: Course, tol: float, token: StopToken) -> bool:
    """Tell whether the gap is proved, with fresh scores, which rounding has moved meanwhile."""
    place = Place.at(problem, course.place.w, course.place.b)
    course.place = place
    refuse_if_all_right(problem, place)
    proof = certify_exponential(problem, place.w, place.b)
    if proof.relative_gap <= tol:
        course.status = Status.SOLVED
        return True
    if proof.bound <= 0 and course.n_iter >= 2 * _FIRST_PROOF:  # above 0 it proves that there is an optimum
        refuse(look_for_separation(problem, place, token))
    return False


def _most_promising(problem: Problem, here: Place) -> int:
    """Return the column with the largest (Σ q s x)² / Σ q x²; the offset comes last; −1 if none pulls."""
    pull = here.pull(problem)
    squares, _ = problem.rows.reduce(HessianDiagonal(problem.rows.n_columns), here.q)
    bend = np.append(squares, here.value)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = pull * np.divide(pull, bend, out=np.zeros_like(pull), where=bend > 0)
    best = int(gain.argmax())
    return best if gain[best] > 0 else -1


def _best_step(
    problem: Problem, here: Place, columns: Columns, column: int, values: Array, token: StopToken
) -> float:
    """Return the step that is best for this column alone; refuse one that has no end."""
    moves = problem.sign * values
    live = problem.cost > 0
    if not (moves[live] < 0).any() or not (moves[live] > 0).any():
        refuse(look_for_separation(problem, here, token))
        refuse(_along(problem, column, float(np.sign(moves[live].sum()))))
    size = columns.size_if_one(column)
    if size is None:
        return lowest(here.q, moves, math.inf)
    right = float(here.q.sum(where=moves > 0))
    wrong = float(here.q.sum(where=moves < 0))
    if right == 0 or wrong == 0:  # so far away that their weight has vanished: nothing is gained any more
        return 0.0
    return 0.5 * (math.log(right) - math.log(wrong)) / size


def _along(problem: Problem, column: int, way: float) -> Separation | None:
    w, b = np.zeros(problem.rows.n_columns), 0.0
    if column < len(w):
        w[column] = way
    else:
        b = way
    return check_direction(problem, w, b)
