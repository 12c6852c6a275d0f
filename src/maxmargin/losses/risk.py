"""Empirical risk and the SVM objective as functions of (θ, θ₀), with their (sub)gradients.

    empirical risk   R(θ, θ₀) = (1/n) Σ loss(mᵢ),               mᵢ = yᵢ (θ·xᵢ + θ₀)
    SVM objective    J(θ, θ₀) = (1/n) Σ hinge(mᵢ) + λ/2 ‖θ‖²

With weights, (1/n) Σ becomes Σ wᵢ / Σ wᵢ. The gradients follow from the slope of the loss by the chain rule,

    ∇θ R = (1/n) Σ loss'(mᵢ) yᵢ xᵢ,      ∂R/∂θ₀ = (1/n) Σ loss'(mᵢ) yᵢ,

and are subgradients where some mᵢ is a kink: there the slope is the lecture notes' choice (hinge: -1).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.agreement import LabelledRows
from maxmargin.losses.base import FloatArray, Loss
from maxmargin.losses.table import find_loss

__all__ = [
    "Gradient",
    "empirical_risk",
    "empirical_risk_gradient",
    "label_probabilities",
    "likelihood",
    "likelihood_gradient",
    "log_likelihood",
    "log_likelihood_gradient",
    "svm_objective",
    "svm_objective_gradient",
]


class Gradient(NamedTuple):
    """The derivative of a function of (θ, θ₀).

    Examples
    --------
    >>> slope = empirical_risk_gradient([0.0], 0.0, [[1.0], [3.0]], [-1, 1])
    >>> slope.coef, slope.intercept
    (array([-1.]), 0.0)
    """

    coef: FloatArray
    intercept: float


def empirical_risk(
    coef: ArrayLike,
    intercept: float,
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Loss = "zero_one",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean loss of the rows; with the default loss, the training error.

    Parameters
    ----------
    coef : array of shape (d,)
        θ.
    intercept : float
        θ₀; 0 for a classifier through the origin.
    X : array or sparse matrix of shape (n, d)
        The rows x.
    y : array of shape (n,)
        The labels, -1 or +1.
    loss : str or Loss, default "zero_one"
        A name in :data:`maxmargin.losses.LOSSES`.
    sample_weight : array of shape (n,), optional
        How often each row counts; 0 equals absence.

    Returns
    -------
    float
        (1/n) Σ loss(yᵢ (θ·xᵢ + θ₀)).

    Examples
    --------
    >>> X, y = [[0.4], [-0.9], [0.7]], [-1, 1, 1]
    >>> round(empirical_risk([1.0], 0.0, X, y, loss="hinge"), 6)  # (1.4 + 1.9 + 0.3) / 3
    1.2
    >>> round(empirical_risk([1.0], 0.0, X, y), 6)
    0.666667
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    return weighted_sum(find_loss(loss).value(rows.agreements), rows) / rows.total_weight


def empirical_risk_gradient(
    coef: ArrayLike,
    intercept: float,
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Loss = "hinge",
    sample_weight: ArrayLike | None = None,
) -> Gradient:
    """Return a (sub)gradient of :func:`empirical_risk` with respect to (θ, θ₀).

    The parameters are those of :func:`empirical_risk`. For the zero-one loss it is 0 wherever it exists: the
    reason why that loss is not minimised by descent.

    Returns
    -------
    Gradient
        With the fields ``coef`` and ``intercept``.

    Examples
    --------
    >>> empirical_risk_gradient([0.0], 0.0, [[1.0], [3.0]], [-1, 1], loss="hinge")
    Gradient(coef=array([-1.]), intercept=0.0)
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    return _mean_gradient(find_loss(loss), rows)


