"""Logistic regression that chooses its own C."""

from __future__ import annotations

from typing import ClassVar

from maxmargin.estimators.convex import ConvexEstimator
from maxmargin.estimators.convex_cv import ConvexEstimatorCV
from maxmargin.estimators.cv_text import with_cv_text
from maxmargin.estimators.logistic_regression import LogisticRegression

__all__ = ["LogisticRegressionCV"]


@with_cv_text
class LogisticRegressionCV(ConvexEstimatorCV):
    """Logistic regression that chooses C by cross-validation, with a certificate for every fit.

    Minimises ½‖θ‖² + C Σ log(1 + exp(−y(θ·x + θ₀))) as `LogisticRegression` does, on every split at every C;
    with more than two classes one against the rest, which is not the multinomial model. Each split walks up
    the C's from one solution to the next, splits side by side, and no row is copied.

    Parameters
    ----------
    {search}
    {settings}

    Attributes
    ----------
    {search_attributes}
    {attributes}

    Examples
    --------
    >>> from maxmargin import LogisticRegressionCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], scoring="log_loss").fit(X[50:], y[50:])
    >>> model.C_, model.cv_results_["mean_test_score"].round(3)
    (1.0, array([-0.596, -0.377, -0.192]))
    """

    _losses: ClassVar[tuple[str, ...]] = ("logistic",)
    _with_one_cost: ClassVar[type[ConvexEstimator]] = LogisticRegression
