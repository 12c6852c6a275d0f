"""Least absolute deviations on the labels, by linear programming.

    minimise  Σ cᵢ |yᵢ − (θ·xᵢ + θ₀)|  =  Σ cᵢ |1 − mᵢ| ,   mᵢ the agreement.

HiGHS solves the dual, which has one constraint per column instead of one per row:

    maximise  Σ αᵢ   subject to   Σ αᵢ sᵢ(xᵢ, 1) = 0 ,   |αᵢ| ≤ cᵢ .

Its multipliers are (θ, θ₀). Where rows are few, a search without rounding errors begins at the corner where
it ended. The certificate is computed from the rows, θ and α; what HiGHS says about its answer does not enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin.core.certificate.lp_dual import certify_by_multipliers, optimum_of_few_rows, total_loss
from maxmargin.core.exact.programs import ExactOptimum
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.errors import MaxMarginError
from maxmargin.learners.exact.least_squares import least_squares
from maxmargin.learners.exact.record import ExactSolution
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.rows.base import Array
from maxmargin.separation.programs import solve_program

__all__ = ["least_absolute"]


_INSIDE = 1e-14  # of the cost: duals this far from ±c belong to rows that are met exactly
_NO_DEVIATION = 1e-9  # of the total cost
_MET = 2.0**-40  # the same, from which on every label is met to 12 digits
_MOST_SOLVED = 4_000  # columns up to which rows that are met exactly are solved for once more
_PROVED = 1e-8


@dataclass(frozen=True, eq=False)
class _Point:
    """Weights, an offset, and all offsets that are as good for these weights."""

    coef: Array
    intercept: float
    interval: tuple[float, float]


def least_absolute(task: TwoClasses) -> ExactSolution:
    """Return the weights of least total absolute deviation, with the bound that proves it."""
    problem = task.problem("absolute")
    program = _Program.of(task)
    result = solve_program(
        task.token,
        -np.ones(len(program.cost)),
        program.matrix.T,
        (0.0, 0.0),
        (-program.cost, program.cost),
        tolerance=1e-10,
    )
    alpha: Array = problem.rows.zeros()
    points: list[_Point] = []
    if result.x is not None:
        found = program.feasible(np.clip(result.x, -program.cost, program.cost))
        alpha[task.live] = program.unit * found
        points = [program.in_original_units(w) for w in (-result.duals, program.through_rows_met(found))]
    start = points[0] if points else _Point(np.zeros(problem.rows.n_columns), 0.0, (0.0, 0.0))
    agreement = task.agreements(start.coef, start.intercept)
    optimum = optimum_of_few_rows(problem, alpha, -1, agreement, task.token)
    points += [] if optimum is None else _rounded(problem, optimum)
    if not points:
        raise MaxMarginError(
            f"HiGHS found no solution of the linear program ({result.message}). Scale the columns to similar "
            "ranges."
        )
    best = _best(task, problem, points)
    certificate, _ = certify_by_multipliers(
        problem, best.coef, best.intercept, alpha, -1, optimum=optimum, token=task.token
    )
    is_met = certificate.bound == 0 and certificate.objective <= _MET * problem.class_costs.total
    plan = Plan("linear program", "the dual has one constraint per column; by HiGHS's dual simplex method")
    return ExactSolution(
        best.coef,
        best.intercept,
        certificate,
        plan,
        best.interval,
        status=Status.SOLVED if is_met or certificate.relative_gap <= _PROVED else Status.STALLED,
        n_iter=max(result.n_iter, 1),
    )


def _rounded(problem: Problem, optimum: ExactOptimum) -> list[_Point]:
    """Return the exact optimum, rounded once, unless it is of no use (see least_squares.py)."""
    width = problem.n_unknowns
    rounded = optimum.rounded(problem.offset.is_free)
    if rounded is None or optimum.rank > width - len(problem.null_space.dependent):
        return []
    return [_Point(*rounded, (rounded[1], rounded[1]))]


def _best(task: TwoClasses, problem: Problem, points: list[_Point]) -> _Point:
    """Return the best of the points; of all best offsets the one in the middle.

    Where every label is met, the shortest point that does it is taken.
    """

    def loss(point: _Point) -> tuple[float, float]:
        return total_loss(problem, point.coef, point.intercept, -1)

    best = min(points, key=lambda point: loss(point)[0])
    least, rounding = loss(best)
    if task.has_offset:
        middle = _in_the_middle(task, best.coef)
        if loss(middle)[0] <= least + rounding:
            best = middle
    if least <= _NO_DEVIATION * problem.class_costs.total:
        fit = least_squares(task)
        shortest = _Point(fit.coef, fit.intercept, (fit.intercept, fit.intercept))
        if loss(shortest)[0] <= max(least, loss(shortest)[1]):
            best = shortest
    return best


def _in_the_middle(task: TwoClasses, coef: Array) -> _Point:
    """Return the weights with the midpoint of their best offsets."""
    live = task.live
    residual = task.sign[live] * (1.0 - task.agreements(coef, 0.0)[live])
    low, high = _median_interval(residual, task.cost[live])
    return _Point(coef, 0.5 * (low + high), (low, high))


@dataclass(frozen=True, eq=False)
class _Program:
    """Signed rows in units that suit the program: columns shifted, where an offset allows it, and scaled.

    Attributes
    ----------
    matrix : array or CSR matrix, one row per row that counts
    cost : array
        In units of `unit`, about the largest.
    shift, spread : arrays
    """

    matrix: Any
    cost: Array
    unit: float
    shift: Array
    spread: Array
    has_offset: bool

    @classmethod
    def of(cls, task: TwoClasses) -> _Program:
        live = task.live
        X: Any = task.rows.X if len(live) == task.rows.n_rows else task.rows.subset(live).X
        sign, cost = task.sign[live].astype(np.float64), task.cost[live]
        unit = 2.0 ** float(np.frexp(cost.max(initial=1.0))[1])
        cost = cost / unit
        n_columns = X.shape[1]
        shift = np.zeros(n_columns)
        if isinstance(X, np.ndarray):
            matrix: Any = X.astype(np.float64)
            if task.has_offset:
                shift = matrix.mean(axis=0)
                matrix -= shift
            size = np.abs(matrix).max(axis=0)
            spread = np.where(size > 1e-13 * np.abs(shift), size, 1.0)
            matrix /= spread
            lifted = np.hstack([matrix, np.ones((len(live), int(task.has_offset)))])
            return cls(sign[:, None] * lifted, cost, unit, shift, spread, task.has_offset)
        sparse = sp.csr_array(X).astype(np.float64)
        size = abs(sparse).max(axis=0).toarray().ravel()
        spread = np.where(size > 0, size, 1.0)
        columns = [sparse @ sp.diags_array(1.0 / spread)]
        if task.has_offset:
            columns.append(sp.csr_array(np.ones((len(live), 1))))
        signed = sp.diags_array(sign) @ sp.hstack(columns, format="csr")
        return cls(sp.csr_array(signed), cost, unit, shift, spread, task.has_offset)

    def combine(self, alpha: Array) -> Array:
        """Return Σ α s(x, 1)."""
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(np.einsum("i,ij->j", alpha, self.matrix))
        return np.asarray(self.matrix.T @ alpha)

    def _met(self, alpha: Array) -> NDArray[np.intp]:
        """Return the rows whose duals are inside their bounds: they are met exactly."""
        return np.flatnonzero(np.abs(alpha) < (1.0 - _INSIDE) * self.cost)

    def _dense(self, chosen: NDArray[np.intp]) -> Array:
        rows = self.matrix[chosen]
        return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())

    def feasible(self, alpha: Array) -> Array:
        """Return duals whose combination is 0 to rounding errors: those inside their bounds take the rest."""
        met = self._met(alpha)
        if not 0 < len(met) <= _MOST_SOLVED:
            return alpha
        for _ in range(2):
            rest = self.combine(alpha)
            change = np.linalg.lstsq(self._dense(met).T, -rest, rcond=None)[0]
            alpha = alpha.copy()
            alpha[met] = np.clip(alpha[met] + change, -self.cost[met], self.cost[met])
        return alpha

    def through_rows_met(self, alpha: Array) -> Array:
        """Return the weights that meet those rows, to more digits than the program gives."""
        met = self._met(alpha)[:_MOST_SOLVED]
        return np.asarray(np.linalg.lstsq(self._dense(met), np.ones(len(met)), rcond=None)[0])

    def in_original_units(self, w: Array) -> _Point:
        """Return weights and offset for the rows as they are stored."""
        if not self.has_offset:
            return _Point(w / self.spread, 0.0, (0.0, 0.0))
        coef = w[:-1] / self.spread
        intercept = float(w[-1]) - float(np.einsum("i,i->", self.shift, coef))
        return _Point(coef, intercept, (intercept, intercept))


def _median_interval(values: Array, weights: Array) -> tuple[float, float]:
    """Return the ends of the interval of weighted medians."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    half = 0.5 * below[-1]
    ties = len(values) * 2.0**-52 * below[-1]
    low = int(np.searchsorted(below, half - ties))
    high = int(np.searchsorted(below, half + ties, side="right"))
    last = len(values) - 1
    return float(values[order[min(low, last)]]), float(values[order[min(high, last)]])
