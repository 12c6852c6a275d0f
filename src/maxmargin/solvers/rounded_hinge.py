"""The hinge with rounded corners: one Newton step at a time, and when to sharpen the corners.

In the coordinates (w, β) with β = b + shift·w the columns are centred, which changes nothing where the
offset is free and keeps the columns apart from the constant one.
"""

from __future__ import annotations

import math

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, RowVector, inner
from maxmargin.rows.live_rows import LiveRows
from maxmargin.rows.vectors import Smallest
from maxmargin.solvers.frame import mean_of_table
from maxmargin.solvers.proximal_passes import (
    CountShort,
    Direction,
    Excess,
    FirstAnchors,
    Move,
    Moved,
    Multipliers,
    Slopes,
)
from maxmargin.solvers.slope_search import FIRST_STEPS, find_step

__all__ = ["RoundedHinge", "cold_start", "warm_start"]

_LONGEST_INNER = 20  # Newton steps between two anchors
_MOST_ANCHORS = 8  # in one step: then somebody should look at the certificate
_INNER = 0.1  # an inner problem is solved when Newton's decrement is below this share of the anchors' cost
# Multipliers α₀ − κce carry κc times the rounding of e.
_STIFFEST = 1e8
_SOFT_START = 5.0  # stiffness around a point whose own is unknown: what has to move still can
_SETTLED = 1e-4  # of the tolerance: anchors that move by less need no sharper corners
_TINY = 1e-14  # decrements below this share of the objective cannot be told from rounding in a sum
_FOR_A_SIZE = 4_000  # rows that tell how large the columns are
_NOTHING = 1e-28  # and below this one they are nothing else


