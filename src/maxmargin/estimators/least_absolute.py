"""Least absolute deviations on the labels, with scikit-learn's face."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.least_absolute import least_absolute
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.exact import ExactSolution

__all__ = ["LeastAbsoluteClassifier"]


class LeastAbsoluteClassifier(ExactEstimator):
    """Linear regression on the labels ±1 with the absolute loss, exactly, by linear programming.

    Minimises Σ |y − (θ·x + θ₀)| = Σ |1 − agreement|. One outlier moves it far less than it moves least
    squares: a row pulls with its sign, not with its distance. There is no `max_time`: before its end a linear
    program has nothing to show.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀.
    class_weight : mapping or "balanced", optional
        Factors on the losses by class; "balanced" gives all classes the same total.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
        The offsets θ₀; the midpoint where an interval of them is best.
    intercept_interval_ : array of shape (1 or n_classes, 2)
        The ends of that interval.
    classes_ : array
    certificate_ : Certificate
        Of kind ``"lp-dual"``: the dual program bounds the objective from below.
    certificates_ : list of Certificate
    margin_ : array
        1/‖θ‖.
    plan_ : Plan
    n_iter_ : int
        Pivots of the simplex method; the most of the classes.
    n_features_in_ : int
    feature_names_in_ : array of str

    Examples
    --------
    >>> from maxmargin import LeastAbsoluteClassifier
    >>> X, y = [[-1.0]] * 5 + [[1.0]] * 5 + [[8.0]], [-1] * 5 + [1] * 6
    >>> model = LeastAbsoluteClassifier().fit(X, y)  # as if the row at 8 were not there
    >>> model.coef_.round(6).tolist(), bool(abs(model.intercept_[0]) < 1e-9)
    ([[1.0]], True)
    >>> print(model.certificate_)
    at the optimum (objective 7, bound 7), by the dual linear program
    """

    _loss: ClassVar[str] = "absolute"
    _tol: ClassVar[float] = 1e-8

    def __init__(self, *, fit_intercept: bool = True, class_weight: Any = None) -> None:
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return least_absolute(task)
