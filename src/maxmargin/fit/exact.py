"""One exact learner per class on shared rows, and the model made of their solutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.core.objective import Objective
from maxmargin.core.solution import Status
from maxmargin.deadline import Deadline
from maxmargin.errors import NoFiniteOptimum, NotSeparable
from maxmargin.learners.exact.record import ExactSolution
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.model.model import LinearModel, Support, with_counts
from maxmargin.model.prepare import MemoryTargets, prepare
from maxmargin.model.settings import offset_from
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.memory import MemoryRows

__all__ = ["learn_exactly"]


Learner = Callable[[TwoClasses], ExactSolution]


def learn_exactly(
    learn: Learner,
    X: Any,
    y: Any,
    *,
    loss: str,
    fit_intercept: bool = True,
    class_weight: Any = None,
    sample_weight: Any = None,
    tol: float = 1e-9,
    C: float = math.inf,
    max_time: float | None = None,
) -> tuple[LinearModel, list[ExactSolution]]:
    """Fit every class against the rest (two classes make one problem, with the second positive).

    Parameters
    ----------
    learn : function of TwoClasses that returns an ExactSolution
    loss : str
        The loss that the model states.
    tol : float
        A certified relative gap above this makes the model warn.
    C : float
        The C that the model states; inf is no regulariser.
    max_time : float, optional
        Seconds until ``token.poll()`` is true, over all classes.

    Returns
    -------
    model : LinearModel
    solutions : list of ExactSolution
        One per problem.
    """
    offset = offset_from(fit_intercept, False, 1.0)
    # The strength of a regulariser is no part of the costs here: C = 1 leaves the weights as they are.
    objective = Objective("hinge", offset, class_weight=class_weight)
    data = prepare(X, y, sample_weight, objective, threads=resolve_jobs(None))
    rows, targets = data.rows, data.targets
    token = Deadline(max_time).token()
    solutions = _learn_all(learn, rows, targets, offset.is_free, token)
    model = _model_of(solutions, targets, loss=loss, offset=offset.kind, tol=tol, C=C)
    return with_counts(model, rows.X, targets.codes, targets.cost > 0), solutions


def _learn_all(
    learn: Learner, rows: MemoryRows, targets: MemoryTargets, has_offset: bool, token: StopToken
) -> list[ExactSolution]:
    solutions: list[ExactSolution] = []
    for positive in targets.positives:
        try:
            solutions.append(learn(TwoClasses(rows, targets.sign(positive), targets.cost, has_offset, token)))
        except Stopped:  # of learners without intermediate results
            raise KeyboardInterrupt from None
        except (NoFiniteOptimum, NotSeparable) as error:
            if len(targets.positives) == 1:
                raise
            raise error.about(f"class {targets.classes[positive]!s} against the rest") from None
        if solutions[-1].status is Status.INTERRUPTED:
            token.stop()  # the classes that are left end at once
    return solutions


def _model_of(
    solutions: list[ExactSolution], targets: MemoryTargets, *, loss: str, offset: str, tol: float, C: float
) -> LinearModel:
    return LinearModel(
        coef=np.array([solution.coef for solution in solutions]),
        intercept=np.array([solution.intercept for solution in solutions]),
        classes=targets.classes,
        loss=loss,
        C=C,
        offset=offset,
        tol=tol,
        class_weight=targets.class_weight,
        is_weighted=targets.is_weighted,
        intercept_intervals=[
            solution.intercept_interval or (solution.intercept, solution.intercept) for solution in solutions
        ],
        certificates=[solution.certificate for solution in solutions],
        statuses=[solution.status for solution in solutions],
        plans=[solution.plan for solution in solutions],
        n_iter=[solution.n_iter for solution in solutions],
        support=_support_of(solutions, targets),
    )


def _support_of(solutions: list[ExactSolution], targets: MemoryTargets) -> Support | None:
    """Collect the rows with a positive dual variable over all classes, if the learner has any."""
    alphas = [solution.alpha for solution in solutions if solution.alpha is not None]
    if len(alphas) < len(solutions):
        return None
    indices = np.flatnonzero(np.any([alpha > 0 for alpha in alphas], axis=0))
    signs = [targets.sign(positive)[indices] for positive in targets.positives]
    dual = np.array([sign * alpha[indices] for sign, alpha in zip(signs, alphas, strict=True)])
    n_free = np.array([np.count_nonzero(alpha) for alpha in alphas], dtype=np.intp)
    return Support(indices, dual.reshape(len(alphas), -1), n_free)
