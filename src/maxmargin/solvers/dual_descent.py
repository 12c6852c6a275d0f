"""Dual coordinate descent, with the offset unpenalised and exact.

Rows are visited in random order and each sets its own dual variable to its best value (the kernel's header
has the formulas). The free offset is reached by a proximal multiplier: the inner problem has the offset
penalty (b − b₀)²/(2γ), which makes b = b₀ + γ Σ sα one more scalar of the state; when the inner problem is
solved well enough, b₀ moves to where b would go. Fixed points are exactly the optima of the problem with a
free offset. γ small against ‖x‖² keeps the rows independent; the columns are centred implicitly where the
data are far from the origin. For the hinge, sweeps gain speed by `Momentum`, and the end is reached on the
free rows alone (`FreeRows`) and, where the columns are few, by `crossover`: columns of very different sizes
slow down conjugate gradients as much as sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, DualSweepRecord, StopToken, SweepState
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.base import Needs, Point, Step

if TYPE_CHECKING:
    from maxmargin.solvers.crossover import Crossover

__all__ = ["DualDescent", "DualDescentSettings", "Momentum"]


@dataclass(frozen=True)
class DualDescentSettings:
    """The constants of dual descent.

    A number in brackets is the decision that measured one. The others were chosen; decision 0032 says how
    much the work of a dozen fits changes when one is halved or doubled.
    """

    # The free offset: γ as a share of the mean ‖x‖² plus the loss's own curvature, which is how strongly the
    # offset follows the rows within a sweep [0001]. Rows that are visited together share at most so much of
    # it [0004].
    coupling: float = 0.1
    shared_coupling: float = 4.0
    # Columns are centred when ‖mean‖² exceeds this share of the mean ‖x‖² [0001], unless the spread around
    # the mean is less than this share of ‖mean‖², which is rounding.
    centre_above: float = 0.25
    least_spread: float = 8 * 2.0**-52
    # Momentum: the first sweep with it, at first and from a warm start (before, rows mostly change their
    # bounds), and the last; how far ‖mean‖² may exceed the largest ‖x − mean‖²; the lengths of a step that
    # are tried; directions whose squared sine is below `parallel` span no plane; and the least relative gain.
    first_extrapolation: int = 6
    first_warm_extrapolation: int = 2
    last_extrapolation: int = 300
    far_mean: float = 100.0
    lengths: tuple[float, ...] = (1.0, 0.4, 0.16)
    parallel: float = 1e-10
    least_gain: float = 1e-12
    # The active set: sweeps before it is first solved for, and where passes take microseconds; the largest
    # share of free rows that is copied, and the number of values below which the copy does not matter [0003];
    # the fewest iterations of conjugate gradients that are worth it; and what a pass costs apart from the
    # rows, in values read.
    first_active_set: int = 40
    first_small_active_set: int = 6
    largest_free_share: float = 0.15
    small_values: int = 1_000_000
    fewest_cg_iterations: int = 30
    fixed_values: int = 4_000
    # The crossover: up to so many columns a system costs little more than a sweep; an attempt that leaves
    # more than this share of the gap is the last.
    crossover_columns: int = 200
    crossover_gain: float = 0.9
    # Estimates: the gap that a sweep adds up is multiplied by this, as a certificate too early costs two late
    # sweeps; violations and relative gaps below these are rounding.
    gap_correction: float = 1.3
    zero_violation: float = 1e-13
    smallest_gap: float = 1e-16


# ------------------------------------------------------------------------------------------------
# The active set of the hinge: solve exactly for the rows between their bounds.
#
# At the optimum the rows split into those at 0, those at c, and the free ones on the margin. Once the
# split is nearly right, the best dual values of the free rows F are the solution of a linear system,
#
#     max over p of  g·p − ½‖Σ_F p s x‖² (− ½ scale² (Σ s p)²),     Σ_F s p = 0 if the offset is free,
#
# which conjugate gradients solve without forming it; they also do the right thing when rows are repeated
# or there are more free rows than columns. Steps that would leave the box stop at its side, where the row
# leaves F. Every accepted step increases the dual value.


@dataclass(frozen=True, eq=False)
class Improved:
    """A better dual point, and what it cost in passes."""

    alpha: Array
    passes: float


@dataclass(frozen=True, eq=False)
class _Face:
    """The free rows of one split, in variables scaled to unit diagonal: p = scale · y."""

    rows: MemoryRows
    sign: Array
    scale: Array
    normal: Array | None  # unit vector of the constraint Σ s p = 0, in y
    offset_square: float

    @property
    def across(self) -> Array:
        return self.sign * self.scale

    def solve(self, gradient: Array, most: int, token: StopToken) -> tuple[Array, int]:
        """Return the best change of the duals, and the iterations it took.

        An unbounded direction is returned so long that it surely meets the box.
        """
        y = np.zeros_like(gradient)
        iterations, unbounded = _core.solve_on_face(
            self.rows.whole, self.across, self.normal, self.offset_square, gradient, y, most, token
        )
        if unbounded:
            y *= 1e30 / np.sqrt(float((y * y).sum()))
        return self.scale * y, iterations

    def scores(self, u: Array, token: StopToken) -> Array:
        z = self.rows.zeros()
        self.rows.reduce(Scores(u), z, token=token)
        return np.asarray(z)

    def combine(self, change: Array, token: StopToken) -> Array:
        """Return what a change of the duals adds to u."""
        return self.rows.reduce(Combine(self.rows.n_columns), self.sign * change, token=token)


class FreeRows:
    """Improves a feasible dual point of the hinge by solving on its free rows.

    It keeps to a budget, so that a problem which sweeps solve well is not held up. Costs are counted in
    passes over all rows, never in seconds: the iterates must not depend on the clock.
    """

    def __init__(self, settings: DualDescentSettings) -> None:
        self.settings = settings
        self.spent = 0.0

    def _iteration_cost(self, problem: Problem, n_free: int) -> float:
        """Return what one iteration of conjugate gradients costs: two readings of the free rows."""
        return 2.0 * pass_cost(problem, n_free, self.settings.fixed_values)

    def is_worth_trying(self, problem: Problem, alpha: Array, pass_budget: float) -> bool:
        """Whether what is left of the budget pays for a first few iterations on the free rows."""
        n_free = int(np.count_nonzero((alpha > 0) & (alpha < problem.cost)))
        is_large = problem.rows.n_values > self.settings.small_values
        if n_free == 0 or (
            is_large and n_free > self.settings.largest_free_share * problem.class_costs.n_live
        ):
            return False
        if n_free * problem.rows.n_values > problem.rows.most_copied * problem.rows.n_rows:
            return False
        wanted = min(n_free, self.settings.fewest_cg_iterations) * self._iteration_cost(problem, n_free)
        return pass_budget - self.spent > wanted

    def improve(self, problem: Problem, alpha: Array, pass_budget: float, token: StopToken) -> Improved:
        """Return a point with a larger dual value.

        Parameters
        ----------
        alpha : per-row array
            Feasible, with free rows; it is overwritten.
        pass_budget : float
            Passes that all attempts together may cost.
        """
        signed = problem.sign * alpha
        u = problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
        balance = float(signed.sum())
        before = self.spent
        self.spent += 1.0
        while True:
            free = np.flatnonzero((alpha > 0) & (alpha < problem.cost))
            if free.size == 0:
                break
            cost = self._iteration_cost(problem, free.size)
            affordable = int((pass_budget - self.spent) / cost)
            if affordable < 1:
                break
            face = _open_face(problem, free)
            gradient = _gradient(problem, face, u, balance, token)
            direction, rounds = face.solve(gradient, min(affordable, 2 * free.size + 20), token)
            self.spent += cost * (rounds + 2)
            change, blocked = _advance(alpha, problem.cost, free, direction)
            u += face.combine(change, token)
            balance += float((face.sign * change).sum())
            if not blocked:
                break
        return Improved(alpha, self.spent - before)


def pass_cost(problem: Problem, n_visited: int, fixed_values: int) -> float:
    """Return what reading some of the rows costs, in passes over all of them; each has its fixed part."""
    rows = problem.rows
    values_per_row = rows.n_values / max(rows.n_rows, 1) + 16.0
    return (n_visited * values_per_row + fixed_values) / (rows.n_rows * values_per_row + fixed_values)


def _open_face(problem: Problem, free: NDArray[np.intp]) -> _Face:
    rows = problem.rows.subset(free)
    sign = problem.sign[free].astype(np.float64)
    square = problem.offset.square
    diagonal = rows.norms()[0] + square
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    normal = None
    if problem.offset.is_free:
        across = sign * scale
        normal = across / np.sqrt(float((across * across).sum()))
    return _Face(rows, sign, scale, normal, square)


def _gradient(problem: Problem, face: _Face, u: Array, balance: float, token: StopToken) -> Array:
    """Return the dual's slope in y on the face."""
    b = problem.offset.square * balance
    slope = face.scale * (1.0 - face.sign * (face.scores(u, token) + b))
    if face.normal is None:
        return np.asarray(slope)
    # The offset that suits the free rows best leaves what is orthogonal to the constraint.
    return np.asarray(slope - float((slope * face.normal).sum()) * face.normal)


