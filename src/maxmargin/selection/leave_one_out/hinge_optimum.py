"""The full fit of the hinge that leave-one-out rests on: as near to the optimum as rounding allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress, Solution, Status, WarmStart
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.warm_start import certified_start, warm_start_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.interior_point import InteriorPoint
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.semismooth_newton import SemismoothNewton

__all__ = ["HingeOptimum", "find_optimum", "gap_of"]


TIGHT = 1e-12  # the certified relative gap that is asked for; rounding may end it earlier
_POOR = 1e-6  # a relative gap beyond which most signs stay open
_FEW_COLUMNS = 1_000
_ROUNDING = 1e-14  # of the cost: a dual so near to a bound is at it
_CLEARLY, _NEARLY = 1e-4, 1e-6  # the same for a row whose agreement is clearly not 1


@dataclass(frozen=True, eq=False)
class HingeOptimum:
    """The optimum of a problem on distinct rows.

    Leaving one example out is always this: the cost of row g falls from K_g to K_g − c, to 0 if the example
    has no copy. The objective of the left-out problem at the old point is `objective` − c·max(0, 1 − m_g).

    Attributes
    ----------
    problem : Problem
        On distinct rows of (x, s).
    w, b, interval : the weights, the offset (the midpoint), and all offsets that are best for the weights
    alpha : row vector
        Feasible dual point, with exact zeros and costs where rounding allows.
    agreements : row vector
        s(x·w + b).
    gap, objective : float
        The certified gap, and the value of the objective.
    solution : Solution
        Where all this comes from.
    """

    problem: Problem
    w: Array
    b: float
    interval: tuple[float, float]
    alpha: Array
    agreements: Array
    gap: float
    objective: float
    solution: Solution

    @property
    def is_free(self) -> NDArray[np.bool_]:
        """Which rows have a dual variable strictly between 0 and their cost."""
        return np.asarray((self.alpha > 0) & (self.alpha < self.problem.cost))

    @property
    def scores(self) -> Array:
        """x·w of every row."""
        z: Array = self.problem.rows.zeros()
        self.problem.rows.reduce(Scores(self.w), z)
        return z


def find_optimum(
    problem: Problem,
    token: StopToken,
    *,
    tol: float = TIGHT,
    solver: str = "auto",
    seed: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    start: WarmStart | None = None,
    label: str = "",
) -> HingeOptimum:
    """Solve a hinge problem on distinct rows as tightly as rounding allows.

    A start that is certified to the tolerance is the optimum, and a fit begins at any other.
    """

    def solved(name: str, begin: WarmStart | None) -> Solution:
        method, plan = choose(name, problem, tol)
        return run(
            problem,
            method,
            plan,
            Limits(tol),
            token=token,
            watch=watch,
            warm_start=begin,
            seed=seed,
            label=label,
        )

    known = None if start is None else certified_start(problem, start, tol, token)
    warm_start = None if known is None else warm_start_of(known)
    is_narrow = problem.rows.n_columns <= _FEW_COLUMNS
    if known is not None and known.status is Status.SOLVED:
        solution = known
    elif solver == "auto" and is_narrow:  # one that ends at exact bounds; and where it fails, others
        solution = solved(SemismoothNewton.name, warm_start)
        for name, enough in ((InteriorPoint.name, tol), (DualDescent.name, _POOR)):
            is_poor = solution.certificate.relative_gap > enough
            if solution.status in (Status.MAX_ITER, Status.STALLED) and is_poor:
                other = solved(name, None)
                solution = min(solution, other, key=lambda found: found.certificate.relative_gap)
    else:
        solution = solved(solver, warm_start)
    z: Array = problem.rows.zeros()
    problem.rows.reduce(Scores(solution.coef), z)
    agreements = problem.sign * (z + solution.intercept)
    alpha = _at_bounds(problem, agreements, solution.alpha)
    return HingeOptimum(
        problem=problem,
        w=solution.coef,
        b=solution.intercept,
        interval=solution.intercept_interval,
        alpha=alpha,
        agreements=agreements,
        gap=max(gap_of(problem, solution.coef, solution.intercept, z, alpha), solution.certificate.gap),
        objective=solution.certificate.objective,
        solution=solution,
    )


def _at_bounds(problem: Problem, agreements: Array, alpha: Array) -> Array:
    """Return the dual point with those duals at their bounds that only the balance of all keeps away.

    A dual point is made feasible by a last correction of rounding errors, which may touch every row.
    """
    cost = problem.cost
    is_clear = np.abs(agreements - 1.0) > _CLEARLY
    room = np.where(is_clear, _NEARLY, _ROUNDING) * cost
    lowered = np.where((alpha <= room) & ~(is_clear & (agreements < 1.0)), 0.0, alpha)
    is_full = (cost - alpha <= room) & ~(is_clear & (agreements > 1.0))
    return np.asarray(np.where(is_full, cost, lowered))


def gap_of(problem: Problem, w: Array, b: float, z: Array, alpha: Array) -> float:
    """Return the duality gap of a point with scores z, the imbalance of its duals paid for.

    As `problem.examine` does, but for these duals to the last bit: what it changes to balance them would
    move rows off their bounds.
    """
    signed = problem.sign * alpha
    difference = w - problem.rows.reduce(Combine(problem.rows.n_columns), signed)
    e = problem.sign * (z + b) - 1.0
    terms = np.where(e > 0, alpha * e, (alpha - problem.cost) * e)
    gap = 0.5 * inner(difference, difference) + float(terms.sum())
    balance = float(signed.sum())
    if not problem.offset.is_free or balance == 0:
        return gap + problem.offset.gap(b, balance, 0.0)
    slope = abs(balance) * math.sqrt(2.0 * problem.rows.norms()[1])
    constant = gap + abs(balance) * (abs(b) + float(np.abs(z).max(initial=0.0)) + 1.0)
    root = 0.5 * (slope + math.sqrt(slope * slope + 4.0 * constant))
    return root * root
