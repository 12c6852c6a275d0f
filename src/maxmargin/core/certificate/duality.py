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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, CertificateTerms, DualSums, PreciseTerms, StopToken
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.certificate.lp_dual import examine_by_multipliers
from maxmargin.core.certificate.newton_decrement import examine_by_decrement
from maxmargin.core.certificate.point import CertifiedPoint, certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.losses.base import MulticlassLoss
from maxmargin.rows.base import Array, Record, RowVector, Scale, inner
from maxmargin.rows.kernels import Combine

__all__ = ["examine", "stationarity"]


# Scaling the dual point helps far from the optimum; near it, it would only spoil exact zeros and costs.
_WORTH_SCALING = 1e-3

_UNIT = 2.0**-53  # the relative error of one operation
_UNIT_TWICE = 2.0**-103  # of one in twice the precision
_FEW_VALUES = 20_000  # of so few, all digits cost next to nothing
_WORTH_PRECISION = 0.25  # a share of the gap: if rounding makes less of it, more digits would not help


def examine(
    problem: Problem,
    w: Array,
    b: float | None,
    alpha: RowVector,
    *,
    near: float | None = None,
    enough: float = 0.0,
    token: StopToken | None = None,
) -> CertifiedPoint:
    """Certify the point (w, b) with the dual point α, in one pass over the rows, or two.

    Parameters
    ----------
    w : array of shape (n_columns,)
        Any weights; they need not come from a solver.
    b : float or None
        Any offset, which has to be 0 where the problem has none; None takes the best one for these weights.
    alpha : row vector
        Any numbers; the nearest feasible dual point is used, or none where ρ = 0 and the loss is smooth.
    near : float, optional
        Where to begin to look for the best offset; it is the same from anywhere, up to rounding.
    enough : float
        A relative gap that needs no further digits; infinite where nobody is to wait for them.
    """
    if problem.offset.is_absent and np.any(b):
        raise ValueError(f"a problem without offset has the offset 0; got b={b!r}")
    if isinstance(problem.loss, MulticlassLoss):
        return _examine_outputs(problem, problem.loss, w, b, alpha, token)
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
    scale = _best_scale(problem, seen)
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


def _best_scale(problem: Problem, seen: _Products) -> float:
    """Return the θ that makes D(θα) largest, where that is a parabola: θ ≤ 1 if α is bounded."""
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


def _in_double_precision(
    problem: Problem, w: Array, b: float, seen: _Products, terms: CertificateTerms, total: float
) -> tuple[Certificate, bool]:
    rows = problem.rows
    errors = _Errors(
        score=2.0 * _UNIT * (rows.n_columns + 8),
        sums=2.0 * _UNIT * (rows.largest_block + 64),
        # A logistic term is a few operations, some of which magnify the errors of others.
        terms=_UNIT * (8.0 if problem.dual.quadratic is not None else 1024.0),
    )
    penalty, conjugate = problem.penalty.value(w), problem.penalty.conjugate(seen.v)
    if not np.isfinite([penalty, terms.loss, terms.dual, terms.balance, conjugate]).all():
        return certificate_of("duality", math.inf, 0.0), False
    values = _Values((penalty,), (terms.loss,), (terms.dual,), [(terms.balance,)], (conjugate,), total)
    reach = _Reach(_offset_reach(problem, seen.largest_score), _largest_norm(problem))
    return _conclude(problem, errors, values, [b], reach)


def _largest_norm(problem: Problem) -> float:
    return math.sqrt(problem.rows.norms()[1]) * (1.0 + 1e-9)


def _offset_reach(problem: Problem, largest_score: float) -> float:
    """Return a bound of the best offset's size if the scores of w* were those of w."""
    costs = problem.class_costs
    if costs.positive == 0 or costs.negative == 0:
        return 0.0
    return largest_score + problem.dual.offset_reach(costs.positive, costs.negative)


# ---------------------------------------------------------------- twice the precision


def _add_twofold(first: Array, second: Array) -> Array:
    """Add numbers of twice the precision; the high parts are in row 0, the low ones in row 1."""
    high = first[0] + second[0]
    part = high - first[0]
    low = (first[0] - (high - part)) + (second[0] - part) + (first[1] + second[1])
    rounded = high + low
    return np.stack([rounded, low - (rounded - high)])


