"""The proof: a dual bound recomputed from the rows, by code that no solver touches.

For any w, b and any dual point α that obeys its bounds, with v = Σ sαx and r = Σ sα,

    P(w*, b*) ≥ −Σ c ℓ*(−α/c) − Ω*(v) − r b* ,

where Ω* is the conjugate of the penalty: ½‖v‖² for the ridge. The same holds about any other origin μ, where
x, v and b* become x − μ, v − rμ and b* + μ·w*. A free offset needs r = 0; the point is made so to rounding
first, and what remains is paid for. At the optimum both classes touch the margin, so that b* lies between the
scores of the two (further out by |log of the ratio of class costs| for the logistic loss); and w*, whose
scores these are, is within √(2·gap) of w. A penalised offset adds ½ scale² r² instead, and without offset
b* = 0. With K outputs, w, b and the duals of a row have K parts, and everything else is the same.

Every number is computed with a bound of its rounding error. The objective is stated above it and the bound
below it, so that both hold whatever the order of sums. Double precision comes first. Where its errors are
what keeps the gap above the tolerance, the sums are made once more in twice the precision (tiny objectives,
columns far from 0), about the mean of the rows by α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, CertificateTerms, DualSums, PreciseTerms, StopToken
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.certificate.formula import (
    UNIT,
    UNIT_TWICE,
    Errors,
    Reach,
    Values,
    add_twofold,
    conclude,
    largest_norm,
    not_below,
)
from maxmargin.core.certificate.lp_dual import examine_by_multipliers
from maxmargin.core.certificate.newton_decrement import examine_by_decrement
from maxmargin.core.certificate.outputs import SoftmaxGradient, examine_outputs
from maxmargin.core.certificate.outputs_decrement import examine_softmax_by_decrement
from maxmargin.core.certificate.outputs_lp_dual import examine_classes_by_multipliers
from maxmargin.core.certificate.point import CertifiedPoint, certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.losses.base import MulticlassLoss
from maxmargin.losses.multiclass import CrammerSinger
from maxmargin.rows.base import Array, Record, RowVector, Scale, inner
from maxmargin.rows.kernels import Combine

__all__ = ["examine", "stationarity"]


# Scaling the dual point helps far from the optimum; near it, it would only spoil exact zeros and costs.
_WORTH_SCALING = 1e-3
_FEW_VALUES = 20_000  # of so few, all digits cost next to nothing


def examine(
    problem: Problem,
    w: Array,
    b: Any,
    alpha: Any,
    *,
    near: Any = None,
    enough: float = 0.0,
    token: StopToken | None = None,
) -> CertifiedPoint:
    """Certify the point (w, b) with the dual point α, in one pass over the rows, or two.

    Parameters
    ----------
    w : array of shape (n_columns,), or (K, n_columns) for K outputs
        Any weights; they need not come from a solver.
    b : float, array of shape (K,) or None
        Any offset, which has to be 0 where the problem has none; None takes the best one for these weights.
    alpha : per-row array, SoftmaxDuals or None
        Any numbers; the nearest feasible dual point is used, or none where ρ = 0 and the loss is smooth. For
        softmax a recipe, or None for the probabilities at these weights.
    near : float, optional
        Where to begin to look for the best offset; it is the same from anywhere, up to rounding.
    enough : float
        A relative gap that needs no further digits; infinite where nobody is to wait for them.
    """
    if problem.offset.is_absent and np.any(b):
        raise ValueError(f"a problem without offset has the offset 0; got b={b!r}")
    if isinstance(problem.loss, CrammerSinger) and not problem.is_regularised:
        return examine_classes_by_multipliers(
            problem, w, b, alpha, near=near, in_whole_numbers=enough < math.inf, token=token
        )
    if isinstance(problem.loss, MulticlassLoss) and not problem.is_regularised:
        return examine_softmax_by_decrement(problem, w, b, near=near, token=token)
    if isinstance(problem.loss, MulticlassLoss):
        return examine_outputs(problem, w, b, alpha, near=near, enough=enough, token=token)
    if not problem.is_regularised and problem.loss.name == "hinge":
        return examine_by_multipliers(problem, w, b, alpha, in_whole_numbers=enough < math.inf, token=token)
    if not problem.is_regularised:
        return examine_by_decrement(problem, w, b, token=token)
    rows, sign, cost = problem.rows, problem.sign, problem.cost
    feasible = make_feasible(problem, alpha)
    z = rows.zeros()
    seen = rows.reduce(_Read(w), z, sign, cost, feasible, token=token)
    if b is not None and not problem.offset.is_free:
        interval = (b, b)
    else:
        interval = problem.offset.best(problem, z, near, seen.largest_score)
    offset = chosen_from(interval) if b is None else b
    scale = _best_scale(problem, seen, feasible, token)
    if scale != 1.0:
        np.multiply(seen.v, scale, out=seen.v)
        rows.reduce(Scale(scale), feasible, feasible, token=token)
    terms = rows.reduce(_SumTerms(problem.loss.name, offset), z, sign, cost, feasible, token=token)
    certificate, is_hidden = _in_double_precision(problem, w, offset, seen, terms, seen.sums.linear * scale)
    least_agreement = math.nan
    if rows.n_values <= _FEW_VALUES:
        enough = 0.0
    if is_hidden and not certificate.relative_gap <= enough:
        origin = _mean_row(problem, feasible, seen.sums.linear, token)
        kernel = _SumPreciseTerms(problem.loss.name, w, offset, origin)
        sums = rows.reduce(kernel, sign, cost, feasible, token=token)
        certificate, _ = _in_twice_the_precision(problem, w, offset, origin, sums)
        least_agreement = sums.terms.least_agreement
    return CertifiedPoint(w, offset, interval, feasible, z, certificate, least_agreement)


# ---------------------------------------------------------------- double precision


@dataclass(frozen=True, eq=False)
class _Products(Record):
    """What the rows themselves contribute: v = Σ sαx; on the way Σ α, Σ sα, Σ α²/c and the largest |x·w|."""

    v: Array
    sums: DualSums
    largest_score: Annotated[float, max]


@dataclass(frozen=True)
class _Read:
    """Fill z with the scores x·w and add up v, in one reading."""

    w: Array

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Products:
        z, sign, cost, alpha = pieces
        v = np.zeros(self.w.shape[0])
        sums = _core.score_and_pull(block, self.w, z, sign, cost, alpha, v, token)
        return _Products(v, sums, _core.largest_score(z, cost))


@dataclass(frozen=True)
class _SumTerms:
    loss: str
    b: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> CertificateTerms:
        z, sign, cost, alpha = pieces
        return _core.certificate_terms(self.loss, z, sign, cost, self.b, alpha)


def _best_scale(problem: Problem, seen: _Products, alpha: RowVector, token: StopToken | None) -> float:
    """Return the θ that makes D(θα) largest, where that is a parabola: θ ≤ 1 if α is bounded.

    With an L1 term it is 1, or what makes θ|v| ≤ r, whichever is better.
    """
    if problem.penalty.l1_ratio > 0:
        return _scale_into_box(problem, seen, alpha, token)
    form = problem.dual
    if form.quadratic is None:
        return 1.0
    quadratic = inner(seen.v, seen.v) + problem.offset.square * seen.sums.balance * seen.sums.balance
    if form.quadratic > 0:
        quadratic += form.quadratic * seen.sums.square
    if not (quadratic > 0 and math.isfinite(quadratic)):
        return 1.0
    best = seen.sums.linear / quadratic
    if form.bounded:
        best = min(best, 1.0)
    return best if math.isfinite(best) and abs(best - 1.0) > _WORTH_SCALING else 1.0


def _scale_into_box(problem: Problem, seen: _Products, alpha: RowVector, token: StopToken | None) -> float:
    largest = float(np.abs(seen.v).max(initial=0.0))
    inside = problem.penalty.l1_ratio / largest if largest > problem.penalty.l1_ratio else 1.0
    if inside == 1.0 or problem.penalty.curvature == 0:
        return inside

    def bound(theta: float) -> float:
        kernel = _SumDual(problem.loss.name, theta)
        dual = problem.rows.reduce(kernel, problem.sign, problem.cost, alpha, token=token)
        return problem.dual_value(dual, theta * seen.v, theta * seen.sums.balance)

    return inside if bound(inside) > bound(1.0) else 1.0


@dataclass(frozen=True)
class _SumDual:
    """Return −Σ c ℓ*(−θα/c)."""

    loss: str
    theta: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, alpha = pieces
        return _core.certificate_terms(
            self.loss, np.zeros_like(cost), sign, cost, 0.0, self.theta * alpha
        ).dual


def _in_double_precision(
    problem: Problem, w: Array, b: float, seen: _Products, terms: CertificateTerms, total: float
) -> tuple[Certificate, bool]:
    rows = problem.rows
    errors = Errors(
        score=2.0 * UNIT * (rows.n_columns + 8),
        sums=2.0 * UNIT * (rows.largest_block + 64),
        # A logistic term is a few operations, some of which magnify the errors of others.
        terms=UNIT * (8.0 if problem.dual.quadratic is not None else 1024.0),
    )
    penalty = problem.penalty.value(w)
    conjugate = problem.penalty.most_paid(seen.v, not_below(penalty + terms.loss + problem.offset.penalty(b)))
    if not np.isfinite([penalty, terms.loss, terms.dual, terms.balance, conjugate]).all():
        return certificate_of("duality", math.inf, 0.0), False
    values = Values((penalty,), (terms.loss,), (terms.dual,), [(terms.balance,)], (conjugate,), total)
    at_zero = _offset_reach(problem, 0.0)
    reach = Reach(_offset_reach(problem, seen.largest_score), largest_norm(problem), at_zero)
    return conclude(problem, errors, values, [b], reach)


def _offset_reach(problem: Problem, largest_score: float) -> float:
    """Return a bound of the best offset's size if the scores of w* were those of w."""
    costs = problem.class_costs
    if costs.positive == 0 or costs.negative == 0:
        return 0.0
    return largest_score + problem.dual.offset_reach(costs.positive, costs.negative)


