"""The problem that an estimator or a model names, on given rows and labels.

What examines a choice rather than fits a model (leave-one-out, suspects, guarantees, calibration) takes an
estimator for its settings alone, fitted or not, and asks here for the problems, one per class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.objective import Objective
from maxmargin.core.offset import offset_of
from maxmargin.core.problem import Problem
from maxmargin.errors import InvalidInput
from maxmargin.labels import classes_of
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model.costs import Targets, check_class_weight, check_largest, class_weights, make_targets
from maxmargin.model.foreign import (
    Claim,
    is_fitted_by_us,
    is_ours,
    read_settings,
    refuse_other_losses,
    unwrap,
)
from maxmargin.model.model import LinearModel
from maxmargin.model.parameters import attribute_of
from maxmargin.model.settings import Settings, seed_from
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.run import Limits
from maxmargin.validation import check_choice, check_labels, check_matrix, check_positive, check_weights

__all__ = [
    "Examined",
    "NamedProblem",
    "examine_model",
    "named_problem",
    "names_of",
    "problems_of",
    "refuse_untold_weights",
    "targets_of",
]


@dataclass(frozen=True, eq=False)
class NamedProblem:
    """What an estimator would minimise on given rows and labels.

    Attributes
    ----------
    rows : MemoryRows
    targets : Targets
        Classes, each row's class, and costs before class weights.
    problems : list of Problem
        One per class, or one alone for two classes; class weights are in their costs.
    names : list of str
        What each problem is called in a message; empty for two classes.
    settings : Settings
        Loss, offset, tolerance, solver, threads, seed; without limits of time.
    claim : Claim
        The estimator's own settings, and its coefficients if it is fitted.
    """

    rows: MemoryRows
    targets: Targets
    problems: list[Problem]
    names: list[str]
    settings: Settings
    claim: Claim

    @property
    def is_fitted(self) -> bool:
        """Whether the estimator brought coefficients along."""
        return self.claim.coef is not None


def named_problem(
    estimator_or_model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    *,
    asking: str = "this",
) -> NamedProblem:
    """Return the problems that an estimator's settings name on these rows.

    Parameters
    ----------
    estimator_or_model : estimator or LinearModel
        Of this package, fitted or not; a fitted linear model of scikit-learn; a fitted pipeline or search
        that ends in one, whose other steps transform X as they are.
    X, y, sample_weight : the rows
    n_jobs : int or None
        Threads that read the rows.
    asking : str
        Who asks, for messages.
    """
    claim, model, X = _read(estimator_or_model, X, asking)
    checked = check_matrix(X)
    labels = check_labels(y, checked.shape[0])
    weights = check_weights(sample_weight, checked.shape[0])
    threads = resolve_jobs(n_jobs)
    rows = MemoryRows(checked, threads=threads)
    rows.norms()  # finds values that are not finite before anything else is done
    check_choice("loss", claim.objective.loss, DUAL_LOSSES)
    targets = targets_of(claim, labels, weights, asking=asking)
    chosen = model.get_params(deep=False) if hasattr(model, "get_params") else vars(model)
    settings = Settings(
        claim.objective,
        limits=Limits(check_positive("tol", chosen.get("tol", 1e-4))),
        solver=chosen.get("solver", "auto") if is_ours(model) else "auto",
        threads=threads,
        seed=seed_from(chosen.get("random_state")) if is_ours(model) else 0,
    )
    problems = problems_of(rows, claim, targets, weights)
    return NamedProblem(rows, targets, problems, names_of(targets), settings, claim)


def _read(given: Any, X: Any, asking: str) -> tuple[Claim, Any, Any]:
    """Return the problem that is named, the object that names it, and X as that sees it."""
    model, X = unwrap(given, X)
    if is_fitted_by_us(model) and (not is_ours(model) or model.to_model().C is None):
        model = model.to_model()
    if not isinstance(model, LinearModel):
        return read_settings(model, asking), model, X
    if model.C is None:
        raise InvalidInput(
            f"{asking} needs to know what is minimised, and a classifier that was given, not fitted, does "
            "not say: give an estimator that names loss and C, such as LinearSVM(C=1)."
        )
    refuse_other_losses(model.loss, model.certificate)
    offset = offset_of(model.offset, model.intercept_scaling)
    objective = Objective(model.loss, offset, C=model.C, class_weight=model.class_weight)
    return Claim(model.coef, model.intercept, model.classes, objective), model, X


def targets_of(claim: Claim, labels: NDArray[Any], weights: Array | None, *, asking: str) -> Targets:
    """Return classes and costs before class weights, which may differ between the problems."""
    class_weight = claim.objective.class_weight
    if claim.coef is None and isinstance(class_weight, Mapping):
        check_class_weight(class_weight, classes_of(labels))
    targets = make_targets(labels, weights, replace(claim.objective, class_weight=None))
    if len(targets.classes) < 2:
        raise InvalidInput(
            f"{asking} needs rows of two classes or more; y has {len(targets.classes)}"
            f"{'' if weights is None else ' with a weight above 0'}."
        )
    if claim.classes is not None and not np.array_equal(targets.classes, claim.classes):
        raise InvalidInput(
            f"the classes of y are not the model's: y has {_listed(targets.classes)}, the model "
            f"{_listed(claim.classes)}. Give the data that the model was fitted to."
        )
    return targets


def _listed(classes: Any) -> str:
    shown = ", ".join(str(label) for label in classes[:10])
    return f"{shown}, … ({len(classes)} in all)" if len(classes) > 10 else shown


def names_of(targets: Targets) -> list[str]:
    """Return what each problem is called in a message: nothing where there is only one."""
    if len(targets.classes) == 2:
        return [""]
    return [f"class {label!s}" for label in targets.classes]


def problems_of(rows: MemoryRows, claim: Claim, targets: Targets, weights: Array | None) -> list[Problem]:
    """Return one problem per class against the rest, or one alone for two classes."""
    objective = claim.objective
    counted = weights if objective.balances_weights else None
    per_class = class_weights(objective.class_weight, targets.classes, targets.codes, counted)
    several = len(targets.classes) > 2
    problems = []
    for positive in range(len(targets.classes)) if several else (1,):
        factor = per_class[targets.codes]
        if several and objective.rest_weighs_one:
            factor = np.where(targets.codes == positive, factor, 1.0)
        with np.errstate(over="ignore"):
            # Multiplied in the order of `make_targets`, or the last digits would state another problem.
            cost = (1.0 if math.isinf(targets.C) else targets.C) * factor
            if weights is not None:
                cost *= weights
        check_largest(float(cost.max(initial=0.0)))
        problems.append(replace(targets, cost=cost).problem(rows, positive, objective))
    return problems


# ------------------------------------------------------------------------------------------------
# A model of weighted rows is not judged by rows without weights: the objective would be another one.


def refuse_untold_weights(model: Any, sample_weight: Any) -> None:
    """Refuse rows without weights if the model says that its own had some.

    Parameters
    ----------
    model : LinearModel or fitted estimator
        Without the pipeline or search around it. Others' models do not say.
    sample_weight : array or None
        What was given.
    """
    if sample_weight is not None:
        return
    linear = model.to_model() if is_fitted_by_us(model) else model
    if not isinstance(linear, LinearModel) or not linear.is_weighted:
        return
    column = "" if linear.weight is None else f" (column {linear.weight!r} of its table)"
    raise InvalidInput(
        f"this {type(model).__name__} was fitted with sample weights{column}, and without them its objective "
        "is another one: give sample_weight as in the fit, or ones to judge it by rows that count once each."
    )


# ------------------------------------------------------------------------------------------------
# Anybody's fitted linear classifier on examples, and how far ahead it has each example's own class.


@dataclass(frozen=True, eq=False)
class Examined:
    """A linear classifier and what it says about each example.

    Attributes
    ----------
    estimator : object
        What was given, without the pipeline or search around it.
    model : LinearModel
    X : array or CSR matrix
        The rows as the classifier sees them.
    labels, weights : arrays
        Weights are None where none were given.
    scores, signs : arrays of shape (n, 1) or (n, n_classes)
    """

    estimator: Any
    model: LinearModel
    X: Any
    labels: NDArray[Any]
    weights: Array | None
    scores: Array
    signs: Array

    @property
    def agreements(self) -> Array:
        """One column for each class against the rest; for two classes, one column."""
        return np.asarray(self.signs * self.scores)

    @property
    def lead(self) -> Array:
        """The agreement; with several classes, the score of the own class minus the largest other one.

        0 or less is an error.
        """
        if self.scores.shape[1] == 1:
            return self.agreements[:, 0]
        own = np.where(self.signs > 0, self.scores, -np.inf).max(axis=1)
        return np.asarray(own - np.where(self.signs < 0, self.scores, -np.inf).max(axis=1))

    @property
    def has_offset(self) -> bool:
        """Whether the classifier has, or could have had, an offset."""
        return self.model.offset != "none" or bool(self.model.intercept.any())

    @property
    def solves_a_problem(self) -> bool:
        """Whether the model was fitted here as the optimum of a problem with a regulariser and a dual.

        Only then does it make sense to ask for the optimum without one of the examples.
        """
        model = self.model
        is_fitted = model.C is not None and math.isfinite(model.C) and model.certificate is not None
        return is_fitted and model.loss in DUAL_LOSSES

    def check_support(self) -> None:
        """Refuse rows that the model was not fitted to, as far as its support vectors tell."""
        support = self.model.support
        last = -1 if support is None else int(support.indices.max(initial=-1))
        if last >= len(self.labels):
            raise InvalidInput(
                f"row {last:,} is a support vector of the model, but X has "
                f"{plural(len(self.labels), 'row')}. Give the data that the model was fitted to."
            )


def examine_model(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Examined:
    """Return what a fitted linear classifier says about examples of classes that it knows.

    Parameters
    ----------
    model : LinearModel, fitted estimator, pipeline or search
        Of a classifier of another library only θ, θ₀ and the classes are read.
    X, y, sample_weight : the examples
    """
    inner, X = unwrap(model, X)
    rows = check_matrix(X)
    labels = check_labels(y, rows.shape[0])
    weights = check_weights(sample_weight, rows.shape[0])
    linear = _linear_model(inner)
    if len(linear.classes) < 2:
        raise InvalidInput("a classifier of two classes or more is needed; this one knows only one.")
    scores = linear.scores(rows)
    return Examined(inner, linear, rows, labels, weights, scores, linear.signs(labels, rows.shape[0]))


def _linear_model(model: Any) -> LinearModel:
    if isinstance(model, LinearModel):
        return model
    if hasattr(model, "to_model"):
        found: LinearModel = model.to_model()
        return found
    coef = np.atleast_2d(np.asarray(attribute_of(model, "coef"), dtype=np.float64))
    offset = np.broadcast_to(np.ravel(attribute_of(model, "intercept")), coef.shape[:1])
    classes = np.asarray(attribute_of(model, "classes"))
    return LinearModel(coef, np.array(offset, dtype=np.float64), classes)
