"""The proximal Newton method: smooth losses with an L1 term, which leaves most weights 0.

The objective is F(w, b) = (1 − r)/2 ‖w‖² + r ‖w‖₁ + Σ c ℓ(m). A step minimises the quadratic model of all but
the L1 term, plus the L1 term itself, by coordinate descent; the offset is eliminated from the model. Few
columns have their Hessian added up in the pass that evaluates a point; for many, descent reads the columns
themselves. If F has not fallen enough at the end of a step, a shorter one is taken (Lee, Sun and Saunders,
"Proximal Newton-type methods", 2014).

Where there are many columns, most weights stay 0 and their columns need not enter any model. A working set
holds those that may not: the columns in use and those with the largest |Σ sαx|. Their part of the rows is
copied, the problem solved on it, and one pass over all rows then finds which columns were missing (Johnson
and Guestrin, "Blitz", 2015; Massias, Gramfort and Salmon, "Celer", 2018). If none is, the point is optimal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.errors import InvalidParameter
from maxmargin.rows.base import Array, Rows, RowVector, inner
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.base import Needs, Point, Step
from maxmargin.solvers.coordinates import CentredCoordinates, mean_row
from maxmargin.solvers.newton_passes import Evaluation, evaluate, first_offset, own_duals

__all__ = ["ProximalNewton"]


@dataclass(frozen=True)
class ProximalNewtonSettings:
    """The constants of the method; chosen, not measured."""

    few_columns: int = 200  # up to which there are Hessians, of all columns
    most_columns: int = (
        6_000  # of rows that are not in memory: their Hessian has the square of that many numbers
    )
    first_set: int = 100  # columns at least, and so many times those in use
    growth: int = 2
    # The model is minimised until a sweep adds less than this share to what sweeps have gained; a smaller one
    # near the optimum, as a relative gap: there a step should leave hardly anything.
    share: float = 1e-3
    share_near: float = 1e-9
    near: float = 1e-3
    most_sweeps: int = 2_000
    # A working set is solved until its gap is this share of the whole problem's, or of the tolerance.
    inner_share: float = 0.1
    sufficient: float = 1e-4  # of the predicted decrease (Armijo's rule)
    shortest: float = 2.0**-30
    hidden: float = 1e-9  # decreases below this share of the objective may be rounding, and the gap decides


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit.

    `working` has the columns that `rows` and `here` are about; None for all of them. `columns` are these, one
    a row of the block; None where Hessians take their place.
    """

    w: Array
    b: float
    tol: float
    rows: Rows
    coordinates: CentredCoordinates
    working: NDArray[np.intp] | None = None
    columns: Block | None = None
    here: Evaluation | None = None
    whole_gap: float = math.inf  # of the whole problem, relative, when all columns were last looked at


