"""Newton's method for softmax: the weights W and offsets b of all classes together.

The objective ½‖W‖² + Σ c (log Σ exp z − z_y) has the gradient W + Σ r xᵀ with r = c (p − e_y), and times a
direction D, with u = D x, its Hessian is D + Σ q xᵀ with q = c p ∘ (u − p·u). A pass makes either row by row
and keeps nothing of the size rows × classes.

The Newton equations are solved by conjugate gradients. Where there are many rows, their products are those of
a sample, while value and gradient are those of all rows; what the sample does not tell of the curvature is
learned from the steps themselves, as by the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno.
Conjugate gradients are preconditioned by the factors of 1 + Σ h x̃ x̃ᵀ over some rows, the same for each
class, with h the mean of c p (1 − p) over the classes; x̃ are the rows less their mean. At weak regularisation
the rows that are curved differ from class to class: when products have cost more than matrices for each class
would, with its own h and its offset, these are made instead.
The fit begins at the optimum of a sample.

Points, gradients and steps are arrays of shape (K, n_columns + 1), the offsets last, in coordinates whose
columns are centred where the offset is free and rows are dense: b = β − W·shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, StopToken
from maxmargin.core.certificate.outputs import SoftmaxGradient
from maxmargin.core.certificate.point import CertifiedPoint, value_at_zero
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.core.targets import ClassTargets
from maxmargin.rows.base import Array, Record, RowVector
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal
from maxmargin.solvers.base import Needs, Point, Step, is_small
from maxmargin.solvers.limited_memory import LimitedMemory

__all__ = ["SoftmaxNewton"]

_MOST_KEPT = 20_000_000  # probabilities: 80 MB


@dataclass(frozen=True)
class SoftmaxNewtonSettings:
    """The constants of the method; chosen unless a decision in brackets measured one."""

    # Up to so many columns there is a Gram matrix of some rows; beyond, its diagonal.
    largest_gram: int = 4_000
    gram_rows: int = 1_000  # at least, and so many for each column
    gram_rows_per_column: int = 4
    # A Gram matrix for each class, when the products of a fit have cost `worth_anew` times as much, up to so
    # many numbers in them all: 400 MB; of rows with at least this share of the class's mean curvature [0037].
    largest_class_grams: int = 50_000_000
    class_gram_rows_per_column: int = 20
    least_curvature: float = 0.3
    # Products with the Hessian read one row of so many, but no fewer than these, and so many for each column.
    sample_share: int = 10
    least_sample: int = 3_000
    sample_rows_per_column: int = 10
    worth_a_sample: int = 2  # drawn if the problem is so many times larger
    # After so many steps that leave more of the decrement than this, the sample is doubled.
    slow: float = 0.5
    most_slow_steps: int = 3
    most_idle_steps: int = 5  # that gain nothing, until rounding is to blame
    start_share: int = 10  # the start is the optimum of one row of so many
    least_start: int = 2_000
    start_tolerance: float = 1e-2
    start_rows_per_unknown: int = 4  # fewer weigh no more than they do in the whole
    # Conjugate gradients end when the residual has fallen by this factor, or what the last step left.
    roughly: float = 0.3
    most_products: int = 200
    fewest_products: int = 5  # before a better preconditioner is made
    left_over: float = 0.2  # or when they leave this share of the gap that is wanted
    worth_anew: float = 2.0  # a preconditioner is made anew after products of so many times its cost
    memory: int = 10  # steps that are remembered
    # Products of rows in single precision, while the relative gap is above this; of few rows they would save
    # nothing.
    enough_for_single: float = 1e-5
    near: float = 1e-3  # a relative gap from which a few more steps give all digits
    worth_single: int = 500_000  # values times classes
    # Of a fit of so few values times classes a certificate takes more than a step: none is made while the
    # estimate is so many times the tolerance, and large enough not to be rounding.
    quick: int = 10_000_000
    far: float = 3.0
    sure: float = 1e-5
    sufficient: float = 1e-4  # of the predicted decrease
    # A step is shortened if the slope at its end is more than this share of that at its beginning, or of the
    # value there: where all losses are 0, the Hessian knows nothing of them.
    overshot: float = 0.5
    overshot_of_value: float = 0.25
    hidden: float = 1e-12  # a difference of values, as their share
    shortest: float = 2.0**-20  # step that is tried


@dataclass(frozen=True, eq=False)
class _Evaluation:
    """Objective and gradient at a point (W, b)."""

    W: Array
    b: Array
    value: float
    gradient: Array

    @property
    def balance(self) -> Array:
        """The slope in the offsets: Σ c (p − e_y), and that of their penalty."""
        return np.ascontiguousarray(self.gradient[:, -1])


class _Inverse(Protocol):
    """Something near the inverse of the Hessian.

    Attributes
    ----------
    curvature : float
        The mean of the offsets' diagonal.
    cost, cost_of_solving : float
        Multiplications to make it, and to use it once.
    n_read : int
        Rows that its Gram matrices added up, all together.
    """

    @property
    def curvature(self) -> float: ...

    @property
    def cost(self) -> float: ...

    @property
    def cost_of_solving(self) -> float: ...

    @property
    def n_read(self) -> int: ...

    def solve(self, G: Array) -> Array:
        """Return the solution for a gradient, of the same shape."""
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
    spent: float = 0.0  # and of all products
    n_read: int = 0  # rows that Gram matrices added up, of samples as well
    steps: LimitedMemory | None = None
    slow_steps: int = 0  # with this sample
    idle_steps: int = 0  # in a row, that gained nothing
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
            W -= W.mean(axis=0)  # what all classes have in common is no loss, and costs its square
            b -= b.mean()
        is_large = K * problem.rows.n_values >= self.settings.worth_single
        return _State(W, b, is_warm, seed, tol, single=is_large and tol >= self.settings.enough_for_single)

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Find and evaluate a start, or take one Newton step."""
        read_before = state.n_read

        def told(passes: float, is_exhausted: bool = False, is_start: bool = False) -> Step:
            self._estimate(problem, state)
            grams = (state.n_read - read_before) / problem.rows.n_rows
            is_quick = problem.n_outputs * problem.rows.n_values <= self.settings.quick
            may_wait = is_quick and state.estimate > max(self.settings.far * state.tol, self.settings.sure)
            return Step(
                passes,
                state.estimate,
                is_exhausted=is_exhausted,
                grams=grams,
                is_start=is_start,
                may_wait=may_wait,
            )

        if state.here is None:
            return told(self._begin(problem, state, token), is_start=True)
        passes, is_exhausted = self._advance(problem, state, state.here, token)
        self._estimate(problem, state)
        if not is_small(problem.rows) or state.estimate > max(state.tol, self.settings.near):
            return told(passes, is_exhausted)
        # So few values that all digits cost nothing: until rounding takes over.
        state.tol, before = 0.0, math.inf
        while state.decrement < self.settings.near * before and state.decrement > 0 and not is_exhausted:
            before = state.decrement
            further, is_exhausted = self._advance(problem, state, state.here, token)
            passes += further
        return told(passes, is_exhausted)

    # ------------------------------------------------------------ the start

    def _begin(self, problem: Problem, state: _State, token: StopToken) -> float:
        settings, n_rows, passes = self.settings, problem.rows.n_rows, 0.0
        size = max(n_rows // settings.start_share, settings.least_start, 4 * len(state.b))
        if not state.is_warm and n_rows >= settings.worth_a_sample * size:
            part = sample_of_classes(problem, size, state.seed + state.depth)
            if part is not None and size < settings.start_rows_per_unknown * (state.W.size + len(state.b)):
                # So few can be fitted far too well: that they stand for all is not to be believed.
                part = part.with_cost(part.cost * (part.rows.n_rows / n_rows))
            if part is not None:
                passes += self._solve_part(part, state, token) * part.rows.n_rows / n_rows
        state.shift = _mean_row(problem, token) if state.shift is None else state.shift
        size = max(
            n_rows // settings.sample_share,
            settings.least_sample,
            settings.sample_rows_per_column * problem.rows.n_columns,
        )
        self._draw_sample(problem, state, size)
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
        state.n_read = inside.n_read
        return passes

    # ------------------------------------------------------------ one step

    def _advance(
        self, problem: Problem, state: _State, here: _Evaluation, token: StopToken
    ) -> tuple[float, bool]:
        """Take one step; return its passes, and whether rounding leaves nothing to gain."""
        direction, passes = self._direction(problem, state, here, token)
        decrement = -_dot(here.gradient, direction)
        there, length, tried = None, 1.0, 0.0
        if 0 < decrement < math.inf:
            there, length, tried = self._search(problem, state, here, direction, token)
        passes += tried
        if there is None and state.single:
            state.single, state.steps = (
                False,
                None if state.steps is None else LimitedMemory(self.settings.memory),
            )
            state.here = _evaluate(problem, state, here.W, here.b, token)
            return passes + 1.0, False
        if there is None:
            state.decrement = decrement
            return passes, True
        assert state.inverse is not None
        before, after = (_dot(at.gradient, state.inverse.solve(at.gradient)) for at in (here, there))
        state.left = min(after / before, 1.0) if before > 0 else 1.0
        state.here, state.decrement = there, decrement * state.left
        gains_nothing = state.left > self.settings.slow and not there.value < here.value * (1.0 - 2.0**-50)
        state.idle_steps = state.idle_steps + 1 if gains_nothing else 0
        if state.steps is not None:
            state.steps.add(length * direction, there.gradient - here.gradient)
        if state.sample is not None and state.left > self.settings.slow:
            state.slow_steps += 1
            if state.slow_steps >= self.settings.most_slow_steps:
                self._draw_sample(problem, state, 2 * state.sample.rows.n_rows)
        return passes, state.idle_steps >= self.settings.most_idle_steps

    def _draw_sample(self, problem: Problem, state: _State, size: int) -> None:
        """Have a sample of that size stand for the Hessian of all rows; none where it would save little."""
        is_worth_it = problem.rows.n_rows >= self.settings.worth_a_sample * size
        state.sample = sample_of_classes(problem, size, state.seed + size) if is_worth_it else None
        state.steps = None if state.sample is None else state.steps or LimitedMemory(self.settings.memory)
        state.slow_steps, state.dear = 0, math.inf

    def _search(
        self, problem: Problem, state: _State, here: _Evaluation, direction: Array, token: StopToken
    ) -> tuple[_Evaluation | None, float, float]:
        """Return the end of a step that is short enough, its length, and the passes; None if none helps."""
        settings, length, passes = self.settings, 1.0, 0.0
        decrement = -_dot(here.gradient, direction)
        dW, db = _stored(direction, state.shift)
        while length >= settings.shortest:
            there = _evaluate(problem, state, here.W + length * dW, here.b + length * db, token)
            passes += 1.0
            slope = _dot(there.gradient, direction)  # along the step, at its end
            has_fallen = there.value <= here.value - settings.sufficient * length * decrement
            most = min(settings.overshot * decrement, settings.overshot_of_value * there.value)
            # Where rounding hides the difference of the values, the slope tells.
            is_hidden = abs(there.value - here.value) <= settings.hidden * abs(here.value)
            if (has_fallen and slope <= most) or (is_hidden and abs(slope) <= 0.9 * decrement):
                return there, length, passes
            # To where the slope would vanish if it changed evenly; it may have jumped up near the beginning.
            even = decrement / (decrement + max(slope, 0.0))
            length *= min(max(even, 0.1), 0.75 if slope > settings.overshot * decrement else 0.5)
        return None, 0.0, passes

    def _direction(
        self, problem: Problem, state: _State, here: _Evaluation, token: StopToken
    ) -> tuple[Array, float]:
        """Return the step of the Newton equations, and the passes that it took."""
        curved = problem if state.sample is None else state.sample
        share = curved.rows.n_rows / problem.rows.n_rows
        is_dear = state.inverse is None or state.dear > self.settings.worth_anew * state.inverse.cost
        until_class_grams = self.settings.worth_anew * self._cost_of_class_grams(curved) - state.spent
        if is_dear or (isinstance(state.inverse, SharedGram) and until_class_grams <= 0):
            state.inverse, state.dear = self._inverse(curved, state, here, token), 0.0
            state.n_read += state.inverse.n_read
        assert state.inverse is not None
        per_product = 2.0 * curved.rows.n_values * len(here.b) + state.inverse.cost_of_solving
        most = self.settings.most_products
        if isinstance(state.inverse, SharedGram):
            most = int(min(max(until_class_grams / per_product, self.settings.fewest_products), most))
        enough = self.settings.roughly if state.sample is not None else min(self.settings.roughly, state.left)
        products = 0

        def solve(G: Array) -> Array:
            nonlocal products
            found, products = self._conjugate_gradients(curved, state, here, G, enough, most, token)
            return found

        direction = solve(-here.gradient) if state.steps is None else -state.steps.times(here.gradient, solve)
        state.dear += products * per_product
        state.spent += products * per_product
        # A product is two of the three that it takes where probabilities are not kept; a gradient takes two.
        per_pass = 1.0 if _has_room(curved, state.single) else 1.5
        return direction, per_pass * products * share

    def _conjugate_gradients(
        self,
        problem: Problem,
        state: _State,
        here: _Evaluation,
        G: Array,
        enough: float,
        most: int,
        token: StopToken,
    ) -> tuple[Array, int]:
        """Return about H⁻¹G, with the Hessian H of these rows, and the products with it."""
        assert state.inverse is not None
        offset, residual = problem.offset, G.copy()
        found = np.zeros_like(G)
        left_over = self.settings.left_over * state.tol * here.value if state.sample is None else 0.0
        p = _kept_probabilities(problem, here, state.single, token)
        preconditioned = state.inverse.solve(residual)
        size = first = _dot(residual, preconditioned)
        direction = preconditioned.copy()
        products = 0
        while products < most and size > 0:
            dW, db = _stored(direction, state.shift)
            kernel = HessianProduct(here.W, here.b, dW, db, state.single)
            sums = problem.rows.reduce(kernel, problem.cost, *p, token=token)
            products += 1
            curved = _centred(sums.product, sums.balance, state.shift)
            curved[:, :-1] += direction[:, :-1]
            curved[:, -1] = 0.0 if offset.is_absent else curved[:, -1] + offset.stiffness * direction[:, -1]
            bend = _dot(direction, curved)
            if not bend > 0:
                break
            length = size / bend
            found += length * direction
            residual -= length * curved
            preconditioned = state.inverse.solve(residual)
            size, before = _dot(residual, preconditioned), size
            # The residual is about the gradient at the end of the step, and half its square the gap there.
            is_end = left_over > 0 and _gap_of(problem, residual, state.inverse.curvature) <= left_over
            if size <= enough * enough * first or is_end:
                break
            direction *= size / before
            direction += preconditioned
        return found, products

    def _inverse(self, problem: Problem, state: _State, here: _Evaluation, token: StopToken) -> _Inverse:
        """Return something near the inverse of the Hessian here, from some of the rows."""
        settings, d = self.settings, problem.rows.n_columns
        cost = self._cost_of_class_grams(problem)
        if state.spent >= settings.worth_anew * cost:
            part = _part(problem, self._rows_of_class_grams(d), state.seed + 300)
            return ClassGrams.of(part, here, state.shift, settings.least_curvature, cost, token)
        size = max(settings.gram_rows, settings.gram_rows_per_column * (d + 1))
        part = _part(problem, size, state.seed + 300)
        return SharedGram.of(part, here, state.shift, d <= settings.largest_gram, token)

    def _rows_of_class_grams(self, n_columns: int) -> int:
        return max(self.settings.gram_rows, self.settings.class_gram_rows_per_column * (n_columns + 1))

    def _cost_of_class_grams(self, problem: Problem) -> float:
        """Return about how many multiplications a Gram matrix for each class takes; infinity without room."""
        settings, rows, width = self.settings, problem.rows, problem.rows.n_columns + 1
        size = problem.n_outputs * width * width
        if size > min(settings.largest_class_grams, rows.most_copied):
            return math.inf
        n_read = settings.least_curvature * min(self._rows_of_class_grams(rows.n_columns), rows.n_rows)
        return (n_read + width / 3.0) * size

    def _estimate(self, problem: Problem, state: _State) -> None:
        """Estimate the relative gap of the probabilities as a dual point."""
        here = state.here
        assert here is not None
        curvature = state.inverse.curvature if state.inverse is not None else problem.costs_by_class.mean()
        gap = _gap_of(problem, here.gradient, float(curvature))
        state.estimate = gap / max(here.value - gap, 1e-300)

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the point; its own probabilities, at the best offsets, are the dual point."""
        here = state.here
        if here is None:
            return Point(state.W, problem.offset.to_certify(state.b), None, near=state.b)
        return Point(here.W, problem.offset.to_certify(here.b), None, near=here.b)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Go on: the next steps get nearer."""

    def warm_start(self, state: _State) -> WarmStart:
        """Return weights and offsets."""
        here = state.here
        return WarmStart(state.W, state.b) if here is None else WarmStart(here.W, here.b)

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed: steps are few where the problem has an optimum."""
        return 200


# ------------------------------------------------------------------------------------------------
# Points, and coordinates whose columns are centred.


_AS_GOOD_AS_ABSENT = 40.0  # exp(−40) is no probability beside 1: of a class that costs nothing


def _first_offsets(problem: Problem) -> Array:
    """Return the best offsets for W = 0: the logarithms of the classes' costs, with the sum 0."""
    costs = problem.costs_by_class
    if not problem.offset.is_free:
        return np.zeros(len(costs))
    some = np.log(costs, out=np.full(len(costs), np.inf), where=costs > 0)
    b = np.where(costs > 0, some, some.min() - _AS_GOOD_AS_ABSENT)
    return np.asarray(b - b.mean())


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
    offset, gradient = problem.offset, _centred(sums.gradient, sums.balance, state.shift)
    gradient[:, :-1] += W
    gradient[:, -1] = 0.0 if offset.is_absent else gradient[:, -1] + offset.stiffness * b
    value = problem.penalty.value(W) + sums.loss + sum(offset.penalty(entry) for entry in b.tolist())
    return _Evaluation(W, b, value, gradient)


def _gap_of(problem: Problem, gradient: Array, curvature: float) -> float:
    """Return about the gap that a gradient leaves: half its square, and what balancing the classes costs.

    `curvature` is that of an offset.
    """
    of_weights, of_offsets = gradient[:, :-1], gradient[:, -1:]
    gap = 0.5 * _dot(of_weights, of_weights)
    if problem.offset.is_free:
        # To balance them, rows that cost that much get other duals, and their part of V moves as far.
        stiffness = 1.0 / max(curvature, 1e-300)
        stiffness += problem.weighted_norm2 / max(float(problem.costs_by_class.sum()), 1e-300)
        gap += 0.5 * stiffness * _dot(of_offsets, of_offsets)
    return gap


def _centred(G: Array, g: Array, shift: Array | None) -> Array:
    """Return Σ q (x − shift, 1) from Σ q x and Σ q."""
    if shift is not None:
        G = G - np.multiply.outer(g, shift)
    return np.hstack([G, g[:, None]])


def _stored(direction: Array, shift: Array | None) -> tuple[Array, Array]:
    """Return the changes of W and b."""
    dW, db = np.ascontiguousarray(direction[:, :-1]), np.ascontiguousarray(direction[:, -1])
    return dW, db if shift is None else db - np.einsum("kj,j->k", dW, shift)


def _dot(a: Array, b: Array) -> float:
    return float(np.einsum("kj,kj->", a, b))


@dataclass(frozen=True, eq=False)
class _Products(Record):
    product: Array
    balance: Array


@dataclass(frozen=True, eq=False)
class HessianProduct:
    """Σ q xᵀ and Σ q with q = c p ∘ (u − p·u), u = D x + e: the Hessian of the losses.

    Vectors: costs, and p if it was kept.
    """

    W: Array
    b: Array
    D: Array
    e: Array
    single: bool

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Products:
        cost, *p = pieces
        product, balance = np.zeros_like(self.W), np.zeros_like(self.b)
        if p:
            _core.softmax_curvature_product(
                block, p[0], self.D, self.e, cost, self.single, product, balance, token
            )
        else:
            _core.softmax_hessian_product(
                block, self.W, self.b, self.D, self.e, cost, self.single, product, balance, token
            )
        return _Products(product, balance)


# ------------------------------------------------------------------------------------------------
# What is near the inverse of the Hessian.


@dataclass(frozen=True, eq=False)
class SharedGram:
    """1 + Σ h x̃x̃ᵀ, or its diagonal, for the weights of each class; for the offsets, their own Hessian."""

    factor: Factor | None
    diagonal: Array
    of_offsets: Factor | None
    curvature: float
    cost: float
    cost_of_solving: float
    n_read: int

    @classmethod
    def of(
        cls, problem: Problem, here: _Evaluation, shift: Array | None, has_gram: bool, token: StopToken
    ) -> SharedGram:
        """Return the inverse that the curvatures of these rows give."""
        rows, offset, (K, d) = problem.rows, problem.offset, here.W.shape
        p, h = _probabilities(problem, here, True, token), rows.zeros()
        gram = rows.reduce(_Curvatures(K), problem.cost, p, h, token=token)
        balance = np.diag(gram[:K, K]) - gram[:K, :K]
        level = float(np.trace(balance)) / K
        factor, diagonal = None, np.ones(d)
        if has_gram:
            matrix = np.ascontiguousarray(rows.reduce(Gram(d, shift, True), h, token=token)[:-1, :-1])
            np.einsum("ii->i", matrix)[:] += 1.0
            factor = Factor(matrix)
        else:
            diagonal = 1.0 + rows.reduce(HessianDiagonal(d), h, token=token)[0]
        of_gram = rows.n_rows * float(d * d) + float(d) ** 3 / 3.0 if has_gram else 0.0
        costs = (of_gram + 2.0 * K * rows.n_values, 2.0 * K * (d * d if has_gram else d) + 2.0 * K * K)
        n_read = rows.n_rows if has_gram else 0
        if offset.is_absent:
            return cls(factor, diagonal, None, level, *costs, n_read)
        balance += level / K if offset.is_free else 0.0
        np.einsum("ii->i", balance)[:] += offset.stiffness + 1e-9 * level + 1e-300
        return cls(factor, diagonal, Factor(balance), level, *costs, n_read)

    def solve(self, G: Array) -> Array:
        """Return the solution of the equations with that matrix."""
        found = np.zeros_like(G)
        weights = np.ascontiguousarray(G[:, :-1])
        found[:, :-1] = weights / self.diagonal if self.factor is None else self.factor.solve_rows(weights)
        if self.of_offsets is not None:
            found[:, -1] = self.of_offsets.solve(np.ascontiguousarray(G[:, -1]))
        return found


@dataclass(frozen=True, eq=False)
class ClassGrams:
    """For each class the factors of its own block of the Hessian, 1 + Σ h x̃x̃ᵀ with h = c p (1 − p).

    Here x̃ ends with the 1 of the offset: its rows have another mean for each class.
    """

    factors: tuple[Factor, ...]
    curvature: float
    cost: float
    cost_of_solving: float
    n_read: int

    @classmethod
    def of(
        cls,
        problem: Problem,
        here: _Evaluation,
        shift: Array | None,
        least: float,
        cost: float,
        token: StopToken,
    ) -> ClassGrams:
        """Add up and factorise the blocks, of rows with at least that share of the class's mean h."""
        rows, offset, (K, d) = problem.rows, problem.offset, here.W.shape
        h = _probabilities(problem, here, True, token)
        totals = rows.reduce(_ClassCurvatures(), problem.cost, h, token=token)
        factors, n_read = [], 0
        for k, total in enumerate(totals.tolist()):
            kernel = _ClassGram(k, least * total / rows.n_rows, Gram(d, shift, True))
            found = rows.reduce(kernel, problem.cost, h, token=token)
            matrix, n_read = found.gram, n_read + found.n_read
            diagonal = np.ones(d + 1)
            diagonal[d] = offset.stiffness + 1e-9 * total + 1e-300
            if offset.is_absent:
                matrix[d] = matrix[:, d] = 0.0
                diagonal[d] = 1.0
            np.einsum("ii->i", matrix)[:] += diagonal
            factors.append(Factor(matrix))
        return cls(tuple(factors), float(totals.mean()), cost, 2.0 * K * (d + 1) ** 2, n_read)

    def solve(self, G: Array) -> Array:
        """Return the solution of the equations with those blocks, less what all classes have in common."""
        solved = [
            factor.solve_rows(gradient) for factor, gradient in zip(self.factors, G[:, None], strict=True)
        ]
        found = np.concatenate(solved)
        found -= found.mean(axis=0)
        return found


@dataclass(frozen=True)
class _ClassCurvatures:
    """Replace p by p (1 − p); return Σ c p (1 − p) of each class. Vectors: c, p."""

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        cost, p = pieces
        h = p.astype(np.float64)
        # The sum of the others keeps its digits where p is near 1.
        h *= h.sum(axis=1, keepdims=True) - h
        p[:] = h
        return np.asarray(cost @ h)


@dataclass(frozen=True, eq=False)
class _GramOfClass(Record):
    gram: Array
    n_read: int


@dataclass(frozen=True, eq=False)
class _ClassGram:
    """Return Σ h x̃x̃ᵀ over the rows whose h = c p (1 − p) of a class is at least `least`.

    Vectors: c, p (1 − p) of all classes.
    """

    number: int
    least: float
    gram: Gram

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _GramOfClass:
        cost, curvature = pieces
        own = cost * curvature[:, self.number]
        own[own < self.least] = 0.0
        return _GramOfClass(self.gram(block, token, own), int(np.count_nonzero(own)))


@dataclass(frozen=True)
class _Curvatures:
    """Fill h with the mean over the classes of c p (1 − p); return Σ c (p, 1)(p, 1)ᵀ. Vectors: c, p, h."""

    n_outputs: int

    writes = (2,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        cost, p, h = pieces
        left = 1.0 - np.einsum("ik,ik->i", p, p, dtype=np.float64)
        h[:] = np.maximum(cost * left / self.n_outputs, 0.0)
        return Gram(self.n_outputs)(Block(p), token, cost)


def _has_room(problem: Problem, single: bool) -> bool:
    return single and problem.rows.n_rows * problem.n_outputs <= _MOST_KEPT


def _kept_probabilities(
    problem: Problem, here: _Evaluation, single: bool, token: StopToken
) -> tuple[RowVector, ...]:
    """Return the rows' probabilities, in single precision, where that is enough and there is room."""
    if not _has_room(problem, single):
        return ()
    return (_probabilities(problem, here, single, token),)


def _probabilities(problem: Problem, here: _Evaluation, single: bool, token: StopToken) -> RowVector:
    p = problem.rows.zeros(np.dtype((np.float32, (len(here.b),))))
    problem.rows.reduce(Probabilities(here.W, here.b, single), p, token=token)
    return p


@dataclass(frozen=True, eq=False)
class Probabilities:
    """Fill p, of shape (n_rows, K) and single precision, with the probabilities at (W, b)."""

    W: Array
    b: Array
    single: bool

    writes = (0,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        (p,) = pieces
        _core.softmax_probabilities(block, self.W, self.b, self.single, p, token)


# ------------------------------------------------------------------------------------------------
# Samples of the rows.


def sample_of_classes(problem: Problem, size: int, seed: int) -> Problem | None:
    """Return a problem of about `size` rows in memory whose classes weigh what they weigh in the whole.

    One row is drawn from each of equally long stretches; None if a class has no row among them.
    """
    rows, costs = problem.rows, problem.costs_by_class
    if size * rows.n_values > rows.most_copied * rows.n_rows:  # as many as there is memory for
        size = max(int(rows.most_copied * rows.n_rows / rows.n_values), 4 * len(costs))
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
