"""The smallest total loss of Crammer and Singer, and of all points that reach it the one of smallest ‖W‖.

As for two classes (`unregularised_hinge`): soft margins are solved to all digits for growing C until the
multipliers of the linear program prove that nothing is left to gain. Where every row's own class can be put
ahead of all others, the duals stay below C instead, and the answer is the hard margin of all classes: the
smallest ‖W‖ with z_y − z_k ≥ 1 for every row and other class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS
from maxmargin.core.certificate.outputs_lp_dual import violations
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Solution, Status, WarmStart
from maxmargin.rows.base import Array
from maxmargin.solvers.base import Needs, Point, Solver, Step
from maxmargin.solvers.many_classes.class_descent import ClassDescent
from maxmargin.solvers.many_classes.class_newton import ClassNewton
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.unregularised_hinge import (
    CUT_SHORT,
    SoftMarginSettings,
    first_strength,
    refuse_penalized_offset,
)

__all__ = ["UnregularisedClassHinge"]


_SETTINGS = SoftMarginSettings()
_MOST_STEPS, _MOST_SWEEPS = 300, 2_000  # for one soft margin; more sweeps where descent comes first
_ENOUGH = 1e-6  # a relative gap of a soft margin above which another method is tried


@dataclass(eq=False)
class _State:
    """The last soft margin, and what the program's multipliers proved about it."""

    C: float
    W: Array
    b: Array
    duals: Array
    seed: int
    tol: float
    relative_gap: float = np.inf
    tries: int = 0
    is_separated: bool = False
    is_done: bool = False


