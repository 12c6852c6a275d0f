"""Least absolute deviations on the labels, by linear programming (B).

    minimise  Σ cᵢ |yᵢ − (θ·xᵢ + θ₀)|  =  Σ cᵢ |1 − mᵢ| ,   mᵢ the agreement.

HiGHS solves the dual, which has one constraint per column instead of one per row:

    maximise  Σ αᵢ   subject to   Σ αᵢ sᵢ(xᵢ, 1) = 0 ,   |αᵢ| ≤ cᵢ .

Its multipliers are (θ, θ₀). The certificate is computed here from the rows, θ and α; what HiGHS says about
its answer does not enter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin.errors import MaxMarginError
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.certificate import Certificate
from maxmargin.results.exact import ExactSolution
from maxmargin.results.solution import Plan
from maxmargin.rows import Array
from maxmargin.solvers.linear_program import solve_program

__all__ = ["least_absolute"]

_INSIDE = 1e-14  # of the cost: duals this far from ±c belong to rows that are met exactly
_NO_DEVIATION = 1e-9  # of the total cost
_MOST_SOLVED = 4_000  # columns up to which rows that are met exactly are solved for once more


def least_absolute(task: TwoClasses) -> ExactSolution:
    """Return the weights of least total absolute deviation, with the bound that proves it."""
    program = _Program.of(task)
    result = solve_program(
        task.token,
        -np.ones(len(program.cost)),
        program.matrix.T,
        (0.0, 0.0),
        (-program.cost, program.cost),
        tolerance=1e-10,
    )
    if result.x is None:
        raise MaxMarginError(
            f"HiGHS found no solution of the linear program ({result.message}). Scale the columns to similar "
            "ranges."
        )
    alpha = program.feasible(np.clip(result.x, -program.cost, program.cost))
    candidates = [-result.duals]
    solved = program.through_rows_met(alpha)
    if solved is not None:
        candidates.append(solved)
    w = min(candidates, key=program.objective)
    if program.objective(w) <= _NO_DEVIATION * float(program.cost.sum()):
        shortest = program.shortest_through_all(task)
        is_as_good = program.objective(shortest) <= max(program.objective(w), program.rounding(shortest))
        w = shortest if is_as_good else w
    coef, intercept, interval = program.in_original_units(w, task)
    w = program.in_units(coef, intercept)
    plan = Plan("linear program", "the dual has one constraint per column; by HiGHS's dual simplex method")
    return ExactSolution(
        coef, intercept, program.certificate(w, alpha), plan, interval, n_iter=max(result.n_iter, 1)
    )


@dataclass(frozen=True, eq=False)
class _Program:
    """Signed rows in units that suit the program: columns shifted, where an offset allows it, and scaled.

    Attributes
    ----------
    matrix : array or CSR matrix, one row per row that counts
    cost : array
    shift, spread : arrays
    """

    matrix: Any
    cost: Array
    shift: Array
    spread: Array
    has_offset: bool

    @classmethod
    def of(cls, task: TwoClasses) -> _Program:
        live = task.live
        X: Any = task.rows.X if len(live) == task.rows.n_rows else task.rows.subset(live).X
        sign, cost = task.sign[live].astype(np.float64), task.cost[live]
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
            return cls(sign[:, None] * lifted, cost, shift, spread, task.has_offset)
        sparse = sp.csr_array(X).astype(np.float64)
        size = abs(sparse).max(axis=0).toarray().ravel()
        spread = np.where(size > 0, size, 1.0)
        columns = [sparse @ sp.diags_array(1.0 / spread)]
        if task.has_offset:
            columns.append(sp.csr_array(np.ones((len(live), 1))))
        signed = sp.diags_array(sign) @ sp.hstack(columns, format="csr")
        return cls(sp.csr_array(signed), cost, shift, spread, task.has_offset)

    def agreements(self, w: Array) -> Array:
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(np.einsum("ij,j->i", self.matrix, w))
        return np.asarray(self.matrix @ w)

    def combine(self, alpha: Array) -> Array:
        """Return Σ α s(x, 1)."""
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(np.einsum("i,ij->j", alpha, self.matrix))
        return np.asarray(self.matrix.T @ alpha)

    def objective(self, w: Array) -> float:
        """Return Σ c|1 − m|."""
        return float(np.einsum("i,i->", self.cost, np.abs(1.0 - self.agreements(w))))

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

    def through_rows_met(self, alpha: Array) -> Array | None:
        """Return the weights that meet those rows, to more digits than the program gives."""
        met = self._met(alpha)
        if not 0 < len(met) <= _MOST_SOLVED:
            return None
        return np.asarray(np.linalg.lstsq(self._dense(met), np.ones(len(met)), rcond=None)[0])

    def shortest_through_all(self, task: TwoClasses) -> Array:
        """Return the shortest (θ, θ₀) that meets every row, if there is any, whatever the units."""
        live = task.live
        rows = task.dense(live)
        lifted = np.hstack([rows, np.ones((len(rows), int(self.has_offset)))])
        theta = np.linalg.lstsq(lifted, task.sign[live].astype(np.float64), rcond=None)[0]
        if not self.has_offset:
            return self.in_units(theta, 0.0)
        return self.in_units(theta[:-1], float(theta[-1]))

    def in_original_units(self, w: Array, task: TwoClasses) -> tuple[Array, float, tuple[float, float]]:
        """Return weights, offset and the interval of offsets that are as good; the offset is its midpoint."""
        if not self.has_offset:
            return w / self.spread, 0.0, (0.0, 0.0)
        coef = w[:-1] / self.spread
        given = float(w[-1]) - float(np.einsum("i,i->", self.shift, coef))
        live = task.live
        sign = task.sign[live]
        residual = sign * (1.0 - task.agreements(coef, 0.0)[live])
        low, high = _median_interval(residual, self.cost)
        margin = 1e-9 * (1.0 + abs(given))
        if not low - margin <= given <= high + margin:  # rounding moved the rows that decide
            return coef, given, (given, given)
        return coef, 0.5 * (low + high), (low, high)

    def in_units(self, coef: Array, intercept: float) -> Array:
        """Return weights for `matrix`."""
        if not self.has_offset:
            return coef * self.spread
        return np.append(coef * self.spread, intercept + float(np.einsum("i,i->", self.shift, coef)))

    def certificate(self, w: Array, alpha: Array) -> Certificate:
        """Return the gap without cancellation: Σ (c|r| − αr), r = 1 − m, and what is left of Σ α s(x, 1).

        The optimum is at least Σ α − |Σ α s(x, 1)|·|w*|; weights of an optimum are taken to be at most three
        times as large as these.
        """
        r = 1.0 - self.agreements(w)
        objective = float(np.einsum("i,i->", self.cost, np.abs(r)))
        rest = np.abs(self.combine(alpha))
        gap = float(np.maximum(self.cost * np.abs(r) - alpha * r, 0.0).sum())
        gap += 4.0 * float(np.einsum("i,i->", rest, np.abs(w)))
        residuals = {"dual_constraints": float(rest.max(initial=0.0))}
        return Certificate("lp-dual", objective, max(objective - gap, 0.0), self.rounding(w), residuals)

    def rounding(self, w: Array) -> float:
        """Return what rounding errors can make of an objective of 0."""
        if isinstance(self.matrix, np.ndarray):
            size = np.einsum("ij,j->i", np.abs(self.matrix), np.abs(w))
        else:
            size = abs(self.matrix) @ np.abs(w)
        return (len(w) + 8) * 2.0**-52 * float(np.einsum("i,i->", self.cost, 1.0 + size))


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
