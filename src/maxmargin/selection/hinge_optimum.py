"""The full fit of the hinge that leave-one-out rests on: as near to the optimum as rounding allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.results.solution import Progress, Solution
from maxmargin.rows import Array
from maxmargin.rows.kernels import Scores
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["HingeOptimum", "find_optimum"]

TIGHT = 1e-12  # the certified relative gap that is asked for; rounding may end it earlier


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
    memory: Any = None,
    label: str = "",
) -> HingeOptimum:
    """Solve a hinge problem on distinct rows as tightly as rounding allows."""
    method, plan = choose(solver, problem, tol)
    solution = run(
        problem,
        method,
        plan,
        Limits(tol),
        token=token,
        watch=watch,
        memory=memory,
        seed=seed,
        label=label,
    )
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(solution.coef), z)
    return HingeOptimum(
        problem=problem,
        w=solution.coef,
        b=solution.intercept,
        interval=solution.intercept_interval,
        alpha=solution.alpha,
        agreements=problem.sign * (z + solution.intercept),
        gap=solution.certificate.gap,
        objective=solution.certificate.objective,
        solution=solution,
    )