def _advance(alpha: Array, cost: Array, free: NDArray[np.intp], direction: Array) -> tuple[Array, bool]:
    """Move the free rows along the direction as far as the box allows.

    Returns the change, and whether a side of the box stopped it.
    """
    start, top = alpha[free], cost[free]
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (top - start) / direction, -start / direction
    room = np.where(direction > 0, up, np.where(direction < 0, down, np.inf))
    length = min(1.0, float(room.min(initial=np.inf)))
    moved = start + length * direction
    if length < 1.0:
        at_side = room <= length * (1.0 + 1e-12)
        moved = np.where(at_side, np.where(direction > 0, top, 0.0), moved)
    alpha[free] = np.clip(moved, 0.0, top)
    return alpha[free] - start, length < 1.0


# ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sweep:
    """One sweep; its state is shared by all calls."""

    loss: str
    state: SweepState
    centred: bool

    def __call__(
        self, block: Block, token: StopToken, order: tuple[int, int, int], *pieces: NDArray[Any]
    ) -> DualSweepRecord:
        sign, cost, norm2, mean_score, alpha, bound_visits, skips = pieces
        p = mean_score if self.centred else None
        return _core.dual_sweep(
            block, self.loss, self.state, sign, cost, norm2, p, alpha, bound_visits, skips, order, token
        )

    def will_visit(self, *pieces: NDArray[Any]) -> bool:
        """Whether any row of positive cost is not skipped."""
        _, cost, _, _, _, _, skips = pieces
        return bool(((skips == 0) & (cost > 0)).any())


