"""Left-out agreements while they are being found, each with a bound of its error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows import Array
from maxmargin.selection.cases import spread_of
from maxmargin.selection.hinge_optimum import HingeOptimum

__all__ = ["LeftOutAgreements"]


class LeftOutAgreements:
    """Left-out agreements with the tightest bounds so far; infinite where nothing is known."""

    def __init__(self, optimum: HingeOptimum, groups: NDArray[np.intp], new_costs: Array) -> None:
        self.groups = np.asarray(groups, dtype=np.intp)
        self.new_costs = np.ascontiguousarray(new_costs, dtype=np.float64)
        self.agreements: Array = optimum.agreements[self.groups].copy()
        self.bounds: Array = np.full(self.groups.size, np.inf)
        self._norms, radius = spread_of(optimum)
        self._radius = radius if optimum.problem.offset.kind == "free" else 0.0

    def note(self, place: int, agreement: float, gap: float, offset_error: float = 0.0) -> None:
        """Keep what a left-out solution with that gap says, if nothing tighter is known.

        Its offset may be so far from the middle of the best ones for its weights.
        """
        reach = float(self._norms[self.groups[place]]) + self._radius
        bound = float(np.sqrt(2.0 * max(gap, 0.0))) * reach + offset_error
        if bound < self.bounds[place]:
            self.agreements[place], self.bounds[place] = agreement, bound
