"""The likelihood of the logistic model as a function of (θ, θ₀), with its gradients.

    P(y|x) = g(y (θ·x + θ₀)),  g(z) = 1/(1 + exp(-z))             (D8)
    L(θ, θ₀) = Π P(yₜ|xₜ)                                         (D9)
    l(θ, θ₀) = Σ log P(yₜ|xₜ) = -Σ log(1 + exp(-mₜ))              (D10-D13)
    ∂l/∂θ₀ = Σ yₜ (1 - P(yₜ|xₜ)),  ∂l/∂θ = Σ yₜ xₜ (1 - P(yₜ|xₜ))  (D14-D16)

1 - P(yₜ|xₜ) is the probability of a mistake on row t. Weights multiply the terms of the sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.agreement import LabelledRows
from maxmargin.losses.base import FloatArray
from maxmargin.losses.risk import Gradient, weighted_sum, weighted_sum_gradient
from maxmargin.losses.table import find_loss

__all__ = [
    "label_probabilities",
    "likelihood",
    "likelihood_gradient",
    "log_likelihood",
    "log_likelihood_gradient",
]


def label_probabilities(coef: ArrayLike, intercept: float, X: Any, y: ArrayLike) -> FloatArray:
    """Return P(y|x) of every row's own label (D8).

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
    """Return the likelihood, the product of the probabilities of all labels (D9).

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
    """Return the log-likelihood (D10): minus the sum of the logistic losses.

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
    """Return the gradient of :func:`log_likelihood`, which is 0 at the maximum (D19, D20).

    Examples
    --------
    >>> log_likelihood_gradient([0.0], 0.0, [[1.0], [2.0]], [1, 1])
    Gradient(coef=array([1.5]), intercept=1.0)
    """
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    loss_gradient = weighted_sum_gradient(find_loss("logistic"), rows)
    return Gradient(-loss_gradient.coef, -loss_gradient.intercept)
