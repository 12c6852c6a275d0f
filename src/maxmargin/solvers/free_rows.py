"""The endgame of the hinge: solve exactly for the rows between their bounds.

At the optimum the rows split into those at 0, those at c, and the free ones on the margin. Once the split
is nearly right, the best dual values of the free rows F are the solution of a linear system,

    max over p of  g·p − ½‖Σ_F p s x‖² (− ½ scale² (Σ s p)²),     Σ_F s p = 0 if the offset is free,

which conjugate gradients solve without forming it; they also do the right thing when rows are repeated or
there are more free rows than columns. Steps that would leave the box stop at its side, where the row
leaves F. Every accepted step increases the dual value, so nothing is lost by trying.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, Rows
from maxmargin.rows.kernels import Combine, Scores

__all__ = ["FreeRows", "Improved"]

_LARGEST_SHARE = 0.25  # of the rows: their copy must stay small beside the data
_ALLOWANCE = 0.5  # of the passes that sweeps have cost
_FEWEST_ITERATIONS = 30  # of conjugate gradients, for an attempt to be worth it
_FIXED_VALUES = 30_000  # what a pass costs apart from the rows, as values read


@dataclass(frozen=True, eq=False)
class Improved:
    """A better dual point, the offset that goes with it, and what it cost in passes."""

    alpha: Array
    b: float
    passes: float


@dataclass(frozen=True, eq=False)
class _Face:
    """The free rows of one split, in variables scaled to unit diagonal: p = y / ‖x‖."""

    rows: Rows
    index: NDArray[np.intp]
    sign: Array
    scale: Array
    normal: Array | None  # unit vector of the constraint Σ s p = 0, in y
    offset_square: float

    def project(self, y: Array) -> Array:
        return y if self.normal is None else y - float((self.normal * y).sum()) * self.normal

    def weights(self, y: Array, token: StopToken) -> Array:
        """Return Σ p s x."""
        return self.rows.reduce(Combine(self.rows.n_columns), self.sign * self.scale * y, token=token)

    def apply(self, y: Array, token: StopToken) -> Array:
        """Return the Hessian of the dual times y."""
        z = self.rows.zeros()
        self.rows.reduce(Scores(self.weights(y, token)), z, token=token)
        if self.offset_square > 0:
            z += self.offset_square * float((self.sign * self.scale * y).sum())
        return np.asarray(self.sign * self.scale * z)


class FreeRows:
    """Improves a feasible dual point of the hinge by solving on its free rows.

    It never spends more than a share of what the sweeps have cost so far, so that a problem which sweeps
    solve well is not held up. Costs are counted in passes over all rows, never in seconds: the course of a
    fit must not depend on the clock.
    """

    def __init__(self) -> None:
        self.spent = 0.0

    def is_worth_trying(self, problem: Problem, alpha: Array, swept: float) -> bool:
        """Whether what is left of the allowance pays for a first look at the free rows."""
        n_free = int(np.count_nonzero((alpha > 0) & (alpha < problem.cost)))
        if n_free == 0 or n_free > max(_LARGEST_SHARE * problem.class_costs.n_live, 4096):
            return False
        wanted = min(n_free, _FEWEST_ITERATIONS) * _iteration_cost(problem, n_free)
        return _ALLOWANCE * swept - self.spent > wanted

    def improve(self, problem: Problem, alpha: Array, swept: float, token: StopToken) -> Improved:
        """Return a point with a larger dual value.

        Parameters
        ----------
        alpha : row vector
            Feasible, with free rows; it is overwritten.
        swept : float
            Passes that the sweeps have cost.
        """
        signed = problem.sign * alpha
        u = problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
        balance = float(signed.sum())
        before, b = self.spent, 0.0
        self.spent += 1.0
        while True:
            free = np.flatnonzero((alpha > 0) & (alpha < problem.cost))
            if free.size == 0:
                break
            cost = _iteration_cost(problem, free.size)
            affordable = int((_ALLOWANCE * swept - self.spent) / cost)
            if affordable < 1:
                break
            face = _open_face(problem, free)
            gradient, b = _gradient(problem, face, u, balance, token)
            direction, rounds = _solve(face, gradient, min(affordable, 2 * free.size + 20), token)
            self.spent += cost * (rounds + 2)
            change, blocked = _advance(alpha, problem.cost, free, direction)
            u += face.weights(change / face.scale, token)
            balance += float((face.sign * change).sum())
            if not blocked:
                break
        return Improved(alpha, b, self.spent - before)


def _iteration_cost(problem: Problem, n_free: int) -> float:
    """Return the passes that one iteration costs: two readings of the free rows, each with its fixed part."""
    rows = problem.rows
    values_per_row = rows.n_values / max(rows.n_rows, 1) + 16.0
    one_pass = rows.n_rows * values_per_row + _FIXED_VALUES
    return 2.0 * (n_free * values_per_row + _FIXED_VALUES) / one_pass


def _open_face(problem: Problem, free: NDArray[np.intp]) -> _Face:
    rows = problem.rows.subset(free)
    sign = problem.sign[free].astype(np.float64)
    square = problem.offset.square
    norm2, _ = rows.norms()
    diagonal = norm2 + square
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    normal = None
    if problem.offset.kind == "free":
        across = sign * scale
        normal = across / np.sqrt(float((across * across).sum()))
    return _Face(rows, free, sign, scale, normal, square)


def _gradient(
    problem: Problem, face: _Face, u: Array, balance: float, token: StopToken
) -> tuple[Array, float]:
    """Return the dual's slope in y on the face, and the offset that fits the free rows best."""
    z = face.rows.zeros()
    face.rows.reduce(Scores(u), z, token=token)
    if problem.offset.kind == "penalized":
        z += problem.offset.square * balance
    slope = face.scale * (1.0 - face.sign * z)
    if face.normal is None:
        return slope, problem.offset.square * balance
    # Least squares in the scaled variables: slope − b·(s·scale) is orthogonal to the constraint.
    across = face.sign * face.scale
    b = float((slope * across).sum()) / float((across * across).sum())
    return slope - b * across, b