@dataclass(frozen=True, eq=False)
class _PreciseSums(Record):
    """The terms in twice the precision, and v = Σ sαx: its high parts, and its low ones."""

    terms: PreciseTerms
    v: Annotated[Array, _add_twofold]


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
    errors = _Errors(
        score=_UNIT_TWICE * (rows.n_columns + 8),
        sums=_UNIT_TWICE * (rows.largest_block + 64),
        terms=8.0 * _UNIT_TWICE if problem.dual.quadratic is not None else 16.0 * _UNIT,
    )
    terms, penalty, conjugate = sums.terms, None, None
    pairs = (terms.loss, terms.dual, terms.balance)
    if np.isfinite(pairs).all() and np.isfinite(sums.v).all():
        penalty = problem.penalty.precise_value(w)
        conjugate = problem.penalty.precise_conjugate(sums.v, origin, terms.balance)
    if penalty is None or conjugate is None:
        return certificate_of("duality", math.inf, 0.0), False
    values = _Values(penalty, terms.loss, terms.dual, [terms.balance], conjugate, terms.total)
    distance = math.sqrt(terms.furthest2) * (1.0 + 1e-9)
    reach = _Reach(_precise_reach(problem, terms, inner(origin, w)), distance)
    return _conclude(problem, errors, values, [b], reach)


def _precise_reach(problem: Problem, terms: PreciseTerms, origin_score: float) -> float:
    """Return what `_offset_reach` does, by the scores of each class and about another origin."""
    costs, form = problem.class_costs, problem.dual
    if costs.positive == 0 or costs.negative == 0:
        return 0.0
    # The scores and that of the origin may be large and cancel.
    size = abs(origin_score) + abs(terms.least_score) + abs(terms.most_score)
    doubt = 4.0 * _UNIT * (problem.rows.n_columns + 8) * size
    if math.isfinite(form.rests_at):
        low, high = -form.rests_at - terms.most_negative, form.rests_at - terms.least_positive
        return max(abs(low + origin_score - doubt), abs(high + origin_score + doubt))
    most = max(terms.most_score - origin_score, origin_score - terms.least_score)
    return most + form.offset_reach(costs.positive, costs.negative) + doubt


# ---------------------------------------------------------------- several outputs


def _examine_outputs(
    problem: Problem,
    loss: MulticlassLoss,
    W: Array,
    b: Any,
    duals: RowVector,
    token: StopToken | None,
) -> CertifiedPoint:
    """Certify the point (W, b) of several outputs with any duals, a per-row array of shape (n_rows, K)."""
    rows, targets = problem.rows, problem.targets
    z, feasible = (rows.zeros(np.dtype((np.float64, (loss.n_outputs,)))) for _ in range(2))
    kernel = _ReadOutputs(loss, np.ascontiguousarray(W), np.ascontiguousarray(b, dtype=np.float64))
    sums = rows.reduce(kernel, targets.values, targets.cost, duals, z, feasible, token=token)
    penalty, conjugate = problem.penalty.value(W), problem.penalty.conjugate(sums.V)
    if np.isfinite([penalty, conjugate, *sums.numbers, *sums.balance]).all():
        errors = _Errors(
            score=2.0 * _UNIT * (rows.n_columns + 8),
            sums=2.0 * _UNIT * (rows.largest_block + 64),
            terms=1024.0 * _UNIT,
        )
        value, dual, size, total = sums.numbers.tolist()
        balance = [(number,) for number in sums.balance.tolist()]
        values = _Values((penalty,), (value,), (dual,), balance, (conjugate,), total + size)
        costs = problem.costs_by_class
        near, far = (loss.offset_reach(costs, sums.largest_score + more) for more in (0.0, 1.0))
        reach = _Reach(near, (far - near) * _largest_norm(problem))
        certificate, _ = _conclude(problem, errors, values, kernel.b.tolist(), reach)
    else:
        certificate = certificate_of("duality", math.inf, 0.0)
    return CertifiedPoint(W, kernel.b, (kernel.b, kernel.b), feasible, z, certificate)


@dataclass(frozen=True, eq=False)
class _OutputSums(Record):
    """V = Σ r xᵀ and Σ r of the duals r; Σ cℓ, −Σ cℓ*(−r/c), the sum of its terms' sizes, Σ|r|; max |W x|."""

    V: Array
    balance: Array
    numbers: Array
    largest_score: Annotated[float, max]


@dataclass(frozen=True)
class _ReadOutputs:
    """Fill z with the scores W x and make the duals feasible; add up what the certificate is made of."""

    loss: MulticlassLoss
    W: Array
    b: Array

    writes = (3, 4)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _OutputSums:
        values, cost, given, z, duals = pieces
        _core.multiply_many(block, self.W.reshape(-1), len(self.W), z.reshape(-1), token)
        duals[:] = self.loss.feasible_duals(np.nan_to_num(given), values, cost)
        V = np.zeros_like(self.W)
        for k, v in enumerate(V):
            _core.multiply(block, None, None, np.ascontiguousarray(duals[:, k]), v, token)
        of_rows = self.loss.dual_value(duals, values, cost)
        numbers = np.array(
            [
                (cost * self.loss.value(z + self.b, values)).sum(),
                of_rows.sum(),
                np.abs(of_rows).sum(),
                np.abs(duals).sum(),
            ]
        )
        largest = float(np.abs(z[cost > 0]).max(initial=0.0))
        return _OutputSums(V, duals.sum(axis=0), numbers, largest)


