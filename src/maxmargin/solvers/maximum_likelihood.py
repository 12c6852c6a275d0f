"""Newton's method where ρ = 0: maximum likelihood by iteratively reweighted least squares.

There is no ½‖w‖² to keep weights unique and finite. Columns that are combinations of others stay where they
are, and of all weights with the same agreements the shortest are handed out. A watch looks for data that can
be separated, on which the weights would grow for ever.

One pass over the rows evaluates a point: value, gradient and Hessian. A step is tried in full; if the
objective has not fallen enough there, a line search finds a shorter step from the scores at both ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

import maxmargin._core as _core
from maxmargin._core import Factor, StopToken
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS, curvature_matrix
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.line_search import line_search
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.errors import UNREGULARISED, InvalidParameter
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine
from maxmargin.separation.search import SeparationWatch
from maxmargin.solvers.base import Needs, Point, Step
from maxmargin.solvers.newton_passes import AlongLine, Evaluate, has_fallen

__all__ = ["MaximumLikelihood"]


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """What one pass computes at a point; gradient and Gram matrix are those of the centred rows."""

    w: Array
    b: float
    z: Array
    value: float
    gradient: Array
    gram: Array


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    shift: Array | None
    w: Array
    b: float
    tol: float
    here: _Evaluation | None = None
    watch: SeparationWatch = field(default_factory=SeparationWatch)


@dataclass(frozen=True)
class MaximumLikelihood:
    """Newton's method for the logistic loss without a regulariser."""

    name = "newton"
    title = "Newton"
    needs = Needs(losses=frozenset({"logistic"}), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows, costs = problem.rows, problem.class_costs
        if rows.n_columns > MOST_COLUMNS:
            raise InvalidParameter(
                f"{{C}} ({{lam}}) needs a matrix of all columns by all columns, at most {MOST_COLUMNS:,}; "
                f"X has {rows.n_columns:,}.",
                parameter="C",
                value=math.inf,
                remedy="Give a finite C.",
                **UNREGULARISED,
            )
        w, b = np.zeros(rows.n_columns), 0.0
        if problem.offset.is_free and costs.positive > 0 and costs.negative > 0:
            b = math.log(costs.positive) - math.log(costs.negative)
        if warm_start is not None and warm_start.w.shape == w.shape:
            w, b = np.array(warm_start.w), float(warm_start.b)
        shift = None
        if problem.offset.is_free and costs.total > 0:
            shift = rows.reduce(Combine(rows.n_columns), problem.cost / costs.total, token=token)
        return _State(shift, w, b, tol)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Evaluate the start, or take one Newton step."""
        here = state.here
        if here is None:
            state.here = _first_evaluation(problem, state, token)
            return Step(1.0, math.inf, is_start=True)
        factor = Factor(_matrix(problem, state, here))
        change = -factor.solve(here.gradient)
        decrement = -inner(here.gradient, change)
        if not 0 < decrement < math.inf:
            return Step(0.0, 0.0, is_exhausted=True)
        dw, db = change[:-1], float(change[-1])
        if state.shift is not None:
            db -= inner(state.shift, dw)
        there, passes = _evaluate(problem, state, here.w + dw, here.b + db, token), 1.0
        after = _decrement(factor, there)
        if not has_fallen(here.value, there.value, decrement, after):
            share = _shortened_step(problem, here, there, decrement, token)
            there = _evaluate(problem, state, here.w + share * dw, here.b + share * db, token)
            passes = 2.0
            if not there.value < here.value:  # rounding hides what is left
                return Step(passes, 0.5 * decrement / here.value, is_exhausted=True)
        state.here = there
        state.watch.look(problem, there.w, there.b, there.z, decrement, token)
        # Estimated at the point before: coefficients, which people compare, are then good to about the
        # tolerance, where those of a point that just reaches it are good to its square root.
        estimate = 0.5 * decrement / here.value
        return Step(passes, estimate, goes_on=estimate > state.tol)

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the shortest weights with these agreements; the mistake probabilities stand for duals."""
        here = state.here
        if here is None:
            return Point(state.w, state.b, problem.rows.zeros())
        w, b = problem.null_space.shortest(here.w, here.b)
        alpha = np.asarray(
            _core.loss_best_alpha(problem.loss.name, problem.sign * (here.z + here.b), problem.cost)
        )
        return Point(w, problem.offset.to_certify(b), alpha)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Nothing to learn: the next step is the same."""

    def warm_start(self, state: _State) -> WarmStart:
        """Return weights and offset."""
        here = state.here
        return WarmStart(state.w, state.b) if here is None else WarmStart(here.w, here.b)

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed: steps are few where the problem has an optimum."""
        return 200


def _matrix(problem: Problem, state: _State, here: _Evaluation) -> Array:
    """Return the Hessian, in which what may not move is stiff.

    With no more rows than columns the first step mostly separates them, and tells so without asking which
    columns depend on which.
    """
    gram = here.gram.copy()
    if state.watch.steps == 0 and problem.class_costs.n_live <= problem.rows.n_columns:
        if not problem.offset.is_free:
            gram[-1, :] = gram[:, -1] = 0.0
        return gram
    return curvature_matrix(problem, gram)


def _first_evaluation(problem: Problem, state: _State, token: StopToken) -> _Evaluation:
    point = _evaluate(problem, state, state.w, state.b, token)
    if math.isfinite(point.value):
        return point
    return _evaluate(problem, state, np.zeros_like(state.w), 0.0, token)  # the start was of no use here


def _evaluate(problem: Problem, state: _State, w: Array, b: float, token: StopToken) -> _Evaluation:
    rows, offset = problem.rows, problem.offset
    z, h = rows.zeros(), rows.zeros()
    kernel = Evaluate(problem.loss.name, w, b, True, state.shift)
    sums = rows.reduce(kernel, problem.sign, problem.cost, z, h, token=token)
    assert sums.gram is not None
    gradient = np.append(sums.gradient, sums.losses.slope)
    if state.shift is not None:
        gradient[:-1] -= sums.losses.slope * state.shift
    gradient[-1] = 0.0 if offset.is_absent else gradient[-1] + offset.slope(b)
    return _Evaluation(w, b, z, sums.losses.loss + offset.penalty(b), gradient, sums.gram)


def _decrement(factor: Factor, point: _Evaluation) -> float:
    if not np.isfinite(point.gradient).all():
        return math.inf
    return inner(point.gradient, factor.solve(point.gradient))


def _shortened_step(
    problem: Problem, here: _Evaluation, there: _Evaluation, decrement: float, token: StopToken
) -> float:
    """Return the best share of a step that was too long, from the scores at both ends."""
    stiffness = problem.offset.stiffness
    db = there.b - here.b

    def slope(share: float) -> tuple[float, float]:
        kernel = AlongLine(problem.loss.name, here.b, there.b, share)
        sums = problem.rows.reduce(kernel, here.z, problem.sign, problem.cost, there.z, token=token)
        own = stiffness * db * (here.b + share * db)
        return sums.slope + own, sums.curvature + stiffness * db * db

    return line_search(slope, -decrement, longest=1.0, first=0.5, max_evaluations=60)
