"""The proof: a dual bound recomputed from the rows, by code that no solver touches.

For any w, b and any feasible dual point α with v = Σ sαx,

    P(w, b) − D(α) = ½‖w − v‖² + Σ [c ℓ(m) + c ℓ*(−α/c) + α m]  − b Σ sα ,

a sum of terms that are all ≥ 0 when Σ sα = 0: nothing cancels. With a free offset D bounds the optimum only
where Σ sα = 0. The point is made so to rounding first, and what remains, ε = |Σ sα|, is paid for: the
optimum b* costs at most ε|b*|, and |b*| ≤ max|x·w*| + 1 (+ |log of the ratio of class costs| for the
logistic loss) because at the optimum both classes touch the margin; w* is within √(2·gap) of w.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem.examination import Examination, finite_certificate
from maxmargin.problem.feasible import make_feasible
from maxmargin.problem.lp_dual import examine_by_multipliers
from maxmargin.problem.newton_decrement import examine_by_decrement
from maxmargin.problem.offset import best_offset, chosen_from
from maxmargin.problem.problem import Problem
from maxmargin.results.certificate import Certificate
from maxmargin.rows import Array, RowVector, inner
from maxmargin.rows.vectors import Scale

__all__ = ["examine"]

# Scaling the dual point helps far from the optimum; near it, it would only spoil exact zeros and costs.
_WORTH_SCALING = 1e-3


@dataclass(frozen=True, eq=False)
class _Products:
    """What the rows themselves contribute: v = Σ sαx; on the way Σ α, Σ sα, Σ α²/c and the largest |x·w|."""

    v: Array
    linear: float
    balance: float
    square: float
    largest_score: float


@dataclass(frozen=True)
class _Read:
    """Fill z with the scores x·w and add up v, in one reading."""

    w: Array

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Products:
        z, sign, cost, alpha = pieces
        v = np.zeros(self.w.shape[0])
        sums = _core.score_and_pull(block, self.w, z, sign, cost, alpha, v, token)
        return _Products(v, sums.linear, sums.balance, sums.square, _core.largest_score(z, cost))

    def merge(self, first: _Products, second: _Products) -> _Products:
        return _Products(
            np.add(first.v, second.v, out=first.v),
            first.linear + second.linear,
            first.balance + second.balance,
            first.square + second.square,
            max(first.largest_score, second.largest_score),
        )


@dataclass(frozen=True)
class _Terms:
    loss: float
    gap: float
    dual: float
    balance: float


@dataclass(frozen=True)
class _SumTerms:
    loss: str
    b: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Terms:
        z, sign, cost, alpha = pieces
        terms = _core.certificate_terms(self.loss, z, sign, cost, self.b, alpha)
        return _Terms(terms.loss, terms.gap, terms.dual, terms.balance)

    def merge(self, first: _Terms, second: _Terms) -> _Terms:
        return _Terms(
            first.loss + second.loss,
            first.gap + second.gap,
            first.dual + second.dual,
            first.balance + second.balance,
        )


def examine(
    problem: Problem,
    w: Array,
    b: float | None,
    alpha: RowVector,
    *,
    near: float | None = None,
    token: StopToken | None = None,
) -> Examination:
    """Certify the point (w, b) with the dual point α, in one pass over the rows.

    Parameters
    ----------
    w : array of shape (n_columns,)
        Any weights; they need not come from a solver.
    b : float or None
        Any offset; None takes the best one for these weights.
    alpha : row vector
        Any numbers; the nearest feasible dual point is used, or none where ρ = 0 and the loss is smooth.
    near : float, optional
        Where to begin to look for the best offset; it is the same from anywhere, up to rounding.
    """
    if not problem.is_regularised and problem.loss == "hinge":
        return examine_by_multipliers(problem, w, b, alpha, token=token)
    if not problem.is_regularised:
        return examine_by_decrement(problem, w, b, token=token)
    rows, sign, cost = problem.rows, problem.sign, problem.cost
    feasible = make_feasible(problem, alpha)
    z = rows.zeros()
    seen = rows.reduce(_Read(w), z, sign, cost, feasible, token=token)
    if b is not None and problem.offset.kind != "free":
        interval = (b, b)
    else:
        interval = best_offset(problem, z, near, seen.largest_score)
    offset = chosen_from(interval) if b is None else b
    scale = _best_scale(problem, seen)
    if scale != 1.0:
        np.multiply(seen.v, scale, out=seen.v)
        rows.reduce(Scale(scale), feasible, feasible, token=token)
    terms = rows.reduce(_SumTerms(problem.loss, offset), z, sign, cost, feasible, token=token)
    certificate = _conclude(problem, w, offset, seen, terms)
    return Examination(w, offset, interval, feasible, z, certificate)


def _best_scale(problem: Problem, seen: _Products) -> float:
    """Return the θ that makes D(θα) largest, where that is a parabola: θ ≤ 1 if α is bounded."""
    form = problem.dual
    if form.quadratic is None:
        return 1.0
    quadratic = inner(seen.v, seen.v) + problem.offset.square * seen.balance * seen.balance
    if form.quadratic > 0:
        quadratic += form.quadratic * seen.square
    if not (quadratic > 0 and math.isfinite(quadratic)):
        return 1.0
    best = seen.linear / quadratic
    if form.bounded:
        best = min(best, 1.0)
    return best if abs(best - 1.0) > _WORTH_SCALING else 1.0


def _conclude(problem: Problem, w: Array, b: float, seen: _Products, terms: _Terms) -> Certificate:
    v = seen.v
    objective = 0.5 * inner(w, w) + terms.loss + problem.offset.penalty(b)
    dual = terms.dual - 0.5 * inner(v, v)
    difference = np.subtract(w, v, out=v)  # v is ours, and as long as there are columns
    gap = 0.5 * inner(difference, difference) + terms.gap
    if problem.offset.kind == "penalized":
        scale = problem.offset.scale
        own, implied = b / scale, scale * terms.balance
        dual -= 0.5 * implied * implied
        gap += 0.5 * (own - implied) * (own - implied)
    elif problem.offset.kind == "free" and terms.balance != 0:
        gap, price = _pay_for_imbalance(problem, gap, abs(terms.balance), abs(b), seen.largest_score)
        dual -= price
    return finite_certificate("duality", problem, objective, dual, gap)


def _pay_for_imbalance(
    problem: Problem, gap: float, imbalance: float, b: float, largest_score: float
) -> tuple[float, float]:
    """Return the gap with ε(|b| + |b*|) added, and the price ε|b*| alone.

    The bound on |b*| depends on the gap itself, through ‖w − w*‖ ≤ √(2·gap): with r = √gap this is
    r² = gap₀ + ε(|b| + B₀) + ε√2·max‖x‖·r, whose positive root is taken.
    """
    costs = problem.class_costs
    reach = largest_score + problem.dual.offset_reach(costs.positive, costs.negative)
    slope = imbalance * math.sqrt(2.0 * problem.rows.norms()[1])
    constant = gap + imbalance * (b + reach)
    root = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * constant))
    return root * root, imbalance * reach + slope * root