# ---------------------------------------------------------------- the formula


@dataclass(frozen=True)
class _Errors:
    """Relative errors: of a score, by the sizes of the row and of w; of a sum over rows; of a row's terms."""

    score: float
    sums: float
    terms: float


@dataclass(frozen=True)
class _Values:
    """The terms of primal and dual as they were computed: one double each, or a high and a low part.

    The penalty of w, Σ c ℓ, −Σ c ℓ*(−α/c), Σ sα of each output, the penalty's conjugate of v, and about Σ α.
    """

    penalty: tuple[float, ...]
    loss: tuple[float, ...]
    dual: tuple[float, ...]
    balance: Sequence[tuple[float, ...]]
    conjugate: tuple[float, ...]
    total: float


@dataclass(frozen=True)
class _Reach:
    """A bound of |b*|: `at_w` if the scores of w* are those of w, and `slope` times ‖w − w*‖ more."""

    at_w: float
    slope: float


def _conclude(
    problem: Problem, errors: _Errors, values: _Values, b: list[float], reach: _Reach
) -> tuple[Certificate, bool]:
    """Return a certificate that holds whatever rounding did, and whether rounding is much of its gap."""
    penalty, offset, largest_norm = problem.penalty, problem.offset, _largest_norm(problem)
    of_offset = [part for entry in b for part in offset.precise_penalty(entry)]
    of_weights, loss, dual, conjugate = (
        sum(x) for x in (values.penalty, values.loss, values.dual, values.conjugate)
    )
    size, largest_b = largest_norm * penalty.norm_bound(of_weights), max(abs(entry) for entry in b)
    # The scores of w = 0 are exact, and so are agreements with an infinite offset.
    score_error = errors.score * (size + largest_b) if size > 0 and math.isfinite(largest_b) else 0.0
    objective_error = (
        (errors.sums + errors.score) * (of_weights + sum(of_offset))
        + (errors.sums + errors.terms) * loss
        + problem.loss_change(loss, score_error)
    )
    objective = _rounded_up([*values.penalty, *values.loss, *of_offset, objective_error])
    v_error = errors.sums * largest_norm * values.total
    balance_error = errors.sums * values.total
    dual_error = (
        (errors.sums + errors.terms) * (abs(dual) + 2.0 * values.total)
        + errors.sums * conjugate
        + penalty.conjugate_change(conjugate, v_error)
    )
    below = [*values.conjugate, *(-part for part in values.dual)]  # minus the bound, as a sum
    for balance in values.balance:
        below += offset.precise_dual_penalty(balance)
        dual_error += offset.square * balance_error * (abs(sum(balance)) + balance_error)
    below.append(dual_error)
    price = 0.0
    if offset.is_free:
        imbalance = sum(abs(sum(balance)) for balance in values.balance) + balance_error
        slope = reach.slope * math.sqrt(2.0 / penalty.curvature)
        gap = objective + _rounded_up(below)
        price = _price_of_imbalance(gap, imbalance, reach.at_w + score_error, slope)
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


def _rounded_up(terms: list[float]) -> float:
    """Return the smallest double that is not below a sum; infinite if there is none."""
    try:
        nearest = math.fsum(terms)
        return math.nextafter(nearest, math.inf) if math.fsum([*terms, -nearest]) > 0 else nearest
    except (OverflowError, ValueError):  # beyond the doubles, or infinite terms of both signs
        return math.inf


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
    Other smooth losses have their slope −ℓ′(mₜ) in the place of 1 − Pₜ.

    Returns
    -------
    dict
        ``"labels"``: |Σ s c (1 − P)| (less b/scale² when the offset is penalised; absent without offset);
        ``"features"``: the largest component of |Σ s c x (1 − P) − ρθ|.
    """
    kernel = _SumPulls(problem.loss.name, point.b, problem.rows.n_columns)
    pulls = problem.rows.reduce(kernel, point.scores, problem.sign, problem.cost, token=token)
    residuals = {"features": float(np.abs(pulls.weights - problem.penalty.slope(point.w)).max(initial=0.0))}
    if not problem.offset.is_absent:
        penalty = problem.offset.slope(point.b)
        residuals["labels"] = abs(pulls.total - penalty)
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
