"""The proof: a dual bound recomputed from the rows, by code that no solver touches.

For any w, b and any dual point α that obeys its bounds, with v = Σ sαx and r = Σ sα,

    P(w*, b*) ≥ −Σ c ℓ*(−α/c) − ½‖v‖² − r b* ,

and the same holds about any other origin μ, where x, v and b* become x − μ, v − rμ and b* + μ·w*. A free
offset wants r = 0; the point is made so to rounding first, and what remains is paid for. At the optimum both
classes touch the margin, so that b* lies between the scores of the two (further out by |log of the ratio of
class costs| for the logistic loss); and w*, whose scores these are, is within √(2·gap) of w. A penalised
offset adds ½ scale² r² instead, and without offset b* = 0.

Every number is computed with a bound of its rounding error. The objective is stated above it and the bound
below it, so that both hold whatever the order of sums. Double precision comes first. Where its errors are
what keeps the gap above the tolerance, the sums are made once more in twice the precision (tiny objectives,
columns far from 0), about the mean of the rows by α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.certificate.lp_dual import examine_by_multipliers
from maxmargin.core.certificate.newton_decrement import examine_by_decrement
from maxmargin.core.certificate.point import Examination, certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, RowVector, Scale, inner
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
) -> Examination:
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
    if problem.offset.is_absent and b:
        raise ValueError(f"a problem without offset has the offset 0; got b={b!r}")
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
    certificate, is_hidden = _in_double_precision(problem, w, offset, seen, terms, seen.linear * scale)
    least_agreement = math.nan
    if rows.n_values <= _FEW_VALUES:
        enough = 0.0
    if is_hidden and not certificate.relative_gap <= enough:
        origin = _mean_row(problem, feasible, seen.linear, token)
        kernel = _SumPreciseTerms(problem.loss.name, w, offset, origin)
        sums = rows.reduce(kernel, sign, cost, feasible, token=token)
        certificate, _ = _in_twice_the_precision(problem, w, offset, origin, sums)
        least_agreement = sums.least_agreement
    return Examination(w, offset, interval, feasible, z, certificate, least_agreement)


# ---------------------------------------------------------------- double precision


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
        return _Terms(terms.loss, terms.dual, terms.balance)

    def merge(self, first: _Terms, second: _Terms) -> _Terms:
        return _Terms(first.loss + second.loss, first.dual + second.dual, first.balance + second.balance)


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
    return best if math.isfinite(best) and abs(best - 1.0) > _WORTH_SCALING else 1.0


def _in_double_precision(
    problem: Problem, w: Array, b: float, seen: _Products, terms: _Terms, total: float
) -> tuple[Certificate, bool]:
    rows = problem.rows
    errors = _Errors(
        score=2.0 * _UNIT * (rows.n_columns + 8),
        sums=2.0 * _UNIT * (rows.largest_block + 64),
        # A logistic term is a few operations, some of which magnify the errors of others.
        terms=_UNIT * (8.0 if problem.dual.quadratic is not None else 1024.0),
    )
    numbers = np.array([inner(w, w), terms.loss, terms.dual, terms.balance, inner(seen.v, seen.v)])
    if not np.isfinite(numbers).all():
        return certificate_of("duality", math.inf, 0.0), False
    squares, loss, dual, balance, pull = (Fraction(number) for number in numbers.tolist())
    values = _Values(squares / 2, loss, dual, balance, pull / 2, total)
    return _conclude(problem, errors, values, b, _reach(problem, seen), _largest_norm(problem))


def _largest_norm(problem: Problem) -> float:
    return math.sqrt(problem.rows.norms()[1]) * (1.0 + 1e-9)


def _reach(problem: Problem, seen: _Products) -> tuple[float, float]:
    """Return between which numbers the best offset would be if the scores of w* were those of w."""
    costs = problem.class_costs
    if costs.positive == 0 or costs.negative == 0:
        return 0.0, 0.0
    most = seen.largest_score + problem.dual.offset_reach(costs.positive, costs.negative)
    return -most, most


# ---------------------------------------------------------------- twice the precision


@dataclass(frozen=True, eq=False)
class _PreciseSums:
    """Sums in twice the precision, high parts before low ones: (loss, dual, Σ sα), and v = Σ sαx.

    Besides, in double precision, Σ α, extreme agreements and scores, and the largest ‖x − origin‖².
    """

    numbers: Array
    v: Array
    total: float
    least_agreement: float
    least_score: float
    most_score: float
    least_positive: float
    most_negative: float
    furthest2: float


@dataclass(frozen=True)
class _SumPreciseTerms:
    loss: str
    w: Array
    b: float
    origin: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _PreciseSums:
        sign, cost, alpha = pieces
        v = np.zeros((2, self.w.shape[0]))
        sums = _core.precise_terms(
            self.loss, block, self.w, self.b, self.origin, sign, cost, alpha, v[0], v[1], token
        )
        return _PreciseSums(
            np.array([sums.loss, sums.dual, sums.balance]).T.copy(),
            v,
            sums.total,
            sums.least_agreement,
            sums.least_score,
            sums.most_score,
            sums.least_positive,
            sums.most_negative,
            sums.furthest2,
        )

    def merge(self, first: _PreciseSums, second: _PreciseSums) -> _PreciseSums:
        return _PreciseSums(
            _add_twofold(first.numbers, second.numbers),
            _add_twofold(first.v, second.v),
            first.total + second.total,
            min(first.least_agreement, second.least_agreement),
            min(first.least_score, second.least_score),
            max(first.most_score, second.most_score),
            min(first.least_positive, second.least_positive),
            max(first.most_negative, second.most_negative),
            max(first.furthest2, second.furthest2),
        )


def _add_twofold(first: Array, second: Array) -> Array:
    """Add numbers of twice the precision; the high parts are in row 0, the low ones in row 1."""
    high = first[0] + second[0]
    part = high - first[0]
    low = (first[0] - (high - part)) + (second[0] - part) + (first[1] + second[1])
    rounded = high + low
    return np.stack([rounded, low - (rounded - high)])


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
    if not (np.isfinite(sums.numbers).all() and np.isfinite(sums.v).all()):
        return certificate_of("duality", math.inf, 0.0), False
    loss, dual, balance = (Fraction(high) + Fraction(low) for high, low in sums.numbers.T.tolist())
    nothing = np.zeros_like(w)
    balance_high, balance_low = sums.numbers[:, 2].tolist()
    squares = _core.precise_norm2(w, nothing, nothing, (0.0, 0.0))
    pull = _core.precise_norm2(sums.v[0], sums.v[1], origin, (balance_high, balance_low))
    if not np.isfinite([*squares, *pull]).all():
        return certificate_of("duality", math.inf, 0.0), False
    values = _Values(
        (Fraction(squares[0]) + Fraction(squares[1])) / 2,
        loss,
        dual,
        balance,
        (Fraction(pull[0]) + Fraction(pull[1])) / 2,
        sums.total,
    )
    reach = _precise_reach(problem, sums, inner(origin, w))
    return _conclude(problem, errors, values, b, reach, math.sqrt(sums.furthest2) * (1.0 + 1e-9))


def _precise_reach(problem: Problem, sums: _PreciseSums, origin_score: float) -> tuple[float, float]:
    """Return what `_reach` does, by the scores of each class and about another origin."""
    costs, form = problem.class_costs, problem.dual
    if costs.positive == 0 or costs.negative == 0:
        return 0.0, 0.0
    # The scores and that of the origin may be large and cancel.
    size = abs(origin_score) + abs(sums.least_score) + abs(sums.most_score)
    doubt = 4.0 * _UNIT * (problem.rows.n_columns + 8) * size
    if math.isfinite(form.rests_at):
        low, high = -form.rests_at - sums.most_negative, form.rests_at - sums.least_positive
        return low + origin_score - doubt, high + origin_score + doubt
    most = max(sums.most_score - origin_score, origin_score - sums.least_score)
    most += form.offset_reach(costs.positive, costs.negative) + doubt
    return -most, most


# ---------------------------------------------------------------- both


@dataclass(frozen=True)
class _Errors:
    """Relative errors: of a score, by the sizes of the row and of w; of a sum over rows; of a row's terms."""

    score: float
    sums: float
    terms: float


