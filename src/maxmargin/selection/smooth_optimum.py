"""The full fit of a smooth loss that leave-one-out rests on, and what one more reading tells about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Factor, Stopped, StopToken
from maxmargin.losses.table import LOSSES
from maxmargin.problem import Problem
from maxmargin.results.solution import Progress, Solution, Status
from maxmargin.rows import Array
from maxmargin.rows.kernels import Scores
from maxmargin.selection.estimated_agreements import MOST_COLUMNS
from maxmargin.selection.logistic_bounds import LogisticBounds
from maxmargin.selection.metric import Metric, frame_of_rows
from maxmargin.selection.squared_hinge_bounds import SquaredHingeBounds
from maxmargin.selection.wide_metric import WideMetric
from maxmargin.solvers.choose import choose
from maxmargin.solvers.newton_place import Place, evaluate
from maxmargin.solvers.run import Limits, run

__all__ = [
    "TIGHT",
    "Bounds",
    "SmoothOptimum",
    "examine_optimum",
    "raise_if_stopped",
    "solve_tightly",
    "surely_right",
]

TIGHT = 1e-9  # relative gap; the next Newton step, which the bounds foresee, squares it
_SAFE = 0.5  # an example this far on the right side at worst is decided without a look at its leverage

Bounds = LogisticBounds | SquaredHingeBounds
_BOUNDS: dict[str, type[LogisticBounds] | type[SquaredHingeBounds]] = {
    "logistic": LogisticBounds,
    "squared_hinge": SquaredHingeBounds,
}


@dataclass(frozen=True, eq=False)
class SmoothOptimum:
    """A solution, nearly exact, with its Hessian.

    Attributes
    ----------
    problem : Problem
    solution : Solution
    place : Place
        Scores, curvatures and gradient there.
    agreements, alpha : row vectors
        s(x·w + b), and −cℓ′ of it.
    bounds : Bounds
        How far optima can be, of the problem itself and of those without one example.
    """

    problem: Problem
    solution: Solution
    place: Place
    agreements: Array
    alpha: Array
    bounds: Bounds


def solve_tightly(
    problem: Problem,
    token: StopToken,
    *,
    solver: str = "auto",
    seed: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    memory: Any = None,
    label: str = "",
) -> Solution:
    """Solve a problem to nearly all digits."""
    method, plan = choose(solver, problem, TIGHT)
    limits = Limits(TIGHT)
    return run(problem, method, plan, limits, token=token, watch=watch, memory=memory, seed=seed, label=label)


def raise_if_stopped(solution: Solution) -> None:
    """Raise what a pass over the rows would have raised, if a fit was cut short."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.MAX_TIME:
        raise Stopped


def examine_optimum(
    problem: Problem, solution: Solution, token: StopToken, *, also: NDArray[np.intp]
) -> SmoothOptimum:
    """Read the rows once more at a solution, for everything that bounds are made of.

    `also` names rows whose agreements are to be bounded although they have no part in the loss.
    """
    place, metric = _place(problem, solution, token)
    agreements = problem.sign * (place.z + place.b)
    alpha = np.asarray(_core.loss_best_alpha(problem.loss, agreements, problem.cost))
    bounds = _BOUNDS[problem.loss](problem, metric, place, also, token)
    return SmoothOptimum(problem, solution, place, agreements, alpha, bounds)


def _place(problem: Problem, solution: Solution, token: StopToken) -> tuple[Place, Metric | WideMetric]:
    """Evaluate the solution, with its Hessian or, where that would be too large, what bounds it."""
    rows, at = problem.rows.condensed(token), (solution.coef, solution.intercept)
    if rows.n_columns > MOST_COLUMNS:
        z = rows.zeros()
        rows.reduce(Scores(solution.coef), z, token=token)
        curvature = LOSSES[problem.loss].curvature(problem.sign * (z + solution.intercept))
        wide = WideMetric.of(problem, np.asarray(problem.cost * curvature), token)
        return evaluate(problem, rows, wide.frame, *at, False, token), wide
    frame = frame_of_rows(problem, token)
    place = evaluate(problem, rows, frame, *at, True, token)
    assert place.hessian is not None
    return place, Metric(rows, frame, place.h, Factor(place.hessian))


def surely_right(problem: Problem, solution: Solution, agreements: Array) -> NDArray[np.bool_]:
    """Return which agreements stay far above 0 wherever the optimum is, by the duality gap alone.

    ‖w − w*‖ ≤ √(2·gap), and the best offset moves no more than the scores do.
    """
    norm2, largest = problem.rows.norms()
    longest = np.sqrt(largest) if problem.offset.kind == "free" else problem.offset.scale
    reach = np.sqrt(2.0 * solution.certificate.gap) * (np.sqrt(norm2) + longest)
    return np.asarray(agreements - reach >= _SAFE)
