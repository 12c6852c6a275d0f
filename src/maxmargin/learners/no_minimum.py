"""The exponential loss where a hyperplane separates the classes: no minimum, and the direction."""

from __future__ import annotations

import math

from maxmargin._core import StopToken
from maxmargin.learners.least_squares import least_squares
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.problem import Problem
from maxmargin.problem.exponential import Place
from maxmargin.solvers.separation import Separation, check_direction, find_separation

__all__ = ["look_for_separation", "refuse", "refuse_few_rows", "refuse_if_all_right"]


def refuse_if_all_right(problem: Problem, place: Place) -> None:
    """Refuse once every row is on its own side: then longer weights are better for ever."""
    agreement = problem.sign * (place.z + place.b)
    if agreement.min(where=problem.cost > 0, initial=math.inf) > 0:
        refuse(_if_complete(check_direction(problem, place.w, place.b)))


def refuse_few_rows(problem: Problem, task: TwoClasses) -> None:
    """Refuse rows that are no more than the unknowns: mostly every label can be met."""
    if problem.class_costs.n_live <= problem.rows.n_columns + (problem.offset.kind == "free"):
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