# ---------------------------------------------------------------- twice the precision


@dataclass(frozen=True, eq=False)
class _PreciseSums(Record):
    """The terms in twice the precision, and v = Σ sαx: its high parts, and its low ones."""

    terms: PreciseTerms
    v: Annotated[Array, add_twofold]


@dataclass(frozen=True)
class _SumPreciseTerms:
    loss: str
    w: Array
    b: float
    origin: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _PreciseSums:
        sign, cost, alpha = pieces
        v = np.zeros((2, self.w.shape[0]))
        terms = _core.precise_terms(
            self.loss, block, self.w, self.b, self.origin, sign, cost, alpha, v[0], v[1], token
        )
        return _PreciseSums(terms, v)


def _mean_row(problem: Problem, alpha: RowVector, total: float, token: StopToken | None) -> Array:
    """Return the mean of the rows by α, about which a free offset is small."""
    n_columns = problem.rows.n_columns
    if not problem.offset.is_free or not 0 < total < math.inf:
        return np.zeros(n_columns)
    mean = problem.rows.reduce(Combine(n_columns), alpha, token=token) / total
    return mean if np.isfinite(mean).all() else np.zeros(n_columns)


def _in_twice_the_precision(
    problem: Problem, w: Array, b: float, origin: Array, sums: _PreciseSums
) -> tuple[Certificate, bool]:
    rows = problem.rows
    errors = Errors(
        score=UNIT_TWICE * (rows.n_columns + 8),
        sums=UNIT_TWICE * (rows.largest_block + 64),
        terms=8.0 * UNIT_TWICE if problem.dual.quadratic is not None else 16.0 * UNIT,
    )
    terms, penalty, conjugate = sums.terms, None, None
    pairs = (terms.loss, terms.dual, terms.balance)
    if np.isfinite(pairs).all() and np.isfinite(sums.v).all():
        penalty = problem.penalty.precise_value(w)
        objective = (
            math.inf if penalty is None else sum(penalty) + sum(terms.loss) + problem.offset.penalty(b)
        )
        conjugate = problem.penalty.precise_conjugate(sums.v, origin, terms.balance, not_below(objective))
    if penalty is None or conjugate is None:
        return certificate_of("duality", math.inf, 0.0), False
    values = Values(penalty, terms.loss, terms.dual, [terms.balance], conjugate, terms.total)
    distance = math.sqrt(terms.furthest2) * (1.0 + 1e-9)
    at_zero = _offset_reach(problem, 0.0)
    reach = Reach(_precise_reach(problem, terms, inner(origin, w)), distance, at_zero)
    return conclude(problem, errors, values, [b], reach)


