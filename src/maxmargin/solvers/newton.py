"""Newton's method for smooth losses.

The objective ½‖w‖² + Σ c ℓ(m) has the gradient w + Σ s c ℓ′(m) x and the Hessian 1 + Σ h xxᵀ, h = c ℓ″(m);
the offset is one more coordinate, with its own penalty or none. One pass over the rows evaluates a point:
value, gradient and, while the rows are in cache, the Hessian. A step is tried in full and its end evaluated
at once, so that an iteration is one pass; if the objective has not fallen enough there, the best share of
the step is found from the scores at both ends, without the rows.

Near the optimum, where a step hardly changes the Hessian, the old one is used again. The quadratic model
also promises duals at the end of a step; they certify a point much earlier than those of the point itself,
because they reproduce its weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin._core as _core
from maxmargin._core import Factor, StopToken
from maxmargin.problem import Examination, Problem
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine, Gram, Scores
from maxmargin.solvers.base import Needs, Point, Step
from maxmargin.solvers.newton_frame import Frame, inner
from maxmargin.solvers.newton_passes import AlongLine, Evaluate, PredictDuals

__all__ = ["Newton"]

_ENOUGH = 1e-4  # share of the decrement by which the objective has to fall
_IN_ROUNDING = 1e-9  # decrements below this share of the objective are hidden by its rounding errors
_STALE = 1e-2  # an old Hessian is used again while it reduces the decrement by this factor
# The loop asks for a certificate at twice the tolerance already, as guesses are rough; ours is not.
_EXACT_GUESS = 2.0


@dataclass(frozen=True, eq=False)
class _Place:
    """A point and what one pass told about it; the gradient is in the frame's coordinates."""

    w: Array
    b: float
    z: Array
    h: Array
    value: float
    gradient: Array
    curvature: float
    gram: Array | None


@dataclass(frozen=True, eq=False)
class _Model:
    """A factorised Hessian and the curvatures h that it is made of."""

    factor: Factor
    h: Array


@dataclass(frozen=True, eq=False)
class _Taken:
    """A full step: where it came from, and the curvatures of the model that it solved."""

    origin: _Place
    h: Array


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    frame: Frame
    w: Array
    b: float
    tol: float
    here: _Place | None = None
    model: _Model | None = None
    taken: _Taken | None = None  # the last step, if it was a full one
    decrement: float = math.inf  # g·M⁻¹g, by the model's M: twice what the objective lies above its optimum
    progress: float = 1.0  # by which factor the last step reduced it
    alpha: Array | None = None  # the duals that the last step promised, if they are the better ones


@dataclass(frozen=True)
class Newton:
    """Newton's method for the squared hinge and logistic loss."""

    name = "newton"
    title = "Newton"
    needs = Needs(losses=frozenset({"logistic", "squared_hinge"}))

    def start(self, problem: Problem, memory: Any, seed: int, tol: float, token: StopToken) -> _State:
        rows = problem.rows
        w, b = np.zeros(rows.n_columns), _first_offset(problem)
        if memory is not None and memory["w"].shape == w.shape:
            w, b = np.array(memory["w"]), float(memory["offset"])
        return _State(Frame(problem.offset, _centre(problem, token)), w, b, tol)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Evaluate the start, or take one Newton step."""
        if state.here is None:
            return self._evaluate_start(problem, state, token)
        here = state.here
        model, passes = self._model(problem, state, here, token)
        change = -model.factor.solve(here.gradient)
        decrement = -inner(here.gradient, change)
        if not 0 < decrement < math.inf:
            return Step(passes, self._guess(problem, state, token), is_exhausted=True)
        dw, db = state.frame.step(change)
        near = decrement * decrement <= 0.4 * state.tol * here.value * here.value
        there = _evaluate(problem, state, here.w + dw, here.b + db, not near, token)
        passes += 1.0
        after = self._decrement(state, there)
        is_full = _has_fallen(here, there, decrement, after)
        if not is_full:
            share = _best_share(problem, state, here, there, decrement, token)
            there = _evaluate(problem, state, here.w + share * dw, here.b + share * db, True, token)
            passes += 1.0
            if not there.value < here.value:  # rounding hides what is left
                is_exhausted = model.h is here.h
                state.progress = math.inf
                return Step(passes, self._guess(problem, state, token), is_exhausted=is_exhausted)
        state.here, state.taken = there, _Taken(here, model.h) if is_full else None
        state.decrement, state.progress = after, after / decrement
        return Step(passes, self._guess(problem, state, token))

    def _evaluate_start(self, problem: Problem, state: _State, token: StopToken) -> Step:
        here, passes = _evaluate(problem, state, state.w, state.b, True, token), 1.0
        if not math.isfinite(here.value):  # another problem's weights can be of no use here
            nothing = np.zeros_like(state.w)
            here = _evaluate(problem, state, nothing, _first_offset(problem), True, token)
            passes += 1.0
        state.here = here
        return Step(passes, self._guess(problem, state, token))

    def _model(self, problem: Problem, state: _State, here: _Place, token: StopToken) -> tuple[_Model, float]:
        """Return the Hessian to use here, and what it cost in passes."""
        gram, passes = here.gram, 0.0
        if gram is None:
            if state.model is not None and state.progress <= _STALE:
                return state.model, 0.0
            gram = problem.rows.reduce(Gram(problem.rows.n_columns, state.frame.shift), here.h, token=token)
            passes = 1.0
        model = _Model(Factor(state.frame.matrix(gram.copy())), here.h)
        state.model = model
        return model, passes

    def _decrement(self, state: _State, place: _Place) -> float:
        """Return the decrement there, by the Hessian in use."""
        if state.model is None or not np.isfinite(place.gradient).all():
            return math.inf
        return inner(place.gradient, state.model.factor.solve(place.gradient))

    def _guess(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Return the relative duality gap, and choose the better dual point."""
        state.alpha = None
        here = state.here
        assert here is not None
        gap, wanted = state.frame.gap(here.gradient, here.curvature), state.tol * here.value
        if gap > wanted and state.decrement <= 2 * wanted:
            gap = self._use_promise(problem, state, here, gap, token)
        return 0.0 if gap == 0 else _EXACT_GUESS * gap / max(here.value - gap, 1e-300)

    def _use_promise(
        self, problem: Problem, state: _State, here: _Place, gap: float, token: StopToken
    ) -> float:
        """Take the duals that the last step promised if their gap is smaller; return the smaller one."""
        if state.taken is None:
            return gap
        origin, h, alpha = state.taken.origin, state.taken.h, problem.rows.zeros()
        kernel = PredictDuals(problem.loss, origin.b, here.b)
        vectors = (origin.z, problem.sign, problem.cost, h, here.z, alpha)
        promised = problem.rows.reduce(kernel, *vectors, token=token)
        # The gradient is what was missed; clipping leaves its share of that between w and Σ sαx.
        left = promised.clipped / promised.missed if promised.missed > 0 else 0.0
        other = promised.gap + left * left * gap
        if other < gap:
            state.alpha = alpha
        return min(gap, other)

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the point with the duals that were promised, or else its own: α = −c ℓ′(m)."""
        here = state.here
        if here is None:
            w, b, z = state.w, state.b, problem.rows.zeros()
            problem.rows.reduce(Scores(w), z)
        else:
            w, b, z = here.w, here.b, here.z
        alpha = state.alpha if state.alpha is not None else _own_duals(problem, z, b)
        return Point(w, None if problem.offset.kind == "free" else b, alpha)

    def learn(self, problem: Problem, state: _State, examination: Examination) -> None:
        """Nothing to learn: the guess is exact up to rounding."""

    def remember(self, state: _State) -> Any:
        """Return weights and offset."""
        here = state.here
        return {"w": state.w, "offset": state.b} if here is None else {"w": here.w, "offset": here.b}

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed: steps are few where the problem has an optimum."""
        return 200


