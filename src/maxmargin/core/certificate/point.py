"""What an examination hands back: a certificate, and the points that it is about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.losses.base import MulticlassLoss
from maxmargin.rows.base import Array, RowVector

__all__ = ["CertifiedPoint", "certificate_of", "value_at_zero"]


@dataclass(frozen=True, eq=False)
class CertifiedPoint:
    """A certificate and the points it is about, ready to be kept.

    Attributes
    ----------
    w, b, interval : the weights, the offset, and all offsets that are best for these weights
        With K outputs, arrays of shapes (K, n_columns) and (K,).
    alpha : the feasible dual point that gives the bound
        Where ρ = 0 there is none: cost times mistake probability.
    scores : z = x·w for each row
    certificate : Certificate
    pulls : (array, array) or None
        Σ c (e_y − P) xᵀ and Σ c (e_y − P) of softmax, where the certificate added them up.
    least_agreement : float
        Of the rows that cost anything, where the certificate needed more than double precision; else NaN.
    """

    w: Array
    b: Any
    interval: tuple[Any, Any]
    alpha: RowVector
    scores: RowVector
    certificate: Certificate
    least_agreement: float = math.nan
    pulls: tuple[Array, Array] | None = None


def certificate_of(kind: str, objective: float, bound: float, rounding: float = 0.0) -> Certificate:
    """Return the certificate of an objective and a bound that hold whatever rounding did.

    Numbers that are none prove nothing; 0 bounds every objective from below.
    """
    if math.isnan(objective):
        objective = math.inf
    bound = bound if 0.0 < bound < math.inf else 0.0
    return Certificate(kind, objective, min(bound, objective), rounding)


def value_at_zero(problem: Problem) -> float:
    """Return the objective at w = 0 with its best offset, or a little more: what doing nothing costs."""
    if isinstance(problem.loss, MulticlassLoss):
        return problem.loss.value_at_zero(problem.costs_by_class, problem.offset.is_free)
    costs = problem.class_costs
    if not problem.offset.is_free:
        return costs.total * float(problem.agreement_loss.value(0.0))
    return problem.dual.value_at_zero(costs.positive, costs.negative)