def _precise_reach(problem: Problem, terms: PreciseTerms, origin_score: float) -> float:
    """Return what `_offset_reach` does, by the scores of each class and about another origin."""
    costs, form = problem.class_costs, problem.dual
    if costs.positive == 0 or costs.negative == 0:
        return 0.0
    # The scores and that of the origin may be large and cancel.
    size = abs(origin_score) + abs(terms.least_score) + abs(terms.most_score)
    doubt = 4.0 * UNIT * (problem.rows.n_columns + 8) * size
    if math.isfinite(form.rests_at):
        low, high = -form.rests_at - terms.most_negative, form.rests_at - terms.least_positive
        return max(abs(low + origin_score - doubt), abs(high + origin_score + doubt))
    most = max(terms.most_score - origin_score, origin_score - terms.least_score)
    return most + form.offset_reach(costs.positive, costs.negative) + doubt


# ------------------------------------------------------------------------------------------------
# How well the conditions of optimality hold, as numbers a reader of the lecture notes knows.


def stationarity(
    problem: Problem, point: CertifiedPoint, *, token: StopToken | None = None
) -> dict[str, float]:
    """Return the residuals of the gradient of a smooth loss.

    At the optimum of the logistic loss the mistake probabilities 1 − P(yₜ|xₜ), weighted by cost, are
    orthogonal to the labels, Σ sₜ cₜ (1 − Pₜ) = 0 when the offset is free, and reproduce the weights,
    Σ sₜ cₜ xₜ (1 − Pₜ) = θ.
    Without regularisation they are orthogonal to every label × feature column as well: the second sum is 0.
    Other smooth losses have their slope −ℓ′(mₜ) in the place of 1 − Pₜ. For softmax both are those of the
    worst class, Σ c (e_y − P) and Σ c (e_y − P) xᵀ = W; there are none where a pass would take long.

    Returns
    -------
    dict
        ``"labels"``: |Σ s c (1 − P)| (less b/scale² when the offset is penalised; absent without offset);
        ``"features"``: the largest component of |Σ s c x (1 − P) − ρθ|.
    """
    if problem.n_outputs > 1:
        return _stationarity_of_outputs(problem, point, token)
    kernel = _SumPulls(problem.loss.name, point.b, problem.rows.n_columns)
    pulls = problem.rows.reduce(kernel, point.scores, problem.sign, problem.cost, token=token)
    residuals = {"features": float(np.abs(problem.penalty.residual(point.w, pulls.weights)).max(initial=0.0))}
    if not problem.offset.is_absent:
        penalty = problem.offset.slope(point.b)
        residuals["labels"] = abs(pulls.total - penalty)
    return residuals


