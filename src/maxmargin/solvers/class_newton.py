"""A semismooth Newton method for the hinge of Crammer and Singer: the method of multipliers.

The hinge is smoothed about duals α°: its value at scores u = 1[k ≠ y] + W x + b is the largest of
α·u − ‖α − α°‖²/(2σ) over the simplex, less u_y, and the best α, a projection, is its slope. That makes

    ½‖W‖² + Σ c [smoothed hinge]

once differentiable, with the curvature σ c (diag 1_A − 1_A 1_Aᵀ/|A|) in the classes A with α > 0 of a row, so
that Newton's method ends at its minimum after a few steps. Then α takes the place of α°, and σ grows: the
minimum moves to the optimum of the hinge itself. Only rows with two classes in A have a curvature; near the
optimum they are few, and copied. The Newton equations are solved by factors of the whole matrix where it is
small, else by conjugate gradients, preconditioned by 1 + s Σ x̃x̃ᵀ of these rows or a sample of them, where x̃
are the rows less their mean, or by its diagonal.

All that has the size rows × classes is a per-row array, which passes alone read and write. A step is one pass
that takes the scores, the duals and their sums to its end, and others only where it has to be shortened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, Stopped, StopToken
from maxmargin.core.certificate.outputs import (
    CombineOutputs,
    FeasibleDuals,
    OutputScores,
    SmoothedHinge,
    SmoothSums,
)
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.rows.active import MarkedRows, Marks
from maxmargin.rows.base import Array, Record, Rows, RowVector, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.base import Needs, Point, Step, is_small

__all__ = ["ClassNewton"]


@dataclass(frozen=True)
class ClassNewtonSettings:
    """The constants of the method; chosen, unless a comment says what was measured."""

    # Changes of scores by 1/σ move α from class to class. The first σ, at most; else it is so small that
    # these are the changes that a row's own α make [0036].
    first_sigma: float = 1.0
    # After a minimum that took few steps, σ grows: by 3 took a tenth more steps, by 10 up to twice as many.
    growth: float = 2.0
    last_growth: float = 10.0  # where all digits are wanted, near the optimum
    few_steps: int = 6
    most_sigma: float = 1e8
    # A minimum counts as found when what the gradient adds to the gap is below this share of it; or after so
    # many steps.
    enough: float = 0.1
    most_steps: int = 20
    most_idle_steps: int = 10  # that do not halve the gap, where all digits are wanted
    largest_hessian: int = 1_500  # unknowns up to which a whole matrix is factorised
    # Columns up to which a Gram matrix is, where it costs less than so many of the products that it saves.
    largest_gram: int = 4_000
    products_for_gram: float = 10.0
    # Rows with a curvature are copied for conjugate gradients up to so many values, and for a whole matrix,
    # which reads them once, up to that share of all rows. Of more, a sample makes the preconditioner.
    most_copied: float = 2e7
    few_curved: float = 0.25
    least_sample: int = 1_000
    sample_rows_per_column: int = 4
    most_sampled: float = 4e6  # values
    # By which conjugate gradients make the residual smaller: 0.05 took 1.6 times as many products.
    roughly: float = 0.2
    most_products: int = 150
    sufficient: float = 1e-4
    shortest: float = 1e-8
    resting: float = 1e-9  # of b, as a share of the curvature of the mean class


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    W: Array
    b: Array
    centre: RowVector
    duals: RowVector
    z: RowVector  # W x
    u: RowVector  # their change along the last step
    sigma: float
    shift: Array | None
    tol: float
    value: float = math.inf
    V: Array | None = None  # Σ r xᵀ of the duals
    balance: Array | None = None
    gap: float = math.inf
    bound: float = 0.0
    of_duals: float = -math.inf  # the dual value of the duals, if it is known, and of the centre
    of_centre: float = -math.inf
    steps: int = 0  # at this smoothing
    is_minimum: bool = False  # of it
    wants_all_digits: bool = False


@dataclass(frozen=True)
class ClassNewton:
    """The semismooth Newton method for the hinge of all classes at once."""

    settings: ClassNewtonSettings = ClassNewtonSettings()

    name = "semismooth_newton"
    title = "semismooth Newton"
    needs = Needs(losses=frozenset({"crammer_singer"}))

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows, K = problem.rows, problem.n_outputs
        kind = np.dtype((np.float64, (K,)))
        W, b = problem.zero_weights, np.zeros(K)
        centre, duals, z, u = (rows.zeros(kind) for _ in range(4))
        if warm_start is not None and np.shape(warm_start.w) == W.shape:
            W, b = np.array(warm_start.w), np.array(warm_start.b, dtype=np.float64)
            if warm_start.alpha is not None and rows.holds(warm_start.alpha):
                vectors = (problem.targets.values, problem.cost, warm_start.alpha, centre)
                rows.reduce(FeasibleDuals(K), *vectors, token=token)
            rows.reduce(OutputScores(W, np.zeros(K)), z, token=token)
        shift = self._mean(problem, token)
        # c‖x‖² is how far a row's own α move its scores. Where classes can be separated and C is so large
        # that the optimal α are tiny, a larger σ makes the first minimum as hard to find as the optimum.
        own_effect = problem.weighted_norm2 / max(rows.n_rows, 1)
        sigma = min(self.settings.first_sigma, 1.0 / max(own_effect, 1e-300))
        return _State(W, b, centre, duals, z, u, sigma, shift, tol)

    def _mean(self, problem: Problem, token: StopToken) -> Array | None:
        rows, total = problem.rows, float(problem.costs_by_class.sum())
        is_dense = rows.n_values == rows.n_rows * rows.n_columns
        if not problem.offset.is_free or total == 0 or not is_dense:
            return None
        return np.asarray(rows.reduce(Combine(rows.n_columns), problem.cost, token=token) / total)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Evaluate the start, or take one Newton step, and all further ones where they cost nothing."""
        if state.V is None:
            self._evaluate(problem, state, token)
            return Step(2.0, self._estimate(problem, state, token), is_start=True)
        step = self._step(problem, state, token)
        if not is_small(problem.rows) or step.relative_gap > state.tol:
            return step
        # So few values that all digits cost nothing: until rounding takes over.
        state.wants_all_digits = True
        least, passes, idle = step.relative_gap, step.passes, 0
        while least > 0 and idle < self.settings.most_idle_steps and not step.is_exhausted:
            step = self._step(problem, state, token)
            passes += step.passes
            idle = 0 if step.relative_gap < 0.5 * least else idle + 1
            least = min(least, step.relative_gap)
        return replace(step, passes=passes)

    def _step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Take one Newton step, at first of a new smoothing if the last minimum was found."""
        renewed = 0.0
        if state.is_minimum or state.steps >= self.settings.most_steps:
            self._renew(problem, state, token)
            renewed = 0.5
        passes, decrement = self._advance(problem, state, token)
        state.steps += 1
        estimate = self._estimate(problem, state, token)
        # What is left of the gradient is part of the gap; the rest is what the smoothing leaves.
        G, g = self._gradient(problem, state)
        left = 0.5 * inner(G.reshape(-1), G.reshape(-1)) + float(np.abs(g).sum())
        state.is_minimum = decrement == 0 or left <= self.settings.enough * state.gap
        is_exhausted = state.sigma >= self.settings.most_sigma and state.is_minimum
        return Step(renewed + passes, estimate, is_exhausted=is_exhausted)

    def _renew(self, problem: Problem, state: _State, token: StopToken) -> None:
        """Smooth about the duals that were found, and less if that was easy."""
        settings = self.settings
        growth = settings.growth if not state.wants_all_digits else settings.last_growth
        if state.steps > settings.few_steps:
            growth = 1.0
        state.centre, state.duals = state.duals, state.centre
        state.of_centre, state.of_duals = state.of_duals, -math.inf
        state.sigma = min(state.sigma * growth, self.settings.most_sigma)
        state.steps, state.is_minimum = 0, False
        self._evaluate(problem, state, token)

    # ------------------------------------------------------------ values and slopes

    def _evaluate(self, problem: Problem, state: _State, token: StopToken) -> None:
        """Fill the duals at the scores; set value, without the penalties, and slopes."""
        vectors = (problem.targets.values, problem.cost, state.z, state.centre, state.duals)
        found = problem.rows.reduce(_Evaluate(state.b, state.sigma), *vectors, token=token)
        state.value, state.balance, state.V = found.sums.value, found.sums.balance, found.V

    def _penalties(self, problem: Problem, W: Array, b: Array) -> float:
        return problem.penalty.value(W) + sum(problem.offset.penalty(entry) for entry in b.tolist())

    def _gradient(self, problem: Problem, state: _State) -> tuple[Array, Array]:
        assert state.V is not None
        assert state.balance is not None
        g = problem.offset.stiffness * state.b - state.balance
        return state.W - state.V, np.zeros_like(g) if problem.offset.is_absent else g

    def _estimate(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Guess the relative gap: objective of these weights less the dual value of the best duals."""
        assert state.V is not None
        vectors = (problem.targets.values, problem.cost, state.z, state.duals)
        loss, dual, *_ = problem.rows.reduce(_Terms(state.b), *vectors, token=token).tolist()
        bound = dual - problem.penalty.conjugate(state.V)
        assert state.balance is not None
        if problem.offset.is_free:
            bound -= float(np.abs(state.balance).sum())
        else:
            bound -= 0.5 * problem.offset.square * inner(state.balance, state.balance)
        state.of_duals, state.bound = bound, max(state.bound, bound)
        value: float = loss + self._penalties(problem, state.W, state.b)
        state.gap = max(value - bound, 0.0)
        best = max(state.of_duals, state.of_centre)
        return max(value - best, 0.0) / max(state.bound, 1e-300)

    # ------------------------------------------------------------ one step

    def _advance(self, problem: Problem, state: _State, token: StopToken) -> tuple[float, float]:
        """Take one step; return its passes and what it promised."""
        settings, rows = self.settings, problem.rows
        G, g = self._gradient(problem, state)
        D, e, passes = self._direction(problem, state, G, g, token)
        decrement = -inner(G.reshape(-1), D.reshape(-1)) - inner(g, e)
        if not 0 < decrement < math.inf:
            return passes, 0.0
        before, length = state.value + self._penalties(problem, state.W, state.b), 1.0
        state.of_duals = -math.inf  # until the step is complete
        label, cost = problem.targets.values, problem.cost
        vectors = (label, cost, state.z, state.centre, state.duals, state.u)
        whole = rows.reduce(_EvaluateStep(D, state.b + e, state.sigma), *vectors, token=token)
        sums, V = whole.sums, whole.V
        while True:
            W, b = state.W + length * D, state.b + length * e
            there = sums.value + self._penalties(problem, W, b)
            if there <= before - settings.sufficient * length * decrement or length < settings.shortest:
                break
            if there - before <= 1e-13 * abs(before):
                break
            if token.poll():  # passes over per-row arrays alone do not ask
                raise Stopped
            length *= 0.4
            kernel = _EvaluateAlong(length, state.b + length * e, state.sigma)
            sums = rows.reduce(kernel, *vectors, token=token)
        if length < 1.0:
            V = rows.reduce(CombineOutputs(rows.n_columns), state.duals, token=token)
            passes += 0.5
        rows.reduce(_Move(length), state.z, state.u, token=token)
        state.W, state.b, state.V = W, b, V
        state.value, state.balance = sums.value, sums.balance
        return passes + 1.0, decrement

    def _direction(
        self, problem: Problem, state: _State, G: Array, g: Array, token: StopToken
    ) -> tuple[Array, Array, float]:
        K, d = G.shape
        if K * (d + 1) <= self.settings.largest_hessian:
            few = min(self.settings.most_sampled, self.settings.few_curved * problem.rows.n_values)
            curved = _CurvedRows.of(problem, state.duals, state.sigma, few, token)
            H = curved.rows.reduce(_Hessian(state.sigma, d), *curved.vectors, token=token)
            of_offsets = np.arange(d, K * (d + 1), d + 1)
            diagonal = np.ones(K * (d + 1))
            if problem.offset.is_absent:
                H[of_offsets] = H[:, of_offsets] = 0.0
            else:
                level = float(H[of_offsets, of_offsets].mean())
                diagonal[of_offsets] = problem.offset.stiffness
                if problem.offset.is_free:  # all offsets may grow alike; or no row may hold them
                    rest = self.settings.resting * level or problem.total_cost / K
                    diagonal[of_offsets] = rest
                    H[np.ix_(of_offsets, of_offsets)] += (level + rest) / K
            np.einsum("ii->i", H)[:] += diagonal
            joined = np.ascontiguousarray(np.hstack([G, g[:, None]])).reshape(-1)
            found = -Factor(H).solve(joined).reshape(K, d + 1)
            share = curved.rows.n_rows / max(problem.rows.n_rows, 1)
            return np.ascontiguousarray(found[:, :-1]), np.ascontiguousarray(found[:, -1]), share
        return self._by_products(problem, state, G, g, token)

    def _by_products(
        self, problem: Problem, state: _State, G: Array, g: Array, token: StopToken
    ) -> tuple[Array, Array, float]:
        """Solve the Newton equations by conjugate gradients over the rows that have a curvature."""
        curved = _CurvedRows.of(problem, state.duals, state.sigma, self.settings.most_copied, token)
        offset, shift = problem.offset, state.shift
        if shift is not None:
            G = G - np.multiply.outer(g, shift)
        inverse = _Inverse.of(curved, problem, shift, self.settings, token)
        R, r = -G, -g
        D, e = np.zeros_like(R), np.zeros_like(r)
        P, p = inverse.solve(R, r)
        size = first = inner(R.reshape(-1), P.reshape(-1)) + inner(r, p)
        Q, q = P, p
        products = 0
        while products < self.settings.most_products and size > 0:
            raw = q if shift is None else q - np.einsum("kj,j->k", Q, shift)
            H, h = curved.product(Q, raw, token)
            if shift is not None:
                H -= np.multiply.outer(h, shift)
            H += Q
            h = np.zeros_like(q) if offset.is_absent else h + (offset.stiffness + inverse.rest) * q
            products += 1
            bend = inner(Q.reshape(-1), H.reshape(-1)) + inner(q, h)
            if not bend > 0:
                break
            length = size / bend
            D, e, R, r = D + length * Q, e + length * q, R - length * H, r - length * h
            P, p = inverse.solve(R, r)
            size, before = inner(R.reshape(-1), P.reshape(-1)) + inner(r, p), size
            if size <= self.settings.roughly**2 * first:
                break
            Q, q = P + (size / before) * Q, p + (size / before) * q
        e = e if shift is None else e - np.einsum("kj,j->k", D, shift)
        share = curved.rows.n_rows / max(problem.rows.n_rows, 1)
        return D, e, products * share

    # ------------------------------------------------------------ what the loop asks for

    def point(self, problem: Problem, state: _State) -> Point:
        # Its own offsets: the best for these weights are hardly better, and take many passes to find.
        b = state.b - state.b.mean() if problem.offset.is_free else state.b
        return Point(state.W, b, self._best_duals(state))

    def _best_duals(self, state: _State) -> RowVector:
        """Return the duals: on the way to a minimum those of the last one may be better."""
        return state.centre if state.of_centre > state.of_duals else state.duals

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        state.bound = max(state.bound, examination.certificate.bound)

    def warm_start(self, state: _State) -> WarmStart:
        return WarmStart(state.W, state.b, self._best_duals(state))

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed."""
        return 500


# ------------------------------------------------------------------------------------------------
# Passes. The first vectors are labels and costs, of rows; z and u are the scores and their change.


@dataclass(frozen=True, eq=False)
class _Sums(Record):
    """The smoothed hinge at some scores, with Σ r xᵀ of the duals r there."""

    sums: SmoothSums
    V: Array


@dataclass(frozen=True, eq=False)
class _Evaluate:
    """Evaluate the smoothed hinge at z + b; vectors: labels, costs, z, the centre, duals to be filled."""

    b: Array
    sigma: float

    writes = (4,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        sums = SmoothedHinge(self.b, self.sigma, False)(block, token, *pieces)
        return _Sums(sums, CombineOutputs(block.n_columns)(block, token, pieces[4]))


@dataclass(frozen=True, eq=False)
class _EvaluateStep:
    """Fill u with D x, and evaluate the smoothed hinge at z + u + b.

    Vectors: labels, costs, z, the centre, duals to be filled, u.
    """

    D: Array
    b: Array
    sigma: float

    writes = (4, 5)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        label, cost, z, centre, duals, u = pieces
        OutputScores(self.D, np.zeros_like(self.b))(block, token, u)
        return _Evaluate(self.b, self.sigma)(block, token, label, cost, z + u, centre, duals)


@dataclass(frozen=True, eq=False)
class _EvaluateAlong:
    """Evaluate the smoothed hinge at z + length·u + b; vectors as for `_EvaluateStep`."""

    length: float
    b: Array
    sigma: float

    writes = (4,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> SmoothSums:
        label, cost, z, centre, duals, u = pieces
        kernel = SmoothedHinge(self.b, self.sigma, False)
        return kernel(block, token, label, cost, z + self.length * u, centre, duals)


@dataclass(frozen=True)
class _Move:
    """Add length·u to z; vectors: z, u."""

    length: float

    writes = (0,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        z, u = pieces
        z += self.length * u


@dataclass(frozen=True, eq=False)
class _Terms:
    """Σ c loss at z + b, Σ r_y, Σ |r| and the largest |z|; vectors: labels, costs, z, duals."""

    b: Array

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        label, cost, z, duals = pieces
        return np.array(_core.class_hinge_terms(label, cost, z, self.b, duals, np.zeros_like(self.b)))


@dataclass(frozen=True, eq=False)
class _Hessian:
    """The Hessian of the losses in (w₁, b₁, w₂, b₂, …); vectors: labels, costs, duals."""

    sigma: float
    n_columns: int

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        label, cost, duals = pieces
        size = duals.shape[1] * (self.n_columns + 1)
        matrix = np.zeros((size, size))
        _core.class_hinge_hessian(block, label, cost, duals, self.sigma, matrix, token)
        return matrix


@dataclass(frozen=True, eq=False)
class _Product(Record):
    product: Array
    balance: Array


@dataclass(frozen=True, eq=False)
class _HessianProduct:
    """The Hessian of the losses times (D, e); vectors: labels, costs, duals."""

    D: Array
    e: Array
    sigma: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Product:
        label, cost, duals = pieces
        u = np.empty(duals.shape)
        OutputScores(self.D, self.e)(block, token, u)
        _core.curve_class_duals(label, cost, duals, self.sigma, u)
        return _Product(CombineOutputs(block.n_columns)(block, token, u), u.sum(axis=0))


# ------------------------------------------------------------------------------------------------
# Rows with two classes in use or more: no other has a curvature.


def _values_of_a_row(rows: Rows) -> float:
    return max(rows.n_values / max(rows.n_rows, 1), 1.0)


def _in_use(label: NDArray[Any], cost: Array, duals: Array) -> NDArray[np.bool_]:
    """Return which classes of each row have α > 0."""
    in_use = duals < 0
    every = np.arange(len(label))
    in_use[every, label] = duals[every, label] < cost
    return np.asarray(in_use)


@dataclass(frozen=True)
class _MarkCurved:
    """Mark the rows with a curvature; vectors: labels, costs, duals."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> list[Marks]:
        label, cost, duals = pieces
        return [Marks.of((_in_use(label, cost, duals).sum(axis=1) > 1) & (cost > 0))]


