"""A solution at one C as the start of a fit at another: the same rows, all costs multiplied by the ratio.

At C = r·C₀ the duals rα are feasible if α was, Σ sα = 0 included, and their bound misses the optimum by
½‖w‖²(r − 1)². Where the rows are all but separable the duals of the larger C hardly grow, and a smaller
factor has the better bound: for growing C the best factor of a parabola that touches the objective at C₀ is
1 + loss/‖w‖², and never more than r is taken. The weights stay as they are.

The start suits every solver, whichever found the solution. Softmax has its dual point from the weights: there
is none to multiply.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.outputs import SoftmaxDuals
from maxmargin.core.problem import Problem
from maxmargin.core.solution import History, Plan, Solution, Status, WarmStart
from maxmargin.rows.base import Array, inner

__all__ = ["PathOfStarts", "certified_start", "start_at_other_cost", "warm_start_of"]


def certified_start(problem: Problem, point: WarmStart, tol: float, token: StopToken) -> Solution | None:
    """Return the point as a solution, with a certificate that is made now; None where there is no time.

    A free offset is the best one for the weights.
    """
    try:
        found = examine(
            problem,
            point.w,
            None if problem.offset.is_free else point.b,
            point.alpha,
            enough=tol,
            token=token,
        )
    except Stopped:
        return None
    is_solved = found.certificate.relative_gap <= tol
    return Solution(
        coef=found.w,
        intercept=found.b,
        intercept_interval=found.interval,
        alpha=found.alpha,
        certificate=found.certificate,
        status=Status.SOLVED if is_solved else Status.STALLED,
        n_iter=0,
        history=History.of([]),
        plan=Plan("none", "known before"),
    )


def warm_start_of(solution: Solution) -> WarmStart:
    """Return a solution as a start for any solver."""
    gap = solution.certificate.relative_gap
    return WarmStart(solution.coef, solution.intercept, solution.alpha, gap)


def start_at_other_cost(solution: Solution, ratio: float) -> WarmStart:
    """Return a start for the same problem with all costs multiplied by `ratio`.

    Examples
    --------
    ::

        found = run(problem_at_C, solver, plan, limits, token=token)
        start = start_at_other_cost(found, 2.0)
        run(problem_at_2C, solver, plan, limits, token=token, warm_start=start)
    """
    square = inner(solution.coef.reshape(-1), solution.coef.reshape(-1))
    loss = max(solution.certificate.objective - 0.5 * square, 0.0)
    factor = min(ratio, 1.0 + loss / square) if ratio > 1 and square > 0 else ratio
    gap, value = 0.5 * square * (ratio - 1.0) ** 2, 0.5 * square + ratio * loss
    relative_gap = gap / value if value > 0 else 0.0
    alpha = None if isinstance(solution.alpha, SoftmaxDuals) else factor * solution.alpha
    return WarmStart(solution.coef, solution.intercept, alpha, relative_gap)


class PathOfStarts:
    """Where the last solutions along growing C lead.

    The weights change like a power of C where the regulariser holds them, and like its logarithm where the
    rows are separated. On an even grid the differences from one value to the next then have a constant
    ratio, and softmax, whose dual point follows the weights, begins where the next difference leads.
    """

    def __init__(self) -> None:
        self._last: list[tuple[float, Solution]] = []

    def add(self, C: float, solution: Solution) -> None:
        """Note the solution at the next C."""
        self._last = [*self._last[-2:], (C, replace(solution, warm_start=None))]

    def at(self, C: float) -> WarmStart | None:
        """Return where a fit at a larger C begins; None where there has been no solution yet."""
        if not self._last:
            return None
        last, solution = self._last[-1]
        start = start_at_other_cost(solution, C / last)
        if len(self._last) < 3 or not isinstance(solution.alpha, SoftmaxDuals):
            return start
        (first, one), (second, two), _ = self._last
        before = two.coef - one.coef, two.intercept - one.intercept
        after = solution.coef - two.coef, solution.intercept - two.intercept
        size, along = _product(before, before), _product(before, after)
        if not (size > 0 and along > 0):
            return start
        # The differences grow like C^power, on steps in log C that need not be even.
        steps = math.log(second / first), math.log(last / second), math.log(C / last)
        power = math.log(along * steps[0] / (size * steps[1])) / (0.5 * (steps[0] + steps[1]))
        power = min(max(power, -_STEEPEST), _STEEPEST)
        share = math.exp(power * 0.5 * (steps[1] + steps[2])) * steps[2] / steps[1]
        return replace(
            start, w=solution.coef + share * after[0], b=np.asarray(solution.intercept + share * after[1])
        )


_STEEPEST = 1.0  # power of C: weights that the regulariser alone holds are proportional to it


def _product(first: tuple[Array, Any], second: tuple[Array, Any]) -> float:
    """Return the product of two differences of weights; offsets follow the weights."""
    return inner(first[0].reshape(-1), second[0].reshape(-1))
