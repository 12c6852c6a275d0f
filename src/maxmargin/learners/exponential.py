"""The exponential loss Σ c exp(−m) without a regulariser: by Newton's method, or one column at a time.

**Newton**: the direction of Newton's method, and along it the lowest point; near the optimum the full step.

**Coordinate** (boosting): columns are weak classifiers, and the one that promises most gets the step that is
best for it alone.

Where a hyperplane separates the classes, wholly or but for rows on it, there is no minimum; both look out for
that, and end in NoFiniteOptimum with the direction (S23).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin._core import StopToken
from maxmargin.learners.columns import refuse_vanishing_columns
from maxmargin.learners.exponential_boosting import coordinate_steps
from maxmargin.learners.exponential_newton import Course, newton_steps
from maxmargin.learners.no_minimum import look_for_separation, refuse, refuse_few_rows
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.problem import Offset, Problem
from maxmargin.problem.exponential import Place, certify_exponential
from maxmargin.problem.newton_decrement import MOST_COLUMNS
from maxmargin.results.certificate import Certificate
from maxmargin.results.exact import ExactSolution
from maxmargin.results.solution import Plan, Status
from maxmargin.results.wording import plural
from maxmargin.rows import Array

__all__ = ["METHODS", "exponential_loss"]

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
    offset = Offset("free" if task.has_offset else "none")
    problem = Problem(task.rows, task.sign, task.cost, "exponential", offset, ridge=0.0)
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
