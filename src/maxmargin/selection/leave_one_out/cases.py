"""Examples that are left out one by one, and what is known about each of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.leave_one_out.distinct_rows import DistinctRows
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum
from maxmargin.selection.leave_one_out.record import REASONS, Reason

__all__ = ["TIE", "Cases", "HingeCases", "LeftOutAgreements", "cases_of", "rounding_of_agreements", "sides"]


# ------------------------------------------------------------------------------------------------
# What is known about examples that are left out one by one, while it is being found out.
#
# An agreement is known up to a bound of its error, in which the rounding error of its own computation is
# always included. Beyond that bound its sign is certain; agreements that are certain to be next to 0 are
# ties. Both depend on the example alone, not on the size of other agreements.

TIE = 1e-7  # agreements up to this size are ties, which count as wrong


def sides(agreement: Array, bound: Array) -> NDArray[np.int8]:
    """Return +1 for agreements that are right for certain, −1 for wrong, 0 for ties, 2 for not known."""
    found = np.full(agreement.shape, 2, dtype=np.int8)
    found[(np.abs(agreement) <= TIE) & (bound <= TIE)] = 0
    far = np.maximum(bound, TIE)
    found[agreement > far] = 1
    found[agreement < -far] = -1
    return found


def rounding_of_agreements(problem: Problem, w: Array, b: float) -> Array:
    """Return a bound of the rounding error of each row's agreement, by the size of its terms."""
    n_terms = problem.rows.n_columns + 8
    sizes = np.sqrt(problem.rows.norms()[0]) * math.sqrt(inner(w, w)) + abs(b)
    return np.asarray(n_terms * 2.0**-52 * sizes)


class Cases:
    """The decisions about examples that are left out, each final and with its reason.

    A case is an example; with the hinge, copies of an example that weigh the same are one case.

    Attributes
    ----------
    outcome : int8 array
        +1 right when left out, −1 wrong, 0 not known.
    code : uint8 array
        The place of the reason in `REASONS`.
    agreement, bound : arrays
        The best known left-out agreement and how far it may be off; NaN and infinite at first.
    rounding : array
        What rounding may have made of each agreement when it was computed: part of every bound.
    """

    def __init__(self, rounding: Array) -> None:
        count = len(rounding)
        self.rounding = rounding
        self.outcome = np.zeros(count, dtype=np.int8)
        self.code = np.full(count, REASONS.index(Reason.UNDECIDED), dtype=np.uint8)
        self.agreement = np.full(count, np.nan)
        self.bound = np.full(count, np.inf)

    @property
    def undecided(self) -> NDArray[np.intp]:
        """The cases of which nothing is known yet."""
        return np.flatnonzero(self.outcome == 0)

    def decide(self, which: NDArray[np.intp], outcome: int, reason: Reason) -> None:
        """Note the outcome of some cases and its reason; earlier decisions stay."""
        new = which[self.outcome[which] == 0]
        self.outcome[new] = outcome
        self.code[new] = REASONS.index(reason)

    def decide_right(self, which: NDArray[np.intp], lowest: Array, reason: Reason) -> None:
        """Decide the cases whose left-out agreement, of which `lowest` is a lower bound, is above 0."""
        self.decide(which[sides(lowest, self.rounding[which]) == 1], +1, reason)

    def decide_wrong(self, which: NDArray[np.intp], highest: Array, reason: Reason) -> None:
        """Decide the cases whose left-out agreement, of which `highest` is an upper bound, is below 0."""
        self.decide(which[sides(highest, self.rounding[which]) == -1], -1, reason)

    def settle(self, which: NDArray[np.intp], agreement: Array, bound: Array, reason: Reason) -> None:
        """Note left-out agreements with their bounds, and decide what they decide."""
        bound = np.where(np.isfinite(agreement) & (bound >= 0), bound + self.rounding[which], np.inf)
        better = bound < self.bound[which]
        self.agreement[which[better]] = agreement[better]
        self.bound[which[better]] = bound[better]
        side = sides(agreement, bound)
        self.decide(which[side == 1], +1, reason)
        self.decide(which[side == -1], -1, reason)
        self.decide(which[side == 0], -1, Reason.TIE)


# ------------------------------------------------------------------------------------------------

_KNOWN = 1e-2  # of an agreement, or of 1 if that is more: a bound of its error that makes it known


