"""Logistic regression, regularised or by maximum likelihood."""

from __future__ import annotations

from typing import ClassVar

from maxmargin.estimators.convex import ConvexEstimator
from maxmargin.estimators.shared_text import with_shared_text

__all__ = ["LogisticRegression"]


@with_shared_text
class LogisticRegression(ConvexEstimator):
    """Logistic regression with a certificate: P(y|x) = 1/(1 + exp(−y(θ·x + θ₀))).

    Minimises ½‖θ‖² + C Σ log(1 + exp(−y(θ·x + θ₀))). With more than two classes there is one model per
    class against the rest, and their probabilities are scaled to add up to 1; this is not the multinomial
    model.

    ``C=float("inf")`` or ``lam=0`` drops ½‖θ‖² and C: maximum likelihood. Where a hyperplane separates the
    classes, wholly or but for rows on it, there is no maximum, and `fit` raises `NoFiniteOptimum` with the
    direction. Where columns are combinations of others, the shortest of the best θ is returned, which is
    the limit for growing C.

    ``certificate_.residuals`` tells how well the optimality conditions hold: ``"labels"`` is
    |Σ yc(1 − P)|, which is 0 at the optimum when the offset is free, and ``"features"`` the largest
    component of |Σ ycx(1 − P) − θ|, without θ for maximum likelihood.

    Parameters
    ----------
    C : float, default 1.0
        The weight of the likelihood against the regulariser; inf leaves the likelihood alone.
    {settings}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from maxmargin import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.predict_proba([[2.0]]).round(3)
    array([[0.5, 0.5]])
    """

    _losses: ClassVar[tuple[str, ...]] = ("logistic",)