class RoundedHinge:
    """The state of the method of multipliers on one problem.

    Attributes
    ----------
    w, b : the point
    stiffness : κ
    anchor : α₀ of every row
    """

    def __init__(
        self,
        problem: Problem,
        w: Array,
        b: float,
        anchor: RowVector,
        stiffness: float,
        shift: Array | None,
        token: StopToken,
    ) -> None:
        self._problem = problem
        self._rows = problem.rows.condensed(token)
        self._shift = shift
        self.anchor = anchor
        self._excess = problem.rows.zeros()
        self._change = problem.rows.zeros()
        self.w, self.b = w.copy(), b
        self.stiffness = stiffness
        self._center = self._beta()
        self.grams = 0.0  # Gram matrices added up so far, one over all rows counting 1
        self._inner_steps = 0
        self._still = 0
        self._is_stale = False
        self._read_rows(token)

    # ------------------------------------------------------------------ what is known of the point

    def _beta(self) -> float:
        return self.b if self._shift is None else self.b + inner(self._shift, self.w)

    @property
    def objective(self) -> float:
        return 0.5 * inner(self.w, self.w) + self._found.loss + self._problem.offset.penalty(self.b)

    def _residual(self) -> Array:
        """Return w − Σ sα(x − shift): the gradient in w, for rounded corners as for the dual's weights."""
        implied = self._v if self._shift is None else self._v - self._found.balance * self._shift
        return np.asarray(self.w - implied)

    def _apart(self) -> float:
        """What the gap pays for w ≠ Σ sαx, and for Σ sα ≠ 0 or, where it is penalised, b ≠ scale² Σ sα."""
        residual = self._residual()
        apart = 0.5 * inner(residual, residual)
        offset, balance = self._problem.offset, self._found.balance
        if offset.kind == "penalized":
            apart += 0.5 * (self.b / offset.scale - offset.scale * balance) ** 2
        elif offset.kind == "free":
            apart += abs(balance) * (abs(self._beta()) + 1.0)
        return apart

    def relative_gap(self) -> float:
        """Return the duality gap as the stored numbers have it."""
        gap = self._found.gap + self._apart()
        bound = self.objective - gap
        return gap / bound if bound > 0 else math.inf

    def is_at_rest(self) -> bool:
        """Whether several steps in a row changed nothing that can be told from rounding."""
        return self._still >= 3

    def spread(self, count: int) -> float:
        """Return within how much of its corner the hinge has `count` rows."""
        nearest = self._rows.reduce(Smallest(count + 1), self._excess, self._problem.cost)
        return min(max(float(nearest.max()), 0.02), 2.0)

    def n_short(self) -> int:
        """Return how many rows fall clearly short of the margin."""
        return self._rows.reduce(CountShort(-1e-3), self._excess)

    def multipliers(self) -> RowVector:
        """Return α of every row."""
        alpha = self._problem.rows.zeros()
        self._rows.reduce(Multipliers(self.stiffness), self._problem.cost, self.anchor, self._excess, alpha)
        return alpha

    # ------------------------------------------------------------------ passes

    @property
    def _numbers(self) -> tuple[RowVector, ...]:
        problem = self._problem
        return problem.sign, problem.cost, self.anchor, self._excess, self._change

    def refresh(self) -> None:
        """Have the next step compute all numbers from the rows: they carry the rounding of many updates."""
        self._is_stale = True

    def _read_rows(self, token: StopToken) -> None:
        self._rows.reduce(Excess(self.w, self.b), self._problem.sign, self._excess, token=token)
        self._v = np.zeros(self._rows.n_columns)
        self._move(Move(0.0, 0.0, self.stiffness, False, self._shift), token)
        self._is_stale = False

    def _move(self, move: Move, token: StopToken) -> float:
        found: Moved = self._rows.reduce(move, *self._numbers, token=token)
        self._v += found.v
        self._found = found
        self.grams += found.free / max(self._rows.n_rows, 1)
        self.stiffness = move.after
        return 0.5 * (found.free / max(self._rows.n_rows, 1)) + 0.1

    # ------------------------------------------------------------------ Newton

    def _newton(self) -> tuple[Array, float, float]:
        """Return the direction in (w, β) and Newton's decrement."""
        d, offset = self._rows.n_columns, self._problem.offset
        matrix = self._found.gram.copy()
        matrix[np.arange(d), np.arange(d)] += 1.0
        gradient = np.empty(d + 1)
        gradient[:d] = self._residual()
        self._pull = 0.0
        if offset.kind == "free":
            # A little inertia of the offset, for when no row is free. Next to none with free rows: where
            # columns are far from zero, w does most of what b does, and little is left of its own curvature.
            if self._found.free:
                self._pull = 1e-12 * matrix[d, d]
            else:
                self._pull = 1e-6 * self.stiffness * self._problem.class_costs.total
            gradient[d] = self._pull * (self._beta() - self._center) - self._found.balance
            matrix[d, d] += self._pull
        elif offset.kind == "penalized":
            self._pull = 1.0 / offset.square
            gradient[d] = self._pull * self.b - self._found.balance
            matrix[d, d] += self._pull
        else:
            matrix[d, :] = matrix[:, d] = 0.0
            gradient[d] = 0.0
        direction = -Factor(matrix).solve(gradient)
        return direction[:d].copy(), float(direction[d]), -inner(gradient, direction)

    def take_step(self, room: float, tol: float, token: StopToken) -> float:
        """Take one Newton step, after as many changes of the anchors as are due; return its passes."""
        passes = 0.0
        if self._is_stale:
            self._read_rows(token)
            passes += 1.5
        for _ in range(_MOST_ANCHORS):
            dw, dbeta, decrement = self._newton()
            if not self._inner_is_solved(decrement, tol):
                break
            passes += self._renew_anchors(room, tol, token)
        else:
            self._still += 1
            return passes
        if not decrement > 0:
            self._still += 1
            return passes
        self._still = 0
        return passes + self._search(dw, dbeta, decrement, token)

    def _search(self, dw: Array, dbeta: float, decrement: float, token: StopToken) -> float:
        """Go along a direction to where the objective with rounded corners is least."""
        db = dbeta if self._shift is None else dbeta - inner(self._shift, dw)
        center = self._center if self._problem.offset.kind == "free" else 0.0
        constant = inner(self.w, dw) + self._pull * (self._beta() - center) * dbeta
        rise = inner(dw, dw) + self._pull * dbeta * dbeta

        def own(steps: Array) -> Array:
            return np.asarray(constant + rise * steps)

        def slopes(steps: Array) -> Array:
            kernel = Slopes(self.stiffness, steps)
            return np.asarray(own(steps) + self._rows.reduce(kernel, *self._numbers, token=token))

        kernel = Direction(dw, db, self.stiffness, FIRST_STEPS)
        first = own(FIRST_STEPS) + self._rows.reduce(kernel, *self._numbers, token=token)
        # Where the slopes are rounding, a whole step is as good as any.
        is_tiny = decrement <= _TINY * self.objective
        step = 1.0 if is_tiny else find_step(-decrement, first, slopes)
        passes = self._move(Move(step, self.stiffness, self.stiffness, False, self._shift), token)
        self.w += step * dw
        self.b += step * db
        self._inner_steps += 1
        return 1.0 + passes

    # ------------------------------------------------------------------ anchors

    def _inner_is_solved(self, decrement: float, tol: float) -> bool:
        if self._inner_steps >= _LONGEST_INNER or decrement <= _NOTHING * self.objective:
            return True
        if decrement > _INNER * self._found.moved:
            return False
        # If the corners are sharp enough already, only this inner problem, solved exactly, is wanted.
        return not self._is_sharp(tol) or self._apart() <= 0.3 * tol * self._scale()

    def _scale(self) -> float:
        return max(self.objective - self._found.gap, 0.5 * self.objective)

    def _is_sharp(self, tol: float) -> bool:
        """Whether rounding the corners costs less than half of the tolerance."""
        return self._found.gap <= 0.5 * tol * self._scale()

    def _renew_anchors(self, room: float, tol: float, token: StopToken) -> float:
        """Make the multipliers the anchors; sharpen the corners as far as enough rows stay free."""
        free = self._found.free / (room * (self._rows.n_columns + 1))
        steps = self._inner_steps
        is_settled = self.stiffness >= 1.0 and self._found.moved <= _SETTLED * tol * self._scale()
        if self._is_sharp(tol) or is_settled or steps >= 8:
            growth = 1.0
        elif free > 1.0:
            growth = min(10.0, free)
        else:
            growth = 10.0 if steps <= 1 else 10.0 / 3.0 if steps <= 3 else 1.8
        self._center = self._beta()
        self._inner_steps = 0
        kappa = self.stiffness
        stiffer = max(kappa, min(kappa * growth, _STIFFEST))
        return self._move(Move(0.0, kappa, stiffer, True, self._shift), token)


