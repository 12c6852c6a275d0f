"""The path over C with a certificate for every C: few fits, and mixtures of neighbours in between.

The path begins at the smallest C and takes steps in log C, each fit starting from the one before. What the
mixtures of the two ends do not certify is split, and the fit there starts from the mixtures. How wide a
pair may be is learnt on the way: the gap between two fits grows like a power of their distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import ScoresAndCombine
from maxmargin.selection.path.record import Mixtures
from maxmargin.selection.warm_start import start_at_other_cost

__all__ = ["FIT_SHARE", "FollowedPath", "follow_path", "visit_values"]


FIT_SHARE = 0.3  # of the tolerance, for each fit; the rest is for the mixtures
_FIRST_STEP, _FIRST_SMOOTH_STEP = math.log(8.0), math.log(32.0)  # in log C; smooth paths bend less
_POWER = 2.5  # of the distance in log C: how the gap of the mixtures grows
_AIM, _ENOUGH = 0.8, 0.95  # shares of the tolerance at which steps and splits aim
_LONGER, _SHORTER = 3.0, 0.3  # the most that steps change by from one to the next
_NARROW = 0.1  # pairs narrower than this times √tol in log C are certified by exact fits; inexact ones never

_ENDINGS = (Status.INTERRUPTED, Status.MAX_TIME, Status.STOPPED)

Solve = Callable[[float, "list[Any] | None"], "list[Solution] | None"]
Errors = Callable[[list[Array], list[float]], float]


@dataclass(frozen=True, eq=False)
class Stop:
    """A value of C at which the path has weights of its own.

    Attributes
    ----------
    C : float
    coef : array of shape (n_problems, n_columns)
    intercept : array of shape (n_problems,)
    certificates : one per problem
    error : float
        The share of the rows that are wrong.
    n_support : int
        Rows with a dual variable above 0 in any problem.
    """

    C: float
    coef: Array
    intercept: Array
    certificates: list[Certificate]
    error: float
    n_support: int


@dataclass(frozen=True, eq=False)
class FollowedPath:
    """The stops in order of C, the mixtures between each and the next, and what ended it early, if so."""

    stops: list[Stop]
    mixtures: list[list[Mixtures]]
    n_fits: int
    ended: Status | None


class _Over(Exception):
    """No more fits: the time is up, or a stop was asked for."""


class _Wanted(Protocol):
    """Which values of C need a certificate."""

    @property
    def last(self) -> float: ...

    def missing(self, pairs: list[Between]) -> list[tuple[float, float]]: ...

    def below(self, C: float, low: float) -> float: ...

    def nearest(self, C: float, low: float, high: float) -> float: ...

    def given_between(self, low: float, high: float) -> list[float]: ...


@dataclass(frozen=True)
class _EveryC:
    """All between the first and the last."""

    last: float
    tol: float

    def missing(self, pairs: list[Between]) -> list[tuple[float, float]]:
        return [interval for pair in pairs for interval in pair.certify(self.tol)]

    def below(self, C: float, low: float) -> float:
        return C

    def nearest(self, C: float, low: float, high: float) -> float:
        return C

    def given_between(self, low: float, high: float) -> list[float]:
        return []


@dataclass(frozen=True)
class _GivenC:
    """Given values, in increasing order."""

    values: tuple[float, ...]
    tol: float

    @property
    def last(self) -> float:
        return self.values[-1]

    def missing(self, pairs: list[Between]) -> list[tuple[float, float]]:
        wanted = np.array(self.given_between(pairs[0].low.C, pairs[0].high.C))
        return [(C, C) for pair in pairs for C in self._missing_of(pair, wanted)]

    def _missing_of(self, pair: Between, wanted: Array) -> list[float]:
        while wanted.size:
            missing = wanted[pair.mixtures.relative_gaps(wanted) > self.tol]
            if not missing.size or not pair.improve(missing, self.tol):
                return [float(C) for C in missing]
        return []

    def below(self, C: float, low: float) -> float:
        """Return the largest value up to C, or else the first one above low."""
        return max(self.given_between(low, C * (1.0 + 1e-9)), default=min(v for v in self.values if v > low))

    def nearest(self, C: float, low: float, high: float) -> float:
        """Return the value nearest to C (in log C) among those between low and high."""
        return min(self.given_between(low, high), key=lambda value: abs(math.log(value / C)))

    def given_between(self, low: float, high: float) -> list[float]:
        return [C for C in self.values if low < C < high]


def follow_path(
    problems: Sequence[Problem], solve: Solve, C_min: float, C_max: float, tol: float, errors: Errors
) -> FollowedPath:
    """Certify every C between two values.

    Parameters
    ----------
    problems : sequence of Problem
        On the same rows, with the costs of C = 1.
    solve : function
        From C and one warm start per problem (or None) to one solution per problem, each to `FIT_SHARE` times
        the tolerance; None when there is no time left. The first call has to be answered.
    C_min, C_max : float
    tol : float
        The relative gap of the certificates.
    errors : function
        From the scores and offsets of all problems to the share of rows that are wrong.
    """
    return _Path(problems, solve, errors, _EveryC(C_max, tol), tol).follow(C_min)


def visit_values(
    problems: Sequence[Problem], solve: Solve, values: Sequence[float], tol: float, errors: Errors
) -> FollowedPath:
    """Certify given values of C, in increasing order; arguments as those of `follow_path`.

    A value at which the mixtures of its neighbours are good enough needs no fit.
    """
    return _Path(problems, solve, errors, _GivenC(tuple(values), tol), tol).follow(values[0])


@dataclass(frozen=True, eq=False)
class _Place:
    """A fit of every problem at one C."""

    C: float
    fits: list[Fitted]
    solutions: list[Solution]

    @property
    def relative_gap(self) -> float:
        return max(solution.certificate.relative_gap for solution in self.solutions)


class _Path:
    """The path as far as it goes: stops by C, and the pair that begins at each."""

    def __init__(
        self, problems: Sequence[Problem], solve: Solve, errors: Errors, wanted: _Wanted, tol: float
    ) -> None:
        self._problems = list(problems)
        self._solve, self._errors = solve, errors
        self._wanted, self._tol = wanted, tol
        self._stops: dict[float, Stop] = {}
        self._next: dict[float, tuple[float, list[Mixtures]]] = {}
        self._n_fits = 0
        self._ended: Status | None = None

    def follow(self, C: float) -> FollowedPath:
        try:
            self._step_upwards(self._fit(C, None))
        except _Over:
            pass
        except KeyboardInterrupt:
            if not self._stops:
                raise
            self._ended = Status.INTERRUPTED
        stops, mixtures = [self._stops[C]], []
        while C in self._next:
            C, found = self._next[C]
            stops.append(self._stops[C])
            mixtures.append(found)
        return FollowedPath(stops, mixtures, self._n_fits, self._ended)

    # ------------------------------------------------------------------ steps

    def _step_upwards(self, place: _Place) -> None:
        is_smooth = self._problems[0].loss.is_smooth
        step = _FIRST_SMOOTH_STEP if is_smooth else _FIRST_STEP
        while self._wanted.last > place.C:
            self._stop_if_over()
            here = self._fit(self._target(place.C, step), place)
            pairs = self._between(place, here)
            self._link(place, here, pairs)
            width, fitting = self._cover(place, here, pairs)
            step = min(max(fitting, _SHORTER * width), _LONGER * width)
            place = here

    def _target(self, C: float, step: float) -> float:
        """Return the next C; what is left at the end is divided evenly."""
        last = self._wanted.last
        left = math.log(last / C)
        steps = math.ceil(left / step - 0.05)
        if steps <= 1:
            return last
        return self._wanted.below(C * math.exp(left / steps if steps <= 3 else step), C)

    def _cover(self, low: _Place, high: _Place, pairs: list[Between]) -> tuple[float, float]:
        """Split a pair until all in between is certified.

        Returns how wide the last pair is in log C, and how wide it should have been.
        """
        missing = self._wanted.missing(pairs)
        gap = max(pair.largest_gap() for pair in pairs)
        width = math.log(high.C / low.C)
        if not missing or not self._may_split(low, high, width):
            self._settle(low, high, pairs)
            return width, width / self._units(low, high, gap, _AIM)
        self._link(low, high, pairs)
        self._stop_if_over()
        parts = min(max(2, math.ceil(self._units(low, high, gap, _ENOUGH))), 64)
        C = self._wanted.nearest(low.C * math.exp(width * (parts // 2) / parts), low.C, high.C)
        middle = self._fit(C, [pair.start(C) for pair in pairs])
        lower, upper = self._between(low, middle), self._between(middle, high)
        self._link(middle, high, upper)  # in this order: whenever it is interrupted, the chain is whole
        self._link(low, middle, lower)
        self._cover(low, middle, lower)
        return self._cover(middle, high, upper)

    def _may_split(self, low: _Place, high: _Place, width: float) -> bool:
        """Whether fits in between can help: not if the fits at the ends are worse than the tolerance."""
        return max(low.relative_gap, high.relative_gap) <= self._tol and width > _NARROW * math.sqrt(
            self._tol
        )

    def _units(self, low: _Place, high: _Place, gap: float, aim: float) -> float:
        """Return by how much a pair is wider than one whose gap is this share of the tolerance."""
        own, tol = max(low.relative_gap, high.relative_gap), self._tol
        beyond = max(gap - own, 1e-3 * tol) / max(aim * tol - own, 0.1 * tol)
        return float(min(beyond, 1e9) ** (1.0 / _POWER))

    # ------------------------------------------------------------------ fits

    def _fit(self, C: float, start: _Place | list[Any] | None) -> _Place:
        starts = _starts_from(start, C) if isinstance(start, _Place) else start
        solutions = self._solve(C, starts)
        if solutions is None:
            self._ended = Status.MAX_TIME
            raise _Over
        self._n_fits += 1
        pairs = zip(self._problems, solutions, strict=True)
        fits = [fitted_from(problem, C, solution) for problem, solution in pairs]
        proofs = [solution.certificate for solution in solutions]
        self._stops[C] = self._stop_at(C, [(f.w, f.b, f.z, f.tau) for f in fits], proofs)
        for solution in solutions:
            if solution.status in _ENDINGS:
                self._ended = solution.status
        return _Place(C, fits, solutions)

    def _stop_if_over(self) -> None:
        if self._ended is not None:
            raise _Over

    def _between(self, low: _Place, high: _Place) -> list[Between]:
        return [Between(*three) for three in zip(self._problems, low.fits, high.fits, strict=True)]

    def _link(self, low: _Place, high: _Place, pairs: list[Between]) -> None:
        """Note what is known between two fits so far."""
        self._next[low.C] = high.C, [pair.mixtures for pair in pairs]

    def _settle(self, low: _Place, high: _Place, pairs: list[Between]) -> None:
        """Note what is known between two fits for good: at given values each by itself."""
        given = [low.C, *self._wanted.given_between(low.C, high.C), high.C]
        for C in given[1:-1]:
            points = [(*pair.weights(C), pair.duals(C)) for pair in pairs]
            self._stops[C] = self._stop_at(C, points, [pair.mixtures.certificate(C) for pair in pairs])
        for C, following in zip(given[-2::-1], given[:0:-1], strict=True):
            self._next[C] = following, [pair.mixtures for pair in pairs]

    def _stop_at(
        self, C: float, points: list[tuple[Array, float, Array, Array]], proofs: list[Certificate]
    ) -> Stop:
        weights, offsets, scores, duals = zip(*points, strict=True)
        held: NDArray[np.bool_] = np.any([tau > 0 for tau in duals], axis=0)
        error = self._errors(list(scores), list(offsets))
        return Stop(C, np.array(weights), np.array(offsets), proofs, error, int(np.count_nonzero(held)))


def _starts_from(place: _Place, C: float) -> list[Any]:
    """Return the solutions at another C as starts; far away they are as good as none, and never worse."""
    return [start_at_other_cost(solution, C / place.C) for solution in place.solutions]


# ------------------------------------------------------------------------------------------------
# Between two values of C: mixtures of the two solutions, and for which C they are certified.
#
# A solution at C is weights (w, b) and duals α = Cτ. With costs c = Cu, u the cost of a row at C = 1, any
# (w, b) and any feasible τ prove, for every C at once,
#
#     objective(C) = q + C R,    bound(C) = C G − ½ C² Q,
#
# q = ½‖w‖² plus the penalty of b, R = Σ u ℓ(m), G the duals' own value at unit cost, Q = ‖Σ sτx‖² plus
# what a penalised offset adds. Weights of two solutions may be mixed, and so may their τ, Σ sτ = 0
# included, with another share. Nothing of this reads the rows: scores are mixed with the weights, Σ sτx
# with the duals, and where G is a parabola of the share, as for the hinges, it is known for all shares at
# once. For the logistic loss G is concave, so that chords between a few shares lie below it.

_FIRST_SHARES = np.linspace(0.0, 1.0, 9)  # of weights that are looked at
_MORE_SHARES = 8  # at most, where the prediction is good
_DUAL_SHARES = np.linspace(0.0, 1.0, 65)
# At which the logistic loss's G is summed up, at first and where chords of a shorter reach may help.
_FEW_ENTROPIES, _MORE_ENTROPIES = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 17)
_WORTH_SUMMING = 1.1  # the likely gap, in units of the tolerance, at which they may
_LOOKED_AT = 65  # values of C at which a range is judged; proofs do not depend on them
_SAME = 1e-3  # shares nearer than this are one


@dataclass(frozen=True, eq=False)
class Fitted:
    """The solution of one problem at one C, in units of C.

    Attributes
    ----------
    C : float
    w, b : the weights and the offset
    z : the rows' scores x·w
    tau : the duals divided by C, feasible for the unit costs
    v : Σ sτx
    balance : Σ sτ, which a free offset leaves to rounding
    reach : a bound on the best |b| at this C and below
    """

    C: float
    w: Array
    b: float
    z: Array
    tau: Array
    v: Array
    balance: float
    reach: float


def fitted_from(problem: Problem, C: float, solution: Solution) -> Fitted:
    """Read the rows once more for the scores and Σ sτx; `problem` has unit costs."""
    rows = problem.rows
    tau = solution.alpha / C
    if problem.dual.bounded:
        np.minimum(tau, problem.cost, out=tau)  # α ≤ Cu, but the division rounds
    signed = problem.sign * tau
    z = rows.zeros()
    v = rows.reduce(ScoresAndCombine(solution.coef), z, signed)
    balance, reach = float(signed.sum()), _reach(problem, solution)
    return Fitted(C, solution.coef, solution.intercept, z, tau, v, balance, reach)


def _reach(problem: Problem, solution: Solution) -> float:
    """Return a bound on the optimal |b| at the solution's C and every smaller one.

    ‖w*‖ never falls when C grows, and is within √(2·gap) of the solution's.
    """
    costs = problem.class_costs
    if not problem.offset.is_free or min(costs.positive, costs.negative) == 0:
        return 0.0
    length = math.sqrt(inner(solution.coef, solution.coef)) + math.sqrt(2.0 * solution.certificate.gap)
    largest = math.sqrt(problem.rows.norms()[1])
    return length * largest + problem.dual.offset_reach(costs.positive, costs.negative)


@dataclass(frozen=True, eq=False)
class _MixedLosses:
    """Σ u ℓ(m) of mixtures of two points with the given shares."""

    loss: str
    offsets: tuple[float, float]
    shares: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        low, high, sign, unit = pieces
        totals = np.zeros(len(self.shares))
        _core.mixed_losses(self.loss, low, high, sign, unit, self.offsets, self.shares, totals)
        return totals


@dataclass(frozen=True, eq=False)
class _MixedGains:
    """G of mixtures of two dual points with the given shares."""

    loss: str
    shares: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        low, high, unit = pieces
        return np.array([self._gain(_mixed(low, high, share), unit) for share in self.shares.tolist()])

    def _gain(self, tau: Array, unit: Array) -> float:
        np.minimum(tau, unit, out=tau)  # mixing rounds
        return float(_core.loss_dual_value(self.loss, tau, unit).sum())


@dataclass(frozen=True)
class _SquareSums:
    """Σ τ²/u, for the first point, both together, and the second."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        low, high, unit = pieces
        live = unit > 0
        over = np.divide(1.0, unit, out=np.zeros_like(unit), where=live)
        return np.array([(low * low * over).sum(), (low * high * over).sum(), (high * high * over).sum()])