@dataclass(frozen=True)
class ProximalNewton:
    """The proximal Newton method for the logistic loss and the squared hinge with an L1 term."""

    settings: ProximalNewtonSettings = ProximalNewtonSettings()

    name = "proximal_newton"
    title = "proximal Newton"
    needs = Needs(losses=frozenset({"logistic", "squared_hinge"}))

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        w, b = np.zeros(problem.rows.n_columns), first_offset(problem)
        if warm_start is not None and warm_start.w.shape == w.shape:
            w, b = np.array(warm_start.w), float(warm_start.b)
        coordinates = CentredCoordinates(problem.offset, len(w), None, problem.penalty.curvature)
        return _State(w, b, tol, problem.rows, coordinates)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Choose the working set and evaluate the start, or take one step on it."""
        if state.here is None:
            passes = self._begin(problem, state, token)
            return Step(passes, state.whole_gap, is_start=True)
        passes, is_exhausted = self._advance(problem, state, state.here, token)
        share = state.rows.n_values / max(problem.rows.n_values, 1)
        passes *= share
        gap = self._gap_on_set(problem, state.here, state.coordinates)
        if state.working is None:
            state.whole_gap = gap
            return Step(passes, gap, is_exhausted=is_exhausted)
        enough = max(self.settings.inner_share * state.whole_gap, 0.3 * state.tol)
        if gap > enough and not is_exhausted:
            return Step(passes, math.inf, may_wait=True)
        assert state.here is not None
        grew = self._look_at_all(problem, state, state.here, token)
        return Step(passes + 1.0, state.whole_gap, is_exhausted=is_exhausted and not grew)

    # ------------------------------------------------------------ the working set

    def _begin(self, problem: Problem, state: _State, token: StopToken) -> float:
        if problem.rows.n_columns <= self.settings.few_columns or not isinstance(problem.rows, MemoryRows):
            self._refuse_too_many(problem.rows.n_columns)
            state.rows = problem.rows.condensed(token)
            state.coordinates = _coordinates(problem, problem.rows, token)
            state.here = self._evaluate(problem, state, state.w, state.b, token)
            state.whole_gap = self._gap_on_set(problem, state.here, state.coordinates)
            return 2.0
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(state.w), z, token=token)
        self._choose_set(problem, state, self._slopes(problem, z, state.b, token), token)
        return 3.0

    def _look_at_all(self, problem: Problem, state: _State, here: Evaluation, token: StopToken) -> bool:
        """Estimate the gap of the whole problem, and enlarge the working set if columns are missing."""
        assert state.working is not None
        state.w[:] = 0.0
        state.w[state.working], state.b = here.w, here.b
        v = self._slopes(problem, here.z, here.b, token)
        state.whole_gap = self._relative_gap(problem, here, v, state.w)
        missing = np.abs(v) > problem.penalty.l1_ratio * (1.0 + 1e-12)
        missing[state.working] = False
        if not missing.any():
            return False
        self._choose_set(problem, state, v, token)
        return True

    def _choose_set(self, problem: Problem, state: _State, v: Array, token: StopToken) -> None:
        """Take the columns in use and those with the largest |v|, and evaluate the point on them."""
        settings, in_use = self.settings, np.flatnonzero(state.w)
        size = min(max(settings.first_set, settings.growth * len(in_use)), problem.rows.n_columns)
        order = -np.abs(v)
        order[in_use] = -np.inf
        chosen = np.sort(np.argpartition(order, size - 1)[:size])
        assert isinstance(problem.rows, MemoryRows)
        state.working, state.rows = chosen, problem.rows.columns(chosen)
        state.coordinates, state.columns = _coordinates(problem, state.rows, token), None
        if size > settings.few_columns:
            state.columns, shift = _as_columns(state.rows, state.coordinates.shift)
            state.coordinates = replace(state.coordinates, shift=shift)
        state.here = self._evaluate(problem, state, state.w[chosen], state.b, token)

    def _slopes(self, problem: Problem, z: RowVector, b: float, token: StopToken) -> Array:
        """Return Σ sαx of all columns, with the duals of the scores."""
        rows, signed = problem.rows, problem.rows.zeros()
        rows.reduce(_SignedDuals(problem.loss.name, b), z, problem.sign, problem.cost, signed, token=token)
        return np.asarray(rows.reduce(Combine(rows.n_columns), signed, token=token))

    def _refuse_too_many(self, n_columns: int) -> None:
        if n_columns > self.settings.most_columns:
            raise InvalidParameter(
                f"{{setting}} takes at most {self.settings.most_columns:,} columns of rows not in memory",
                parameter="l1_ratio",
                value=...,
                remedy="give the rows as an array or a sparse matrix",
            )

    # ------------------------------------------------------------ one step

    def _advance(
        self, problem: Problem, state: _State, here: Evaluation, token: StopToken
    ) -> tuple[float, bool]:
        """Take one step on the working set; return its passes, and whether rounding hides what is left."""
        r, settings, n = problem.penalty.l1_ratio, self.settings, len(here.w)
        g, x, change = here.gradient, here.w.copy(), np.zeros(len(here.w) + 1)
        before = self._gap_on_set(problem, here, state.coordinates)
        share = settings.share_near if before <= settings.near else settings.share
        limits = (share, settings.most_sweeps, token)
        if state.columns is not None:
            ridge = problem.penalty.curvature
            offset = None if problem.offset.is_absent else (float(g[n]), problem.offset.stiffness)
            slope = np.ascontiguousarray(g[:n])
            found = _core.descend_l1_columns(state.columns, here.h, ridge, r, slope, x, offset, *limits)
            change[n] = found[2]
        else:
            hessian, towards, of_offset = self._without_offset(problem, here)
            slope = g[:n] - towards * (g[n] / of_offset)
            _core.descend_l1_quadratic(hessian, r, x, slope, *limits)
            change[n] = 0.0 if problem.offset.is_absent else -(g[n] + inner(towards, x - here.w)) / of_offset
        change[:n] = x - here.w
        sizes = float(np.abs(here.w).sum())
        predicted = -(inner(g, change) + r * (float(np.abs(x).sum()) - sizes))
        dw, db = state.coordinates.split(change)
        value, length, passes = self._objective(problem, here), 1.0, 0.0
        if not predicted > settings.hidden * value:
            there = self._evaluate(problem, state, x, here.b + db, token)
            gains = self._gap_on_set(problem, there, state.coordinates) < 0.5 * before
            state.here = there if gains else here
            return 1.0, not gains
        while length >= settings.shortest:
            w, b = here.w + length * dw, here.b + length * db
            if length == 1.0:
                w = x  # with zeros that are exact
            there = self._evaluate(problem, state, w, b, token)
            passes += 1.0
            if self._objective(problem, there) <= value - settings.sufficient * length * predicted:
                state.here = there
                return passes, False
            length *= 0.5
        return passes, True

    def _without_offset(self, problem: Problem, here: Evaluation) -> tuple[Array, Array, float]:
        """Return the Hessian with the offset eliminated, its column of the offset, and its own entry."""
        assert here.hessian is not None
        hessian, n = here.hessian, len(here.w)
        towards, of_offset = np.ascontiguousarray(hessian[:n, n]), float(hessian[n, n])
        if problem.offset.is_absent or not of_offset > 0:
            return np.ascontiguousarray(hessian[:n, :n]), np.zeros(n), 1.0
        return hessian[:n, :n] - np.outer(towards, towards) / of_offset, towards, of_offset

    def _evaluate(self, problem: Problem, state: _State, w: Array, b: float, token: StopToken) -> Evaluation:
        return evaluate(problem, state.rows, state.coordinates, w, b, state.columns is None, token)

    def _objective(self, problem: Problem, at: Evaluation) -> float:
        return at.value + problem.penalty.l1_ratio * float(np.abs(at.w).sum())

    # ------------------------------------------------------------ the gap

    def _gap_on_set(self, problem: Problem, here: Evaluation, coordinates: CentredCoordinates) -> float:
        """Return the relative gap of the problem on the working set, by the duals of the point itself."""
        # The gradient is that of the losses, centred by the shift, plus (1 − r) w.
        of_losses = here.gradient[:-1] - problem.penalty.curvature * here.w
        if coordinates.shift is not None:
            of_losses = of_losses + here.gradient[-1] * coordinates.shift
        return self._relative_gap(problem, here, -of_losses, here.w)

    def _relative_gap(self, problem: Problem, here: Evaluation, v: Array, w: Array) -> float:
        penalty = problem.penalty
        objective, r = self._objective(problem, here), penalty.l1_ratio
        largest = float(np.abs(v).max(initial=0.0))
        beyond = max(largest / r - 1.0, 0.0)
        gap = penalty.fenchel_gap(w, np.clip(v, -r, r)) + beyond * objective
        if penalty.curvature > 0:
            gap = min(gap, penalty.fenchel_gap(w, v))
        balance = float(here.gradient[-1])
        if not problem.offset.is_absent and balance != 0:
            stiffness = problem.offset.stiffness or here.curvature
            gap += 0.5 * balance * balance / stiffness if stiffness > 0 else math.inf
        return gap / max(objective - gap, 1e-300)

    # ------------------------------------------------------------ what the loop asks for

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the point with its own duals, α = −c ℓ′(m)."""
        here = state.here
        w, b = state.w.copy(), state.b
        alpha: Any = problem.rows.zeros()
        if here is not None:
            if state.working is None:
                w, b = here.w, here.b
            else:
                w[:] = 0.0
                w[state.working], b = here.w, here.b
            alpha = own_duals(problem, here.z, here.b)
        return Point(w, problem.offset.to_certify(b), alpha, near=b)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Aim lower if the certificate was worse than estimated."""
        if state.whole_gap <= state.tol:
            state.tol *= 0.3

    def warm_start(self, state: _State) -> WarmStart:
        """Return weights and offset."""
        here = state.here
        if here is None:
            return WarmStart(state.w, state.b)
        if state.working is None:
            return WarmStart(here.w, here.b)
        w = np.zeros_like(state.w)
        w[state.working] = here.w
        return WarmStart(w, here.b)

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed."""
        return 1_000


@dataclass(frozen=True)
class _SignedDuals:
    """Write sα for the duals α = −c ℓ′(m); vectors: scores, sign, cost, sα."""

    loss: str
    b: float

    writes = (3,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        z, sign, cost, signed = pieces
        np.multiply(sign, _core.loss_best_alpha(self.loss, sign * (z + self.b), cost), out=signed)


def _as_columns(rows: Rows, shift: Array | None) -> tuple[Block, Array | None]:
    """Return the columns less their shift, one a row of the block, and that shift: sparse ones have none."""
    assert isinstance(rows, MemoryRows)
    if isinstance(rows.X, np.ndarray):
        centred = rows.X.astype(np.float64) - (0.0 if shift is None else shift)
        return Block(np.ascontiguousarray(centred.T)), shift
    by_column = rows.X.scipy.tocsc()
    return Block(by_column.data, by_column.indices, by_column.indptr, rows.n_rows), None


def _coordinates(problem: Problem, rows: Rows, token: StopToken) -> CentredCoordinates:
    mean = mean_row(problem, rows, token)
    return CentredCoordinates(problem.offset, rows.n_columns, mean, problem.penalty.curvature)
