"""Newton's method for softmax: the weights W and offsets b of all classes together.

The objective ½‖W‖² + Σ c (log Σ exp z − z_y) has the gradient W + Σ r xᵀ with r = c (p − e_y), and times a
direction D, with u = D x, its Hessian is D + Σ q xᵀ with q = c p ∘ (u − p·u). A pass makes either row by row
and keeps nothing of the size rows × classes.

The Newton equations are solved by conjugate gradients. Where there are many rows, their products are those of
a sample, while value and gradient are those of all rows: steps are rougher and far cheaper. They are
preconditioned by the factors of the Hessian of some rows, or, where that would be too large, of
1 + s Σ x̃ x̃ᵀ, the same for each class, with the mean curvature s; x̃ are the rows less their mean. The fit
begins at the optimum of a sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, StopToken
from maxmargin.core.certificate.outputs import SoftmaxDuals, SoftmaxGradient
from maxmargin.core.certificate.point import CertifiedPoint, value_at_zero
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.core.targets import ClassTargets
from maxmargin.rows.base import Array, Record, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal
from maxmargin.solvers.base import Needs, Point, Step

__all__ = ["SoftmaxNewton"]


@dataclass(frozen=True)
class SoftmaxNewtonSettings:
    """The constants of the method; chosen unless a decision in brackets measured one."""

    # Up to so many unknowns a Hessian of some rows is added up and factorised; up to so many columns a Gram
    # matrix of some rows; beyond, there is its diagonal.
    largest_hessian: int = 1_200
    largest_gram: int = 4_000
    hessian_rows: int = 1_000  # at least, and so many for each column
    hessian_rows_per_column: int = 20
    gram_rows_per_column: int = 4
    # Products with the Hessian read one row of so many, but no fewer than these, and so many for each column.
    sample_share: int = 10
    least_sample: int = 10_000
    sample_rows_per_column: int = 10
    worth_a_sample: int = 3  # drawn if the problem is so many times larger
    start_share: int = 10  # the start is the optimum of one row of so many
    least_start: int = 2_000
    start_tolerance: float = 1e-2
    # Conjugate gradients end when the residual has fallen by this factor, or what the last step left.
    roughly: float = 0.1
    most_products: int = 200
    slow: float = 0.25  # a step that leaves more of the decrement than this has its sample doubled
    # Products of rows in single precision, while the relative gap is above this.
    enough_for_single: float = 1e-5
    sufficient: float = 1e-4  # of the predicted decrease
    shortest: float = 2.0**-20  # step that is tried


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """Objective and gradient at a point; the gradient's columns are centred, `balance` is that of b."""

    W: Array
    b: Array
    value: float
    gradient: Array
    balance: Array


class _Inverse(Protocol):
    """Something near the inverse of the Hessian in centred coordinates.

    Attributes
    ----------
    cost, cost_of_solving : float
        Multiplications to make it, and to use it once.
    """

    @property
    def cost(self) -> float: ...

    @property
    def cost_of_solving(self) -> float: ...

    def solve(self, G: Array, g: Array) -> tuple[Array, Array]:
        """Return weights of shape (K, n_columns) and offsets of shape (K,)."""
        ...


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    W: Array
    b: Array
    is_warm: bool
    seed: int
    tol: float
    single: bool
    depth: int = 0  # samples of samples
    shift: Array | None = None
    sample: Problem | None = None  # whose Hessian is used; None: that of all rows
    inverse: _Inverse | None = None
    dear: float = 0.0  # multiplications of the products since the inverse was made
    here: _Evaluation | None = None
    decrement: float = math.inf
    estimate: float = math.inf
    left: float = 0.1  # what the last step left of the decrement


