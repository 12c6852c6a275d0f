"""What an examination hands back: a certificate, and the points that it is about."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from maxmargin.losses.table import LOSSES
from maxmargin.problem.problem import Problem
from maxmargin.results.certificate import Certificate
from maxmargin.rows import Array, RowVector

__all__ = ["Examination", "finite_certificate", "value_at_zero"]


@dataclass(frozen=True, eq=False)
class Examination:
    """A certificate and the points it is about, ready to be kept.

    Attributes
    ----------
    w, b, interval : the weights, the offset, and all offsets that are best for these weights
    alpha : the feasible dual point that gives the bound
        Where ρ = 0 there is none: cost times mistake probability.
    scores : z = x·w for each row
    certificate : Certificate
    """

    w: Array
    b: float
    interval: tuple[float, float]
    alpha: RowVector
    scores: RowVector
    certificate: Certificate


def finite_certificate(
    kind: str, problem: Problem, objective: float, bound: float, gap: float
) -> Certificate:
    """Return the certificate of these numbers; 0 bounds every objective from below.

    At the optimum rounding can put the bound above the objective, which is then the bound.
    """
    bound, gap = max(0.0, min(bound, objective)), min(gap, objective)
    unit = max(bound, 2.0**-52 * value_at_zero(problem), sys.float_info.min)
    relative_gap = min(gap / unit, sys.float_info.max)  # infinite only where the optimum is 0
    return Certificate(kind, objective, bound, gap, relative_gap)


def value_at_zero(problem: Problem) -> float:
    """Return the objective at w = 0 with its best offset: what doing nothing costs."""
    costs = problem.class_costs
    if problem.offset.kind != "free":
        return costs.total * float(LOSSES[problem.loss].value(0.0))
    return problem.dual.value_at_zero(costs.positive, costs.negative)
