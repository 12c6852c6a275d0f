"""Dual coordinate descent for softmax and the hinge of Crammer and Singer: all K duals of a row at a time.

Rows are visited in random order and each sets its own duals to their best values (the kernels' headers have
the formulas): for the hinge a projection onto the simplex, for softmax Newton's method in one number. The
free offsets are reached by a proximal multiplier, as in `dual_descent`: the inner problem has the penalty
‖b − b₀‖²/(2γ), which makes b = b₀ + γ Σ r more numbers of the state. b₀ moves to where b is after every
sweep: waiting until a sweep finds no violation would be waiting for the last row of text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, DualSweepRecord, StopToken
from maxmargin.core.certificate.outputs import CombineOutputs, FeasibleDuals, OutputScores
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.losses.base import MulticlassLoss
from maxmargin.losses.multiclass import Softmax
from maxmargin.rows.base import Array, RowVector, inner
from maxmargin.solvers.base import Needs, Point, Step

__all__ = ["ClassDescent"]


@dataclass(frozen=True)
class ClassDescentSettings:
    """The constants of the method; chosen, those of the offset as for two classes."""

    coupling: float = 0.1  # γ as a share of the mean ‖x‖²
    lanes: int = 8  # weights of a column are padded to a multiple: whole cache lines
    # Rows whose gap is below so many times the mean of those visited rest; for the hinge [0036].
    worthwhile: float = 0.1
    worthwhile_hinge: float = 1.0
    gap_correction: float = 1.0  # of the gap that a sweep adds up
    zero_violation: float = 1e-13


@dataclass(frozen=True, eq=False)
class _Sweep:
    """One sweep; its state is shared by all calls."""

    W: Array
    balance: Array
    center: Array
    gamma: float
    worthwhile: float
    is_softmax: bool

    def __call__(
        self, block: Block, token: StopToken, order: tuple[int, int, int], *pieces: NDArray[Any]
    ) -> DualSweepRecord:
        label, cost, norm2, duals, calm, skips, in_use, rests = pieces
        place = (self.W, self.balance, self.center, self.gamma, self.worthwhile, self.is_softmax)
        return _core.class_sweep(
            block, *place, label, cost, norm2, duals, calm, skips, in_use, rests, order, token
        )


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    W: Array  # of shape (n_columns, K and some zeros)
    balance: Array
    center: Array
    gamma: float
    duals: Array
    calm: NDArray[np.uint8]
    skips: NDArray[np.uint8]
    in_use: NDArray[np.uint8]
    rests: NDArray[np.uint8]
    n_live: int
    seed: int
    n_sweeps: int = 0
    bound: float = 0.0
    worthwhile: float = 0.0  # gaps of rows that rest are below this


_TILE = 256  # columns whose weights stay in cache


def _transposed(W: Array) -> Array:
    turned = np.empty(W.shape[::-1])
    for start in range(0, len(W), _TILE):
        turned[:, start : start + _TILE] = W[start : start + _TILE].T
    return turned


def _duals_of(problem: Problem, start: WarmStart, token: StopToken) -> RowVector | None:
    """Return the duals to start from: for softmax those of its own weights, if none were kept."""
    rows, K = problem.rows, problem.n_outputs
    is_known = start.alpha is not None and np.shape(start.alpha) == (rows.n_rows, K)
    if is_known or problem.loss.name != "softmax" or np.shape(start.w) != (K, rows.n_columns):
        return start.alpha
    duals = rows.zeros(np.dtype((np.float64, (K,))))
    kernel = OutputScores(np.ascontiguousarray(start.w), np.ascontiguousarray(start.b, dtype=np.float64))
    rows.reduce(kernel, duals, token=token)
    loss, label = problem.loss, problem.targets.values
    assert isinstance(loss, Softmax)
    return np.asarray(-problem.cost[:, None] * loss.slope(duals, label))


@dataclass(frozen=True)
class ClassDescent:
    """Dual coordinate descent for the losses of all classes at once."""

    settings: ClassDescentSettings = ClassDescentSettings()

    name = "dual_descent"
    title = "dual descent"
    needs = Needs(losses=frozenset({"crammer_singer", "softmax"}), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows, K = problem.rows, problem.n_outputs
        lanes = self.settings.lanes
        state = _State(
            W=np.zeros((rows.n_columns, -(-K // lanes) * lanes)),
            balance=np.zeros(K),
            center=np.zeros(K),
            gamma=self._gamma(problem),
            duals=rows.zeros(np.dtype((np.float64, (K,)))),
            calm=rows.zeros(np.uint8),
            skips=rows.zeros(np.uint8),
            in_use=rows.zeros(np.uint8),
            rests=rows.zeros(np.uint8),
            n_live=int(np.count_nonzero(problem.cost > 0)),
            seed=seed,
        )
        given = None if warm_start is None else _duals_of(problem, warm_start, token)
        if warm_start is not None and given is not None and np.shape(given) == state.duals.shape:
            kernel = FeasibleDuals(K)
            rows.reduce(kernel, problem.targets.values, problem.cost, given, state.duals, token=token)
            if problem.offset.is_free:
                state.center[:] = warm_start.b
            self._recompute(problem, state, token)
        return state

    def _gamma(self, problem: Problem) -> float:
        if not problem.offset.is_free:
            return problem.offset.square
        total = float(problem.costs_by_class.sum())
        typical = problem.weighted_norm2 / total if total > 0 else 1.0
        return self.settings.coupling * (typical if typical > 0 else 1.0)

    def _recompute(self, problem: Problem, state: _State, token: StopToken) -> None:
        """Make weights and balance from the duals."""
        V = problem.rows.reduce(CombineOutputs(problem.rows.n_columns), state.duals, token=token)
        state.W[:, : problem.n_outputs] = V.T
        state.balance[:] = state.duals.sum(axis=0)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Sweep once, and move the offsets."""
        is_softmax = problem.loss.name == "softmax"
        kernel = _Sweep(state.W, state.balance, state.center, state.gamma, state.worthwhile, is_softmax)
        numbers = (problem.targets.values, problem.cost, problem.rows.norms()[0])
        vectors = (*numbers, state.duals, state.calm, state.skips, state.in_use, state.rests)
        seen = problem.rows.sweep(kernel, state.seed, state.n_sweeps, *vectors, token=token)
        state.n_sweeps += 1
        estimate = self._estimate_gap(problem, state, seen.gap)
        share = self.settings.worthwhile if is_softmax else self.settings.worthwhile_hinge
        state.worthwhile = share * seen.gap / max(seen.visited, 1)
        moved = 0.0
        if problem.offset.is_free:
            change = state.gamma * state.balance
            moved = float(np.abs(change).max())
            state.center += change
        is_still = max(seen.highest, moved) <= self.settings.zero_violation
        saw_all = is_still and seen.visited >= state.n_live
        if is_still:
            state.calm.fill(0)
            state.skips.fill(0)
            state.rests.fill(0)
            state.worthwhile = 0.0
        return Step(seen.visited / max(problem.rows.n_rows, 1), estimate, wants_certificate=saw_all)

    def _estimate_gap(self, problem: Problem, state: _State, gap: float) -> float:
        labels, cost = problem.targets.values, problem.cost
        if problem.offset.is_free:
            square = inner(state.balance, state.balance)
            gap += state.gamma * square
            # What is given up to make Σ r = 0 costs about the difference of two scores, or, where the loss is
            # smooth, half the square of what is given up, over the curvature of the best offset, and V moves.
            if problem.loss.is_smooth:
                total = max(float(problem.costs_by_class.sum()), 1e-300)
                own = float(state.duals[np.arange(len(state.duals)), labels].sum())
                gap += 0.5 * square * (len(state.balance) / max(own, 1e-300) + problem.weighted_norm2 / total)
            else:
                gap += float(np.abs(state.balance).sum())
        bound = state.bound
        if not bound > 0:
            loss = problem.loss
            assert isinstance(loss, MulticlassLoss)
            bound = float(loss.dual_value(state.duals, labels, cost).sum())
            bound -= problem.penalty.value(state.W)
        return self.settings.gap_correction * gap / max(bound, 1e-300)

    def _offsets(self, problem: Problem, state: _State) -> Array:
        if problem.offset.is_absent:
            return np.zeros_like(state.center)
        return state.center + state.gamma * state.balance

    def point(self, problem: Problem, state: _State) -> Point:
        W, b = self._weights(problem, state), self._offsets(problem, state)
        if problem.offset.is_free:
            return Point(W, None, state.duals, near=b)
        return Point(W, b, state.duals)

    def _weights(self, problem: Problem, state: _State) -> Array:
        return _transposed(state.W[:, : problem.n_outputs])

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        state.bound = max(state.bound, examination.certificate.bound)

    def warm_start(self, state: _State) -> WarmStart:
        K = len(state.balance)
        b = state.center + state.gamma * state.balance
        return WarmStart(_transposed(state.W[:, :K]), b, state.duals)

    def default_max_iter(self, problem: Problem) -> int:
        # A thousand sweeps, and more while they cost next to nothing: 4e9 products are some seconds.
        values = max(problem.rows.n_values * problem.n_outputs, 1)
        return int(min(max(1_000, 4e9 / values), 20_000))
