"""The problem that an estimator or a model states, on given rows and labels.

Leave-one-out, suspects, guarantees and the report take an estimator, fitted or not, for its settings, and get
its problems, one per class, from here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.objective import Objective
from maxmargin.core.offset import offset_of
from maxmargin.core.problem import Problem
from maxmargin.errors import InvalidInput, InvalidParameter, MaxMarginError
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model.foreign import (
    StatedProblem,
    is_fitted_by_us,
    is_ours,
    read_settings,
    refuse_other_losses,
    unwrap,
)
from maxmargin.model.model import LinearModel, Support
from maxmargin.model.parameters import attribute_of
from maxmargin.model.prepare import CheckedData, PreparedData, check_data, prepare
from maxmargin.model.settings import Settings, seed_from
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.kernels import ManyScores
from maxmargin.solvers.run import Limits
from maxmargin.validation import check_choice, check_positive

__all__ = [
    "EstimatorProblem",
    "ScoredExamples",
    "implied_duals",
    "problem_of_estimator",
    "refuse_missing_weights",
    "score_examples",
]


@dataclass(frozen=True, eq=False)
class EstimatorProblem(PreparedData):
    """What an estimator would minimise on given rows and labels.

    Attributes
    ----------
    settings : Settings
        Objective, tolerance, solver, threads, seed; without limits of time.
    stated : StatedProblem
        The estimator's own objective, and its coefficients if it is fitted.
    """

    settings: Settings
    stated: StatedProblem

    def fitted_coefficients(self) -> tuple[Array, Array] | None:
        """Return weights and offsets, one for each output, of an estimator that is fitted to such rows."""
        if self.stated.coef is None:
            return None
        given = self.stated.coef
        dense = given.toarray() if hasattr(given, "toarray") else given  # a sparsified scikit-learn model
        coef = np.atleast_2d(np.asarray(dense, dtype=np.float64))
        if coef.shape != (self.targets.n_outputs, self.rows.n_columns) or not np.isfinite(coef).all():
            return None
        return coef, np.broadcast_to(np.ravel(self.stated.intercept), len(coef)).astype(np.float64)

    def fitted_duals(self, coef: Array, intercept: Array) -> list[Array | None]:
        """Return the dual variables of every problem, by its support vectors or its smooth loss.

        Those of softmax, one for each row and class, are nowhere kept: None.
        """
        support = self.stated.support
        is_known = support is not None and support.indices.max(initial=-1) < self.rows.n_rows
        if self.targets.joint is not None:
            if support is None or not is_known or self.targets.joint.is_smooth:
                return [None]
            duals = np.zeros((self.rows.n_rows, self.targets.n_outputs))
            duals[support.indices] = support.dual_coef.T
            return [duals]
        if support is not None and is_known:
            return [self._duals_of_support(support, k) for k in range(len(self.problems))]
        if not self.problems[0].loss.is_smooth:
            return [None] * len(self.problems)
        scores = np.empty((self.rows.n_rows, len(coef)))
        self.rows.reduce(ManyScores(np.ascontiguousarray(coef), intercept), scores)
        return [
            implied_duals(problem, problem.sign * scores[:, k]) for k, problem in enumerate(self.problems)
        ]

    def _duals_of_support(self, support: Support, k: int) -> Array:
        alpha = np.zeros(self.rows.n_rows)
        alpha[support.indices] = np.abs(support.dual_coef[k])
        return alpha


def implied_duals(problem: Problem, agreements: Array) -> Array:
    """Return −c ℓ′(m): at the optimum of a smooth loss, the dual variables."""
    return np.asarray(-problem.cost * problem.agreement_loss.slope(agreements))


def problem_of_estimator(
    estimator_or_model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    *,
    asking: str = "this",
) -> EstimatorProblem:
    """Return the problems that an estimator's settings state on these rows.

    Parameters
    ----------
    estimator_or_model : estimator, LinearModel or Objective
        An estimator of this package, fitted or not; a fitted linear model of scikit-learn; a fitted pipeline
        or search that ends in one, whose other steps transform X as they are.
    X, y, sample_weight : the rows
    n_jobs : int or None
        Threads that read the rows.
    asking : str
        What needs the problem, for messages.
    """
    stated, model, X = _read(estimator_or_model, X, asking)
    check_choice("loss", stated.objective.loss, DUAL_LOSSES)
    if stated.objective.l1_ratio > 0:
        raise InvalidParameter(
            f"{asking} is for models without an L1 term; got {{setting}}",
            parameter="l1_ratio",
            value=stated.objective.l1_ratio,
        )
    threads = resolve_jobs(n_jobs)
    data = prepare(
        X,
        y,
        sample_weight,
        stated.objective,
        threads=threads,
        model_classes=stated.classes,
        asking=asking,
    )
    chosen = model.get_params(deep=False) if hasattr(model, "get_params") else vars(model)
    settings = Settings(
        stated.objective,
        limits=Limits(check_positive("tol", chosen.get("tol", 1e-4))),
        solver=chosen.get("solver", "auto") if is_ours(model) else "auto",
        threads=threads,
        seed=seed_from(chosen.get("random_state")) if is_ours(model) else 0,
    )
    return EstimatorProblem(
        data.rows, data.labels, data.weights, data.targets, data.objective, settings, stated
    )


def _read(given: Any, X: Any, asking: str) -> tuple[StatedProblem, Any, Any]:
    """Return the stated problem, the object that states it, and X as that object gets it."""
    if isinstance(given, Objective):
        return StatedProblem(None, None, None, given), given, X
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
    objective = Objective(
        model.loss,
        offset,
        C=model.C,
        class_weight=model.class_weight,
        multi_class=model.multi_class,
        l1_ratio=model.l1_ratio,
    )
    return StatedProblem(model.coef, model.intercept, model.classes, objective, model.support), model, X


# ------------------------------------------------------------------------------------------------
# A model fitted with weights is not judged on rows without weights: the objective would be a different one.


def refuse_missing_weights(model: Any, sample_weight: Any) -> None:
    """Refuse rows without weights if the model says that its own had some.

    Parameters
    ----------
    model : LinearModel or fitted estimator
        Without the pipeline or search around it. Models of other libraries do not say.
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
# The scores that a fitted linear classifier gives to examples.


