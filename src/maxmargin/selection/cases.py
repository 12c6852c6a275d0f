"""The different ways in which one example can be left out, and what is known about each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.distinct_rows import DistinctRows
from maxmargin.selection.hinge_optimum import HingeOptimum
from maxmargin.selection.verdicts import Verdicts, rounding_of_agreements

__all__ = ["Cases", "cases_of", "spread_of"]

_KNOWN = 1e-2  # of an agreement, or of 1 if that is more: a bound of its error that makes it known


class Cases(Verdicts):
    """Copies of an example that weigh the same are one case: the cost of their row falls by as much.

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
        """The cases whose left-out agreement is not known yet, or to hardly a digit."""
        return np.flatnonzero(~(self.bound <= _KNOWN * np.maximum(1.0, np.abs(self.agreement))))

    def reach(self, which: NDArray[np.intp], gap: float, at: HingeOptimum | None = None) -> Array:
        """Return how far agreements can be from those of the optimum, at a point with that gap.

        ‖w − w*‖ ≤ √(2·gap), and a free offset follows the weights as order statistics of the breakpoints
        t = s − x·w do. Rows whose t is further from it than it can be moved have no part in that, however
        long they are. The point is that of `at`, by default the full fit.
        """
        step = float(np.sqrt(2.0 * gap))
        radius = 0.0
        if self.optimum.problem.offset.kind == "free":
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
    """Return the norm of every row, and the largest; about a middle if the offset is free.

    A free offset makes up for any shift of the rows, so only distances from some point count: here the mean
    of the support vectors.
    """
    problem = optimum.problem
    rows = problem.rows
    norm2 = rows.norms()[0]
    total = float(optimum.alpha.sum())
    if problem.offset.kind == "free" and total > 0:
        middle = rows.reduce(Combine(rows.n_columns), optimum.alpha / total)
        along: Array = rows.zeros()
        rows.reduce(Scores(middle), along)
        length2 = float((middle * middle).sum())
        norm2 = np.maximum(norm2 - 2.0 * along + length2, 0.0) + 1e-14 * (norm2 + length2)
    else:
        norm2 = norm2 + problem.offset.square
    norms = np.sqrt(norm2)
    return norms, float(norms.max(initial=0.0))