@dataclass(frozen=True)
class _Values:
    """½‖w‖², Σ c ℓ(m), −Σ c ℓ*(−α/c), Σ sα and ½‖v‖² as they were computed, and about Σ α."""

    squares: Fraction
    loss: Fraction
    dual: Fraction
    balance: Fraction
    pull: Fraction
    total: float


def _conclude(
    problem: Problem,
    errors: _Errors,
    values: _Values,
    b: float,
    reach: tuple[float, float],
    largest_distance: float,
) -> tuple[Certificate, bool]:
    """Return a certificate that holds whatever rounding did, and whether rounding is much of its gap.

    `reach` is the range of the best offset at the scores of w, `largest_distance` that of a row from the
    origin.
    """
    offset, largest_norm = problem.offset, _largest_norm(problem)
    is_penalized = offset.square > 0
    penalty = (Fraction(b) / Fraction(offset.scale)) ** 2 / 2 if is_penalized else Fraction(0)
    squares, loss, dual, pull = (float(x) for x in (values.squares, values.loss, values.dual, values.pull))
    size = largest_norm * math.sqrt(2.0 * squares)
    # The scores of w = 0 are exact, and so are agreements with an infinite offset.
    agreement_error = errors.score * (size + abs(b)) if size > 0 and math.isfinite(b) else 0.0
    objective_error = (
        (errors.sums + errors.score) * (squares + float(penalty))
        + (errors.sums + errors.terms) * loss
        + problem.dual.loss_change(loss, problem.class_costs.total, agreement_error)
    )
    objective = values.squares + values.loss + penalty + Fraction(objective_error)
    pull_error = errors.sums * largest_norm * values.total
    balance_error = errors.sums * values.total
    dual_error = (
        (errors.sums + errors.terms) * (abs(dual) + 2.0 * values.total)
        + errors.sums * pull
        + math.sqrt(2.0 * pull) * pull_error
        + pull_error * pull_error
    )
    bound = values.dual - values.pull
    if is_penalized:
        bound -= (Fraction(offset.scale) * values.balance) ** 2 / 2
        dual_error += offset.square * balance_error * (abs(float(values.balance)) + balance_error)
    bound -= Fraction(dual_error)
    price = 0.0
    if offset.is_free:
        imbalance = abs(float(values.balance)) + balance_error
        furthest = max(abs(end) for end in reach) + agreement_error
        price = _price_of_imbalance(float(objective - bound), imbalance, furthest, largest_distance)
        bound -= Fraction(price)
    objective_up, bound_down = _rounded_up(objective), -_rounded_up(-bound)
    of_objective = objective_error + math.ulp(objective_up)
    of_bound = dual_error + price + math.ulp(bound_down)
    is_hidden = of_objective + of_bound > _WORTH_PRECISION * (objective_up - bound_down)
    # Where 0 is the bound, no error has touched it.
    rounding = of_objective + (of_bound if bound_down > 0 else 0.0)
    return certificate_of("duality", objective_up, bound_down, rounding), is_hidden