def _mixed(low: Array, high: Array, share: float) -> Array:
    """Return (1 − share) low + share high; the very numbers of an end."""
    if share in (0.0, 1.0):
        return np.array(high if share else low)
    mixed = high - low
    mixed *= share
    mixed += low
    return mixed


def _parabola(share: Array, first: float, both: float, second: float) -> Array:
    """Return ‖(1 − t)a + tb‖² from ‖a‖², a·b and ‖b‖²; never below 0."""
    rest = 1.0 - share
    return np.maximum(rest * rest * first + 2.0 * rest * share * both + share * share * second, 0.0)


class Between:
    """Two solutions of one problem, and the mixtures of them that have been looked at.

    Parameters
    ----------
    problem : Problem
        With unit costs.
    low, high : Fitted
        At the smaller and the larger C.
    """

    def __init__(self, problem: Problem, low: Fitted, high: Fitted) -> None:
        self._problem = problem
        self.low, self.high = low, high
        share, penalty, loss = self._weights(_FIRST_SHARES)
        gain, square = self._duals(_FEW_ENTROPIES)
        self._above_chords: Array | None = None  # what G probably is beyond its chords
        if problem.dual.quadratic is None:
            few = np.interp(_FEW_ENTROPIES, _DUAL_SHARES, gain)
            curve = np.polyfit(_FEW_ENTROPIES, few, len(few) - 1)
            self._above_chords = np.maximum(np.polyval(curve, _DUAL_SHARES) - gain, 0.0)
        self.mixtures = Mixtures(share, penalty, loss, _DUAL_SHARES, gain, square)

    def _weights(self, share: Array) -> tuple[Array, Array, Array]:
        """Return shares, q and R."""
        low, high, problem = self.low, self.high, self._problem
        products = inner(low.w, low.w), inner(low.w, high.w), inner(high.w, high.w)
        penalty = 0.5 * _parabola(share, *products)
        penalty += [problem.offset.penalty(low.b + t * (high.b - low.b)) for t in share.tolist()]
        kernel = _MixedLosses(problem.loss.name, (low.b, high.b), share)
        loss = problem.rows.reduce(kernel, low.z, high.z, problem.sign, problem.cost)
        return share, penalty, loss

    def _duals(self, entropies: Array) -> tuple[Array, Array]:
        """Return G and Q for the dual shares; G, where it is no parabola, by chords between some shares."""
        low, high, problem = self.low, self.high, self._problem
        share, offset = _DUAL_SHARES, problem.offset
        square = _parabola(share, inner(low.v, low.v), inner(low.v, high.v), inner(high.v, high.v))
        if offset.square > 0:
            square += offset.square * (low.balance + share * (high.balance - low.balance)) ** 2
        taus = (low.tau, high.tau, problem.cost)
        if problem.dual.quadratic is None:
            some = problem.rows.reduce(_MixedGains(problem.loss.name, entropies), *taus)
            gain = np.interp(share, entropies, some)
        else:
            first, second = float(low.tau.sum()), float(high.tau.sum())
            gain = first + share * (second - first)
            if problem.dual.quadratic > 0:
                sums = problem.rows.reduce(_SquareSums(), *taus)
                gain -= 0.5 * problem.dual.quadratic * _parabola(share, *sums.tolist())
        # With a free offset the bound holds where Σ sτ = 0; what rounding leaves of it is paid for.
        gain -= max(abs(low.balance), abs(high.balance)) * max(low.reach, high.reach)
        return gain, square

    def improve(self, C: NDArray[np.float64], tol: float) -> bool:
        """Try weights that are predicted to certify the worst of these C; return False if there are none."""
        found = self.mixtures
        if self._above_chords is not None:
            if float(self._likely().relative_gaps(C).max()) > _WORTH_SUMMING * tol:
                return False
            gain, square = self._duals(_MORE_ENTROPIES)
            self._above_chords = None
            self.mixtures = replace(found, gain=gain, square=square)
            return True
        if len(found.primal_share) >= len(_FIRST_SHARES) + _MORE_SHARES:
            return False
        worst = float(C[int(np.argmax(found.relative_gaps(C)))])
        share, predicted = _vertex(found.primal_share, found.objectives(worst))
        if predicted > (1.0 + tol) * float(found.bounds(worst).max()):
            return False
        if float(np.abs(found.primal_share - share).min()) < _SAME:
            return False
        shares, penalty, loss = (
            np.concatenate(pair)
            for pair in zip(
                (found.primal_share, found.penalty, found.loss), self._weights(np.array([share])), strict=True
            )
        )
        order = np.argsort(shares)
        self.mixtures = replace(found, primal_share=shares[order], penalty=penalty[order], loss=loss[order])
        return True

    def certify(self, tol: float) -> list[tuple[float, float]]:
        """Return the ranges of C that stay without certificate."""
        while True:
            missing = self.mixtures.missing(self.low.C, self.high.C, tol)
            if not missing or not self.improve(_spread_over(missing), tol):
                return missing

    def largest_gap(self) -> float:
        """Return about the largest relative gap at any C in between."""
        C = np.geomspace(self.low.C, self.high.C, _LOOKED_AT)
        return float(self._likely().relative_gaps(C).max())

    def _likely(self) -> Mixtures:
        """Return the mixtures with the G that they probably have where only chords are known."""
        found = self.mixtures
        return found if self._above_chords is None else replace(found, gain=found.gain + self._above_chords)

    def weights(self, C: float) -> tuple[Array, float, Array]:
        """Return the best mixed weights at C, their offset, and the scores."""
        share, low, high = self.mixtures.best_weights(C), self.low, self.high
        return (
            _mixed(low.w, high.w, share),
            low.b + share * (high.b - low.b),
            _mixed(low.z, high.z, share),
        )

    def duals(self, C: float) -> Array:
        """Return the best mixed τ at C."""
        return _mixed(self.low.tau, self.high.tau, self.mixtures.best_duals(C))

    def start(self, C: float) -> WarmStart:
        """Return the best mixtures at C as the start of a fit there."""
        w, b, _ = self.weights(C)
        return WarmStart(w, b, C * self.duals(C))


def _spread_over(ranges: list[tuple[float, float]]) -> Array:
    return np.concatenate([np.geomspace(low, high, _LOOKED_AT) for low, high in ranges])


def _vertex(share: Array, value: Array) -> tuple[float, float]:
    """Return where a parabola through the lowest value and its neighbours is lowest, and how low."""
    at = min(max(int(np.argmin(value)), 1), len(share) - 2)
    t, y = share[at - 1 : at + 2], value[at - 1 : at + 2]
    left, right = (y[1] - y[0]) / (t[1] - t[0]), (y[2] - y[1]) / (t[2] - t[1])
    bend = (right - left) / (t[2] - t[0])
    if not bend > 0:
        place = int(np.argmin(y))
        return float(t[place]), float(y[place])
    vertex = min(max(0.5 * (t[0] + t[1]) - 0.5 * left / bend, t[0]), t[2])
    height = y[0] + left * (vertex - t[0]) + bend * (vertex - t[0]) * (vertex - t[1])
    return float(vertex), float(min(height, y.min()))