@dataclass(frozen=True, eq=False)
class _CurvedRows:
    """The rows with a curvature, copied, or all rows where these would be too many.

    Attributes
    ----------
    rows, vectors : Rows, sequence of per-row arrays
        Rows with labels, costs and duals.
    sigma : float
    curved : MarkedRows or None
        Which of all rows have a curvature; None if these are copies.
    """

    rows: Rows
    vectors: Sequence[RowVector]
    sigma: float
    curved: MarkedRows | None

    @classmethod
    def of(
        cls, problem: Problem, duals: RowVector, sigma: float, most: float, token: StopToken
    ) -> _CurvedRows:
        """Copy the rows with a curvature, up to so many values."""
        rows, vectors = problem.rows, (problem.targets.values, problem.cost, duals)
        curved = MarkedRows(rows.reduce(_MarkCurved(), *vectors, token=token))
        if curved.count * _values_of_a_row(rows) > min(rows.most_copied, most):
            return cls(rows, vectors, sigma, curved)
        chosen = curved.numbers(np.arange(curved.count))
        return cls(rows.subset(chosen), rows.take(chosen, *vectors), sigma, None)

    def sample(self, settings: ClassNewtonSettings) -> tuple[Rows, Array, NDArray[np.bool_]]:
        """Return the copies or, of more rows, a sample; σ times what each row stands for; classes in use."""
        rows, vectors, share = self.rows, self.vectors, 1.0
        if self.curved is not None:
            size = max(settings.least_sample, settings.sample_rows_per_column * rows.n_columns)
            size = min(size, max(int(settings.most_sampled / _values_of_a_row(rows)), 1), self.curved.count)
            chosen = self.curved.numbers(np.arange(size) * self.curved.count // size)
            rows, vectors, share = rows.subset(chosen), rows.take(chosen, *vectors), self.curved.count / size
        label, cost, duals = vectors
        return rows, self.sigma * share * cost, _in_use(label, cost, duals)

    def product(self, D: Array, e: Array, token: StopToken) -> tuple[Array, Array]:
        """Return the Hessian of the losses times a direction."""
        found = self.rows.reduce(_HessianProduct(D, e, self.sigma), *self.vectors, token=token)
        return found.product, found.balance


@dataclass(frozen=True, eq=False)
class _Inverse:
    """Something near the inverse of the Hessian: the same for the weights of each class."""

    factor: Factor | None
    diagonal: Array
    of_offsets: Factor | None
    rest: float

    @classmethod
    def of(
        cls,
        curved: _CurvedRows,
        problem: Problem,
        shift: Array | None,
        settings: ClassNewtonSettings,
        token: StopToken,
    ) -> _Inverse:
        K, d = problem.n_outputs, problem.rows.n_columns
        rows, weight, in_use = curved.sample(settings)
        count = in_use.sum(axis=1)
        h = weight * (count - 1.0) / K  # the mean of a row's diagonal
        factor, diagonal = None, np.ones(d)
        products = settings.products_for_gram * 4.0 * K * rows.n_values
        if d <= settings.largest_gram and d * (rows.n_values + d * d / 3.0) <= products:
            matrix = np.ascontiguousarray(rows.reduce(Gram(d, shift), h, token=token)[:-1, :-1])
            np.einsum("ii->i", matrix)[:] += 1.0
            factor = Factor(matrix)
        else:
            diagonal = 1.0 + rows.reduce(HessianDiagonal(d), h, token=token)[0]
        if problem.offset.is_absent:
            return cls(factor, diagonal, None, 0.0)
        used = in_use.astype(np.float64)
        gram = MemoryRows(used).reduce(Gram(K), weight / np.maximum(count, 1))[:K, :K]
        balance = np.diag(np.einsum("i,ik->k", weight, used)) - gram
        level, rest = float(np.trace(balance)) / K, 0.0
        if problem.offset.is_free:
            rest = settings.resting * level or problem.total_cost / K
            balance += (level + rest) / K
        np.einsum("ii->i", balance)[:] += problem.offset.stiffness + rest
        return cls(factor, diagonal, Factor(np.ascontiguousarray(balance)), rest)

    def solve(self, G: Array, g: Array) -> tuple[Array, Array]:
        weights = G / self.diagonal
        if self.factor is not None:
            weights = np.stack([self.factor.solve(np.ascontiguousarray(row)) for row in G])
        offsets = np.zeros_like(g) if self.of_offsets is None else self.of_offsets.solve(g)
        return weights, np.asarray(offsets)