def svm_objective(
    coef: ArrayLike,
    intercept: float,
    X: Any,
    y: ArrayLike,
    *,
    lam: float,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the SVM objective, mean hinge loss + lam/2 ‖θ‖².

    The parameters are those of :func:`empirical_risk`; ``lam`` is ≥ 0. The offset is not penalised.
    Times n·C, with C = 1/(lam·n), this is ½‖θ‖² + C Σ loss.

    Examples
    --------
    >>> svm_objective([1.0, 1.0], 0.0, [[2.0, 0.0], [0.0, 0.0]], [1, -1], lam=0.5)
    1.0
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    risk = weighted_sum(find_loss("hinge").value(rows.agreements), rows) / rows.total_weight
    with np.errstate(over="ignore", under="ignore"):
        return risk + 0.5 * _check_lam(lam) * float(rows.coef @ rows.coef)


def svm_objective_gradient(
    coef: ArrayLike,
    intercept: float,
    X: Any,
    y: ArrayLike,
    *,
    lam: float,
    sample_weight: ArrayLike | None = None,
) -> Gradient:
    """Return a subgradient of :func:`svm_objective` with respect to (θ, θ₀) (C, "Gradient of SVM Objective").

    Its parameters are the same.

    Examples
    --------
    >>> svm_objective_gradient([1.0], -2.0, [[1.0], [3.0]], [-1, 1], lam=0.5).coef    # at two kinks
    array([-0.5])
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    risk = _mean_gradient(find_loss("hinge"), rows)
    return Gradient(risk.coef + _check_lam(lam) * rows.coef, risk.intercept)


def weighted_sum(losses: FloatArray, rows: LabelledRows) -> float:
    """Return Σ wᵢ lossᵢ."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.sum(rows.weight * losses))


def weighted_sum_gradient(loss: Loss, rows: LabelledRows) -> Gradient:
    """Return the gradient of Σ wᵢ loss(mᵢ)."""
    m = rows.agreements
    slope = loss.slope(m)
    if not np.isfinite(slope).all():
        worst = float(m[~np.isfinite(slope)].min())
        raise InvalidInput(
            f"the slope of the {loss.name} loss overflows at agreement {worst:g}, and with it the gradient; "
            "use smaller parameters or another loss"
        )
    with np.errstate(under="ignore"):
        pull = rows.weight * slope * rows.y
        return Gradient(rows.X.T @ pull, float(pull.sum()))


def _mean_gradient(loss: Loss, rows: LabelledRows) -> Gradient:
    total = weighted_sum_gradient(loss, rows)
    return Gradient(total.coef / rows.total_weight, total.intercept / rows.total_weight)


def _check_lam(lam: Any) -> float:
    if isinstance(lam, Real) and 0.0 <= float(lam) < math.inf:
        return float(lam)
    raise InvalidParameter.must_be("lam", "0 or a positive number", lam)


# ------------------------------------------------------------------------------------------------
# The likelihood of the logistic model as a function of (θ, θ₀), with its gradients.
#
#     P(y|x) = g(y (θ·x + θ₀)),  g(z) = 1/(1 + exp(-z))
#     L(θ, θ₀) = Π P(yₜ|xₜ)
#     l(θ, θ₀) = Σ log P(yₜ|xₜ) = -Σ log(1 + exp(-mₜ))
#     ∂l/∂θ₀ = Σ yₜ (1 - P(yₜ|xₜ)),  ∂l/∂θ = Σ yₜ xₜ (1 - P(yₜ|xₜ))
#
# 1 - P(yₜ|xₜ) is the probability of a mistake on row t. Weights multiply the terms of the sums.


def label_probabilities(coef: ArrayLike, intercept: float, X: Any, y: ArrayLike) -> FloatArray:
    """Return P(y|x) of every row's own label.

    Parameters
    ----------
    coef : array of shape (d,)
        θ.
    intercept : float
        θ₀; 0 for a classifier through the origin.
    X : array or sparse matrix of shape (n, d)
        The rows x.
    y : array of shape (n,)
        The labels, -1 or +1.

    Examples
    --------
    >>> label_probabilities([1.0], 0.0, [[0.0], [math.log(3.0)]], [-1, 1]).round(12)
    array([0.5 , 0.75])
    """
    m = LabelledRows.check(coef, intercept, X, y).agreements
    return -find_loss("logistic").slope(-m)  # g(m)


def likelihood(
    coef: ArrayLike, intercept: float, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the likelihood, the product of the probabilities of all labels.

    The parameters are those of :func:`label_probabilities`; a row of weight w counts as w equal rows. With
    some thousand rows the product falls below the smallest number there is and becomes 0: use
    :func:`log_likelihood`.

    Examples
    --------
    >>> round(likelihood([1.0], 0.0, [[0.0], [math.log(3.0)]], [-1, 1]), 12)
    0.375
    """
    return math.exp(log_likelihood(coef, intercept, X, y, sample_weight=sample_weight))


def likelihood_gradient(
    coef: ArrayLike, intercept: float, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Gradient:
    """Return the gradient of :func:`likelihood`, which is L times that of the log-likelihood.

    Examples
    --------
    >>> likelihood_gradient([0.0], 0.0, [[1.0], [2.0]], [1, 1])
    Gradient(coef=array([0.375]), intercept=0.25)
    """
    factor = likelihood(coef, intercept, X, y, sample_weight=sample_weight)
    log_gradient = log_likelihood_gradient(coef, intercept, X, y, sample_weight=sample_weight)
    with np.errstate(under="ignore"):
        return Gradient(factor * log_gradient.coef, factor * log_gradient.intercept)


def log_likelihood(
    coef: ArrayLike, intercept: float, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the log-likelihood: minus the sum of the logistic losses.

    The parameters are those of :func:`likelihood`.

    Examples
    --------
    >>> log_likelihood([0.0], 0.0, [[1.0], [2.0]], [1, -1]) == -2 * math.log(2)
    True
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    return -weighted_sum(find_loss("logistic").value(rows.agreements), rows)


def log_likelihood_gradient(
    coef: ArrayLike, intercept: float, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Gradient:
    """Return the gradient of :func:`log_likelihood`, which is 0 at the maximum.

    Examples
    --------
    >>> log_likelihood_gradient([0.0], 0.0, [[1.0], [2.0]], [1, 1])
    Gradient(coef=array([1.5]), intercept=1.0)
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    loss_gradient = weighted_sum_gradient(find_loss("logistic"), rows)
    return Gradient(-loss_gradient.coef, -loss_gradient.intercept)
