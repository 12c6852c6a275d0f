"""The reference margin: how wide a margin to ask for, given a classifier (A, section 3.3).

A5 asks for a margin γ_ref on every row and charges the hinge loss of the ratio γᵢ/γ_ref for falling short:

    J(θ, θ₀, γ_ref) = (1/n) Σ hinge(γᵢ/γ_ref) + λ/2 · 1/γ_ref²,      γᵢ = yᵢ(θ·xᵢ + θ₀)/‖θ‖

A5 and A7 write λ where A9, and `lam` everywhere in this package, writes λ/2: A5's λ is lam/2. Only the γᵢ
enter, so J does not change when (θ, θ₀) is rescaled. At γ_ref = 1/‖θ‖ the ratio is the agreement, and J is
the SVM objective.

Fixing θ, θ₀, J is convex and piecewise quadratic in u = 1/γ_ref:

    f(u) = (1/n) Σ max(0, 1 - γᵢu) + λ/2 u²,       f'(u) = λu - S(u),  S(u) = (1/n) Σ over γᵢu < 1 of γᵢ

f'(0) = -(mean γᵢ): with a mean of 0 or less the best u is 0, no finite γ_ref is best, and J tends to 1 as
γ_ref grows. Otherwise f' rises from below 0, and S changes only at the breakpoints γ_ref = γᵢ: walking
through the positive margins from the largest down finds the piece, or the breakpoint, where f' reaches 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.losses.agreement import LabelledRows
from maxmargin.losses.base import FloatArray
from maxmargin.validation import check_positive

__all__ = ["ReferenceMargin", "reference_margin"]


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
        A9's λ (A5's is half of it).
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
    """Return the reference margin γ_ref that suits a given classifier best (A5 with θ, θ₀ fixed), exactly.

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
        A9's λ > 0; A5's is lam/2.
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