@dataclass(frozen=True)
class SoftmaxNewton:
    """Newton's method for softmax."""

    settings: SoftmaxNewtonSettings = SoftmaxNewtonSettings()

    name = "newton"
    title = "Newton"
    needs = Needs(losses=frozenset({"softmax"}))

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        K, d = len(problem.costs_by_class), problem.rows.n_columns
        W, b, is_warm = np.zeros((K, d)), _first_offsets(problem), False
        if warm_start is not None and np.shape(warm_start.w) == W.shape:
            W, b, is_warm = np.array(warm_start.w), np.array(warm_start.b, dtype=np.float64), True
        return _State(W, b, is_warm, seed, tol, single=tol >= self.settings.enough_for_single)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Find and evaluate a start, or take one Newton step."""
        if state.here is None:
            passes = self._begin(problem, state, token)
            self._estimate(problem, state)
            return Step(passes, state.estimate, is_start=True)
        passes, is_exhausted = self._advance(problem, state, state.here, token)
        self._estimate(problem, state)
        return Step(passes, state.estimate, is_exhausted=is_exhausted)

    # ------------------------------------------------------------ the start

    def _begin(self, problem: Problem, state: _State, token: StopToken) -> float:
        settings, n_rows, passes = self.settings, problem.rows.n_rows, 0.0
        size = max(n_rows // settings.start_share, settings.least_start, 4 * len(state.b))
        if not state.is_warm and n_rows >= settings.worth_a_sample * size:
            part = sample_of_classes(problem, size, state.seed + state.depth)
            if part is not None:
                passes += self._solve_part(part, state, token) * part.rows.n_rows / n_rows
        state.shift = _mean_row(problem, token) if state.shift is None else state.shift
        size = max(
            n_rows // settings.sample_share,
            settings.least_sample,
            settings.sample_rows_per_column * problem.rows.n_columns,
        )
        if n_rows >= settings.worth_a_sample * size:
            state.sample = sample_of_classes(problem, size, state.seed + 100 + state.depth)
        here = _evaluate(problem, state, state.W, state.b, token)
        passes += 1.0
        if not here.value <= value_at_zero(problem) * (1 + 1e-9) or not math.isfinite(here.value):
            here = _evaluate(problem, state, np.zeros_like(state.W), _first_offsets(problem), token)
            passes += 1.0
        state.here = here
        return passes

    def _solve_part(self, part: Problem, state: _State, token: StopToken) -> float:
        """Move the start to the optimum of a sample; return the passes over it."""
        inside = replace(state, depth=state.depth + 1, tol=self.settings.start_tolerance)
        passes = self._begin(part, inside, token)
        for _ in range(30):
            assert inside.here is not None
            cost, is_exhausted = self._advance(part, inside, inside.here, token)
            passes += cost
            if is_exhausted or inside.decrement <= self.settings.start_tolerance * inside.here.value:
                break
        assert inside.here is not None
        state.W, state.b, state.shift = inside.here.W, inside.here.b, inside.shift
        return passes

    # ------------------------------------------------------------ one step

    def _advance(
        self, problem: Problem, state: _State, here: _Evaluation, token: StopToken
    ) -> tuple[float, bool]:
        """Take one step; return its passes, and whether rounding leaves nothing to gain."""
        settings = self.settings
        curved = problem if state.sample is None else state.sample
        if state.inverse is None or state.dear > state.inverse.cost:  # as much as it takes to make it anew
            state.inverse, state.dear = self._inverse(curved, state, here, token), 0.0
        share = curved.rows.n_rows / problem.rows.n_rows
        D, e, decrement, products = self._direction(curved, state, here, token)
        passes = 1.5 * products * share
        state.dear += products * (6.0 * curved.rows.n_values * len(here.b) + state.inverse.cost_of_solving)
        if not 0 < decrement < math.inf:
            if state.single:
                state.single = False
                state.here = _evaluate(problem, state, here.W, here.b, token)
                return passes + 1.0, False
            return passes, True
        length, before = 1.0, here
        while True:
            change = length * D
            b = here.b + length * (e if state.shift is None else e - D @ state.shift)
            there = _evaluate(problem, state, here.W + change, b, token)
            passes += 1.0
            slope = _product(there.gradient, there.balance, D, e)  # along the step, at its end
            if there.value <= here.value - settings.sufficient * length * decrement:
                break
            if abs(there.value - here.value) <= 1e-12 * abs(here.value) and slope <= 0.9 * decrement:
                break  # rounding hides the difference; the slope tells
            length *= min(max(decrement / (decrement + max(slope, 0.0)), 0.1), 0.5)
            if length < settings.shortest:
                if not state.single:
                    state.decrement = decrement
                    return passes, True
                state.single = False
                state.here = _evaluate(problem, state, here.W, here.b, token)
                return passes + 1.0, False
        state.here = there
        G, g = state.inverse.solve(there.gradient, there.balance)
        after = _product(there.gradient, there.balance, G, g)
        G, g = state.inverse.solve(before.gradient, before.balance)
        first = _product(before.gradient, before.balance, G, g)
        state.left = after / first if first > 0 else 1.0
        state.decrement = decrement * min(state.left, 1.0)
        if state.sample is not None and state.left > settings.slow and length == 1.0:
            size = 2 * state.sample.rows.n_rows
            is_small_part = problem.rows.n_rows >= settings.worth_a_sample * size
            larger = sample_of_classes(problem, size, state.seed + 200) if is_small_part else None
            state.sample, state.dear = larger, math.inf
        return passes, False

    def _direction(
        self, problem: Problem, state: _State, here: _Evaluation, token: StopToken
    ) -> tuple[Array, Array, float, int]:
        """Solve the Newton equations by conjugate gradients: a step, its decrement, and the products."""
        assert state.inverse is not None
        settings, offset = self.settings, problem.offset
        R, r = -here.gradient, -here.balance
        D, e = np.zeros_like(R), np.zeros_like(r)
        P, p = state.inverse.solve(R, r)
        size = first = _product(R, r, P, p)
        Q, q = P.copy(), p.copy()
        enough = min(settings.roughly, state.left) if state.sample is None else settings.roughly
        products = 0
        while products < settings.most_products and size > 0:
            kernel = HessianProduct(here.W, here.b, Q, _raw(q, Q, state.shift), state.single)
            sums = problem.rows.reduce(kernel, problem.cost, token=token)
            products += 1
            H, h = _centred(sums.product, sums.balance, state.shift)
            H += Q
            h = np.zeros_like(q) if offset.is_absent else h + offset.stiffness * q
            bend = _product(Q, q, H, h)
            if not bend > 0:
                break
            length = size / bend
            D += length * Q
            e += length * q
            R -= length * H
            r -= length * h
            P, p = state.inverse.solve(R, r)
            size, before = _product(R, r, P, p), size
            if size <= enough * enough * first:
                break
            Q *= size / before
            Q += P
            q *= size / before
            q += p
        decrement = -_product(here.gradient, here.balance, D, e)
        return D, e, decrement, products

    def _inverse(self, problem: Problem, state: _State, here: _Evaluation, token: StopToken) -> _Inverse:
        """Return something near the inverse of the Hessian here, from some of the rows."""
        settings, (K, d) = self.settings, here.W.shape
        if K * (d + 1) <= settings.largest_hessian:
            size = max(settings.hessian_rows, settings.hessian_rows_per_column * (d + 1))
            part = _part(problem, size, state.seed + 300)
            return WholeHessian.of(part, here, state.shift, state.single, token)
        size = max(settings.hessian_rows, settings.gram_rows_per_column * (d + 1))
        part = _part(problem, size, state.seed + 300)
        return SharedGram.of(part, here, state.shift, d <= settings.largest_gram, token)

    def _estimate(self, problem: Problem, state: _State) -> None:
        """Guess the relative gap of the probabilities as a dual point: half the square of the gradient."""
        here = state.here
        assert here is not None
        gap = 0.5 * inner(here.gradient.reshape(-1), here.gradient.reshape(-1))
        state.estimate = gap / max(here.value - gap, 1e-300)
        if state.single and state.estimate <= 10.0 * self.settings.enough_for_single:
            state.single = state.tol >= self.settings.enough_for_single

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the point; its own probabilities, balanced, are the dual point."""
        here = state.here
        if here is None:
            return Point(state.W, None, None, near=state.b)
        b = here.b - here.b.mean() if problem.offset.is_free else here.b
        is_exact = problem.offset.is_free and not state.single
        return Point(here.W, b, SoftmaxDuals.balanced(problem, here.W, b, here.balance) if is_exact else None)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Aim lower if the certificate was worse than estimated."""

    def warm_start(self, state: _State) -> WarmStart:
        """Return weights and offsets."""
        here = state.here
        return WarmStart(state.W, state.b) if here is None else WarmStart(here.W, here.b)

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed: steps are few where the problem has an optimum."""
        return 200