_MOST_PRODUCTS = 2_000_000_000  # with more than that a pass is worth more than two numbers


def _stationarity_of_outputs(
    problem: Problem, point: CertifiedPoint, token: StopToken | None
) -> dict[str, float]:
    if point.pulls is not None:
        pull, total = point.pulls
    elif problem.n_outputs * problem.rows.n_values > _MOST_PRODUCTS:
        return {}
    else:
        kernel = SoftmaxGradient(point.w, np.asarray(point.b))
        sums = problem.rows.reduce(kernel, problem.targets.values, problem.cost, token=token)
        assert sums.gradient is not None
        pull, total = -sums.gradient, -sums.balance
    residuals = {"features": float(np.abs(problem.penalty.residual(point.w, pull)).max(initial=0.0))}
    if not problem.offset.is_absent:
        balance = problem.offset.stiffness * point.b - total
        residuals["labels"] = float(np.abs(balance).max())
    return residuals


@dataclass(frozen=True, eq=False)
class _Pulls(Record):
    """Σ p x and Σ p for the pulls p = s c (1 − P)."""

    weights: Array
    total: float


@dataclass(frozen=True)
class _SumPulls:
    loss: str
    b: float
    n_columns: int

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Pulls:
        z, sign, cost = pieces
        weights = np.zeros(self.n_columns)
        total = _core.implied_pull(self.loss, block, z, sign, cost, self.b, weights, token)
        return _Pulls(weights, total)
