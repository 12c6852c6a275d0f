"""Between two values of C: mixtures of the two solutions, and for which C they are certified.

A solution at C is weights (w, b) and duals α = Cτ. With costs c = Cu, u the cost of a row at C = 1, any
(w, b) and any feasible τ prove, for every C at once,

    objective(C) = q + C R,    bound(C) = C G − ½ C² Q,

q = ½‖w‖² plus the penalty of b, R = Σ u ℓ(m), G the duals' own value at unit cost, Q = ‖Σ sτx‖² plus what a
penalised offset adds. Weights of two solutions may be mixed, and so may their τ, Σ sτ = 0 included, with
another share. Nothing of this reads the rows: scores are mixed with the weights, Σ sτx with the duals, and
where G is a parabola of the share, as for the hinges, it is known for all shares at once. For the logistic
loss G is concave, so that chords between a few shares lie below it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem import Problem
from maxmargin.results.mixtures import Mixtures
from maxmargin.results.solution import Solution
from maxmargin.rows import Array, inner
from maxmargin.rows.joins import AddsArrays
from maxmargin.rows.kernels import ScoresAndCombine
from maxmargin.selection.warm_start import start_of

__all__ = ["Between", "Fitted", "fitted_from"]

_FIRST_SHARES = np.linspace(0.0, 1.0, 9)  # of weights that are looked at
_MORE_SHARES = 8  # at most, where they promise something
_DUAL_SHARES = np.linspace(0.0, 1.0, 65)
# At which the logistic loss's G is summed up, at first and where chords of a shorter reach may help.
_FEW_ENTROPIES, _MORE_ENTROPIES = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 17)
_WORTH_SUMMING = 1.1  # the likely gap, in units of the tolerance, at which they may
_LOOKED_AT = 65  # values of C at which a stretch is judged; proofs do not depend on them
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
    if problem.offset.kind != "free" or min(costs.positive, costs.negative) == 0:
        return 0.0
    length = math.sqrt(inner(solution.coef, solution.coef)) + math.sqrt(2.0 * solution.certificate.gap)
    largest = math.sqrt(problem.rows.norms()[1])
    return length * largest + problem.dual.offset_reach(costs.positive, costs.negative)


@dataclass(frozen=True, eq=False)
class _MixedLosses(AddsArrays):
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
class _MixedGains(AddsArrays):
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
class _SquareSums(AddsArrays):
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
        kernel = _MixedLosses(problem.loss, (low.b, high.b), share)
        loss = problem.rows.reduce(kernel, low.z, high.z, problem.sign, problem.cost)
        return share, penalty, loss

    def _duals(self, entropies: Array) -> tuple[Array, Array]:
        """Return G and Q for the dual shares; G, where it is no parabola, by chords between some shares."""
        low, high, problem = self.low, self.high, self._problem
        share, offset = _DUAL_SHARES, problem.offset
        square = _parabola(share, inner(low.v, low.v), inner(low.v, high.v), inner(high.v, high.v))
        if offset.kind == "penalized":
            square += offset.square * (low.balance + share * (high.balance - low.balance)) ** 2
        taus = (low.tau, high.tau, problem.cost)
        if problem.dual.quadratic is None:
            some = problem.rows.reduce(_MixedGains(problem.loss, entropies), *taus)
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
        """Look at weights that promise to certify the worst of these C; return False if there are none."""
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
        share, promised = _vertex(found.primal_share, found.objectives(worst))
        if promised > (1.0 + tol) * float(found.bounds(worst).max()):
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
        """Return the stretches of C that stay without certificate."""
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

    def start(self, C: float) -> dict[str, Any]:
        """Return the best mixtures at C as the start of a fit there."""
        w, b, _ = self.weights(C)
        return start_of(w, b, C * self.duals(C))


def _spread_over(stretches: list[tuple[float, float]]) -> Array:
    return np.concatenate([np.geomspace(low, high, _LOOKED_AT) for low, high in stretches])


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