# ------------------------------------------------------------------------------------------------
# Points, and coordinates whose columns are centred where the offset is free: b = β − W·shift.


def _first_offsets(problem: Problem) -> Array:
    """Return the best offsets for W = 0: the logarithms of the classes' costs, with the sum 0."""
    costs = problem.costs_by_class
    b = np.zeros(len(costs))
    if problem.offset.is_free and (costs > 0).all():
        b = np.log(costs)
        b -= b.mean()
    return b


def _mean_row(problem: Problem, token: StopToken) -> Array | None:
    total = float(problem.costs_by_class.sum())
    is_dense = problem.rows.n_values == problem.rows.n_rows * problem.rows.n_columns
    if not problem.offset.is_free or total == 0 or not is_dense:
        return None
    return np.asarray(problem.rows.reduce(Combine(problem.rows.n_columns), problem.cost, token=token) / total)


def _evaluate(problem: Problem, state: _State, W: Array, b: Array, token: StopToken) -> _Evaluation:
    kernel = SoftmaxGradient(W, b, state.single)
    sums = problem.rows.reduce(kernel, problem.targets.values, problem.cost, token=token)
    assert sums.gradient is not None
    gradient, balance = _centred(sums.gradient, sums.balance, state.shift)
    gradient += W
    offset = problem.offset
    balance = np.zeros_like(b) if offset.is_absent else balance + offset.stiffness * b
    value = problem.penalty.value(W) + sums.loss + sum(offset.penalty(entry) for entry in b.tolist())
    return _Evaluation(W, b, value, gradient, balance)


