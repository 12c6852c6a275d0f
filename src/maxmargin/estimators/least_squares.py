"""Linear regression on the labels, as a classifier."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.least_squares import least_squares
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.exact import ExactSolution
from maxmargin.validation import check_positive

__all__ = ["LeastSquaresClassifier"]


class LeastSquaresClassifier(ExactEstimator):
    """Least squares on the labels ±1: the smallest Σ (y − (θ·x + θ₀))², which is Σ (1 − agreement)².

    The answer is (XᵀX)⁻Xᵀy of the lifted rows (x, 1), with the generalised inverse of Moore and Penrose:
    where many (θ, θ₀) are best, because columns are combinations of others or rows are fewer than columns, it
    is the one of smallest ‖θ‖² + θ₀². The offset counts in that norm, as a lifted coordinate does; without an
    offset it is ‖θ‖². Columns are scaled to unit length before it is decided which depend on others; with
    weights the rows are √weight (x, 1).

    The squared loss also punishes rows that are right by a wide margin, and follows outliers:
    `LeastAbsoluteClassifier` does not follow them.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀.
    class_weight : mapping or "balanced", optional
        Factors on the losses by class; "balanced" gives all classes the same total.
    max_iter : int, optional
        The most steps of LSQR, the method for rows and columns that are both many thousands. By default four
        times the smaller of their numbers.
    max_time : float, optional
        The most seconds; only LSQR can end early with something to show.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array
    certificate_ : Certificate
        Of kind "normal-equations": the distance of the objective from its minimum, and in its ``residuals``
        what is left of the normal equations, |Σ x (y − θ·x − θ₀)| ("features", the largest) and
        |Σ (y − θ·x − θ₀)| ("offset"). The worst of the classes.
    certificates_ : list of Certificate
    plan_ : Plan
        Which way was taken and why, in words.
    margin_ : array of shape (1,) or (n_classes,)
        1/‖θ‖.
    n_iter_ : int
        Refinements, or steps of LSQR.

    Examples
    --------
    >>> from maxmargin import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.6]], [-1.2])

    Two equal columns share the weight:

    >>> model.fit([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]], [-1, -1, 1, 1]).coef_.round(3).tolist()
    [[0.3, 0.3]]
    """

    _loss: ClassVar[str] = "squared"

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int | None = None,
        max_time: float | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time

    def _check_settings(self) -> None:
        check_positive("max_iter", self.max_iter, or_none=True, integer=True)
        check_positive("max_time", self.max_time, or_none=True)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return least_squares(task, self.max_iter)
