"""The path over C with a certificate for every C: few fits, and mixtures of neighbours in between.

The path begins at the smallest C and takes steps in log C, each fit starting from the one before. What the
mixtures of the two ends do not certify is split, and the fit there starts from the mixtures. How wide a
pair may be is learnt on the way: the gap between two fits grows like a power of their distance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.losses.table import LOSSES
from maxmargin.problem import Problem
from maxmargin.results.certificate import Certificate
from maxmargin.results.mixtures import Mixtures
from maxmargin.results.solution import Solution, Status
from maxmargin.rows import Array
from maxmargin.selection.mixtures import Between, Fitted, fitted_from
from maxmargin.selection.warm_start import start_at_other_cost

__all__ = ["FIT_SHARE", "Course", "Stop", "follow_path", "visit_values"]

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
class Course:
    """The stops in order of C, the mixtures between each and the next, and what ended it early, if so."""

    stops: list[Stop]
    mixtures: list[list[Mixtures]]
    n_fits: int
    ended: Status | None


class _Over(Exception):
    """No more fits: the time is up, or somebody asked to stop."""


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
        return [stretch for pair in pairs for stretch in pair.certify(self.tol)]

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
) -> Course:
    """Certify every C between two values.

    Parameters
    ----------
    problems : sequence of Problem
        On the same rows, with the costs of C = 1.
    solve : function
        From C and one memory per problem (or None) to one solution per problem, each to `FIT_SHARE` times
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
) -> Course:
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

    def follow(self, C: float) -> Course:
        try:
            self._march(self._fit(C, None))
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
        return Course(stops, mixtures, self._n_fits, self._ended)

    # ------------------------------------------------------------------ steps

    def _march(self, place: _Place) -> None:
        is_smooth = LOSSES[self._problems[0].loss].is_smooth
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
        memories = _starts_from(start, C) if isinstance(start, _Place) else start
        solutions = self._solve(C, memories)
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