def _centred(G: Array, g: Array, shift: Array | None) -> tuple[Array, Array]:
    return (G, g) if shift is None else (G - np.multiply.outer(g, shift), g)


def _raw(q: Array, Q: Array, shift: Array | None) -> Array:
    """Return the change of the offsets b for that of β."""
    return q if shift is None else q - np.einsum("kj,j->k", Q, shift)


def _product(G: Array, g: Array, D: Array, e: Array) -> float:
    return inner(G.reshape(-1), D.reshape(-1)) + inner(g, e)


@dataclass(frozen=True, eq=False)
class _Products(Record):
    product: Array
    balance: Array


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """Σ q xᵀ and Σ q with q = c p ∘ (u − p·u), u = D x + e: the Hessian of the losses; vectors: costs."""

    W: Array
    b: Array
    D: Array
    e: Array
    single: bool

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Products:
        (cost,) = pieces
        product, balance = np.zeros_like(self.W), np.zeros_like(self.b)
        _core.softmax_hessian_product(
            block, self.W, self.b, self.D, self.e, cost, self.single, product, balance, token
        )
        return _Products(product, balance)


# ------------------------------------------------------------------------------------------------
# What is near the inverse of the Hessian.


@dataclass(frozen=True, eq=False)
class _Hessian:
    W: Array
    b: Array
    shift: Array | None
    single: bool

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (cost,) = pieces
        size = self.W.size + len(self.b)
        matrix = np.zeros((size, size))
        _core.softmax_hessian(block, self.W, self.b, cost, self.shift, self.single, matrix, token)
        return matrix


@dataclass(frozen=True, eq=False)
class WholeHessian:
    """The factors of the Hessian of some rows."""

    factor: Factor
    shape: tuple[int, int]
    cost: float
    cost_of_solving: float

    @classmethod
    def of(
        cls, problem: Problem, here: _Evaluation, shift: Array | None, single: bool, token: StopToken
    ) -> WholeHessian:
        """Add up and factorise the Hessian of these rows."""
        (K, d), offset = here.W.shape, problem.offset
        matrix = problem.rows.reduce(_Hessian(here.W, here.b, shift, single), problem.cost, token=token)
        of_offsets = np.arange(d, K * (d + 1), d + 1)
        diagonal = np.ones(K * (d + 1))
        diagonal[of_offsets] = offset.stiffness
        if offset.is_absent:
            matrix[of_offsets] = matrix[:, of_offsets] = 0.0
            diagonal[of_offsets] = 1.0
        elif offset.is_free:  # all offsets may grow alike
            level = float(matrix[of_offsets, of_offsets].sum()) / K
            matrix[np.ix_(of_offsets, of_offsets)] += level / K
            diagonal[of_offsets] = 1e-9 * level + 1e-300
        np.einsum("ii->i", matrix)[:] += diagonal
        size = float(len(matrix))
        cost = problem.rows.n_rows * size * size + size**3 / 3.0
        return cls(Factor(matrix), (K, d + 1), cost, 2.0 * size * size)

    def solve(self, G: Array, g: Array) -> tuple[Array, Array]:
        """Return the solution of the equations with that Hessian."""
        joined = np.ascontiguousarray(np.hstack([G, g[:, None]])).reshape(-1)
        found = self.factor.solve(joined).reshape(self.shape)
        return np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, -1])


