"""The exponential loss Σ c exp(−m) without a regulariser: by Newton's method, or one column at a time.

**Newton**: the direction of Newton's method, and along it the lowest point; near the optimum the full step.

**Coordinate** (boosting): columns are weak classifiers, and the one that promises most gets the step that is
best for it alone.

Where a hyperplane separates the classes, wholly or but for rows on it, there is no minimum; both look out for
that, and end in NoFiniteOptimum with the direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.core.certificate.exponential import Place, certify_exponential
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS, curvature_matrix
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.errors import InvalidParameter
from maxmargin.learners.columns import Columns, refuse_vanishing_columns
from maxmargin.learners.exact.least_squares import least_squares
from maxmargin.learners.exact.record import ExactSolution
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal, Scores
from maxmargin.separation.search import Separation, check_direction, find_separation

__all__ = ["METHODS", "exponential_loss", "lowest"]


# ------------------------------------------------------------------------------------------------
# The exponential loss one column at a time: boosting, with the columns as weak classifiers.
#
# With the weights q = c exp(−m) of the rows, the column that promises most, the largest (Σ q s xⱼ)² / Σ q
# xⱼ², gets the step that is best for it alone. For columns of values ±1 that is AdaBoost's round: the
# smallest weighted error, and the step ½ log(right/wrong).

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
    """Return whether the gap is proved, with fresh scores, which rounding has moved meanwhile."""
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


# ------------------------------------------------------------------------------------------------
# Newton's method for the exponential loss: its direction, and along it the lowest point.

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
    if problem.offset.is_free:
        shift = rows.reduce(Combine(rows.n_columns), here.q / here.value)
        pull[:-1] -= pull[-1] * shift
    pull[problem.null_space.dependent] = 0.0
    matrix = curvature_matrix(problem, rows.reduce(Gram(rows.n_columns, shift), here.q))
    if not (np.einsum("ii->i", matrix) > 0).all():  # lost to cancellation, or all rows are far away
        return np.zeros(rows.n_columns), 0.0, math.nan
    change = Factor(matrix).solve(pull)
    db = float(change[-1]) if problem.offset.is_free else 0.0
    if shift is not None:
        db -= inner(shift, change[:-1])
    return change[:-1].copy(), db, inner(pull, change)


def _share(problem: Problem, here: Place, change: Array) -> float:
    """Return how much of a step to take: all of it where it is small, else as far as it leads down."""
    moves = problem.sign * change
    longest = float(np.abs(moves).max(where=problem.cost > 0, initial=0.0))
    return 1.0 if longest <= _SMALL_STEP else lowest(here.q, moves, _LONGEST_STEP / longest)


# ------------------------------------------------------------------------------------------------

METHODS: dict[str, Callable[[Problem, Course, float, int | None, StopToken], None]] = {
    "newton": newton_steps,
    "coordinate": coordinate_steps,
}


def exponential_loss(
    task: TwoClasses, method: str = "newton", tol: float = 1e-6, max_iter: int | None = None
) -> ExactSolution:
    """Minimise the total exponential loss.

    Parameters
    ----------
    method : "newton" or "coordinate"
    tol : float
        Coordinate steps end at this certified relative gap; Newton's method goes as far as rounding lets it.
    max_iter : int, optional
        The most steps; by default 200 of Newton's, 10,000 of one column.

    Raises
    ------
    NoFiniteOptimum
        Where some direction separates.
    """
    problem = task.problem("exponential")
    refuse_vanishing_columns(task.rows)
    refuse_few_rows(problem, task)
    course = Course(Place.at(problem, np.zeros(problem.rows.n_columns), 0.0))
    try:
        METHODS[method](problem, course, tol, max_iter, task.token)
    except KeyboardInterrupt:
        course.status = Status.INTERRUPTED
    w, b = course.place.w, course.place.b
    if problem.rows.n_columns <= MOST_COLUMNS and method == "newton":
        w, b = problem.null_space.shortest(w, b)
    certificate = certify_exponential(problem, w, b)
    if certificate.relative_gap > tol and course.status is not Status.INTERRUPTED:
        try:
            refuse(look_for_separation(problem, course.place, task.token))
        except KeyboardInterrupt:
            course.status = Status.INTERRUPTED
    return _solution(problem, w, b, certificate, course, method, tol)


def _solution(
    problem: Problem, w: Array, b: float, proof: Certificate, course: Course, method: str, tol: float
) -> ExactSolution:
    n_rows, n_columns = problem.class_costs.n_live, problem.rows.n_columns
    about = f"{plural(n_rows, 'row')}, {plural(n_columns, 'column')}, exponential"
    status = course.status
    if proof.relative_gap <= tol and status is not Status.INTERRUPTED:
        status = Status.SOLVED
    why = {"newton": "second-order steps", "coordinate": "the best column at a time, as boosting does"}
    plan = Plan(f"exponential loss by {method} steps", why[method], about)
    return ExactSolution(w, b, proof, plan, status=status, n_iter=course.n_iter, details=course.rounds)


# ------------------------------------------------------------------------------------------------
# The lowest point of a sum of exponentials along a line.


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


# ------------------------------------------------------------------------------------------------
# The exponential loss where a hyperplane separates the classes: no minimum, and the direction.


def refuse_if_all_right(problem: Problem, place: Place) -> None:
    """Refuse once every row is on its own side: then longer weights are better for ever."""
    agreement = problem.sign * (place.z + place.b)
    if agreement.min(where=problem.cost > 0, initial=math.inf) > 0:
        refuse(_if_complete(check_direction(problem, place.w, place.b)))


def refuse_few_rows(problem: Problem, task: TwoClasses) -> None:
    """Refuse rows that are no more than the unknowns: mostly every label can be met."""
    if problem.class_costs.n_live <= problem.n_unknowns:
        fit = least_squares(task)
        refuse(_if_complete(check_direction(problem, fit.coef, fit.intercept)))


def _if_complete(found: Separation | None) -> Separation | None:
    """Return a direction that separates every row beyond rounding errors; others are looked at closely."""
    return found if found is not None and found.kind == "complete" else None


def look_for_separation(problem: Problem, place: Place, token: StopToken) -> Separation | None:
    """Look for a direction that separates: the one place that asks."""
    return find_separation(problem, problem.sign * (place.z + place.b), token)


def refuse(found: Separation | None) -> None:
    """Raise what there is to say about a direction that separates."""
    if found is not None:
        raise found.error(
            "the exponential loss has no minimum",
            "falls",
            "on_separable='direction' keeps that direction; LinearSVM and LogisticRegression have a "
            "regulariser that keeps the weights finite.",
        )
