"""The exponential loss, by boosting's steps or Newton's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from maxmargin._core import StopToken
from maxmargin.errors import NoFiniteOptimum
from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.exponential import METHODS, exponential_loss
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.certificate import Certificate
from maxmargin.results.exact import ExactSolution
from maxmargin.results.solution import Plan
from maxmargin.validation import check_choice, check_positive

__all__ = ["ExponentialLossClassifier"]


class ExponentialLossClassifier(ExactEstimator):
    """The smallest total exponential loss Σ exp(−y(θ·x + θ₀)), without a regulariser.

    ``method="newton"`` takes second-order steps. ``method="coordinate"`` is boosting with the columns as weak
    classifiers: each round gives the most promising column the step that is best for it alone; with columns
    of values ±1 these are AdaBoost's rounds.

    Where a hyperplane separates the classes, wholly or but for rows on it, the loss falls for ever as the
    weights grow, and there is no minimum. `fit` then raises `NoFiniteOptimum`, which carries the direction
    (AdaBoost would go on until its rounds run out). ``on_separable="direction"`` keeps that direction
    instead, scaled so that the smallest agreement above 0 is 1; its certificate is of kind "separation" and
    tells how many rows are on their own side.

    Parameters
    ----------
    method : {"newton", "coordinate"}, default "newton"
    fit_intercept : bool, default True
        Whether there is an offset θ₀; to boosting it is one more column, of ones.
    tol : float, default 1e-6
        The certified relative gap at which coordinate steps end; a larger one at the end makes a warning.
        Newton's method goes on until rounding errors are left.
    max_iter : int, optional
        The most steps; by default 200 of Newton's method, 10,000 of one column.
    max_time : float, optional
        The most seconds. Whatever ends a fit, it keeps the best weights found and their certificate.
    on_separable : {"raise", "direction"}, default "raise"
        What to do where there is no minimum.
    class_weight : mapping or "balanced", optional
        Factors on the losses by class; "balanced" gives all classes the same total.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest. Where
        columns are combinations of others, Newton's method returns the shortest θ, boosting what its rounds
        added up to.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array
    certificate_ : Certificate
        Of kind "newton-decrement": the exponential loss has |ℓ‴| = ℓ″, so the bound proved for the logistic
        loss holds. The worst of the classes.
    certificates_ : list of Certificate
    rounds_ : list of arrays of shape (n_rounds, 2)
        For ``method="coordinate"``, per class: the column that was moved, and by how much. Column d is the
        offset.
    plan_ : Plan
    margin_ : array of shape (1,) or (n_classes,)
        1/‖θ‖.
    n_iter_ : int

    Examples
    --------
    >>> from maxmargin import ExponentialLossClassifier
    >>> X, y = [[-1.0], [1.0], [1.0], [1.0]], [-1, -1, 1, 1]
    >>> model = ExponentialLossClassifier(fit_intercept=False).fit(X, y)
    >>> model.coef_.round(4).tolist()  # ½ log(3/1)
    [[0.5493]]

    Data that can be separated have no minimum, only a direction:

    >>> model = ExponentialLossClassifier(on_separable="direction").fit([[0.0], [2.0]], [-1, 1])
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[1.0]], [-1.0])
    """

    _loss: ClassVar[str] = "exponential"

    def __init__(
        self,
        *,
        method: str = "newton",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        on_separable: str = "raise",
        class_weight: Any = None,
    ) -> None:
        self.method = method
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.on_separable = on_separable
        self.class_weight = class_weight

    def _check_settings(self) -> None:
        check_choice("method", self.method, tuple(METHODS))
        check_choice("on_separable", self.on_separable, ("raise", "direction"))
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, or_none=True, integer=True)
        check_positive("max_time", self.max_time, or_none=True)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        try:
            return exponential_loss(task, self.method, self.tol, self.max_iter)
        except NoFiniteOptimum as error:
            if self.on_separable == "raise":
                raise
            return _along_direction(task, error)

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        self.__dict__.pop("rounds_", None)
        if self.method == "coordinate":
            self.rounds_ = [np.array(one.details or [], dtype=float).reshape(-1, 2) for one in solutions]


def _along_direction(task: TwoClasses, error: NoFiniteOptimum) -> ExactSolution:
    """Return the direction that separates, its smallest agreement above 0 scaled to 1."""
    task = replace(task, token=StopToken())  # a deadline must not end this
    live = task.cost > 0
    agreement = task.agreements(error.direction, error.offset)[live]
    above = agreement[agreement > 1e-9 * agreement.max()]  # the rest are on the boundary to rounding errors
    scale = 1.0 / float(above.min())
    coef, intercept = scale * error.direction, scale * error.offset
    agreement = task.agreements(coef, intercept)[live]
    errors = float(task.cost[live].sum(where=agreement <= 0))
    proof = Certificate.separation(float(agreement.min()), errors, float(task.cost.sum()))
    plan = Plan("separating direction", f"no minimum, {error.kind} separation")
    return ExactSolution(coef, intercept, proof, plan, n_iter=0)
