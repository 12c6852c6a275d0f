"""Newton's method for softmax where ρ = 0: maximum likelihood of the multinomial model.

As for two classes, columns that are combinations of others stay where they are, the shortest of all weights
with the same probabilities are handed out (what all classes have in common is taken off, too), and a watch
looks for classes that can be separated, for which the weights would grow for ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS
from maxmargin.core.certificate.outputs import SoftmaxGradient
from maxmargin.core.certificate.outputs_decrement import SoftmaxHessian, mean_row, without_common_part
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.errors import UNREGULARISED, InvalidParameter
from maxmargin.rows.base import Array
from maxmargin.separation.classes import ClassesWatch, PairsOfClasses
from maxmargin.solvers.base import Needs, Point, Step

__all__ = ["SoftmaxLikelihood"]


_SUFFICIENT = 1e-4  # of the predicted decrease
_SHORTEST = 2.0**-40


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """Value and gradient at a point, of shape (K, n_columns + 1), of the centred rows."""

    W: Array
    b: Array
    value: float
    gradient: Array


@dataclass(eq=False)
class _State:
    W: Array
    b: Array
    shift: Array | None
    tol: float
    watch: ClassesWatch
    here: _Evaluation | None = None


@dataclass(frozen=True)
class SoftmaxLikelihood:
    """Newton's method for softmax without a regulariser."""

    name = "newton"
    title = "Newton"
    needs = Needs(losses=frozenset({"softmax"}), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        costs, d = problem.costs_by_class, problem.rows.n_columns
        K = len(costs)
        if K * (d + 1) > MOST_COLUMNS:
            raise InvalidParameter(
                f"{{C}} ({{lam}}) needs a matrix of all weights by all weights, at most {MOST_COLUMNS:,}; "
                f"{K:,} classes and {d:,} columns have {K * (d + 1):,}.",
                parameter="C",
                value=math.inf,
                remedy="Give a finite C.",
                **UNREGULARISED,
            )
        W, b = np.zeros((K, d)), np.zeros(K)
        if problem.offset.is_free and (costs > 0).all():
            b = np.log(costs)
            b -= b.mean()
        if warm_start is not None and np.shape(warm_start.w) == W.shape:
            W, b = np.array(warm_start.w), np.array(warm_start.b, dtype=np.float64)
            W -= W.mean(axis=0)
            b -= b.mean()
        return _State(W, b, mean_row(problem, token), tol, ClassesWatch(PairsOfClasses.of(problem)))

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Evaluate the start, or take one Newton step."""
        here = state.here
        if here is None:
            here = _evaluate(problem, state, state.W, state.b, token)
            if not math.isfinite(here.value):  # the start was of no use here
                here = _evaluate(problem, state, np.zeros_like(state.W), np.zeros_like(state.b), token)
            state.here = here
            return Step(1.0, math.inf, is_start=True)
        matrix = problem.rows.reduce(SoftmaxHessian(here.W, here.b, state.shift), problem.cost, token=token)
        factor = Factor(without_common_part(problem, matrix, len(here.b)))
        change = -factor.solve(here.gradient.reshape(-1)).reshape(here.gradient.shape)
        change -= change.mean(axis=0)
        decrement = -_product(here.gradient, change)
        if not 0 < decrement < math.inf:
            return Step(1.0, 0.0, is_exhausted=True)
        passes, length = 1.0, 1.0
        D, e = np.ascontiguousarray(change[:, :-1]), change[:, -1].copy()
        if state.shift is not None:
            e -= np.einsum("kj,j->k", D, state.shift)
        while True:
            there = _evaluate(problem, state, here.W + length * D, here.b + length * e, token)
            passes += 1.0
            if there.value <= here.value - _SUFFICIENT * length * decrement:
                break
            is_hidden = abs(there.value - here.value) <= 1e-12 * here.value
            if is_hidden and abs(_product(there.gradient, change)) <= 0.5 * decrement:
                break
            length *= 0.5
            if length < _SHORTEST or is_hidden:  # rounding hides what is left
                return Step(passes, 0.5 * decrement / here.value, is_exhausted=True)
        state.here = there
        state.watch.look(there.W, there.b, decrement, token)
        # Estimated at the point before: then coefficients, too, are good to about the tolerance.
        estimate = 0.5 * decrement / here.value
        return Step(passes, estimate, goes_on=estimate > state.tol)

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the shortest weights with these probabilities."""
        here = state.here
        if here is None:
            return Point(state.W, state.b, None)
        W, b = here.W.copy(), here.b.copy()
        for k in range(len(b)):
            W[k], b[k] = problem.null_space.shortest(W[k].copy(), float(b[k]))
        W -= W.mean(axis=0)
        return Point(W, b - b.mean(), None)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Nothing to learn: the next step is the same."""

    def warm_start(self, state: _State) -> WarmStart:
        """Return weights and offsets."""
        here = state.here
        return WarmStart(state.W, state.b) if here is None else WarmStart(here.W, here.b)

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed: steps are few where the problem has an optimum."""
        return 200


def _evaluate(problem: Problem, state: _State, W: Array, b: Array, token: StopToken) -> _Evaluation:
    offset = problem.offset
    kernel = SoftmaxGradient(W, b)
    sums = problem.rows.reduce(kernel, problem.targets.values, problem.cost, token=token)
    assert sums.gradient is not None
    gradient = np.hstack([sums.gradient, sums.balance[:, None]])
    if state.shift is not None:
        gradient[:, :-1] -= np.multiply.outer(sums.balance, state.shift)
    gradient[:, -1] = 0.0 if offset.is_absent else gradient[:, -1] + offset.stiffness * b
    gradient[:, problem.null_space.dependent] = 0.0
    value = sums.loss + sum(offset.penalty(entry) for entry in b.tolist())
    return _Evaluation(W, b, value, gradient)


def _product(G: Array, D: Array) -> float:
    return float(np.einsum("kj,kj->", G, D))
