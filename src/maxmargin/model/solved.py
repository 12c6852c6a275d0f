"""The solutions of all classes as one model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from maxmargin._core import StopToken
from maxmargin.core.solution import Solution, Status
from maxmargin.deadline import Deadline
from maxmargin.learners.exact.record import HingeMinimum
from maxmargin.losses.table import dual_form
from maxmargin.model.model import LinearModel, Support, joint_support, support_of
from maxmargin.model.prepare import MemoryTargets, PreparedTargets
from maxmargin.model.settings import Settings
from maxmargin.rows.base import Rows

__all__ = ["model_of"]


def model_of(
    solutions: list[Solution],
    targets: PreparedTargets,
    settings: Settings,
    rows: Rows,
    token: StopToken | None = None,
) -> LinearModel:
    """Return the classes' solutions as one model.

    Parameters
    ----------
    token : StopToken, optional
        Ends the additional work on a smallest hinge loss.
    """
    token = Deadline().token() if token is None else token
    try:
        minima = _minima(solutions, targets, settings, rows, token)
    except KeyboardInterrupt:
        minima = []
        solutions = [replace(solution, status=Status.INTERRUPTED) for solution in solutions]
    return LinearModel(
        coef=np.vstack([solution.coef for solution in solutions]),
        intercept=np.hstack([solution.intercept for solution in solutions]),
        classes=targets.classes,
        loss=settings.objective.loss,
        multi_class=targets.multi_class,
        C=targets.C,
        offset=settings.objective.offset.kind,
        intercept_scaling=settings.objective.offset.scale,
        l1_ratio=settings.objective.l1_ratio,
        tol=settings.limits.tol,
        class_weight=targets.class_weight,
        is_weighted=targets.is_weighted,
        intercept_intervals=[interval for solution in solutions for interval in solution.intervals],
        certificates=[solution.certificate for solution in solutions],
        statuses=[solution.status for solution in solutions],
        plans=[solution.plan for solution in solutions],
        histories=[solution.history for solution in solutions],
        n_iter=[solution.n_iter for solution in solutions],
        support=_support(solutions, targets, settings),
        minima=minima,
        warm_starts=[solution.warm_start for solution in solutions],
    )


def _support(solutions: list[Solution], targets: PreparedTargets, settings: Settings) -> Support | None:
    """Return the support vectors where duals can be zero and are in memory."""
    if dual_form(settings.objective.loss).has_barrier or not isinstance(targets, MemoryTargets):
        return None
    if targets.joint is not None:
        return joint_support(solutions[0], targets.cost)
    return support_of(solutions, [targets.sign(positive) for positive in targets.positives], targets.cost)


def _minima(
    solutions: list[Solution],
    targets: PreparedTargets,
    settings: Settings,
    rows: Rows,
    token: StopToken,
) -> list[HingeMinimum]:
    """Return what is known of the smallest hinge loss, if C is infinite and it was reached."""
    is_asked = settings.objective.loss == "hinge" and math.isinf(targets.C)
    if not is_asked or any(solution.status is not Status.SOLVED for solution in solutions):
        return []
    from maxmargin.learners.exact.hinge_minimum import describe_minimum

    found = []
    for k, solution in enumerate(solutions):
        problem = targets.problem(rows, k, settings.objective)
        found.append(describe_minimum(problem, solution, token))
    return found
