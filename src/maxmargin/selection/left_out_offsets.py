"""Rule N: an example whose dual the others can carry leaves the weights as they are; only b may move.

The offsets that are best for fixed weights are an interval between two weighted order statistics of the
breakpoints t = s − x·w, with or without the example. The interval is the same unless the example is itself
at one of its ends; then it grows, and its middle moves away from the example.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Stopped, StopToken
from maxmargin.problem.offset import chosen_from
from maxmargin.results.leave_one_out import Reason
from maxmargin.rows import Array
from maxmargin.selection.cases import Cases

__all__ = ["decide_without_support"]

_SAME = 1e-9  # relative: breakpoints nearer to an end of the interval than this may be that end


def decide_without_support(cases: Cases, token: StopToken) -> None:
    """Decide the cases whose dual fits into what their copies may carry: 0, if there are none."""
    optimum = cases.optimum
    which = np.flatnonzero(optimum.alpha[cases.group] <= cases.new_cost)
    if optimum.problem.offset.kind != "free":
        _settle(cases, which, optimum.agreements[cases.group[which]])
        return
    scores = optimum.scores
    sign = optimum.problem.sign[cases.group[which]]
    at = sign - scores[cases.group[which]]
    touches = np.zeros(which.size, dtype=bool)
    for end in optimum.interval:
        if np.isfinite(end):
            touches |= np.abs(at - end) <= _SAME * (1.0 + np.abs(scores).max(initial=0.0) + abs(end))
    _settle(cases, which[~touches], optimum.agreements[cases.group[which[~touches]]])
    _settle(cases, which[touches], _with_new_offsets(cases, which[touches], scores, token))


def _with_new_offsets(cases: Cases, which: NDArray[np.intp], scores: Array, token: StopToken) -> Array:
    problem = cases.optimum.problem
    cost = problem.cost.copy()
    found = np.empty(which.size)
    for place, (group, rest) in enumerate(zip(cases.group[which], cases.new_cost[which], strict=True)):
        if token.poll():
            raise Stopped
        kept, cost[group] = cost[group], rest
        b = chosen_from(_core.hinge_offset(scores, problem.sign, cost))
        found[place] = problem.sign[group] * (scores[group] + b)
        cost[group] = kept
    return found


def _settle(cases: Cases, which: NDArray[np.intp], agreements: Array) -> None:
    cases.settle(which, agreements, cases.reach(which, cases.optimum.gap), Reason.NO_SUPPORT_VECTOR)
