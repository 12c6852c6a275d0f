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

import maxmargin._core as _core
from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.kernels import Combine, Scores

__all__ = ["FreeRows", "Improved", "pass_cost"]

_LARGEST_SHARE = 0.15  # of the rows: their copy must stay small beside the data
_SMALL_VALUES = 1_000_000  # below that many, nobody minds the copy
_FEWEST_ITERATIONS = 30  # of conjugate gradients, for an attempt to be worth it
_FIXED_VALUES = 4_000  # what a pass costs apart from the rows, as values read


@dataclass(frozen=True, eq=False)
class Improved:
    """A better dual point, and what it cost in passes."""

    alpha: Array
    passes: float


@dataclass(frozen=True, eq=False)
class _Face:
    """The free rows of one split, in variables scaled to unit diagonal: p = scale · y."""

    rows: MemoryRows
    sign: Array
    scale: Array
    normal: Array | None  # unit vector of the constraint Σ s p = 0, in y
    offset_square: float

    @property
    def across(self) -> Array:
        return self.sign * self.scale

    def solve(self, gradient: Array, most: int, token: StopToken) -> tuple[Array, int]:
        """Return the best change of the duals, and the iterations it took.

        A direction in which the value grows for ever is returned so long that it surely meets the box.
        """
        y = np.zeros_like(gradient)
        iterations, unbounded = _core.solve_on_face(
            self.rows.whole, self.across, self.normal, self.offset_square, gradient, y, most, token
        )
        if unbounded:
            y *= 1e30 / np.sqrt(float((y * y).sum()))
        return self.scale * y, iterations

    def scores(self, u: Array, token: StopToken) -> Array:
        z = self.rows.zeros()
        self.rows.reduce(Scores(u), z, token=token)
        return np.asarray(z)

    def combine(self, change: Array, token: StopToken) -> Array:
        """Return what a change of the duals adds to u."""
        return self.rows.reduce(Combine(self.rows.n_columns), self.sign * change, token=token)


class FreeRows:
    """Improves a feasible dual point of the hinge by solving on its free rows.

    It keeps to an allowance, so that a problem which sweeps solve well is not held up. Costs are counted in
    passes over all rows, never in seconds: the course of a fit must not depend on the clock.
    """

    def __init__(self) -> None:
        self.spent = 0.0

    def is_worth_trying(self, problem: Problem, alpha: Array, allowance: float) -> bool:
        """Whether what is left of the allowance pays for a first look at the free rows."""
        n_free = int(np.count_nonzero((alpha > 0) & (alpha < problem.cost)))
        is_large = problem.rows.n_values > _SMALL_VALUES
        if n_free == 0 or (is_large and n_free > _LARGEST_SHARE * problem.class_costs.n_live):
            return False
        if n_free * problem.rows.n_values > problem.rows.most_copied * problem.rows.n_rows:
            return False
        wanted = min(n_free, _FEWEST_ITERATIONS) * _iteration_cost(problem, n_free)
        return allowance - self.spent > wanted

    def improve(self, problem: Problem, alpha: Array, allowance: float, token: StopToken) -> Improved:
        """Return a point with a larger dual value.

        Parameters
        ----------
        alpha : row vector
            Feasible, with free rows; it is overwritten.
        allowance : float
            Passes that all attempts together may cost.
        """
        signed = problem.sign * alpha
        u = problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
        balance = float(signed.sum())
        before = self.spent
        self.spent += 1.0
        while True:
            free = np.flatnonzero((alpha > 0) & (alpha < problem.cost))
            if free.size == 0:
                break
            cost = _iteration_cost(problem, free.size)
            affordable = int((allowance - self.spent) / cost)
            if affordable < 1:
                break
            face = _open_face(problem, free)
            gradient = _gradient(problem, face, u, balance, token)
            direction, rounds = face.solve(gradient, min(affordable, 2 * free.size + 20), token)
            self.spent += cost * (rounds + 2)
            change, blocked = _advance(alpha, problem.cost, free, direction)
            u += face.combine(change, token)
            balance += float((face.sign * change).sum())
            if not blocked:
                break
        return Improved(alpha, self.spent - before)


def pass_cost(problem: Problem, n_visited: int) -> float:
    """Return what reading some of the rows costs, in passes over all of them; each has its fixed part."""
    rows = problem.rows
    values_per_row = rows.n_values / max(rows.n_rows, 1) + 16.0
    return (n_visited * values_per_row + _FIXED_VALUES) / (rows.n_rows * values_per_row + _FIXED_VALUES)


def _iteration_cost(problem: Problem, n_free: int) -> float:
    """Return what one iteration of conjugate gradients costs: two readings of the free rows."""
    return 2.0 * pass_cost(problem, n_free)


def _open_face(problem: Problem, free: NDArray[np.intp]) -> _Face:
    rows = problem.rows.subset(free)
    sign = problem.sign[free].astype(np.float64)
    square = problem.offset.square
    diagonal = rows.norms()[0] + square
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    normal = None
    if problem.offset.kind == "free":
        across = sign * scale
        normal = across / np.sqrt(float((across * across).sum()))
    return _Face(rows, sign, scale, normal, square)


def _gradient(problem: Problem, face: _Face, u: Array, balance: float, token: StopToken) -> Array:
    """Return the dual's slope in y on the face."""
    b = problem.offset.square * balance
    slope = face.scale * (1.0 - face.sign * (face.scores(u, token) + b))
    if face.normal is None:
        return np.asarray(slope)
    # The offset that suits the free rows best leaves what is orthogonal to the constraint.
    return np.asarray(slope - float((slope * face.normal).sum()) * face.normal)


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
