"""What other settings would give where a model is of no use: found out, if the fit took little time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core.objective import MOST, MULTI_CLASS, Objective
from maxmargin.core.solution import Status
from maxmargin.errors import MaxMarginError
from maxmargin.model.degenerate import Degeneracy, Tried, degeneracy_of, in_pieces
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import PreparedData, make_targets
from maxmargin.model.settings import Settings
from maxmargin.model.solve_all import solve_all
from maxmargin.selection.search.task import ValidationTask

__all__ = ["selected_with_degeneracy", "with_degeneracy"]

CHEAP = 5.0  # seconds of a fit beside which others are tried
LEAST = 1.0  # seconds that they have together, where the fit took less
ROUGH = 1e-2  # the certified gap that is enough to see which classes are predicted
LARGER = 100.0  # times C; where even its square leaves C below 1, as many times as make it 1


@dataclass(frozen=True)
class Change:
    """One setting that may help, and the objective with it."""

    parameter: str
    value: Any
    objective: Objective


def with_degeneracy(
    model: LinearModel,
    data: PreparedData,
    settings: Settings,
    *,
    seconds: float,
    seconds_left: float | None,
    tries: bool = True,
) -> LinearModel:
    """Return the model with what makes it useless, if anything does, and with what would help.

    Only of a model at the optimum: of one that was stopped on its way, the certificate says enough.

    Parameters
    ----------
    model : LinearModel
    data : PreparedData
    settings : Settings
    seconds : float
        How long the fit took.
    seconds_left : float or None
        Of max_time.
    tries : bool
        Whether to try other settings.
    """
    if any(status is not Status.SOLVED for status in model.statuses):
        return model
    found = _seen(model, data)
    if found is None or not tries or seconds > CHEAP:
        return replace(model, degenerate=found)
    budget = max(seconds, LEAST)
    changes = list(_changes(settings.objective, model))
    share = (budget if seconds_left is None else min(budget, seconds_left)) / max(1, len(changes))
    tried = []
    for change in changes:
        with_it = _fitted(change.objective, data, settings, share)
        if with_it is None:
            continue
        if with_it.interrupted:  # Ctrl-C ends the whole fit, which has a model
            return replace(model, degenerate=found, statuses=[Status.INTERRUPTED] * len(model.statuses))
        other = _seen(with_it, data)
        n_predicted = found.n_classes if other is None else other.n_predicted
        tried.append(Tried(change.parameter, change.value, n_predicted))
    return replace(model, degenerate=replace(found, tried=tuple(tried)))


def selected_with_degeneracy(model: LinearModel, task: ValidationTask) -> LinearModel:
    """Return the model that a search for C ended with, as `with_degeneracy` does."""
    C = 1.0 if model.C is None else model.C
    settings = replace(task.settings, objective=task.objective.at(C))
    seconds = sum(float(course.seconds[-1]) for course in model.histories if len(course))
    return with_degeneracy(model, task, settings, seconds=seconds, seconds_left=task.settings.limits.max_time)


def _seen(model: LinearModel, data: PreparedData) -> Degeneracy | None:
    present = data.targets.cost > 0
    batches = in_pieces(data.rows.X, data.targets.codes, present, len(model.classes))
    try:
        return degeneracy_of(model, batches, int(np.count_nonzero(present)))
    except MaxMarginError:  # scores that overflow, and predicting will raise the error
        return None


def _changes(objective: Objective, model: LinearModel) -> Iterator[Change]:
    """Yield settings that may help, one changed at a time."""
    if objective.class_weight is None:
        yield Change("class_weight", "balanced", replace(objective, class_weight="balanced"))
    if len(model.classes) > 2 and objective.multi_class == "one_vs_rest":
        for form in MULTI_CLASS.get(objective.loss, ()):
            if form != "one_vs_rest":
                yield Change("multi_class", form, replace(objective, multi_class=form))
    if objective.loss == "hinge" and math.isfinite(model.C or 1.0):
        squared = replace(objective, loss="squared_hinge", multi_class="one_vs_rest")
        if not model.is_joint:
            yield Change("loss", "squared_hinge", squared)
    if model.C is not None and LARGER * model.C <= MOST:
        factor = LARGER if LARGER**2 * model.C >= 1.0 else 1.0 / model.C
        if objective.lam is None:
            C = _rounded(factor * model.C)
            yield Change("C", C, objective.at(C))
        else:
            lam = _rounded(objective.lam / factor)
            yield Change("lam", lam, replace(objective, lam=lam))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _fitted(
    objective: Objective, data: PreparedData, settings: Settings, seconds: float
) -> LinearModel | None:
    """Return what predicts with another objective, roughly solved; None where it cannot be fitted."""
    limits = replace(settings.limits, tol=max(ROUGH, settings.limits.tol), max_iter=None, max_time=seconds)
    settings = replace(
        settings,
        objective=objective,
        limits=limits,
        solver="auto",
        watch=None,
        announce=None,
        checkpoint=None,
    )
    try:
        targets = make_targets(data.labels, data.weights, objective)
        rows = data.rows.on_threads(1 if targets.n_problems > 1 else settings.threads)
        solutions = solve_all(rows, targets, settings)
    except MaxMarginError:
        return None
    return LinearModel(
        coef=np.vstack([solution.coef for solution in solutions]),
        intercept=np.hstack([solution.intercept for solution in solutions]),
        classes=targets.classes,
        loss=objective.loss,
        statuses=[solution.status for solution in solutions],
    )
