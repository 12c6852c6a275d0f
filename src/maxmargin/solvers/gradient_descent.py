"""Full (sub)gradient descent: the baseline that every other method has to beat.

One pass over the rows evaluates the objective and its gradient w − Σ sαx, α = −c ℓ′(m), and the weights go
against it by a share η of it:

    w ← w − η (w − Σ sαx) = (1 − η) w + η Σ sαx .

So the weights are always a weighted mean of the Σ sαx so far, and the same mean of the α is a dual point that
belongs to them. For the hinge, whose α jump between 0 and c, it gives the bound;
smooth losses are bounded by the α of the point itself, which converge.

It is slow by nature: steps are counted in the condition number of the problem for smooth losses, in the
inverse of the gap for the hinge. Use it to learn and to compare; the other solvers are for everything else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.problem import Problem
from maxmargin.core.solution import AverageStart, WarmStart
from maxmargin.losses.base import Loss
from maxmargin.rows.base import Array, Record, inner
from maxmargin.solvers.base import Needs, Point, Step
from maxmargin.solvers.coordinates import CentredCoordinates
from maxmargin.solvers.step_rules import StepRule, choose_rule

__all__ = ["GradientDescent"]


@dataclass(frozen=True, eq=False)
class _Sums(Record):
    """Losses, Σ sαx, Σ sα and the curvature in the offset of some rows."""

    loss: float
    dual_sum: Array
    balance: float
    curvature: float


@dataclass(frozen=True, eq=False)
class _Evaluate:
    """Read every row at (w, b): fill α = −c ℓ′(m) and return the sums."""

    loss: Loss
    w: Array
    b: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        sign, cost, alpha = pieces
        z, dual_sum = np.empty(sign.shape[0]), np.zeros(self.w.shape[0])
        _core.multiply(block, self.w, z, None, None, token)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is far too long is not taken
            m = sign * (z + self.b)
            np.multiply(cost, -self.loss.slope(m), out=alpha)
            losses, bends = np.sum(cost * self.loss.value(m)), np.sum(cost * self.loss.curvature(m))
            signed = sign * alpha
            balance = np.sum(signed)
        _core.multiply(block, None, None, signed, dual_sum, token)
        return _Sums(float(losses), dual_sum, float(balance), float(bends))


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """What one pass computes at a point; the last entry of the gradient is that of the offset."""

    w: Array
    b: float
    alpha: Array
    value: float
    gradient: Array
    curvature: float


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    rule: StepRule
    lam: float  # of the λ form, in which steps are measured
    w: Array
    b: float
    mean: Array  # of the α, with the weights with which w is a mean of their Σ sαx
    t: int = 0
    length: float = 0.0
    here: _Evaluation | None = None


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent for every loss, with subgradients for the hinge.

    Parameters
    ----------
    rule : StepRule, str, float or None
        How long the steps are, in the λ form, mean loss + λ/2 ‖w‖² with λ = 1/(total cost). None:
        backtracking for smooth losses, 2/(λ(t + 1)) for the hinge.
    max_halvings : int
        Of a step: then it is lost in the rounding errors of the weights.
    """

    rule: StepRule | str | float | None = None
    max_halvings: int = 60

    name = "gradient_descent"
    title = "gradient descent"
    needs = Needs(losses=frozenset({"hinge", "squared_hinge", "logistic"}), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows, total = problem.rows, problem.class_costs.total
        lam = 1.0 / total if total > 0 else 1.0
        rule = choose_rule(self.rule, problem.agreement_loss, lam)
        state = _State(rule, lam, np.zeros(rows.n_columns), 0.0, rows.zeros())
        average = None if warm_start is None else warm_start.average
        if warm_start is not None and average is not None:
            given, own = (warm_start.w.shape, average.mean.shape), (state.w.shape, state.mean.shape)
            if given == own:
                state.w, state.b, state.mean = warm_start.w, warm_start.b, average.mean
                state.t, state.length = average.t, average.length
        return state

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Take one step; one pass, and another one for every halving of it."""
        passes = 0
        if state.here is None:
            state.here, passes = _evaluate(problem, state.w, state.b, token), 1
        here, t = state.here, state.t + 1
        square = (
            inner(here.gradient[:-1], here.gradient[:-1]) + _offset_scale(problem) * here.gradient[-1] ** 2
        )
        if square == 0:  # a stationary point, which is a minimum
            return Step(passes, _estimate_gap(problem, state, here))
        length = state.rule.length(t, state.lam, state.length)
        for _ in range(self.max_halvings):
            share = state.lam * length  # the objective is 1/λ times that of the λ form
            w = here.w - share * here.gradient[:-1]
            b = here.b - share * _offset_scale(problem) * float(here.gradient[-1])
            there = _evaluate(problem, w, b, token)
            passes += 1
            if state.rule.is_enough(here.value - there.value, share, square):
                break
            length *= 0.5
        else:
            return Step(passes, _estimate_gap(problem, state, here), is_exhausted=True)
        state.t = t
        if math.isfinite(there.value):  # else the step was far too long, and a later one may be shorter
            mean = (1.0 - share) * state.mean + share * here.alpha
            state.here, state.mean, state.length = there, mean, length
        return Step(passes, _estimate_gap(problem, state, state.here))

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the weights with the dual point that belongs to them."""
        here = state.here
        w, b = (state.w, state.b) if here is None else (here.w, here.b)
        alpha = here.alpha if here is not None and problem.loss.is_smooth else state.mean
        return Point(w, problem.offset.to_certify(b), alpha)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Steps do not depend on the gap."""

    def warm_start(self, state: _State) -> WarmStart:
        """Return the point, the mean of the α, and the number and length of the last step."""
        here = state.here
        w, b = (state.w, state.b) if here is None else (here.w, here.b)
        return WarmStart(w, b, average=AverageStart(state.mean, state.t, state.length))

    def default_max_iter(self, problem: Problem) -> int:
        """Enough to see how far it gets; more would not bring many more digits."""
        return 1_000


def _offset_scale(problem: Problem) -> float:
    """Return how much faster the offset goes than the weights.

    A penalised offset is the weight b/scale of one more column, whose every entry is `scale`.
    """
    return problem.offset.square or 1.0


def _coordinates_of(problem: Problem) -> CentredCoordinates:
    return CentredCoordinates(problem.offset, problem.rows.n_columns)


def _evaluate(problem: Problem, w: Array, b: float, token: StopToken) -> _Evaluation:
    alpha, coordinates = problem.rows.zeros(), _coordinates_of(problem)
    kernel = _Evaluate(problem.agreement_loss, w, b)
    sums = problem.rows.reduce(kernel, problem.sign, problem.cost, alpha, token=token)
    value = coordinates.penalty(w, b) + sums.loss
    gradient = coordinates.gradient(w, b, -np.append(sums.dual_sum, sums.balance))
    return _Evaluation(w, b, alpha, value, gradient, sums.curvature)


def _estimate_gap(problem: Problem, state: _State, here: _Evaluation) -> float:
    """Return about the relative gap that a certificate would find."""
    if problem.loss.is_smooth:
        gap = _coordinates_of(problem).estimate_gap(here.gradient, here.curvature)
    else:
        gap = here.value + _coordinates_of(problem).penalty(here.w, here.b) - float(np.sum(state.mean))
    return max(gap, 0.0) / max(here.value - gap, 1e-300) if math.isfinite(gap) else math.inf