# ---------------------------------------------------------------------- where to begin


def warm_start(
    problem: Problem, w: Array, b: float, anchor: RowVector, stiffness: float | None, token: StopToken
) -> RoundedHinge:
    """Return the rounded problem around a point that is nearly right; the anchors become its own."""
    kappa = stiffness if stiffness is not None else _SOFT_START
    return RoundedHinge(problem, w, b, anchor, kappa, _shift(problem, token), token)


def cold_start(problem: Problem, seed: int, token: StopToken) -> RoundedHinge:
    """Return the rounded problem at w = 0, so round that most rows are free.

    The stiffness is such that κc‖x‖² is moderate, with a typical ‖x‖² that a single wild column cannot
    spoil: d times the geometric mean of the columns' squares.
    """
    costs = problem.class_costs
    shift = _shift(problem, token)
    mean_cost = costs.total / max(costs.n_live, 1)
    # At w = 0 a multiplier is up to 2κc: below c, or the first direction would know no curvature.
    kappa = min(0.4, 10.0 / max(_typical_square(problem, shift, seed) * mean_cost, 1e-300))
    positive = negative = kappa
    if problem.offset.kind == "free" and costs.positive > 0 and costs.negative > 0:
        least = min(costs.positive, costs.negative)
        positive, negative = kappa * least / costs.positive, kappa * least / costs.negative
    anchor = problem.rows.zeros()
    problem.rows.reduce(FirstAnchors(positive, negative), problem.sign, problem.cost, anchor)
    b = 0.0 if problem.offset.kind != "free" else _balanced_offset(problem, kappa, positive, negative)
    return RoundedHinge(problem, np.zeros(problem.rows.n_columns), b, anchor, kappa, shift, token)


def _shift(problem: Problem, token: StopToken) -> Array | None:
    return mean_of_table(problem, problem.rows.condensed(token), token)


def _typical_square(problem: Problem, shift: Array | None, seed: int) -> float:
    """Return d times the geometric mean of the columns' mean squares, over some of the rows."""
    live = LiveRows(problem.rows, problem.sign, problem.cost)
    ranks = np.arange(live.count)
    if live.count > _FOR_A_SIZE:
        ranks = np.random.default_rng(seed).choice(live.count, _FOR_A_SIZE, replace=False)
    X = problem.rows.subset(live.numbers(ranks)).X
    if isinstance(X, np.ndarray):
        centred = X.astype(np.float64) - (0.0 if shift is None else shift)
        squares = np.einsum("ij,ij->j", centred, centred) / max(len(ranks), 1)
    else:
        values = X.data.astype(np.float64)
        squares = np.bincount(X.indices, values * values, minlength=X.shape[1]) / max(len(ranks), 1)
    squares = squares[squares > 0]
    return float(len(squares) * np.exp(np.log(squares).mean())) if len(squares) else 1.0


def _balanced_offset(problem: Problem, kappa: float, positive: float, negative: float) -> float:
    """Return b with Σ sα = 0 at w = 0, by bisection: rows of one class have one share α/c."""
    costs = problem.class_costs
    low, high = -2.0, 2.0
    for _ in range(60):
        b = 0.5 * (low + high)
        excess = costs.positive * min(max(positive - kappa * (b - 1.0), 0.0), 1.0)
        excess -= costs.negative * min(max(negative - kappa * (-b - 1.0), 0.0), 1.0)
        low, high = (b, high) if excess > 0 else (low, b)
    return 0.5 * (low + high)