def _first_offset(problem: Problem) -> float:
    """Return the best offset for w = 0 where it is a formula, else 0."""
    costs = problem.class_costs
    if problem.offset.kind != "free" or costs.total == 0:
        return 0.0
    if problem.loss == "squared_hinge":
        return (costs.positive - costs.negative) / costs.total
    if costs.positive == 0 or costs.negative == 0:
        return 0.0
    return math.log(costs.positive) - math.log(costs.negative)


def _centre(problem: Problem, token: StopToken) -> Array | None:
    """Return the mean row if shifting by it changes nothing and costs nothing."""
    rows, total = problem.rows, problem.class_costs.total
    is_dense = rows.n_values == rows.n_rows * rows.n_columns
    if problem.offset.kind != "free" or total == 0 or not is_dense:
        return None
    return rows.reduce(Combine(rows.n_columns), problem.cost / total, token=token)


def _evaluate(
    problem: Problem, state: _State, w: Array, b: float, with_hessian: bool, token: StopToken
) -> _Place:
    rows, frame = problem.rows, state.frame
    z, h = rows.zeros(), rows.zeros()
    kernel = Evaluate(problem.loss, w, b, with_hessian, frame.shift)
    sums = rows.reduce(kernel, problem.sign, problem.cost, z, h, token=token)
    value = frame.penalty(w, b) + sums.loss
    gradient = frame.gradient(w, b, sums.gradient, sums.slope)
    return _Place(w, b, z, h, value, gradient, sums.curvature, sums.gram)


def _own_duals(problem: Problem, z: Array, b: float) -> Array:
    return np.asarray(_core.loss_best_alpha(problem.loss, problem.sign * (z + b), problem.cost))


def _has_fallen(here: _Place, there: _Place, decrement: float, after: float) -> bool:
    """Whether a full step has reached lower ground; where rounding hides that, by the gradient."""
    if there.value <= here.value - _ENOUGH * decrement:
        return True
    return decrement <= _IN_ROUNDING * here.value and after < 0.5 * decrement


def _best_share(
    problem: Problem, state: _State, here: _Place, there: _Place, decrement: float, token: StopToken
) -> float:
    """Return the share of a step that was too long, by Newton's method on the slope along it.

    The objective is convex along the line: its slope rises from −decrement, and changes sign before 1.
    """
    dw, db = there.w - here.w, there.b - here.b
    bend = inner(dw, dw) + state.frame.stiffness * db * db
    tilt = inner(here.w, dw) + state.frame.stiffness * here.b * db
    low, high, share = 0.0, 1.0, 0.5
    for _ in range(60):
        kernel = AlongLine(problem.loss, here.b, there.b, share)
        vectors = (here.z, problem.sign, problem.cost, there.z)
        sums = problem.rows.reduce(kernel, *vectors, token=token)
        slope, curvature = sums.slope + tilt + share * bend, sums.curvature + bend
        if -0.3 * decrement <= slope <= 0.1 * decrement:
            return share
        if slope < 0:
            low = share
        else:  # too far, or not a number
            high = share
        following = share - slope / curvature if curvature > 0 else math.nan
        share = following if low < following < high else low + 0.5 * (high - low)
    return share
