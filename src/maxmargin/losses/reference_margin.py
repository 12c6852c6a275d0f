"""The reference margin: how wide a margin to ask for, given a classifier.

The reference-margin objective asks for a margin γ_ref on every row and charges the hinge loss of the ratio
γᵢ/γ_ref for falling short:

    J(θ, θ₀, γ_ref) = (1/n) Σ hinge(γᵢ/γ_ref) + λ/2 · 1/γ_ref²,      γᵢ = yᵢ(θ·xᵢ + θ₀)/‖θ‖

It is often written with λ where `lam`, everywhere in this package, goes with ½: its λ is lam/2. Only the γᵢ
enter, so J does not change when (θ, θ₀) is rescaled. At γ_ref = 1/‖θ‖ the ratio is the agreement, and J is
the SVM objective.

Fixing θ, θ₀, J is convex and piecewise quadratic in u = 1/γ_ref:

    f(u) = (1/n) Σ max(0, 1 - γᵢu) + λ/2 u²,       f'(u) = λu - S(u),  S(u) = (1/n) Σ over γᵢu < 1 of γᵢ

f'(0) = -(mean γᵢ): with a mean of 0 or less the best u is 0, no finite γ_ref is best, and J tends to 1 as
γ_ref grows. Otherwise f' rises from below 0, and S changes only at the breakpoints γ_ref = γᵢ: walking
through the positive margins from the largest down finds the piece, or the breakpoint, where f' reaches 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.errors import InvalidParameter
from maxmargin.losses.agreement import LabelledRows
from maxmargin.losses.base import FloatArray
from maxmargin.losses.risk import empirical_risk
from maxmargin.validation import check_positive

__all__ = ["FixedReferenceMargin", "ReferenceMargin", "best_at_reference_margin", "reference_margin"]


@dataclass(frozen=True, eq=False)
class ReferenceMargin:
    """The best reference margin of a classifier.

    Attributes
    ----------
    best : float
        The γ_ref at which J is smallest; inf if none is, because the mean margin is not positive.
    value : float
        J at that γ_ref; if ``best`` is inf, the limit 1.
    width : float
        1/‖θ‖, the margin width the classifier itself claims.
    value_at_width : float
        J at γ_ref = ``width``: the SVM objective at (θ, θ₀). At an SVM optimum, ``best`` is ``width``.
    mean_margin : float
        The mean of the γᵢ; ``best`` is finite if and only if it is positive.
    lam : float
        The λ of λ/2 ‖θ‖² + mean loss.
    margins, weights : array of shape (n,)
        The γᵢ, and the share of each row in the mean.

    Examples
    --------
    >>> found = reference_margin([1.0], -2.0, [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], lam=0.1)
    >>> found.width, found.mean_margin, found.best >= found.width, found.value <= found.value_at_width
    (1.0, 1.5, True, True)
    """

    best: float
    value: float
    width: float
    value_at_width: float
    mean_margin: float
    lam: float
    margins: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)

    @property
    def is_finite(self) -> bool:
        """Whether a best reference margin exists."""
        return bool(np.isfinite(self.best))

    def objective(self, gamma_ref: float) -> float:
        """Return J at this γ_ref > 0, for the same classifier and λ."""
        return _objective(self.margins, self.weights, self.lam, check_positive("gamma_ref", gamma_ref))

    def __str__(self) -> str:
        if not self.is_finite:
            return (
                f"no best reference margin: the mean margin is {self.mean_margin:.4g}, not positive, "
                "so a wider one is always better"
            )
        return (
            f"best reference margin {self.best:.4g} (objective {self.value:.4g}); "
            f"margin width {self.width:.4g} (objective {self.value_at_width:.4g})"
        )


def reference_margin(
    coef: ArrayLike,
    intercept: float,
    X: Any,
    y: ArrayLike,
    *,
    lam: float,
    sample_weight: ArrayLike | None = None,
) -> ReferenceMargin:
    """Return the reference margin γ_ref that suits a given classifier best, exactly.

    Parameters
    ----------
    coef : array of shape (d,)
        θ ≠ 0.
    intercept : float
        θ₀; 0 for a classifier through the origin.
    X : array or sparse matrix of shape (n, d)
        The rows x.
    y : array of shape (n,)
        The labels, -1 or +1.
    lam : float
        The λ > 0 of λ/2 ‖θ‖² + mean loss.
    sample_weight : array of shape (n,), optional
        How often each row counts; 0 equals absence.

    Examples
    --------
    >>> print(reference_margin([2.0], 0.0, [[1.0], [-3.0]], [1, -1], lam=1.0))
    best reference margin 2 (objective 0.375); margin width 0.5 (objective 2)
    """
    lam = check_positive("lam", lam)
    rows = LabelledRows.check(coef, intercept, X, y, sample_weight)
    margins, weights = rows.geometric_margins, rows.weight / rows.total_weight
    best = _best(margins, weights, lam)
    width = 1.0 / rows.norm
    return ReferenceMargin(
        best=best,
        value=_objective(margins, weights, lam, best),
        width=width,
        value_at_width=_objective(margins, weights, lam, width),
        mean_margin=float(weights @ margins),
        lam=lam,
        margins=margins,
        weights=weights,
    )


def _objective(margins: FloatArray, weights: FloatArray, lam: float, gamma_ref: float) -> float:
    with np.errstate(over="ignore", under="ignore"):
        hinge = np.maximum(0.0, 1.0 - margins / gamma_ref)
        return float(weights @ hinge) + 0.5 * lam / gamma_ref / gamma_ref


def _best(margins: FloatArray, weights: FloatArray, lam: float) -> float:
    positive = margins > 0
    order = np.argsort(-margins[positive])
    gamma = margins[positive][order]  # breakpoints, the largest first
    pull = weights[positive][order] * gamma
    # shortfall[k] is S between the breakpoints gamma[k-1] and gamma[k]; summing the small terms first.
    shortfall = np.append(np.cumsum(pull[::-1])[::-1], 0.0) + weights[~positive] @ margins[~positive]
    if shortfall[0] <= 0:
        return float("inf")
    # f' >= 0 at the end of piece k, u = 1/gamma[k]; the last piece has no end, and f' > 0 on all of it.
    k = int(np.argmax(np.append(shortfall[:-1] * gamma <= lam, True)))
    stationary = lam / shortfall[k] if shortfall[k] > 0 else np.inf
    return float(min(stationary, gamma[k - 1]) if k > 0 else stationary)


# ------------------------------------------------------------------------------------------------
# The best classifier for a given reference margin.
#
# Only the ratios γᵢ/γ_ref enter the objective, so the scale of θ is free; with ‖θ‖ = R = 1/γ_ref the ratios
# are the agreements, and the problem is
#
#     minimise (1/n) Σ hinge(yᵢ (θ·xᵢ + θ₀))   subject to ‖θ‖ = R.
#
# For every λ ≥ 0 and every θ on that sphere, weak duality bounds it from below by an SVM problem:
#
#     (1/n) Σ hinge ≥ min over (θ, θ₀) of [(1/n) Σ hinge + λ/2 ‖θ‖²] - λ/2 R².
#
# The bound is met by the λ whose optimum θ(λ) has ‖θ(λ)‖ = R. ‖θ(λ)‖ falls as λ grows and is at most
# √(2/λ), so this λ is found by bisection. There is none if R is larger than ‖θ(λ)‖ for every λ. Then, if
# some classifier reaches the margin γ_ref on all rows, its loss is 0 and that is best; if not, the sphere
# lies beyond the classifier of least loss, the problem is not convex, and the gap that remains says how
# much is not known.

# lam -> (coef, intercept, a lower bound of the minimum of the SVM objective)
FitSVM = Callable[[float], tuple[ArrayLike, float, float]]


@dataclass(frozen=True, eq=False)
class FixedReferenceMargin:
    """The best classifier found for a given reference margin, with a proof of how good it is.

    Attributes
    ----------
    gamma_ref : float
        The reference margin asked for.
    coef, intercept : array of shape (d,), float
        θ with ‖θ‖ = 1/γ_ref, and θ₀.
    risk : float
        Their mean hinge loss: the first term of the objective.
    bound : float
        No classifier has a smaller first term at this γ_ref.
    lam : float
        The λ whose SVM is this classifier (the one with the best bound).
    n_fits : int
        How many SVM problems were solved.

    Examples
    --------
    >>> from maxmargin import fit_reference_margin
    >>> found = fit_reference_margin([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], 2.0)
    >>> round(1.0 / abs(float(found.coef[0])), 6), found.bound <= found.risk
    (2.0, True)
    """

    gamma_ref: float
    coef: FloatArray = field(repr=False)
    intercept: float
    risk: float
    bound: float
    lam: float
    n_fits: int

    @property
    def gap(self) -> float:
        """How far above the optimum ``risk`` is, at most."""
        return max(0.0, self.risk - self.bound)

    def objective(self, lam: float) -> float:
        """Return the reference-margin objective here, for the λ of λ/2 ‖θ‖² + mean loss."""
        return self.risk + 0.5 * lam / self.gamma_ref**2

    def __str__(self) -> str:
        return (
            f"mean hinge loss {self.risk:.4g} at reference margin {self.gamma_ref:.4g}, "
            f"within {self.gap:.2g} of the best possible"
        )


def best_at_reference_margin(
    gamma_ref: float,
    X: Any,
    y: ArrayLike,
    *,
    fit: FitSVM,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-4,
    max_fits: int = 60,
) -> FixedReferenceMargin:
    """Return the classifier with the least mean hinge loss of γᵢ/γ_ref.

    Parameters
    ----------
    gamma_ref : float
        The margin wished for on every row, > 0.
    X : array or sparse matrix of shape (n, d)
        The rows x.
    y : array of shape (n,)
        The labels, -1 or +1.
    fit : callable
        ``fit(lam)`` solves the SVM problem on the same rows and weights and returns ``(coef, intercept,
        bound)``, with a proven lower bound of its minimum. It need not be exact: the bound carries over.
    sample_weight : array of shape (n,), optional
        How often each row counts; 0 equals absence.
    tol : float, default 1e-4
        Stop at this gap; the mean hinge loss at the optimum is between 0 and 1, so it is absolute.
    max_fits : int, default 60
        The largest number of problems to solve; the gap of the result is honest whatever it is.

    Examples
    --------
    >>> from maxmargin import train
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    >>> def fit(lam):
    ...     model = train(X, y, lam=lam)
    ...     return model.coef[0], model.intercept[0], lam * model.certificate.bound
    >>> round(best_at_reference_margin(2.0, X, y, fit=fit).risk, 4)
    0.25
    """
    radius = 1.0 / check_positive("gamma_ref", gamma_ref)
    if not 1e-150 < radius < 1e150:
        raise InvalidParameter.must_be("gamma_ref", "between 1e-150 and 1e150", gamma_ref)
    max_fits = check_positive("max_fits", max_fits, integer=True)
    too_small, too_large = 0.0, 2.0 * gamma_ref**2  # ‖θ(λ)‖ ≤ √(2/λ) = R at the second
    lam = too_large
    best_risk, best_coef, best_intercept = math.inf, np.zeros(0), 0.0
    bound, bound_lam = -math.inf, lam
    n_fits = 0
    while n_fits < max_fits:
        n_fits += 1
        coef, intercept, svm_bound = fit(lam)
        theta, theta0, is_short = _on_sphere(coef, intercept, radius)
        risk = empirical_risk(theta, theta0, X, y, loss="hinge", sample_weight=sample_weight)
        if risk < best_risk:
            best_risk, best_coef, best_intercept = risk, theta, theta0
        price = 0.5 * lam * radius**2
        if svm_bound - price > bound:
            bound, bound_lam = svm_bound - price, lam
        # A shorter θ(λ) at a λ this small: going on towards 0 raises the bound by less than the price paid.
        if best_risk - bound <= tol or (is_short and price <= 0.1 * tol):
            break
        too_small, too_large = (too_small, lam) if is_short else (lam, too_large)
        lam = math.sqrt(too_small * too_large) if too_small > 0 else 0.1 * too_large
    return FixedReferenceMargin(
        gamma_ref, best_coef, best_intercept, best_risk, max(0.0, bound), bound_lam, n_fits
    )


def _on_sphere(coef: ArrayLike, intercept: float, radius: float) -> tuple[FloatArray, float, bool]:
    """Return the same boundary with ‖θ‖ = radius, and whether ‖θ‖ was below it."""
    theta = np.ravel(np.asarray(coef, dtype=np.float64))
    norm = float(np.linalg.norm(theta))
    if norm == 0.0:  # no boundary to keep: any direction will do, and the gap tells how well
        theta = np.zeros_like(theta)
        theta[:1] = radius
        return theta, float(intercept), True
    return theta * (radius / norm), float(intercept) * (radius / norm), norm <= radius
