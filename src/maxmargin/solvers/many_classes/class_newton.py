"""A semismooth Newton method for the hinge of Crammer and Singer: the method of multipliers.

The hinge is smoothed about duals α°: its value at scores u = 1[k ≠ y] + W x + b is the largest of
α·u − ‖α − α°‖²/(2σ) over the simplex, less u_y, and the best α, a projection, is its slope. That makes

    ½‖W‖² + Σ c [smoothed hinge]

once differentiable, with the curvature σ c (diag 1_A − 1_A 1_Aᵀ/|A|) in the classes A with α > 0 of a row, so
that Newton's method ends at its minimum after a few steps. Then α takes the place of α°, and σ grows: the
minimum moves to the optimum of the hinge itself. Only rows with two classes in A have a curvature; near the
optimum they are few, and copied. The Newton equations are solved by factors of the whole matrix where it is
small, else by conjugate gradients, preconditioned by 1 + s Σ x̃x̃ᵀ of these rows or a sample of them, or by
its diagonal. Where the offset is free and rows are dense, all of it is in centred coordinates [0039]: x̃ are
the rows less their mean, the shift, z = W x̃, and b = β − W·shift.

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
from maxmargin.rows.kernels import Gram, HessianDiagonal
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.base import Needs, Point, Step, is_small
from maxmargin.solvers.coordinates import mean_of_dense_rows

__all__ = ["ClassNewton"]


@dataclass(frozen=True)
class ClassNewtonSettings:
    """The constants of the method; chosen, unless a comment says what was measured."""

    # Changes of scores by 1/σ move α from class to class. The first σ, at most; else it is so small that
    # these are the changes that a row's own α make [0036].
    first_sigma: float = 1.0
    # After a minimum that took few steps, σ grows: by 3 took a tenth more steps, by 10 up to twice as many.
    growth: float = 2.0
    quick_growth: float = 10.0  # if it took one step, or where all digits are wanted, near the optimum
    few_steps: int = 6
    most_sigma: float = 1e8
    # A minimum counts as found when what the gradient adds to the gap is below a share of it and, while that
    # is more than is asked for, below so many times what α have moved, Σ ‖α − α°‖²/(2σ): at a large C the gap
    # says nothing, and duals of no minimum are no centre [0039]. Or after so many steps.
    enough: float = 0.1
    of_distance: float = 10.0
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
    # A step is made shorter until its value is so much lower, as a share of what was promised, and its slope
    # no more than that share of the first.
    sufficient: float = 1e-4
    flat: float = 0.5
    most_lengths: int = 60
    resting: float = 1e-9  # of b, as a share of the curvature of the mean class


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    W: Array
    b: Array  # β
    centre: RowVector
    duals: RowVector
    z: RowVector  # W x̃
    u: RowVector  # their change along the last step
    sigma: float
    shift: Array | None
    tol: float
    value: float = math.inf
    V: Array | None = None  # Σ r x̃ᵀ of the duals
    balance: Array | None = None
    gap: float = math.inf
    distance: float = 0.0  # Σ ‖α − α°‖²/(2σ)
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
        shift = mean_of_dense_rows(problem, rows, token)
        if warm_start is not None and np.shape(warm_start.w) == W.shape:
            W, b = np.array(warm_start.w), np.array(warm_start.b, dtype=np.float64)
            if warm_start.alpha is not None and rows.holds(warm_start.alpha):
                vectors = (problem.targets.values, problem.cost, warm_start.alpha, centre)
                rows.reduce(FeasibleDuals(K), *vectors, token=token)
            b += _of_shift(W, shift)
            rows.reduce(OutputScores(W, -_of_shift(W, shift)), z, token=token)
        # c‖x‖² is how far a row's own α move its scores. Where classes can be separated and C is so large
        # that the optimal α are tiny, a larger σ makes the first minimum as hard to find as the optimum.
        own_effect = problem.weighted_norm2 / max(rows.n_rows, 1)
        sigma = min(self.settings.first_sigma, 1.0 / max(own_effect, 1e-300))
        return _State(W, b, centre, duals, z, u, sigma, shift, tol)

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
        settings, renewed = self.settings, 0.0
        if state.is_minimum or state.steps >= settings.most_steps:
            self._renew(problem, state, token)
            renewed = 0.5
        passes, decrement = self._advance(problem, state, token)
        state.steps += 1
        estimate = self._estimate(problem, state, token)
        # What is left of the gradient is part of the gap; the rest is what the smoothing leaves.
        G, g = self._gradient(problem, state)
        left = 0.5 * inner(G.reshape(-1), G.reshape(-1)) + float(np.abs(g).sum())
        moved = max(settings.of_distance * state.distance, settings.enough * state.tol * state.bound)
        enough = min(settings.enough * state.gap, moved)
        state.is_minimum = decrement == 0 or left <= enough
        is_exhausted = state.sigma >= settings.most_sigma and state.is_minimum
        return Step(renewed + passes, estimate, is_exhausted=is_exhausted)

    def _renew(self, problem: Problem, state: _State, token: StopToken) -> None:
        """Smooth about the duals that were found, and less if that was easy."""
        settings = self.settings
        is_quick = state.wants_all_digits or state.steps <= 1
        growth = settings.quick_growth if is_quick else settings.growth
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
        state.value, state.balance = found.sums.value, found.sums.balance
        state.V = _centred(found.V, state.balance, state.shift)

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
        assert state.balance is not None
        vectors = (problem.targets.values, problem.cost, state.z, state.duals)
        loss, dual, *_ = problem.rows.reduce(_Terms(state.b), *vectors, token=token).tolist()
        bound = dual - problem.penalty.conjugate(state.V)
        if problem.offset.is_free:
            bound -= float(np.abs(state.balance).sum())
        else:
            bound -= 0.5 * problem.offset.square * inner(state.balance, state.balance)
        state.of_duals, state.bound = bound, max(state.bound, bound)
        linear = inner(state.W.reshape(-1), state.V.reshape(-1)) + inner(state.b, state.balance)
        state.distance = dual - linear - state.value
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
        kernel = _EvaluateStep(D, -_of_shift(D, state.shift), state.b + e, state.sigma)
        whole = rows.reduce(kernel, *vectors, token=token)
        sums, V = whole.sums, _centred(whole.V, whole.sums.balance, state.shift)
        there = sums.value + self._penalties(problem, state.W + D, state.b + e)
        slope = inner((state.W + D - V).reshape(-1), D.reshape(-1))
        slope += inner(problem.offset.stiffness * (state.b + e) - sums.balance, e)
        lowered = before - there
        if lowered < settings.sufficient * decrement and lowered < -1e-13 * abs(before) and slope > 0:
            found = self._search(problem, state, (D, e), (-decrement, slope), vectors, token)
            if found is None:  # rounding is all that is left
                self._evaluate(problem, state, token)
                return passes + 1.5, 0.0
            length, sums = found
            V = rows.reduce(CombineOutputs(rows.n_columns), state.duals, token=token)
            V = _centred(V, sums.balance, state.shift)
            passes += 0.5
        rows.reduce(_Move(length), state.z, state.u, token=token)
        state.W, state.b, state.V = state.W + length * D, state.b + length * e, V
        state.value, state.balance = sums.value, sums.balance
        return passes + 1.0, decrement

    def _search(
        self,
        problem: Problem,
        state: _State,
        step: tuple[Array, Array],
        slopes: tuple[float, float],
        vectors: Sequence[RowVector],
        token: StopToken,
    ) -> tuple[float, SmoothSums] | None:
        """Return a length below 1 near the least value along a step, with the sums there.

        The slope rises along the step, from the first of `slopes` to the second at length 1: its zero is
        found by false position (Illinois). None means that rounding leaves no lower value.
        """
        settings, (D, e) = self.settings, step
        before = state.value + self._penalties(problem, state.W, state.b)
        of_penalty = inner(state.W.reshape(-1), D.reshape(-1))
        of_penalty += problem.offset.stiffness * inner(state.b, e)
        bend = inner(D.reshape(-1), D.reshape(-1)) + problem.offset.stiffness * inner(e, e)
        low, high, (below, above), decrement = 0.0, 1.0, slopes, -slopes[0]
        was_above = True
        for _ in range(settings.most_lengths):
            if token.poll():  # passes over per-row arrays alone do not ask
                raise Stopped
            length = (low * above - high * below) / (above - below)
            if not low < length < high:
                return None
            along = _EvaluateAlong(length, e, state.b + length * e, state.sigma)
            found = problem.rows.reduce(along, *vectors, token=token)
            there = found.sums.value
            there += self._penalties(problem, state.W + length * D, state.b + length * e)
            slope = found.slope + of_penalty + length * bend
            is_lower = there <= before - settings.sufficient * length * decrement
            if is_lower and abs(slope) <= settings.flat * decrement:
                return length, found.sums
            if slope < 0:
                low, below, above = length, slope, above if was_above else 0.5 * above
            else:
                high, above, below = length, slope, 0.5 * below if was_above else below
            was_above = slope >= 0
        return None

    def _direction(
        self, problem: Problem, state: _State, G: Array, g: Array, token: StopToken
    ) -> tuple[Array, Array, float]:
        K, d = G.shape
        if K * (d + 1) <= self.settings.largest_hessian:
            few = min(self.settings.most_sampled, self.settings.few_curved * problem.rows.n_values)
            curved = _CurvedRows.of(problem, state.duals, state.sigma, few, token)
            H = curved.rows.reduce(_Hessian(state.sigma, state.shift), *curved.vectors, token=token)
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
            # No loss changes where the weights of all classes change alike: there the Hessian is that of the
            # penalty, which factors would lose beside the curvature of a column of large values.
            mean = G.mean(axis=0)
            for j, level in enumerate(np.einsum("ii->i", H).reshape(K, d + 1)[:, :-1].mean(axis=0)):
                H[j :: d + 1, j :: d + 1] += level / K
            np.einsum("ii->i", H)[:] += diagonal
            joined = np.ascontiguousarray(np.hstack([G - mean, g[:, None]])).reshape(-1)
            found = -Factor(H).solve(joined).reshape(K, d + 1)
            share = curved.rows.n_rows / max(problem.rows.n_rows, 1)
            return found[:, :-1] - mean, np.ascontiguousarray(found[:, -1]), share
        return self._by_products(problem, state, G, g, token)

    def _by_products(
        self, problem: Problem, state: _State, G: Array, g: Array, token: StopToken
    ) -> tuple[Array, Array, float]:
        """Solve the Newton equations by conjugate gradients over the rows that have a curvature."""
        curved = _CurvedRows.of(problem, state.duals, state.sigma, self.settings.most_copied, token)
        offset, shift = problem.offset, state.shift
        inverse = _Inverse.of(curved, problem, shift, self.settings, token)
        R, r = -G, -g
        D, e = np.zeros_like(R), np.zeros_like(r)
        P, p = inverse.solve(R, r)
        size = first = inner(R.reshape(-1), P.reshape(-1)) + inner(r, p)
        Q, q = P, p
        products = 0
        while products < self.settings.most_products and size > 0:
            H, h = curved.product(Q, q - _of_shift(Q, shift), token)
            H = _centred(H, h, shift) + Q
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
        share = curved.rows.n_rows / max(problem.rows.n_rows, 1)
        return D, e, products * share

    # ------------------------------------------------------------ what the loop asks for

    def point(self, problem: Problem, state: _State) -> Point:
        # Its own offsets: the best for these weights are hardly better, and take many passes to find.
        b = state.b - _of_shift(state.W, state.shift)
        b = b - b.mean() if problem.offset.is_free else b
        return Point(state.W, b, self._best_duals(state))

    def _best_duals(self, state: _State) -> RowVector:
        """Return the duals: on the way to a minimum those of the last one may be better."""
        return state.centre if state.of_centre > state.of_duals else state.duals

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        state.bound = max(state.bound, examination.certificate.bound)

    def warm_start(self, state: _State) -> WarmStart:
        b = state.b - _of_shift(state.W, state.shift)
        return WarmStart(state.W, b, self._best_duals(state))

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed."""
        return 500


