"""Losses of the agreement m = y (θ·x + θ₀), and what is built from them for given parameters.

``LOSSES`` maps every name to its loss: value, slope (an interval at kinks), curvature, conjugate. The
functions judge a given classifier, without fitting: agreements, margins, risk, SVM objective, likelihood,
reference margin.

Examples
--------
>>> from maxmargin import losses
>>> hinge = losses.LOSSES["hinge"]
>>> float(hinge.value(0.25)), hinge.is_convex, hinge.is_smooth
(0.75, True, False)
>>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
>>> losses.agreements([1.0], -2.0, X, y), losses.svm_objective([1.0], -2.0, X, y, lam=0.1)
(array([2., 1., 1., 2.]), 0.05)
"""

from maxmargin.losses.absolute import Absolute
from maxmargin.losses.agreement import agreements, geometric_margins, slacks
from maxmargin.losses.base import Loss
from maxmargin.losses.exponential import Exponential
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.logistic import Logistic
from maxmargin.losses.reference_margin import (
    FixedReferenceMargin,
    ReferenceMargin,
    best_at_reference_margin,
    reference_margin,
)
from maxmargin.losses.risk import (
    Gradient,
    empirical_risk,
    empirical_risk_gradient,
    label_probabilities,
    likelihood,
    likelihood_gradient,
    log_likelihood,
    log_likelihood_gradient,
    svm_objective,
    svm_objective_gradient,
)
from maxmargin.losses.squared import Squared
from maxmargin.losses.squared_hinge import SquaredHinge
from maxmargin.losses.table import LOSSES, find_loss
from maxmargin.losses.zero_one import ZeroOne

__all__ = [
    "LOSSES",
    "Absolute",
    "Exponential",
    "FixedReferenceMargin",
    "Gradient",
    "Hinge",
    "Logistic",
    "Loss",
    "ReferenceMargin",
    "Squared",
    "SquaredHinge",
    "ZeroOne",
    "agreements",
    "best_at_reference_margin",
    "empirical_risk",
    "empirical_risk_gradient",
    "find_loss",
    "geometric_margins",
    "label_probabilities",
    "likelihood",
    "likelihood_gradient",
    "log_likelihood",
    "log_likelihood_gradient",
    "reference_margin",
    "slacks",
    "svm_objective",
    "svm_objective_gradient",
]
