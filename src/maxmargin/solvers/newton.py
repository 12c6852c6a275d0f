"""Newton's method for smooth losses.

The objective ½‖w‖² + Σ c ℓ(m) has the gradient w + Σ s c ℓ′(m) x and the Hessian 1 + Σ h xxᵀ, h = c ℓ″(m);
the offset is one more coordinate, with its own penalty or none. One pass over the rows evaluates a point:
value, gradient and, while the rows are in cache, the Hessian. A step is tried in full and its end evaluated
at once, so that an iteration is one pass; if the objective has not fallen enough there, a line search finds
a shorter step from the scores at both ends, without the rows.

Near the optimum, where a step hardly changes the Hessian, the old one is used again. The quadratic model
also predicts duals at the end of a step; they certify a point much earlier than those of the point itself,
because they reproduce its weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.core.certificate.point import CertifiedPoint, value_at_zero
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.rows.base import Array, Rows, RowVector, inner
from maxmargin.rows.kernels import Gram, HessianDiagonal, Scores
from maxmargin.solvers.base import Needs, Point, Step, is_small
from maxmargin.solvers.coordinates import CentredCoordinates, mean_row
from maxmargin.solvers.newton_passes import (
    Evaluation,
    HessianProduct,
    PredictDuals,
    evaluate,
    first_offset,
    has_fallen,
    own_duals,
    shortened_step,
)
from maxmargin.solvers.sample import largest_sample, sample_of

__all__ = ["Newton"]


@dataclass(frozen=True)
class NewtonSettings:
    """The constants of Newton's method.

    A number in brackets is the decision that measured one. The others were chosen; decision 0032 says how
    much the work of a dozen fits changes when one is halved or doubled.
    """

    # Up to so many columns the Hessian is added up and factorised; beyond, and where adding it up costs so
    # many passes over the rows and a sample's Hessian makes conjugate gradients quick, they solve its
    # equations.
    largest_hessian: int = 2_000
    dear_hessian: float = 15.0
    max_cg_iterations: int = 250
    reuse_below: float = 1e-2  # an old Hessian is used again while it reduces the decrement by this factor
    convergence: float = 3.0  # a full step takes the relative suboptimality δ to about this times δ²
    estimate_factor: float = (
        2.0  # `run` asks for a certificate at 2 tol, as estimates are rough; this one is not
    )
    # In single precision: the most that a Hessian's rounding may be, beside the regulariser's 1; given up if,
    # at this suboptimality, a step leaves more than this share of the decrement [0010].
    largest_rounding: float = 2.0
    near_optimum: float = 1e-2
    good_decrease: float = 0.1
    # A sample holds one row of so many, but no fewer than that, and this many for each column: then its
    # Hessian is within a factor of two of the scaled whole one. It is drawn if the problem is so many times
    # larger.
    sample_share: int = 16
    least_sample: int = 4_000
    sample_per_column: int = 10
    worth_a_sample: int = 4
    # What to aim at where that costs nothing, from where one step gets there, and a decrement that is left,
    # as shares of the objective: weights are right to the square root of the last. Powers of the rounding
    # unit.
    all_digits: float = 2.0**-52
    half_the_digits: float = 2.0**-26
    nothing_left: float = 2.0**-80
    rows_for_mean: int = 500  # of a large problem: columns are centred for the sake of rounding only


@dataclass(frozen=True, eq=False)
class _Model:
    """A factorised Hessian, and the curvatures h that it is made of; None: those of a sample."""

    factor: Inverse
    h: RowVector | None


@dataclass(frozen=True, eq=False)
class _FullStep:
    """A full step: where it came from, and the direction."""

    origin: Evaluation
    direction: Direction


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    rows: Rows
    coordinates: CentredCoordinates
    w: Array
    b: float
    is_warm: bool
    is_near: bool  # the start is likely to be good enough
    seed: int
    tol: float  # what to aim at
    asked: float  # the tolerance of the fit
    is_sample: bool = False
    uses_gram: bool = True
    is_single_precision: bool = False  # Hessians are made of products in single precision
    here: Evaluation | None = None
    model: _Model | None = None
    may_keep: bool = False  # whether the model is good enough for the next step too
    full_step: _FullStep | None = None  # the last step, if it was a full one
    decrement: float = math.inf  # g·M⁻¹g, by the model's M: twice what the objective lies above its optimum
    estimate: float = math.inf  # of the relative duality gap, before it is certified
    alpha: RowVector | None = None  # the duals that the last step predicted, if they are the better ones


@dataclass(frozen=True)
class Newton:
    """Newton's method for the squared hinge and logistic loss."""

    settings: NewtonSettings = NewtonSettings()

    name = "newton"
    title = "Newton"
    needs = Needs(losses=frozenset({"logistic", "squared_hinge"}))

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows = problem.rows
        w, b = np.zeros(rows.n_columns), first_offset(problem)
        is_warm = is_near = False
        if warm_start is not None and warm_start.w.shape == w.shape:
            is_warm, is_near = True, warm_start.relative_gap <= tol
            w, b = np.array(warm_start.w), float(warm_start.b)
        coordinates = CentredCoordinates(problem.offset, rows.n_columns)
        is_single_precision = _single_precision_will_do(problem, self.settings)
        aim = min(tol, self.settings.all_digits) if is_small(rows) else tol
        return _State(
            rows, coordinates, w, b, is_warm, is_near, seed, aim, tol, is_single_precision=is_single_precision
        )

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Find and evaluate a start, or take one Newton step."""
        wants_all_digits = is_small(problem.rows)
        if state.here is None:
            passes = self._begin(problem, state, token)
            estimate = self._estimate_gap(problem, state, token)
            return Step(passes, estimate, goes_on=wants_all_digits, is_start=True)
        before = state.decrement
        passes, is_exhausted = self._advance(problem, state, state.here, token)
        estimate = self._estimate_gap(problem, state, token)
        is_close = estimate <= max(state.asked, self.settings.half_the_digits)
        if wants_all_digits and is_close:
            # Digits double with every step, until rounding takes over.
            nothing = self.settings.nothing_left
            while nothing * state.here.value < state.decrement < 0.25 * before and not is_exhausted:
                before = state.decrement
                further, is_exhausted = self._advance(problem, state, state.here, token)
                passes += further
            estimate = self._estimate_gap(problem, state, token)
        goes_on = wants_all_digits and not is_close
        return Step(passes, estimate, is_exhausted=is_exhausted, goes_on=goes_on)

    # ------------------------------------------------------------ the start

    def _begin(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Evaluate the start, which is the optimum of a sample where there are many rows."""
        size = _sample_size(problem, self.settings)
        state.rows = problem.rows.condensed(token)
        state.uses_gram = self._gram_pays(state.rows, size is not None and not state.is_sample)
        if size is not None and not (state.is_warm and state.uses_gram):
            sample = sample_of(problem, size, state.seed)
            passes = self._solve_sample(sample, state, token) * sample.rows.n_rows / state.rows.n_rows
            has_hessian = not (state.may_keep and _needs_two_steps(sample, state.tol, self.settings))
        else:
            few = problem if size is None else sample_of(problem, self.settings.rows_for_mean, state.seed)
            state.coordinates = CentredCoordinates(
                problem.offset, problem.rows.n_columns, mean_row(few, few.rows, token)
            )
            passes = 1.0 if size is None else 0.0
            has_hessian = not state.is_near
        has_hessian = has_hessian and state.uses_gram
        point = (state.rows, state.coordinates, state.w, state.b)
        here = evaluate(problem, *point, has_hessian, token, is_single_precision=state.is_single_precision)
        passes += 1.0
        # A sample may mislead, and the weights of another problem may be of no use here.
        highest = math.inf if state.is_warm else value_at_zero(problem) * (1 + 1e-9)
        if not here.value <= highest or math.isinf(here.value):
            nothing, b = np.zeros_like(state.w), first_offset(problem)
            here = evaluate(problem, state.rows, state.coordinates, nothing, b, state.uses_gram, token)
            passes += 1.0
        state.here = here
        return passes

    def _gram_pays(self, rows: Rows, has_sample: bool) -> bool:
        """Whether whole Hessians are cheaper than conjugate gradients."""
        if rows.n_columns > self.settings.largest_hessian:
            return False
        per_row = rows.n_values / max(rows.n_rows, 1)
        is_dense = rows.n_values == rows.n_rows * rows.n_columns
        passes = per_row / 24 if is_dense else per_row / 4  # beyond what reading the rows costs
        return not has_sample or passes <= self.settings.dear_hessian

    def _solve_sample(self, sample: Problem, state: _State, token: StopToken) -> float:
        """Move the start to the optimum of the sample and keep its Hessian; return the passes over it."""
        warm_start = WarmStart(state.w, state.b) if state.is_warm else None
        enough = 0.1 * _sample_error(sample)
        inside = self.start(sample, warm_start, state.seed + 1, enough, token)
        inside.is_sample = True
        passes = self._begin(sample, inside, token)
        for _ in range(50):
            assert inside.here is not None
            if state.is_warm or inside.decrement <= 2 * enough * inside.here.value:
                break
            cost, is_exhausted = self._advance(sample, inside, inside.here, token)
            passes += cost
            if is_exhausted:
                break
        here = inside.here
        assert here is not None
        state.coordinates = inside.coordinates
        if here.hessian is not None:
            state.model = _Model(Factor(here.hessian), None)
        elif inside.model is not None:
            state.model = _Model(inside.model.factor, None)
        state.may_keep = state.model is not None
        if not state.is_warm:
            state.w, state.b = here.w, here.b
        return passes

    # ------------------------------------------------------------ one step

    def _advance(
        self, problem: Problem, state: _State, here: Evaluation, token: StopToken
    ) -> tuple[float, bool]:
        """Take one step; return its passes, and whether rounding leaves nothing to gain."""
        settings = self.settings
        direction = self._direction(state, here, token)
        decrement, passes = direction.decrement, direction.passes
        if not 0 < decrement < math.inf:
            return passes, True
        dw, db = state.coordinates.split(direction.change)
        wants_hessian = self._wants_hessian(state, here, direction)
        point = (state.rows, state.coordinates, here.w + dw, here.b + db)
        there = evaluate(problem, *point, wants_hessian, token, is_single_precision=state.is_single_precision)
        passes += 1.0
        after = self._decrement(state, there)
        is_full = has_fallen(here.value, there.value, decrement, after)
        is_far = decrement > settings.near_optimum * here.value
        is_good = is_full and (is_far or after <= settings.good_decrease * decrement)
        state.is_single_precision = state.is_single_precision and is_good
        if not is_full:
            share = shortened_step(problem, state.rows, state.coordinates, here, there, decrement, token)
            w, b = here.w + share * dw, here.b + share * db
            there = evaluate(problem, state.rows, state.coordinates, w, b, state.uses_gram, token)
            passes += 1.0
            if not there.value < here.value:  # rounding hides what is left
                state.may_keep = False
                return passes, direction.h is here.h
        state.here, state.full_step = there, _FullStep(here, direction) if is_full else None
        state.decrement, state.may_keep = after, is_full and after <= settings.reuse_below * decrement
        return passes, False

    def _direction(self, state: _State, here: Evaluation, token: StopToken) -> Direction:
        """Solve the Newton equations here, or those of an older or a sample's Hessian that will do."""
        if not state.uses_gram:
            return self._conjugate_gradients(state, here, token)
        passes, hessian, model = 0.0, here.hessian, state.model
        if hessian is None and (model is None or not state.may_keep):
            kernel = Gram(state.rows.n_columns, state.coordinates.shift, state.is_single_precision)
            hessian = state.coordinates.matrix(state.rows.reduce(kernel, here.h, token=token))
            passes = 1.0
        if hessian is not None:
            state.model = model = _Model(Factor(hessian), here.h)
        assert model is not None
        change = -model.factor.solve(here.gradient)
        return Direction(change, -inner(here.gradient, change), model.h, 0.0, passes)

    def _conjugate_gradients(self, state: _State, here: Evaluation, token: StopToken) -> Direction:
        passes, convergence = 0.0, self.settings.convergence
        if state.model is None:
            state.model = _Model(Diagonal.of(state.rows, state.coordinates, here, token), None)
            passes = 1.0

        def is_enough(progress: CGProgress) -> bool:
            """Whether more digits of this step would be lost in the next one, or the end is reached."""
            left = 0.5 * progress.decrement / here.value
            may_be_last = convergence * left * left <= state.tol
            if may_be_last:
                return progress.left <= 0.5 * state.tol * here.value
            return progress.iterations * progress.gained <= min(0.25, convergence * left) * progress.decrement

        inverse = state.model.factor
        most = self.settings.max_cg_iterations
        found = conjugate_gradients(state.rows, state.coordinates, here, inverse, is_enough, most, token)
        return replace(found, passes=found.passes + passes)

    def _wants_hessian(self, state: _State, here: Evaluation, direction: Direction) -> bool:
        """Whether the Hessian will be needed at the end of a step, and may be added up on the way."""
        if not state.uses_gram:
            return False
        if direction.h is not here.h:  # an old one was good enough, or a sample's had to do
            return direction.h is None
        left = 0.5 * direction.decrement / here.value
        # Another step with this Hessian would bring about that factor once more.
        return self.settings.convergence * min(left, 1.0) > math.cbrt(state.tol)

    def _decrement(self, state: _State, at: Evaluation) -> float:
        """Return the decrement there, by the Hessian in use."""
        if state.model is None or not np.isfinite(at.gradient).all():
            return math.inf
        return inner(at.gradient, state.model.factor.solve(at.gradient))

    # ------------------------------------------------------------ the gap

    def _estimate_gap(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Return the relative duality gap, and choose the better dual point."""
        state.alpha = None
        here = state.here
        assert here is not None
        gap, wanted = state.coordinates.estimate_gap(here.gradient, here.curvature), state.tol * here.value
        if gap > wanted and state.full_step is not None and state.decrement <= 2 * wanted:
            gap = self._predicted_duals(problem, state, here, state.full_step, gap, token)
        state.estimate = 0.0 if gap == 0 else gap / max(here.value - gap, 1e-300)
        return self.settings.estimate_factor * state.estimate

    def _predicted_duals(
        self,
        problem: Problem,
        state: _State,
        here: Evaluation,
        full_step: _FullStep,
        gap: float,
        token: StopToken,
    ) -> float:
        """Take the duals that the last full step predicted if they are better; return the smaller gap."""
        if full_step.direction.h is None:
            return gap
        origin, alpha = full_step.origin, state.rows.zeros()
        kernel = PredictDuals(problem.loss.name, origin.b, here.b)
        vectors = (origin.z, problem.sign, problem.cost, full_step.direction.h, here.z, alpha)
        sums = state.rows.reduce(kernel, *vectors, token=token)
        # The gradient is the prediction's error; clipping leaves its share of that between w and Σ sαx.
        clipped = sums.clipped / sums.error if sums.error > 0 else 0.0
        other = sums.gap + clipped * clipped * gap + full_step.direction.left
        if other < gap:
            state.alpha = alpha
        return min(gap, other)

    def point(self, problem: Problem, state: _State) -> Point:
        """Return the point with the predicted duals, or else its own: α = −c ℓ′(m)."""
        here = state.here
        if here is None:
            w, b, z = state.w, state.b, problem.rows.zeros()
            problem.rows.reduce(Scores(w), z)
        else:
            w, b, z = here.w, here.b, here.z
        alpha = state.alpha if state.alpha is not None else own_duals(problem, z, b)
        return Point(w, problem.offset.to_certify(b), alpha, near=b)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Aim lower if the certificate was worse than estimated."""
        if state.estimate <= state.tol:
            state.tol *= 0.3

    def warm_start(self, state: _State) -> WarmStart:
        """Return weights and offset."""
        here = state.here
        return WarmStart(state.w, state.b) if here is None else WarmStart(here.w, here.b)

    def default_max_iter(self, problem: Problem) -> int:
        """Far more than ever needed: steps are few where the problem has an optimum."""
        return 200


def _sample_size(problem: Problem, settings: NewtonSettings) -> int | None:
    """Return how many rows stand for all while steps are large; None where a sample would save little."""
    rows, costs = problem.rows, problem.class_costs
    share = min(rows.n_rows // settings.sample_share, largest_sample(rows))
    size = max(share, settings.least_sample, settings.sample_per_column * rows.n_columns)
    has_both = costs.positive > 0 and costs.negative > 0
    return size if has_both and rows.n_rows >= settings.worth_a_sample * size else None


def _needs_two_steps(sample: Problem, tol: float, settings: NewtonSettings) -> bool:
    """Whether one step from the sample's optimum will not do.

    Then the first one is taken with the sample's Hessian: the second, with the whole one, is exact to the
    square of a much smaller distance.
    """
    return settings.convergence * _sample_error(sample) ** 2 > tol


def _single_precision_will_do(problem: Problem, settings: NewtonSettings) -> bool:
    """Whether rounding a Hessian to single precision changes less than the regulariser adds to it.

    What no row determines, the regulariser alone does: it must not drown. The Hessian's entries are at most
    about Σ c‖x‖²/4, and those of single columns much smaller.
    """
    return 2.0**-24 * 0.25 * problem.weighted_norm2 <= settings.largest_rounding


def _sample_error(sample: Problem) -> float:
    """Return how far the sample's optimum will be above that of all rows, as a share of the objective.

    About half a loss of typical size per column and row of the sample; a typical loss is a third.
    """
    return 1.5 * (sample.rows.n_columns + 1) / sample.rows.n_rows


# ------------------------------------------------------------------------------------------------
# Ways to solve the Newton equations M change = −gradient.


class Inverse(Protocol):
    """Something that solves, exactly or nearly, equations with the Hessian."""

    def solve(self, rhs: Array) -> Array:
        """Return M⁻¹ rhs as a new array."""
        ...


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The Hessian's diagonal in its at."""

    diagonal: Array

    def solve(self, rhs: Array) -> Array:
        """Return rhs divided by the diagonal."""
        return rhs / self.diagonal

    @classmethod
    def of(cls, rows: Rows, coordinates: CentredCoordinates, at: Evaluation, token: StopToken) -> Diagonal:
        """Return the diagonal at a point."""
        squares, sums = rows.reduce(HessianDiagonal(rows.n_columns), at.h, token=token)
        return cls(coordinates.diagonal(squares, sums, at.curvature))


@dataclass(frozen=True, eq=False)
class Direction:
    """A step, and how well it solves the equations of which curvatures.

    Attributes
    ----------
    change : the step, in the centred coordinates
    decrement : −gradient·change, about twice what the step should gain
    h : the curvatures of the equations; None if they were only like these
    left : the duality gap that the equations' residual leaves
    passes : what it cost
    """

    change: Array
    decrement: float
    h: RowVector | None
    left: float
    passes: float


@dataclass(frozen=True)
class CGProgress:
    """The progress of conjugate gradients.

    Attributes
    ----------
    decrement : −gradient·change so far, which only grows
    gained : what the last iteration added to it
    left : the duality gap that the residual leaves
    """

    iterations: int
    decrement: float
    gained: float
    left: float


def conjugate_gradients(
    rows: Rows,
    coordinates: CentredCoordinates,
    at: Evaluation,
    inverse: Inverse,
    is_enough: Callable[[CGProgress], bool],
    max_iterations: int,
    token: StopToken,
) -> Direction:
    """Solve by conjugate gradients, preconditioned by `inverse`; an iteration is a pass over the rows."""
    residual = -at.gradient
    change = np.zeros_like(residual)
    preconditioned = inverse.solve(residual)
    size = inner(residual, preconditioned)
    direction = preconditioned.copy()
    progress = CGProgress(0, 0.0, math.inf, coordinates.estimate_gap(residual, at.curvature))
    while progress.iterations < max_iterations and size > 0:
        dw, db = coordinates.split(direction)
        curved = coordinates.product(direction, rows.reduce(HessianProduct(dw, db), at.h, token=token))
        bend = inner(direction, curved)
        if not bend > 0:
            break
        length = size / bend
        change += length * direction
        residual -= length * curved
        gained = length * size
        left = coordinates.estimate_gap(residual, at.curvature)
        progress = CGProgress(progress.iterations + 1, progress.decrement + gained, gained, left)
        if is_enough(progress):
            break
        preconditioned = inverse.solve(residual)
        size, before = inner(residual, preconditioned), size
        direction *= size / before
        direction += preconditioned
    decrement = -inner(at.gradient, change)
    return Direction(change, decrement, at.h, progress.left, float(progress.iterations))