@dataclass(frozen=True, eq=False)
class SharedGram:
    """1 + s Σ x̃x̃ᵀ, or its diagonal, for the weights of each class; for the offsets, their own Hessian."""

    factor: Factor | None
    diagonal: Array
    of_offsets: Factor | None
    cost: float
    cost_of_solving: float

    @classmethod
    def of(
        cls, problem: Problem, here: _Evaluation, shift: Array | None, has_gram: bool, token: StopToken
    ) -> SharedGram:
        """Return the inverse that the curvatures of these rows give."""
        rows, offset, (K, d) = problem.rows, problem.offset, here.W.shape
        ones = HessianProduct(here.W, here.b, np.zeros_like(here.W), np.zeros(K), False)
        balance = np.empty((K, K))
        for k in range(K):
            unit = np.zeros(K)
            unit[k] = 1.0
            balance[k] = rows.reduce(replace(ones, e=unit), problem.cost, token=token).balance
        total = float(problem.costs_by_class.sum())
        level = float(np.trace(balance)) / K
        h = np.array(problem.cost) * (level / total) if total > 0 else np.array(problem.cost)
        factor, diagonal = None, np.ones(d)
        if has_gram:
            matrix = np.ascontiguousarray(rows.reduce(Gram(d, shift, True), h, token=token)[:-1, :-1])
            np.einsum("ii->i", matrix)[:] += 1.0
            factor = Factor(matrix)
        else:
            diagonal = 1.0 + rows.reduce(HessianDiagonal(d), h, token=token)[0]
        gram = rows.n_rows * float(d * d) + float(d) ** 3 / 3.0 if has_gram else 0.0
        costs = (gram + 6.0 * K * K * rows.n_values, 2.0 * K * (d * d if has_gram else d) + 2.0 * K * K)
        if offset.is_absent:
            return cls(factor, diagonal, None, *costs)
        balance += level / K if offset.is_free else 0.0
        np.einsum("ii->i", balance)[:] += offset.stiffness + 1e-9 * level + 1e-300
        return cls(factor, diagonal, Factor(balance), *costs)

    def solve(self, G: Array, g: Array) -> tuple[Array, Array]:
        """Return the solution of the equations with that matrix."""
        weights = G / self.diagonal
        if self.factor is not None:
            weights = np.stack([self.factor.solve(np.ascontiguousarray(row)) for row in G])
        offsets = np.zeros_like(g) if self.of_offsets is None else self.of_offsets.solve(g)
        return weights, offsets


# ------------------------------------------------------------------------------------------------
# Samples of the rows.


def sample_of_classes(problem: Problem, size: int, seed: int) -> Problem | None:
    """Return a problem of about `size` rows in memory whose classes weigh what they weigh in the whole.

    One row is drawn from each of equally long stretches; None if a class has no row among them.
    """
    rows, costs = problem.rows, problem.costs_by_class
    random = np.random.default_rng(seed)
    places = (random.random(size) + np.arange(size)) * (rows.n_rows / size)
    chosen = np.minimum(places.astype(np.intp), rows.n_rows - 1)
    label, cost = rows.take(chosen, problem.targets.values, problem.cost)
    live = cost > 0
    chosen, label, cost = chosen[live], np.array(label[live]), np.array(cost[live])
    totals = np.bincount(label, weights=cost, minlength=len(costs))
    if ((totals == 0) & (costs > 0)).any():
        return None
    cost *= np.divide(costs, totals, out=np.zeros_like(costs), where=totals > 0)[label]
    return replace(problem, rows=rows.subset(chosen), targets=ClassTargets(label, cost, len(costs)))


def _part(problem: Problem, size: int, seed: int) -> Problem:
    """Return a sample, or the problem itself where that is no smaller, or a class would be missing."""
    if 2 * size >= problem.rows.n_rows:
        return problem
    return sample_of_classes(problem, size, seed) or problem
