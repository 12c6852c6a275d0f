"""The different ways in which one example can be left out, and what is known about each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.leave_one_out import REASONS, Reason
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.distinct_rows import DistinctRows
from maxmargin.selection.hinge_optimum import HingeOptimum

__all__ = ["Cases", "cases_of", "spread_of"]

_TIE = 1e-7  # agreements smaller than this, relative to the largest, count as 0
_BLUNT = 1e-3  # a bound so large, relative to the same, does not tell a tie from anything else


@dataclass(eq=False)
class Cases:
    """Copies of an example that weigh the same are one case: the cost of their row falls by as much.

    Attributes
    ----------
    optimum : HingeOptimum
    group, new_cost : arrays over cases
        The distinct row that loses cost, and what is left of it.
    of_example : intp array over all examples
        The case of each; −1 for examples of cost 0.
    outcome : int8 array over cases
        +1 right when left out, −1 wrong, 0 not known.
    code : uint8 array over cases
        The place of the reason in REASONS.
    agreement, bound : arrays over cases
        The best known left-out agreement and how far it may be off; NaN and infinite at first.
    """

    optimum: HingeOptimum
    group: NDArray[np.intp]
    new_cost: Array
    of_example: NDArray[np.intp]
    outcome: NDArray[np.int8] = field(init=False)
    code: NDArray[np.uint8] = field(init=False)
    agreement: Array = field(init=False)
    bound: Array = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.group)
        self.outcome = np.zeros(count, dtype=np.int8)
        self.code = np.full(count, REASONS.index(Reason.UNDECIDED), dtype=np.uint8)
        self.agreement = np.full(count, np.nan)
        self.bound = np.full(count, np.inf)
        self._norms, self._radius = spread_of(self.optimum)

    @property
    def tie(self) -> float:
        """Agreements up to this size are called 0."""
        return _TIE * (1.0 + float(np.abs(self.optimum.agreements).max(initial=0.0)))

    @property
    def undecided(self) -> NDArray[np.intp]:
        """The cases of which nothing is known yet."""
        return np.flatnonzero(self.outcome == 0)

    @property
    def unknown(self) -> NDArray[np.intp]:
        """The cases whose left-out agreement is not known yet."""
        return np.flatnonzero(~(self.bound < np.inf))

    def reach(self, which: NDArray[np.intp], gap: float | Array) -> Array:
        """Return how far agreements can be from those of the optimum, at a point with that gap.

        ‖w − w*‖ ≤ √(2·gap), and a free offset follows the weights as order statistics of the scores do.
        """
        radius = self._radius if self.optimum.problem.offset.kind == "free" else 0.0
        return np.asarray(np.sqrt(2.0 * np.asarray(gap)) * (self._norms[self.group[which]] + radius))

    def decide(self, which: NDArray[np.intp], outcome: int, reason: Reason) -> None:
        """Note what becomes of some cases, and why that is known; what was known before stays."""
        new = which[self.outcome[which] == 0]
        self.outcome[new] = outcome
        self.code[new] = REASONS.index(reason)

    def settle(self, which: NDArray[np.intp], agreement: Array, bound: Array, reason: Reason) -> None:
        """Note left-out agreements with their bounds, and decide what they decide."""
        better = bound < self.bound[which]
        self.agreement[which[better]] = agreement[better]
        self.bound[which[better]] = bound[better]
        scale = self.tie
        far = np.maximum(bound, scale)
        self.decide(which[agreement > far], +1, reason)
        self.decide(which[agreement < -far], -1, reason)
        tied = (np.abs(agreement) <= scale) & (bound <= _BLUNT / _TIE * scale)
        self.decide(which[tied], -1, Reason.TIE)


def cases_of(optimum: HingeOptimum, distinct: DistinctRows) -> Cases:
    """Return the cases of a problem whose distinct rows have been solved."""
    live = np.flatnonzero(distinct.group >= 0)
    group, rest = distinct.group[live], distinct.left_over(live)
    order = np.lexsort((rest, group))
    is_first = np.ones(live.size, dtype=bool)
    is_first[1:] = (np.diff(group[order]) != 0) | (np.diff(rest[order]) != 0)
    of_example = np.full(distinct.group.size, -1, dtype=np.intp)
    of_example[live[order]] = np.cumsum(is_first) - 1
    chosen = order[is_first]
    return Cases(optimum, group[chosen], rest[chosen], of_example)


def spread_of(optimum: HingeOptimum) -> tuple[Array, float]:
    """Return the norm of every row, and the largest; about the mean if the offset is free.

    A free offset makes up for any shift of the rows, so only distances from their mean count.
    """
    problem = optimum.problem
    rows = problem.rows
    norm2 = rows.norms()[0]
    if problem.offset.kind == "free" and rows.n_rows > 0:
        mean = rows.reduce(Combine(rows.n_columns), np.full(rows.n_rows, 1.0 / rows.n_rows))
        along: Array = rows.zeros()
        rows.reduce(Scores(mean), along)
        rounding = 1e-14 * float(norm2.max(initial=0.0))
        norm2 = np.maximum(norm2 - 2.0 * along + float((mean * mean).sum()), 0.0) + rounding
    else:
        norm2 = norm2 + problem.offset.square
    norms = np.sqrt(norm2)
    return norms, float(norms.max(initial=0.0))