def _price_of_imbalance(gap: float, imbalance: float, furthest: float, largest_distance: float) -> float:
    """Return the most that |Σ sα| · |b*| can be, where |b*| ≤ `furthest` if the scores of w* are those of w.

    The range of b* grows with ‖w − w*‖ ≤ √(2·gap), and the gap with the price: with r = √gap this is
    r² = gap₀ + ε(B + √2·max‖x‖·r), whose positive root is taken.
    """
    if imbalance == 0:
        return 0.0
    slope = imbalance * math.sqrt(2.0) * largest_distance
    constant = max(gap, 0.0) + imbalance * furthest
    root = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * constant))
    return imbalance * furthest + slope * root


def _rounded_up(number: Fraction) -> float:
    """Return the smallest double that is not below a number; infinite if there is none."""
    try:
        nearest = float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
    return nearest if nearest >= number else math.nextafter(nearest, math.inf)


# ------------------------------------------------------------------------------------------------
# How well the conditions of optimality hold, as numbers a reader of the lecture notes knows.


def stationarity(problem: Problem, point: Examination, *, token: StopToken | None = None) -> dict[str, float]:
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
class _Pulls:
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

    def merge(self, first: _Pulls, second: _Pulls) -> _Pulls:
        np.add(first.weights, second.weights, out=first.weights)
        return _Pulls(first.weights, first.total + second.total)
