"""The best classifier for a desired margin (γ_ref is held fixed)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin.errors import ConvergenceWarning, DegenerateModelWarning
from maxmargin.fit.train import train
from maxmargin.losses.reference_margin import FixedReferenceMargin, best_at_reference_margin

__all__ = ["fit_reference_margin"]


def fit_reference_margin(
    X: Any, y: Any, gamma_ref: float, *, sample_weight: Any = None, tol: float = 1e-4
) -> FixedReferenceMargin:
    """Return the classifier with the least mean hinge loss of γᵢ/γ_ref, certified.

    γ_ref says how much room is desired between the boundary and every example; the classifier is the
    one that comes closest to it. It is the SVM solution whose margin width is γ_ref.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        The labels, -1 or +1.
    gamma_ref : float
        The desired margin, > 0.
    sample_weight : array of shape (n,), optional
    tol : float
        The gap of the mean hinge loss to reach; it is absolute, because that loss may be 0.

    Examples
    --------
    >>> found = fit_reference_margin([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], 0.5)
    >>> found.risk  # half a unit of room on each side costs nothing
    0.0
    """

    def fit(lam: float) -> tuple[Any, float, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the bound accounts for the gap
            warnings.simplefilter("ignore", DegenerateModelWarning)  # at some λ of the search θ is 0
            model = train(X, y, lam=lam, sample_weight=sample_weight, tol=1e-9, max_iter=2000)
        proof = model.certificates[0]
        return np.asarray(model.coef[0]), float(model.intercept[0]), lam * proof.bound

    return best_at_reference_margin(gamma_ref, X, y, fit=fit, sample_weight=sample_weight, tol=tol)