@dataclass(frozen=True)
class UnregularisedClassHinge:
    """Soft margins of growing C, until the linear program's multipliers prove the last one optimal."""

    name = "soft_margins"
    title = "soft margins of growing C"
    needs = Needs(losses=frozenset({"crammer_singer"}), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        refuse_penalized_offset(problem)
        K = problem.n_outputs
        duals = problem.rows.zeros(np.dtype((np.float64, (K,))))
        state = _State(first_strength(problem, token), problem.zero_weights, np.zeros(K), duals, seed, tol)
        if warm_start is not None and np.shape(warm_start.w) == state.W.shape and warm_start.C is not None:
            state.C = warm_start.C
        return state

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Solve the next soft margin, and ask the linear program about it."""
        soft = problem.with_cost(state.C * problem.cost, Ridge())
        found, passes = _solve(soft, state.seed, token)
        state.tries += 1
        state.W, state.b = found.coef, found.intercept
        inside = _inside(soft, found.alpha)
        if inside < _SETTINGS.inside and found.certificate.relative_gap <= 1e-5:
            passes += self._settle_separable(problem, state, found, inside, token)
        else:
            state.duals = found.alpha / state.C
            if problem.rows.n_columns <= MOST_COLUMNS:  # at a large C what no row notices is not quite 0
                state.W, state.b = _shortest(problem, state.W, state.b)
            seen = examine(problem, state.W, None, state.duals, near=state.b, token=token).certificate
            passes += 8.0
            has_gained = seen.relative_gap < 0.5 * state.relative_gap
            state.relative_gap = seen.relative_gap
            is_at_rest = not has_gained and seen.relative_gap <= max(state.tol, _SETTINGS.soft_gap)
            state.is_done = (
                seen.relative_gap <= _SETTINGS.exact_gap or is_at_rest or not self._may_grow(problem, state)
            )
            if not state.is_done:
                state.C *= _SETTINGS.growth
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if found.status is Status.MAX_TIME:
            raise Stopped
        return Step(
            passes,
            state.relative_gap,
            wants_certificate=True,
            is_exhausted=state.is_done,
            goes_on=not state.is_done,
        )

    def _settle_separable(
        self, problem: Problem, state: _State, found: Solution, inside: float, token: StopToken
    ) -> float:
        """Keep the hard margin; a C just above its largest dual gives the last digits."""
        C, passes = _SETTINGS.room * inside * state.C, 0.0
        is_sharp = (
            found.certificate.relative_gap <= _SETTINGS.hard_gap and inside > _SETTINGS.near_largest_dual
        )
        if found.status not in CUT_SHORT and not is_sharp:
            again, passes = _solve(problem.with_cost(C * problem.cost, Ridge()), state.seed, token)
            is_inside = _inside(problem, again.alpha) < _SETTINGS.inside * C
            if is_inside and again.certificate.relative_gap <= found.certificate.relative_gap:
                found, state.C = again, C
        state.duals = found.alpha
        state.W, state.b, state.is_separated = _with_unit_margin(problem, found.coef, found.intercept)
        state.relative_gap = 0.0 if state.is_separated else 1.0
        state.is_done = state.is_separated or not self._may_grow(problem, state)
        if not state.is_done:
            state.C *= _SETTINGS.growth
        return passes

    def _may_grow(self, problem: Problem, state: _State) -> bool:
        is_finite = state.C * _SETTINGS.growth * problem.total_cost < _SETTINGS.largest_cost
        return state.tries < _SETTINGS.max_strengths and is_finite

    def point(self, problem: Problem, state: _State) -> Point:
        if state.is_separated or not problem.offset.is_free:
            return Point(state.W, state.b, state.duals)
        return Point(state.W, None, state.duals, near=state.b)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Nothing: the next C is larger in any case."""

    def warm_start(self, state: _State) -> WarmStart:
        return WarmStart(state.W, state.b, state.duals, C=state.C)

    def default_max_iter(self, problem: Problem) -> int:
        return _SETTINGS.max_strengths


def _with_unit_margin(problem: Problem, W: Array, b: Array) -> tuple[Array, Array, bool]:
    """Scale weights that put every row's class ahead, so that it is ahead by 1, rounding errors or not.

    The last entry is False, and the point as it was, where they do not.
    """
    lifted = 1.0
    for _ in range(_SETTINGS.max_scalings):
        V, e = lifted * W, lifted * b
        short, error = violations(problem, V, e)
        most, computed = float((short + error).max(initial=-np.inf)), float(short.max(initial=-np.inf))
        if not most <= computed + _SETTINGS.worth_precision:  # beyond that, the doubt would cost margin
            short, error = violations(problem, V, e, precisely=True)
            most = float((short + error).max(initial=-np.inf))
            most = max(most, computed) if computed <= _SETTINGS.computed_error else most
        if most <= 0.0 and lifted != 1.0:
            return V, e, True
        if not most < 1.0:
            break
        lifted *= (1.0 + 2.0**-51) / (1.0 - most)
        if not 0 < lifted < np.inf:
            break
    return W, b, False


def _shortest(problem: Problem, W: Array, b: Array) -> tuple[Array, Array]:
    """Return the shortest weights with these scores, what all classes have in common taken off."""
    W, b = W.copy(), b.copy()
    for k in range(len(b)):
        W[k], b[k] = problem.null_space.shortest(W[k].copy(), float(b[k]))
    W -= W.mean(axis=0)
    return W, b - b.mean() if problem.offset.is_free else b


def _inside(soft: Problem, duals: Array) -> float:
    """Return the largest of the rows' duals as a part of what they cost: below 1, no row is violated."""
    live = np.flatnonzero(soft.cost > 0)
    own = duals[live, soft.targets.values[live]]
    return float((own / soft.cost[live]).max(initial=0.0))


def _solve(soft: Problem, seed: int, token: StopToken) -> tuple[Solution, float]:
    """Solve a soft margin to all digits, by another method where the first one does not get there."""
    best: Solution | None = None
    passes = 0.0
    newton, descent = ClassNewton(), ClassDescent()
    methods: list[tuple[Solver[Any], int | None]] = [(newton, _MOST_STEPS), (descent, _MOST_SWEEPS)]
    if soft.n_outputs * (soft.rows.n_columns + 1) > newton.settings.largest_hessian:
        methods = [(descent, None), (newton, _MOST_STEPS)]
    for solver, most in methods:
        with np.errstate(all="ignore"):  # what overflows is no better, which its certificate tells
            limits = Limits(_SETTINGS.tol, most)
            found = run(soft, solver, Plan(solver.title, ""), limits, token=token, seed=seed)
        passes += float(found.history.passes[-1]) if len(found.history) else 1.0
        if best is None or found.certificate.relative_gap < best.certificate.relative_gap:
            best = found
        if found.certificate.relative_gap <= _ENOUGH or found.status in CUT_SHORT:
            break
    assert best is not None
    return (replace(best, status=found.status) if found.status in CUT_SHORT else best), passes
