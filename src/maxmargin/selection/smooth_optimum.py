"""The full fit of a smooth loss that leave-one-out rests on, and what one more reading tells about it."""

from __future__ import annotations

import math
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
    "reach_of_gap",
    "solve_tightly",
]

TIGHT = 1e-9  # relative gap; the next Newton step, which the bounds foresee, squares it

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
    tol: float = TIGHT,
    solver: str = "auto",
    seed: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    memory: Any = None,
    label: str = "",
) -> Solution:
    """Solve a problem to nearly all digits, by Newton's method unless it has too many columns."""
    name = "newton" if solver == "auto" and problem.rows.n_columns <= MOST_COLUMNS else solver
    method, plan = choose(name, problem, tol)
    return run(
        problem, method, plan, Limits(tol), token=token, watch=watch, memory=memory, seed=seed, label=label
    )


def raise_if_stopped(solution: Solution) -> None:
    """Raise what a pass over the rows would have raised, if a fit was cut short."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.MAX_TIME:
        raise Stopped


def examine_optimum(
    problem: Problem, solution: Solution, token: StopToken, *, also: NDArray[np.intp], steps: int = 0
) -> SmoothOptimum:
    """Read the rows once more at a solution, for everything that bounds are made of.

    `also` names rows whose agreements are to be bounded although they have no part in the loss; `steps` of
    Newton's method are taken to begin with, as long as each makes the gradient shorter.
    """
    place, metric = _place(problem, solution.coef, solution.intercept, token)
    for _ in range(steps):
        dw, db = metric.frame.split(-metric.solve(place.gradient[None])[0])
        there, other = _place(problem, place.w + dw, place.b + db, token)
        if not other.length(there.gradient) < 0.5 * metric.length(place.gradient):
            break
        place, metric = there, other
    agreements = problem.sign * (place.z + place.b)
    alpha = np.asarray(_core.loss_best_alpha(problem.loss, agreements, problem.cost))
    bounds = _BOUNDS[problem.loss](problem, metric, place, also, token)
    return SmoothOptimum(problem, solution, place, agreements, alpha, bounds)


def _place(problem: Problem, w: Array, b: float, token: StopToken) -> tuple[Place, Metric | WideMetric]:
    """Evaluate a point, with its Hessian or, where that would be too large, what bounds it."""
    rows, at = problem.rows.condensed(token), (w, b)
    if rows.n_columns > MOST_COLUMNS:
        z = rows.zeros()
        rows.reduce(Scores(w), z, token=token)
        curvature = LOSSES[problem.loss].curvature(problem.sign * (z + b))
        wide = WideMetric.of(problem, np.asarray(problem.cost * curvature), token)
        return evaluate(problem, rows, wide.frame, *at, False, token), wide
    frame = frame_of_rows(problem, token)
    place = evaluate(problem, rows, frame, *at, True, token)
    assert place.hessian is not None
    return place, Metric(rows, frame, place.h, Factor(place.hessian))


def reach_of_gap(problem: Problem, solution: Solution) -> Array:
    """Return how far agreements at a solution can be from those at the optimum, by the duality gap alone.

    ‖w − w*‖ ≤ √(2·gap), and the best free offset moves no more than the scores do.
    """
    norm2, largest = problem.rows.norms()
    radius = math.sqrt(2.0 * solution.certificate.gap)
    if problem.offset.kind == "free":
        return np.asarray(radius * (np.sqrt(norm2) + math.sqrt(largest)))
    return np.asarray(radius * np.sqrt(norm2 + problem.offset.square))