def _solve(face: _Face, gradient: Array, most: int, token: StopToken) -> tuple[Array, int]:
    """Maximise on the face by conjugate gradients; return the direction in p and the iterations used.

    A direction of no curvature that still climbs is returned as it is, long enough to reach the box.
    """
    y = np.zeros_like(gradient)
    residual = face.project(gradient)
    direction = residual.copy()
    rr = float((residual * residual).sum())
    target = rr * 1e-28
    for k in range(1, most + 1):
        curved = face.project(face.apply(direction, token))
        curvature = float((direction * curved).sum())
        size = float((direction * direction).sum())
        if rr <= 0 or size == 0:
            return face.scale * y, k
        if curvature <= 1e-13 * size:
            return face.scale * (y + direction * (1e30 / np.sqrt(size))), k
        step = rr / curvature
        y += step * direction
        residual -= step * curved
        if k % 50 == 0:
            residual = face.project(residual)
        previous, rr = rr, float((residual * residual).sum())
        if rr <= target:
            return face.scale * y, k
        direction = residual + (rr / previous) * direction
    return face.scale * y, most


def _advance(alpha: Array, cost: Array, free: NDArray[np.intp], direction: Array) -> tuple[Array, bool]:
    """Move the free rows along the direction as far as the box allows.

    Returns the change, and whether a side of the box stopped it.
    """
    start, top = alpha[free], cost[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (top - start) / direction, -start / direction
    room = np.where(direction > 0, up, np.where(direction < 0, down, np.inf))
    length = min(1.0, float(room.min(initial=np.inf)))
    moved = start + length * direction
    if length < 1.0:
        at_side = room <= length * (1.0 + 1e-12)
        moved = np.where(at_side, np.where(direction > 0, top, 0.0), moved)
    alpha[free] = np.clip(moved, 0.0, top)
    return alpha[free] - start, length < 1.0