@dataclass(frozen=True, eq=False)
class ScoredExamples(CheckedData):
    """Examples, and the scores that a linear classifier gives them.

    Attributes
    ----------
    estimator : object
        What was given, without the pipeline or search around it.
    model : LinearModel
    scores, signs : arrays of shape (n, 1) or (n, n_classes)
    """

    estimator: Any
    model: LinearModel
    scores: Array
    signs: Array

    @property
    def X(self) -> Any:
        """The rows as an array or CSR matrix."""
        return self.rows.X

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

        Only then is there an optimum without one of the examples.
        """
        model = self.model
        is_fitted = model.C is not None and math.isfinite(model.C) and model.certificate is not None
        return is_fitted and model.loss in DUAL_LOSSES

    def check_support(self) -> None:
        """Refuse rows that the model was not fitted to, as far as its support vectors show."""
        support = self.model.support
        last = -1 if support is None else int(support.indices.max(initial=-1))
        if last >= len(self.labels):
            raise InvalidInput(
                f"row {last:,} is a support vector of the model, but X has "
                f"{plural(len(self.labels), 'row')}. Give the data that the model was fitted to."
            )


def score_examples(model: Any, X: Any, y: Any, sample_weight: Any = None) -> ScoredExamples:
    """Return the scores that a fitted linear classifier gives to examples of classes that it knows.

    Parameters
    ----------
    model : LinearModel, fitted estimator, pipeline or search
        Of a classifier of another library only θ, θ₀ and the classes are read.
    X, y, sample_weight : the examples
    """
    inner, X = unwrap(model, X)
    data = check_data(X, y, sample_weight)
    linear = _linear_model(inner)
    if len(linear.classes) < 2:
        raise InvalidInput("a classifier of two classes or more is needed; this one knows only one.")
    scores, signs = linear.scores(data.rows), linear.signs(data.labels, data.rows.n_rows)
    return ScoredExamples(data.rows, data.labels, data.weights, inner, linear, scores, signs)


def _linear_model(model: Any) -> LinearModel:
    if isinstance(model, LinearModel):
        return model
    if hasattr(model, "to_model"):
        found: LinearModel = model.to_model()
        return found
    coef = np.atleast_2d(np.asarray(attribute_of(model, "coef"), dtype=np.float64))
    offset = np.broadcast_to(np.ravel(attribute_of(model, "intercept")), coef.shape[:1])
    classes = np.asarray(attribute_of(model, "classes"))
    form = _form_of_another_library(model) if len(classes) > 2 else "one_vs_rest"
    return LinearModel(coef, np.array(offset, dtype=np.float64), classes, multi_class=form)


def _form_of_another_library(model: Any) -> str:
    """Return whether all classes have one problem; of a classifier that is not known each has its own."""
    try:
        return read_settings(model, "this").objective.multi_class
    except MaxMarginError:
        return "one_vs_rest"