def _of_shift(W: Array, shift: Array | None) -> Array:
    """Return W·shift, by which β is more than b."""
    return np.zeros(len(W)) if shift is None else np.asarray(np.einsum("kj,j->k", W, shift))


def _centred(V: Array, balance: Array, shift: Array | None) -> Array:
    """Return Σ q (x − shift)ᵀ from Σ q xᵀ and Σ q."""
    return V if shift is None else V - np.multiply.outer(balance, shift)


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
    """Fill u with D x + e, and evaluate the smoothed hinge at z + u + b.

    Vectors: labels, costs, z, the centre, duals to be filled, u.
    """

    D: Array
    e: Array
    b: Array
    sigma: float

    writes = (4, 5)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        label, cost, z, centre, duals, u = pieces
        OutputScores(self.D, self.e)(block, token, u)
        return _Evaluate(self.b, self.sigma)(block, token, label, cost, z + u, centre, duals)


@dataclass(frozen=True, eq=False)
class _Along(Record):
    """The smoothed hinge at some length of a step, with its slope along it."""

    sums: SmoothSums
    slope: float


@dataclass(frozen=True, eq=False)
class _EvaluateAlong:
    """Evaluate the smoothed hinge at z + length·u + b, with its slope; vectors as for `_EvaluateStep`."""

    length: float
    e: Array
    b: Array
    sigma: float

    writes = (4,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Along:
        label, cost, z, centre, duals, u = pieces
        kernel = SmoothedHinge(self.b, self.sigma, False)
        sums = kernel(block, token, label, cost, z + self.length * u, centre, duals)
        return _Along(sums, -float((duals * (u + self.e)).sum()))


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
    """The Hessian of the losses in (w₁, β₁, w₂, β₂, …); vectors: labels, costs, duals."""

    sigma: float
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        label, cost, duals = pieces
        size = duals.shape[1] * (block.n_columns + 1)
        matrix = np.zeros((size, size))
        _core.class_hinge_hessian(block, label, cost, duals, self.sigma, self.shift, matrix, token)
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