class HingeCases(Cases):
    """Cases of the hinge: leaving an example out lowers the cost of the distinct row that it is a copy of.

    Attributes
    ----------
    optimum : HingeOptimum
    group, new_cost : arrays over cases
        The distinct row that loses cost, and what is left of it.
    of_example : intp array over all examples
        The case of each; −1 for examples of cost 0.
    """

    def __init__(
        self,
        optimum: HingeOptimum,
        group: NDArray[np.intp],
        new_cost: Array,
        of_example: NDArray[np.intp],
    ) -> None:
        super().__init__(rounding_of_agreements(optimum.problem, optimum.w, optimum.b)[group])
        self.optimum, self.group, self.new_cost, self.of_example = optimum, group, new_cost, of_example
        self._norms = spread_of(optimum)[0]

    @property
    def unknown(self) -> NDArray[np.intp]:
        """The cases whose left-out agreement is unknown, or known to hardly a digit."""
        return np.flatnonzero(~(self.bound <= _KNOWN * np.maximum(1.0, np.abs(self.agreement))))

    def reach(self, which: NDArray[np.intp], gap: float, at: HingeOptimum | None = None) -> Array:
        """Return how far agreements can be from those of the optimum, at a point with that gap.

        ‖w − w*‖ ≤ √(2·gap), and a free offset follows the weights as order statistics of the breakpoints
        t = s − x·w do. Rows whose t is further from it than it can be moved have no part in that, however
        long they are. The point is that of `at`, by default the full fit.
        """
        step = float(np.sqrt(2.0 * gap))
        radius = 0.0
        if self.optimum.problem.offset.is_free:
            radius = _offset_radius(self.optimum if at is None else at, self._norms, step)
        return np.asarray(step * (self._norms[self.group[which]] + radius))


def _offset_radius(at: HingeOptimum, norms: Array, step: float) -> float:
    """Return r so that the best offsets move by r·step at most if the weights move by `step`.

    Let every row longer than r have a breakpoint further than step·(its norm + r) from all best offsets.
    Then none of those crosses an offset moved by step·r, and the others move by step·r at most.
    """
    low, high = at.interval
    live = at.problem.cost > 0
    order = np.argsort(-norms[live], kind="stable")
    longest = norms[live][order]
    if len(longest) == 0 or not (step > 0 and np.isfinite(low) and np.isfinite(high)):
        return float(longest.max(initial=0.0))
    distance = np.abs(1.0 - at.agreements[live][order]) - max(high - at.b, at.b - low)
    room = np.minimum.accumulate(distance / step - longest)
    may_leave = np.flatnonzero(room[:-1] > longest[1:])
    return float(longest[may_leave[-1] + 1] if may_leave.size else longest[0])


def cases_of(optimum: HingeOptimum, distinct: DistinctRows) -> HingeCases:
    """Return the cases of a problem whose distinct rows have been solved."""
    live = np.flatnonzero(distinct.group >= 0)
    group, rest = distinct.group[live], distinct.left_over(live)
    order = np.lexsort((rest, group))
    is_first = np.ones(live.size, dtype=bool)
    is_first[1:] = (np.diff(group[order]) != 0) | (np.diff(rest[order]) != 0)
    of_example = np.full(distinct.group.size, -1, dtype=np.intp)
    of_example[live[order]] = np.cumsum(is_first) - 1
    chosen = order[is_first]
    return HingeCases(optimum, group[chosen], rest[chosen], of_example)


def spread_of(optimum: HingeOptimum) -> tuple[Array, float]:
    """Return the norm of every row, and the largest; about a centre if the offset is free.

    A free offset makes up for any shift of the rows, so only distances from some point count: here the mean
    of the support vectors.
    """
    problem = optimum.problem
    rows = problem.rows
    norm2 = rows.norms()[0]
    total = float(optimum.alpha.sum())
    if problem.offset.is_free and total > 0:
        middle = rows.reduce(Combine(rows.n_columns), optimum.alpha / total)
        along: Array = rows.zeros()
        rows.reduce(Scores(middle), along)
        length2 = float((middle * middle).sum())
        norm2 = np.maximum(norm2 - 2.0 * along + length2, 0.0) + 1e-14 * (norm2 + length2)
    else:
        norm2 = norm2 + problem.offset.square
    norms = np.sqrt(norm2)
    return norms, float(norms.max(initial=0.0))


# ------------------------------------------------------------------------------------------------
# Left-out agreements while they are being found, each with a bound of its error.


class LeftOutAgreements:
    """Left-out agreements with the tightest bounds so far; infinite where nothing is known."""

    def __init__(self, optimum: HingeOptimum, groups: NDArray[np.intp], new_costs: Array) -> None:
        self.groups = np.asarray(groups, dtype=np.intp)
        self.new_costs = np.ascontiguousarray(new_costs, dtype=np.float64)
        self.agreements: Array = optimum.agreements[self.groups].copy()
        self.bounds: Array = np.full(self.groups.size, np.inf)
        self._norms, radius = spread_of(optimum)
        self._radius = radius if optimum.problem.offset.is_free else 0.0

    def note(self, place: int, agreement: float, gap: float, offset_error: float = 0.0) -> None:
        """Keep the agreement of a left-out solution with that gap, if no tighter bound is known.

        Its offset may be so far from the middle of the best ones for its weights.
        """
        reach = float(self._norms[self.groups[place]]) + self._radius
        bound = float(np.sqrt(2.0 * max(gap, 0.0))) * reach + offset_error
        if bound < self.bounds[place]:
            self.agreements[place], self.bounds[place] = agreement, bound