@dataclass(frozen=True)
class _DualValue:
    """Sum of the rows' dual terms."""

    loss: str

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        alpha, cost = pieces
        return float(_core.loss_dual_value(self.loss, alpha, cost).sum())


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit."""

    sweeps: SweepState
    u: Array
    alpha: Array
    bound_visits: NDArray[np.uint8]  # consecutive visits that found the row optimal at a bound
    skips: NDArray[np.uint8]  # sweeps that still skip the row
    norm2: Array
    mean: Array | None
    mean_score: Array
    mean_norm2: float
    may_extrapolate: bool
    seed: int
    tol: float
    active_set: FreeRows
    next_active_set: int
    first_extrapolation: int
    precision: float = 0.1  # violations at which an inner problem counts as solved
    n_sweeps: int = 0
    bound: float = 0.0  # the certified bound, once there is one
    swept: float = 0.0  # passes that sweeps have cost
    crossover: Crossover | None = None
    momentum: Momentum | None = None


@dataclass(frozen=True)
class DualDescent:
    """Dual coordinate descent for hinge, squared hinge and logistic loss."""

    settings: DualDescentSettings = DualDescentSettings()

    name = "dual_descent"
    title = "dual descent"
    needs = Needs(losses=frozenset(DUAL_LOSSES), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows = problem.rows
        norm2, _ = rows.norms()
        mean, mean_score = self._centre(problem, norm2, token)
        mean_norm2 = 0.0
        if mean is not None:
            mean_norm2 = float((mean * mean).sum())
            norm2 = np.maximum(norm2 - 2.0 * mean_score + mean_norm2, 0.0)
        gamma, center = self._offset_settings(problem, norm2)
        u = np.zeros(rows.n_columns)
        settings, is_dear = self.settings, _base_budget(problem) < 20
        state = _State(
            sweeps=SweepState(u, center, gamma, mean_norm2),
            u=u,
            alpha=_first_alpha(problem),
            bound_visits=rows.zeros(np.uint8),
            skips=rows.zeros(np.uint8),
            norm2=norm2,
            mean=mean,
            mean_score=mean_score,
            mean_norm2=mean_norm2,
            may_extrapolate=_may_extrapolate(problem, norm2, mean_norm2, self.settings.far_mean),
            seed=seed,
            tol=tol,
            active_set=FreeRows(settings),
            next_active_set=settings.first_active_set if is_dear else settings.first_small_active_set,
            first_extrapolation=settings.first_extrapolation,
        )
        given = None if warm_start is None else warm_start.alpha
        if warm_start is not None and given is not None and given.shape == state.alpha.shape:
            state.alpha[:] = make_feasible(problem, given)
            state.first_extrapolation = self.settings.first_warm_extrapolation
            if problem.dual.has_barrier:
                _keep_inside(state.alpha, problem.cost)
            if problem.offset.is_free:
                state.sweeps.center = warm_start.b + _shift(state, warm_start.w)
        if state.alpha.any():
            _recompute(problem, state, token)
        return state

    def _centre(self, problem: Problem, norm2: Array, token: StopToken) -> tuple[Array | None, Array]:
        """Return the mean row and each row's product with it, if centring is free and worth two passes."""
        nothing: tuple[None, Array] = (None, problem.rows.zeros())
        total = problem.class_costs.total
        if not problem.offset.is_free or total == 0:
            return nothing
        weight = problem.cost / total
        mean = problem.rows.reduce(Combine(problem.rows.n_columns), weight, token=token)
        length, all_of_it = float((mean * mean).sum()), float((weight * norm2).sum())
        if (
            length <= self.settings.centre_above * all_of_it
            or all_of_it - length <= self.settings.least_spread * length
        ):
            return nothing
        mean_score = problem.rows.zeros()
        problem.rows.reduce(Scores(mean), mean_score, token=token)
        return mean, mean_score

    def _offset_settings(self, problem: Problem, norm2: Array) -> tuple[float, float]:
        """Return γ and b₀."""
        if not problem.offset.is_free:
            return problem.offset.square, 0.0
        costs = problem.class_costs
        typical = float((problem.cost * norm2).sum()) / costs.total if costs.total > 0 else 1.0
        if costs.total > 0:
            # The rows' own curvature keeps them independent too; with small costs it is nearly all there is.
            typical += problem.dual.least_curvature * costs.n_live / costs.total
        center = chosen_from(problem.offset.best(problem, problem.rows.zeros()))
        share = min(self.settings.coupling, self.settings.shared_coupling / problem.rows.swept_together)
        return share * (typical if typical > 0 else 1.0), center if np.isfinite(center) else 0.0

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Sweep once; then move the offset, unshrink, or solve on the active set."""
        passes = self._extrapolate(problem, state, token)
        kernel = _Sweep(problem.loss.name, state.sweeps, state.mean is not None)
        numbers = (problem.sign, problem.cost, state.norm2, state.mean_score)
        vectors = (*numbers, state.alpha, state.bound_visits, state.skips)
        seen = problem.rows.sweep(kernel, state.seed, state.n_sweeps, *vectors, token=token)
        state.n_sweeps += 1
        passes += pass_cost(problem, seen.visited, self.settings.fixed_values)
        state.swept += passes
        if self._may_solve_active_set(problem, state):
            return self._solve_active_set(problem, state, passes, token)
        estimate = self._estimate_gap(problem, state, seen)
        span = seen.highest - seen.lowest
        if span <= state.precision:
            self._move_offset(problem, state)
        if span > self.settings.zero_violation:
            return Step(passes, estimate)
        # Nothing moves any more: only a certificate can tell whether this is the optimum.
        saw_all = seen.visited == problem.class_costs.n_live
        self._unshrink(state)
        return Step(passes, estimate, wants_certificate=saw_all)

    def _extrapolate(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Extrapolate the last sweep of the hinge; return the passes it took.

        This comes before a sweep, never after one: the point that is certified is the result of a sweep. Only
        where rows are nearly independent, as those of text.
        """
        is_time = state.first_extrapolation <= state.n_sweeps < self.settings.last_extrapolation
        if not (state.may_extrapolate and is_time):
            return 0.0
        if state.momentum is None:
            place = (state.alpha, state.u, state.sweeps, state.mean_score, state.mean_norm2)
            state.momentum = Momentum(problem, *place, self.settings)
            return 0.0
        return state.momentum.improve(token)

    def _estimate_gap(self, problem: Problem, state: _State, seen: DualSweepRecord) -> float:
        """Return the relative gap that the sweep has added up, while the weights kept moving."""
        gap = seen.gap
        if problem.offset.is_free:
            balance = state.sweeps.balance
            gap += state.sweeps.gamma * balance * balance  # what making Σ sα = 0 will cost
        return self.settings.gap_correction * gap / self._estimate_bound(problem, state)

    def _may_solve_active_set(self, problem: Problem, state: _State) -> bool:
        """Whether to solve on the free rows now; asked seldom, because asking reads all duals."""
        if problem.dual.least_curvature > 0 or state.n_sweeps < state.next_active_set:
            return False
        state.next_active_set = state.n_sweeps + max(5, state.n_sweeps // 5)
        return state.active_set.is_worth_trying(problem, state.alpha, _pass_budget(problem, state))

    def _estimate_bound(self, problem: Problem, state: _State) -> float:
        """Return the certified bound or, before there is one, the dual value as far as it is known."""
        if state.bound > 0:
            return state.bound
        w = self._weights(state)
        value = problem.rows.reduce(_DualValue(problem.loss.name), state.alpha, problem.cost)
        return max(value - problem.penalty.conjugate(w), 1e-300)

    def _unshrink(self, state: _State) -> None:
        state.bound_visits.fill(0)
        state.skips.fill(0)

    def _move_offset(self, problem: Problem, state: _State) -> None:
        """Begin a new inner problem: the free offset goes where its multiplier says, precision rises."""
        moved = 0.0
        if problem.offset.is_free:
            moved = abs(state.sweeps.gamma * state.sweeps.balance)
            state.sweeps.center += state.sweeps.gamma * state.sweeps.balance
        if moved < state.precision:
            state.precision = max(0.5 * moved, 0.3 * state.precision)
        else:
            state.precision *= 0.7
            self._unshrink(state)  # margins have moved by more than shrinking allows for

    def _solve_active_set(self, problem: Problem, state: _State, passes: float, token: StopToken) -> Step:
        """Solve for the rows between their bounds; sweeps go on from there."""
        self._unshrink(state)
        state.momentum = None
        offset = state.sweeps.center + state.sweeps.gamma * state.sweeps.balance
        pass_budget = _pass_budget(problem, state)
        improved = state.active_set.improve(problem, make_feasible(problem, state.alpha), pass_budget, token)
        state.alpha[:] = improved.alpha
        is_slow = state.n_sweeps >= self.settings.first_active_set
        if is_slow and problem.rows.n_columns <= min(problem.rows.n_rows, self.settings.crossover_columns):
            passes += self._cross_over(problem, state, pass_budget, token)
        _recompute(problem, state, token)
        if problem.offset.is_free:
            # The sweeps' offset stays: that of the free rows is far off while the active set is wrong.
            state.sweeps.center = offset
        return Step(passes + improved.passes + 1.0, np.inf, wants_certificate=True)

    def _cross_over(self, problem: Problem, state: _State, pass_budget: float, token: StopToken) -> float:
        """Cross over while that narrows the gap, and keep a larger dual value; return the passes.

        An attempt far from the optimum ends early and leaves a better start for the next one.
        """
        from maxmargin.solvers.crossover import Crossover  # with another solver: few fits come so far

        crossover = state.crossover = state.crossover or Crossover()
        before = crossover.spent
        gap, alpha, point = np.inf, state.alpha, None
        while gap > self.settings.smallest_gap and crossover.spent < pass_budget:
            crossed = crossover.improve(problem, alpha, pass_budget, token, point=point)
            if not crossed.relative_gap < self.settings.crossover_gain * gap:
                break
            gap, alpha, point = crossed.relative_gap, crossed.alpha, (crossed.w, crossed.b)
        passes = crossover.spent - before
        if alpha is not state.alpha:
            if _dual_value(problem, alpha, token) > _dual_value(problem, state.alpha, token):
                state.alpha[:] = alpha
            passes += 2.0
        return passes

    def _weights(self, state: _State) -> Array:
        """Return w = u − κμ, of the centred rows; the state's own array when there is nothing to subtract."""
        if state.mean is None:
            return state.u
        return np.asarray(state.u - state.sweeps.balance * state.mean)

    def point(self, problem: Problem, state: _State) -> Point:
        w = self._weights(state).copy()
        if problem.offset.is_free:
            return Point(w, None, state.alpha)
        return Point(w, state.sweeps.gamma * state.sweeps.balance, state.alpha)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        state.bound = max(state.bound, examination.certificate.bound)

    def warm_start(self, state: _State) -> WarmStart:
        w = self._weights(state)
        offset = state.sweeps.center + state.sweeps.gamma * state.sweeps.balance
        return WarmStart(w, offset - _shift(state, w), state.alpha)

    def default_max_iter(self, problem: Problem) -> int:
        # A thousand sweeps, and more while they cost next to nothing: 4e9 values read are some seconds.
        values = max(problem.rows.n_rows * min(problem.rows.n_columns, 500), 1)
        return int(min(max(1_000, 4e9 / values), 20_000))


def _may_extrapolate(problem: Problem, norm2: Array, mean_norm2: float, far_mean: float) -> bool:
    """Whether momentum is safe: it needs the dual to be a parabola that curves in every direction.

    With more rows than columns there are directions in α that leave u where it is, and the best point of a
    plane is nowhere or far outside the box; far from the origin rounding of the large u decides instead.
    """
    has_room = problem.rows.n_columns > problem.rows.n_rows
    is_near = mean_norm2 <= far_mean * float(norm2.max(initial=0.0))
    return problem.dual.quadratic == 0.0 and has_room and is_near


def _pass_budget(problem: Problem, state: _State) -> float:
    """Return the passes that the active set may cost in all: the longer sweeps take, the more."""
    return _base_budget(problem) + min(0.5 + 0.005 * state.n_sweeps, 3.0) * state.swept


def _base_budget(problem: Problem) -> float:
    """Return the passes that take some milliseconds, which solve small problems exactly."""
    return 4e6 / (problem.rows.n_values + 16 * problem.rows.n_rows + 1e4)


def _shift(state: _State, w: Array) -> float:
    """Return μ·w: what centring adds to the offset."""
    return 0.0 if state.mean is None else float((state.mean * w).sum())


def _first_alpha(problem: Problem) -> Array:
    """Return α = 0, or nearly so where α must stay between its bounds."""
    if not problem.dual.has_barrier:
        return np.asarray(problem.rows.zeros())
    return np.asarray(np.minimum(1e-3 * problem.cost, 1e-8))


def _keep_inside(alpha: Array, cost: Array) -> None:
    """Move α off its bounds, where the dual has infinite slope."""
    margin = 1e-12 * cost
    np.clip(alpha, margin, cost - margin, out=alpha)


def _dual_value(problem: Problem, alpha: Array, token: StopToken) -> float:
    """Return the dual value of a feasible α."""
    signed = problem.sign * alpha
    v = problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
    terms = problem.rows.reduce(_DualValue(problem.loss.name), alpha, problem.cost, token=token)
    return problem.dual_value(terms, v, float(signed.sum()))


def _recompute(problem: Problem, state: _State, token: StopToken) -> None:
    """Set u, κ and t to what α says: removes the rounding errors of many updates."""
    signed = problem.sign * state.alpha
    state.u[:] = problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
    state.sweeps.balance = float(signed.sum())
    state.sweeps.mean_dot = _shift(state, state.u)


# ------------------------------------------------------------------------------------------------
# Momentum for the sweeps of the hinge: where they are heading, in one step.
#
# Sweeps are fast until rows have to move together; then each of them repeats most of the one before.
# Between the bounds the dual is a parabola, so the best point in the plane of two directions, what the
# last sweep did and where the extrapolation before it went, is known in closed form: conjugate gradients
# with sweeps in the place of gradients. u is linear in α, so nothing of this reads the rows. Rows that the
# step takes beyond a bound stop there, and only they are read, to correct u. If so many stop that the dual
# value is no better, a shorter step is tried; a point that is worse is never taken.


@dataclass
class _Scalars:
    """κ = Σ sα and t = μ·u of a point or a direction: what the offset and the mean add to products of u."""

    balance: float = 0.0
    mean_dot: float = 0.0

    def plus(self, factor: float, other: _Scalars) -> _Scalars:
        return _Scalars(self.balance + factor * other.balance, self.mean_dot + factor * other.mean_dot)


@dataclass(frozen=True, eq=False)
class _Trial:
    value: float
    alpha: Array
    u: Array
    numbers: _Scalars


class Momentum:
    """Extrapolates the point (α, u) of a fit in place, each time a sweep has moved it.

    Parameters
    ----------
    problem : Problem
        With the hinge loss.
    alpha, u : arrays
        The fit's own point, which the sweeps and `improve` change.
    sweeps : SweepState
        Its scalars.
    mean_score, mean_norm2
        x·μ of each row and ‖μ‖², 0 without centring.
    """

    def __init__(
        self,
        problem: Problem,
        alpha: Array,
        u: Array,
        sweeps: SweepState,
        mean_score: Array,
        mean_norm2: float,
        settings: DualDescentSettings,
    ) -> None:
        self.settings = settings
        self._problem = problem
        self._alpha, self._u, self._sweeps = alpha, u, sweeps
        self._mean_score = mean_score
        self._weight = mean_norm2 + sweeps.gamma
        self._start_alpha, self._start_u, self._start = alpha.copy(), u.copy(), self._here()
        self._direction_alpha, self._direction_u, self._direction = (
            np.zeros_like(alpha),
            np.zeros_like(u),
            _Scalars(),
        )

    def improve(self, token: StopToken) -> float:
        """Go to the best point that the sweeps since the last call point at; return the passes it took."""
        self._aim()
        value = self._value(self._alpha, float(np.einsum("i,i->", self._u, self._u)), self._here())
        passes = 0.0
        for length in self.settings.lengths:
            trial, n_read = self._try(length, token)
            passes += pass_cost(self._problem, n_read, self.settings.fixed_values) if n_read else 0.0
            if trial.value > value + self.settings.least_gain * abs(value):
                self._accept(trial)
                break
        else:
            self._direction_alpha[:], self._direction_u[:] = self._start_alpha, self._start_u
            self._direction = self._start
        self._begin()
        return passes

    def _begin(self) -> None:
        self._start_alpha[:], self._start_u[:], self._start = self._alpha, self._u, self._here()

    def _here(self) -> _Scalars:
        return _Scalars(self._sweeps.balance, self._sweeps.mean_dot)

    def _aim(self) -> None:
        """Turn start into the step since then, and direction into that to the best point of the plane."""
        products = _core.momentum_products(self._u, self._start_u, self._direction_u)
        np.subtract(self._alpha, self._start_alpha, out=self._start_alpha)
        here, step, direction = self._here(), self._here().plus(-1.0, self._start), self._direction
        self._start = step
        step_step = self._product(products.step_step, step, step)
        step_direction = self._product(products.step_direction, step, direction)
        direction_direction = self._product(products.direction_direction, direction, direction)
        step_slope = self._slope(self._start_alpha, step) - self._product(products.u_step, here, step)
        direction_slope = self._slope(self._direction_alpha, direction) - self._product(
            products.u_direction, here, direction
        )
        plane = step_step * direction_direction - step_direction * step_direction
        a = b = 0.0
        if plane > self.settings.parallel * step_step * direction_direction:
            a = (step_slope * direction_direction - direction_slope * step_direction) / plane
            b = (direction_slope * step_step - step_slope * step_direction) / plane
        elif step_step > 0:
            a = step_slope / step_step
        _core.momentum_direction(self._start_u, a, b, self._direction_u)
        self._direction_alpha *= b
        self._direction_alpha += a * self._start_alpha
        self._direction = _Scalars().plus(a, step).plus(b, direction)

    def _try(self, length: float, token: StopToken) -> tuple[_Trial, int]:
        """Return the point at that length of the direction, inside the box, and how many rows were read."""
        problem = self._problem
        moved = self._alpha + length * self._direction_alpha
        alpha = np.clip(moved, 0.0, problem.cost)
        excess = alpha - moved
        n_read = int(np.count_nonzero(excess))
        numbers = self._here().plus(length, self._direction)
        if n_read:
            excess *= problem.sign
            u = problem.rows.reduce(Combine(problem.rows.n_columns), excess, token=token)
            back = _Scalars(float(excess.sum()), float((excess * self._mean_score).sum()))
            numbers = numbers.plus(1.0, back)
        else:
            u = np.zeros_like(self._u)
        square = _core.momentum_trial(self._u, self._direction_u, length, u)
        return _Trial(self._value(alpha, square, numbers), alpha, u, numbers), n_read

    def _accept(self, trial: _Trial) -> None:
        self._direction = self._start.plus(1.0, trial.numbers).plus(-1.0, self._here())
        np.subtract(trial.alpha, self._alpha, out=self._direction_alpha)
        self._direction_alpha += self._start_alpha
        _core.momentum_accept(trial.u, self._start_u, self._u, self._direction_u)
        self._alpha[:] = trial.alpha
        self._sweeps.balance, self._sweeps.mean_dot = trial.numbers.balance, trial.numbers.mean_dot

    def _product(self, of_u: float, a: _Scalars, b: _Scalars) -> float:
        """Return a product in the metric of the dual, from the product of the two u."""
        mixed = a.balance * b.mean_dot + b.balance * a.mean_dot
        return of_u - mixed + self._weight * a.balance * b.balance

    def _slope(self, direction: Array, numbers: _Scalars) -> float:
        """Return what a direction adds to the linear part of the dual."""
        return float(direction.sum()) - self._sweeps.center * numbers.balance

    def _value(self, alpha: Array, square: float, numbers: _Scalars) -> float:
        return self._slope(alpha, numbers) - 0.5 * self._product(square, numbers, numbers)
