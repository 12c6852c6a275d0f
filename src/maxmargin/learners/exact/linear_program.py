"""A separator by linear programming, Aw ≥ 1, and what comes closest to one where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import Plan, Status
from maxmargin.learners.columns import of_common_size
from maxmargin.learners.exact.record import ExactSolution
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.separation.record import Separability
from maxmargin.separation.separability import not_separable, separability_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["ON_INSEPARABLE", "separate"]


ON_INSEPARABLE = ("raise", "closest")

_TOL = 1e-9
_ADVICE = (
    "The error's `separability` is the proof. on_inseparable='closest' gives the hyperplane of least total "
    "violation instead."
)


def separate(task: TwoClasses, on_inseparable: str) -> ExactSolution:
    """Return weights with every agreement at least 1; raise NotSeparable, or come as close as possible."""
    found = separability_of(
        task.rows.X, task.sign, has_offset=task.has_offset, token=task.token, counted=task.cost > 0
    )
    if on_inseparable == "closest":
        closest = least_violation(task, found)
        return _as_separator(task, closest, found) if found.kind == "complete" else closest
    if found.kind != "complete":
        raise not_separable(found, _ADVICE)
    return _separator(task, found)


def _separator(task: TwoClasses, found: Separability) -> ExactSolution:
    """Scale the separator, and centre it, so that the smallest agreement of either class is 1."""
    assert found.direction is not None
    assert found.margin is not None
    live = task.cost > 0
    w, b = found.direction, found.offset
    z: Array = task.rows.zeros()
    task.rows.reduce(Scores(np.ascontiguousarray(w)), z, token=task.token)
    nearest = (z * task.sign)[live].min()
    if task.has_offset:
        above, below = z[live & (task.sign > 0)].min(), z[live & (task.sign < 0)].max()
        nearest, b = 0.5 * (above - below), -0.5 * (above + below)
    if not nearest > 0:  # rounding hides the margin: take the separator as it was proved
        b = found.offset
        nearest = found.margin * float(np.sqrt(np.einsum("i,i->", w, w) + b * b))
    with np.errstate(over="ignore", divide="ignore"):
        scale = 1.0 / nearest
        if np.isfinite(scale * w).all() and np.isfinite(scale * b):
            w, b = scale * w, float(scale * b)
    plan = Plan("linear program", "a hyperplane with every agreement at least 1, by HiGHS, checked exactly")
    return ExactSolution(w, b, _separation(task, w, b), plan, details=found)


def _separation(task: TwoClasses, w: Array, b: float) -> Certificate:
    live = task.live
    agreement, cost = task.agreements(w, b)[live], task.cost[live]
    return Certificate.separation(
        float(agreement.min()), float(cost[agreement <= 0].sum()), float(cost.sum())
    )


def _as_separator(task: TwoClasses, closest: ExactSolution, found: Separability) -> ExactSolution:
    """Return the shortest weights without violation, unless rounding left them none of their margin."""
    if closest.status is Status.INTERRUPTED:
        return closest
    certificate = _separation(task, closest.coef, closest.intercept)
    if certificate.objective > 0:
        return _separator(task, found)
    return replace(closest, certificate=certificate, status=Status.SOLVED)


def least_violation(task: TwoClasses, found: Separability | None = None) -> ExactSolution:
    """Return the weights of least Σ max(0, 1 − agreement), the shortest of them."""
    rows, power = of_common_size(task.rows)
    problem = replace(task.problem("hinge"), rows=rows)
    solver, plan = choose("auto", problem, _TOL)
    solution = run(problem, solver, plan, Limits(_TOL, None, None), token=task.token)
    return ExactSolution(
        np.ldexp(solution.coef, -power),  # agreements, and so their losses, are the same
        solution.intercept,
        solution.certificate,
        plan,
        intercept_interval=solution.intercept_interval,
        status=solution.status,
        n_iter=solution.n_iter,
        details=found,
    )
