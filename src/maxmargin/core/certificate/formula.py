"""The one formula of the duality gap, with what rounding may have done to its terms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxmargin.core.certificate.point import certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array

__all__ = [
    "UNIT",
    "UNIT_TWICE",
    "Errors",
    "Reach",
    "Values",
    "add_twofold",
    "conclude",
    "largest_norm",
    "not_below",
]

UNIT = 2.0**-53  # the relative error of one operation
UNIT_TWICE = 2.0**-103  # of one in twice the precision
_WORTH_PRECISION = 0.25  # a share of the gap: if rounding makes less of it, more digits would not help


@dataclass(frozen=True)
class Errors:
    """Relative errors: of a score, by the sizes of the row and of w; of a sum over rows; of a row's terms.

    That of a score is also one of any sum over the columns.

    Attributes
    ----------
    products : float, optional
        Of v and Σ sα, where it is not that of other sums over rows.
    of_scores : float, optional
        The largest error of a score, where more is known than sizes tell.
    """

    score: float
    sums: float
    terms: float
    products: float | None = None
    of_scores: float | None = None


@dataclass(frozen=True)
class Values:
    """The terms of primal and dual as they were computed: one double each, or a high and a low part.

    The penalty of w, Σ c ℓ, −Σ c ℓ*(−α/c), Σ sα of each output, what v pays the penalty, and about Σ α.
    """

    penalty: tuple[float, ...]
    loss: tuple[float, ...]
    dual: tuple[float, ...]
    balance: Sequence[tuple[float, ...]]
    conjugate: tuple[float, ...]
    total: float


@dataclass(frozen=True)
class Reach:
    """A bound of |b*|: `at_w` if the scores of w* are those of w, and `slope` times ‖w − w*‖ more.

    `growth` times an error of the scores is what it may be off by. Where nothing tells how far w* is,
    `at_zero`, the bound for scores that are 0, and `slope` times ‖w*‖ more.
    """

    at_w: float
    slope: float
    at_zero: float
    growth: float = 1.0


def conclude(
    problem: Problem, errors: Errors, values: Values, b: list[float], reach: Reach
) -> tuple[Certificate, bool]:
    """Return a certificate that holds whatever rounding did, and whether rounding is much of its gap."""
    penalty, offset, longest_row = problem.penalty, problem.offset, largest_norm(problem)
    of_offset = [part for entry in b for part in offset.precise_penalty(entry)]
    of_weights, loss, dual, conjugate = (
        sum(x) for x in (values.penalty, values.loss, values.dual, values.conjugate)
    )
    size, largest_b = longest_row * penalty.norm_bound(of_weights), max(abs(entry) for entry in b)
    # The scores of w = 0 are exact, and so are agreements with an infinite offset.
    score_error = errors.score * (size + largest_b) if size > 0 and math.isfinite(largest_b) else 0.0
    if errors.of_scores is not None:
        score_error = errors.of_scores
    products = errors.sums if errors.products is None else errors.products
    objective_error = (
        (errors.sums + errors.score) * (of_weights + sum(of_offset))
        + (errors.sums + errors.terms) * loss
        + problem.loss_change(loss, score_error)
    )
    objective = _rounded_up([*values.penalty, *values.loss, *of_offset, objective_error])
    v_error = products * longest_row * values.total
    balance_error = products * values.total
    dual_error = (
        (errors.sums + errors.terms) * (abs(dual) + 2.0 * values.total)
        + (errors.sums + errors.score) * conjugate
        + penalty.change_of_paid(conjugate, v_error, objective)
    )
    below = [*values.conjugate, *(-part for part in values.dual)]  # minus the bound, as a sum
    for balance in values.balance:
        below += offset.precise_dual_penalty(balance)
        dual_error += offset.square * balance_error * (abs(sum(balance)) + balance_error)
    below.append(dual_error)
    price = 0.0
    if offset.is_free:
        imbalance = sum(abs(sum(balance)) for balance in values.balance) + balance_error
        if penalty.curvature > 0:
            slope = reach.slope * math.sqrt(2.0 / penalty.curvature)
            gap = objective + _rounded_up(below)
            price = _price_of_imbalance(gap, imbalance, reach.at_w + reach.growth * score_error, slope)
        elif imbalance > 0:
            price = imbalance * (reach.at_zero + reach.slope * penalty.norm_bound(objective))
        below.append(price)
    bound = -_rounded_up(below)
    of_objective = objective_error + math.ulp(objective)
    of_bound = dual_error + price + math.ulp(bound)
    is_hidden = of_objective + of_bound > _WORTH_PRECISION * (objective - bound)
    # Where 0 is the bound, no error has touched it.
    rounding = of_objective + (of_bound if bound > 0 else 0.0)
    return certificate_of("duality", objective, bound, rounding), is_hidden


def _price_of_imbalance(gap: float, imbalance: float, furthest: float, slope: float) -> float:
    """Return the most that |Σ sα| · |b*| can be, where |b*| ≤ `furthest` if the scores of w* are those of w.

    The range of b* grows with ‖w − w*‖ ≤ √(2·gap), by `slope` times √gap, and the gap with the price: with
    r = √gap this is r² = gap₀ + ε(B + slope·r), whose positive root is taken.
    """
    if imbalance == 0:
        return 0.0
    slope *= imbalance
    constant = max(gap, 0.0) + imbalance * furthest
    root = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * constant))
    return imbalance * furthest + slope * root


def add_twofold(first: Array, second: Array) -> Array:
    """Add numbers of twice the precision; the high parts are in row 0, the low ones in row 1."""
    high = first[0] + second[0]
    part = high - first[0]
    low = (first[0] - (high - part)) + (second[0] - part) + (first[1] + second[1])
    rounded = high + low
    return np.stack([rounded, low - (rounded - high)])


def _rounded_up(terms: list[float]) -> float:
    """Return the smallest double that is not below a sum; infinite if there is none."""
    try:
        nearest = math.fsum(terms)
        return math.nextafter(nearest, math.inf) if math.fsum([*terms, -nearest]) > 0 else nearest
    except (OverflowError, ValueError):  # beyond the doubles, or infinite terms of both signs
        return math.inf


def not_below(objective: float) -> float:
    """Return a bound of an objective that was added up in double precision."""
    return objective * 1.001


def largest_norm(problem: Problem) -> float:
    """Return a bound of ‖x‖ over the rows."""
    return math.sqrt(problem.rows.norms()[1]) * (1.0 + 1e-9)
