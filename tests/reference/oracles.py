"""Optima found by solvers nobody here wrote: Clarabel and PIQP for the hinges, SciPy for the logistic loss.

None of them is believed. Their points are put into the formulas of `Task`, which gives a bracket of the true
optimum: the value at the best primal point, and the dual value of the best feasible dual point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import piqp
import scipy.optimize
import scipy.sparse as sp
from reference.task import Task

__all__ = ["Optimum", "by_clarabel", "by_piqp", "by_scipy", "find_optimum"]


@dataclass(frozen=True, eq=False)
class Optimum:
    """A primal point and the bracket low ≤ optimum ≤ high."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    low: float
    high: float

    @property
    def error(self) -> float:
        """How far w may be from the optimal weights: the objective is strongly convex in them."""
        return float(np.sqrt(2 * max(self.high - self.low, 0)))


def find_optimum(task: Task) -> Optimum:
    """Return the best primal and the best dual point of all oracles."""
    rows = task.cost > 0
    if not rows.any() or (task.kind == "free" and np.unique(task.sign[rows]).size < 2):
        # Nothing to fit, or one class that a free offset satisfies alone: the infimum is 0.
        return Optimum(np.zeros(task.X.shape[1]), np.nan, np.zeros(len(task.cost)), 0.0, 0.0)
    best_w, best_b, best_alpha = np.zeros(task.X.shape[1]), 0.0, np.zeros(len(task.cost))
    low, high = 0.0, np.inf
    for w, raw_alpha in _candidates(task):
        if not (np.isfinite(w).all() and np.isfinite(raw_alpha).all()):
            continue
        alpha = task.feasible(raw_alpha)
        bound = task.dual(alpha)
        if bound > low:
            low, best_alpha = float(bound), alpha
        for weights in (w, task.weights(alpha)):
            b = task.best_offset(task.scores(weights))
            value = task.primal(weights, b)
            if value < high:
                high, best_w, best_b = float(value), np.asarray(weights, dtype=float), b
    return Optimum(best_w, best_b, np.asarray(best_alpha, dtype=float), low, high)


def _candidates(task: Task) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs (w, α) of the solvers that can take this loss."""
    if task.loss == "logistic":
        yield by_scipy(task)
    elif task.loss in ("hinge", "squared_hinge"):
        yield by_clarabel(task)
        yield by_clarabel(task, 1e-13)  # often better, and sometimes, giving up early, far worse
        yield by_piqp(task)
    else:
        raise LookupError(f"no oracle for the {task.loss} loss: say here who minimises it")


def _quadratic_program(task: Task) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return (P, q, A, l) of min ½x'Px + q'x, Ax ≥ l, with x = (w, b, slack) over the rows that cost.

    Columns, offset and slacks are measured in units that make the matrices moderate.
    """
    live = np.flatnonzero(task.cost > 0)
    X, sign, cost = task.X[live], task.sign[live].astype(float), task.cost[live]
    n, d = X.shape
    unit = np.abs(X).max(axis=0, initial=0)
    unit = 1 / np.where(unit > 0, unit, 1)
    offsets = 0 if task.kind == "none" else 1
    ridge = [1 / task.scale**2] * offsets if task.kind == "penalized" else [0.0] * offsets
    squared = task.loss == "squared_hinge"
    P = sp.diags(np.concatenate([unit**2, ridge, 2 * cost if squared else np.zeros(n)]), format="csc")
    q = np.concatenate([np.zeros(d + offsets), np.zeros(n) if squared else cost])
    left = [sp.csc_matrix(sign[:, None] * X * unit)]
    if offsets:
        left.append(sp.csc_matrix(sign[:, None]))
    A = sp.hstack([*left, sp.identity(n)], format="csc")
    return P, q, A, unit


def by_clarabel(task: Task, precision: float = 1e-11) -> tuple[np.ndarray, np.ndarray]:
    P, q, A, unit = _quadratic_program(task)
    n = A.shape[0]
    not_negative = sp.hstack([sp.csc_matrix((n, A.shape[1] - n)), sp.identity(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = precision
    settings.max_iter = 300
    constraints = sp.vstack([-A, -not_negative], format="csc")
    right = np.concatenate([-np.ones(n), np.zeros(n)])
    solver = clarabel.DefaultSolver(P, q, constraints, right, [clarabel.NonnegativeConeT(2 * n)], settings)
    solution = solver.solve()
    x, z = np.array(solution.x), np.array(solution.z)
    return x[: unit.size] * unit, _spread(task, z[:n])


def by_piqp(task: Task) -> tuple[np.ndarray, np.ndarray]:
    P, q, A, unit = _quadratic_program(task)
    n = A.shape[0]
    solver = piqp.SparseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-12
    solver.settings.max_iter = 300
    lowest = np.concatenate([np.full(A.shape[1] - n, -np.inf), np.zeros(n)])
    solver.setup(sp.csc_matrix(P), q, None, None, A, np.ones(n), None, lowest, None)
    solver.solve()
    return np.array(solver.result.x[: unit.size]) * unit, _spread(task, np.array(solver.result.z_l[:n]))


def by_scipy(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Trust region with the exact Hessian, in columns of size 1; then polished from where it ended."""
    sign, cost = task.sign.astype(float), task.cost
    unit = np.abs(task.X).max(axis=0, initial=0)
    unit = 1 / np.where(unit > 0, unit, 1)
    columns = [task.X * unit]
    ridge = unit**2
    if task.kind != "none":
        columns.append(np.ones((len(sign), 1)))
        ridge = np.append(ridge, 1 / task.scale**2 if task.kind == "penalized" else 0.0)
    A = np.hstack(columns) * sign[:, None]

    def value(x: np.ndarray) -> float:
        return float(0.5 * (ridge * x) @ x + cost @ np.logaddexp(0, -A @ x))

    def gradient(x: np.ndarray) -> np.ndarray:
        return ridge * x - (cost * scipy.special.expit(-A @ x)) @ A

    def hessian(x: np.ndarray) -> np.ndarray:
        p = scipy.special.expit(A @ x)
        return np.diag(ridge) + (A.T * (cost * p * scipy.special.expit(-A @ x))) @ A

    x = np.zeros(A.shape[1])
    for method, precision in (("trust-exact", "gtol"), ("Newton-CG", "xtol"), ("trust-exact", "gtol")):
        if x.size == 0:
            break
        options = {"maxiter": 2000, precision: 1e-13}
        found = scipy.optimize.minimize(value, x, method=method, jac=gradient, hess=hessian, options=options)
        if np.isfinite(found.x).all() and value(found.x) <= value(x):
            x = found.x
    return x[: unit.size] * unit, cost * scipy.special.expit(-A @ x)


def _spread(task: Task, live_alpha: np.ndarray) -> np.ndarray:
    alpha = np.zeros(len(task.cost))
    alpha[task.cost > 0] = live_alpha
    return alpha
