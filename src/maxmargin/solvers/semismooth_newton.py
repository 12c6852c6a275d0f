"""The hinge, exactly, for far more rows than columns: semismooth Newton on an augmented Lagrangian.

The method of multipliers minimises an augmented Lagrangian by Newton's method: the corner of the hinge
becomes a parabola of curvature κc around the multiplier estimate, or anchor, α₀ of the row
(`proximal_passes`). The multipliers at its minimum are the new anchors, and so on. Fixed points are the
optima of the hinge itself, so the penalty parameter κ, the stiffness, need not go to infinity; it only
decides how many rows are free, 0 < α < c, and only they enter the Gram matrix. A Newton step costs one
reading of all rows (their change along the direction), the rows whose α changes, and the Gram matrix of the
free ones. Of dense rows with many columns it is kept from step to step: those that have become free are
added, and those that no longer are, subtracted. Where they are fewer than columns, Newton's system is one
in the rows (`free_row_system`).

Large problems begin with a sample: its weights are off by a statistical error only, and the corner is
smoothed over about as much. Of wide rows, those far beyond the margin are left out until the others are
solved.

Sources: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm", 1976; Li, Sun
and Toh, "A highly efficient semismooth Newton augmented Lagrangian method", 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, ProximalSums, Stopped, StopToken
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.line_search import FIRST_STEPS, find_root, search_in_rounds
from maxmargin.core.problem import Problem
from maxmargin.core.solution import MultiplierStart, WarmStart
from maxmargin.core.targets import BinaryTargets
from maxmargin.errors import InvalidParameter, Setting
from maxmargin.rows.active import PositiveCostRows
from maxmargin.rows.base import Array, Record, Rows, RowVector, Scale, Smallest, inner
from maxmargin.rows.kernels import Gram
from maxmargin.solvers.base import Needs, Point, Step, is_wide
from maxmargin.solvers.coordinates import mean_of_dense_rows
from maxmargin.solvers.free_row_system import ColumnSystem, FreeRowSystem
from maxmargin.solvers.sample import largest_sample, sample_of

__all__ = ["AugmentedLagrangian", "SemismoothNewton"]


@dataclass(frozen=True)
class SemismoothNewtonSettings:
    """The constants of the semismooth Newton method.

    A number in brackets is the decision that measured one. The others were chosen; decision 0032 says how
    much the work of a dozen fits changes when one is halved or doubled.
    """

    max_columns: int = 20_000  # beyond that the matrix alone would have more than 3 GB
    # A problem begins with a sample of one row of so many, but no fewer than that, and this many for each
    # column; that one with its own, and so on [0009].
    sample_share: int = 16
    least_sample: int = 4_000
    sample_per_column: int = 30
    max_sample_steps: int = 100
    # Of wide rows, those that exceed the margin by more are left out at first, if no more than this share of
    # all is left; so many times, each with the rows that are near by then [0038].
    near_excess: float = 1.0
    near_share: float = 0.5
    near_rounds: int = 3
    most_copied: int = 50_000_000  # values of near rows, or of those that change: some hundred MB
    rows_for_scale: int = 4_000  # rows that measure the scale of the columns
    passes_to_begin: float = 1.5  # counted for making an augmented Lagrangian: all scores, and some of Σ sαx
    # Of the rows whose change the Gram matrix of wide rows follows, more than this share of all are read in
    # place, not copied. It is made anew when the rounding of what was added and subtracted may be more than
    # this, beside the regulariser's 1.
    copied_share: float = 0.125
    kept_rounding: float = 1e-6
    free_per_column: float = 4.0  # the stiffness grows as long as this many times d rows stay free [0009]
    max_inner_steps: int = 20  # Newton steps between two updates of the anchors
    max_updates: int = 8  # of the anchors within one step; then a certificate is due
    inner_precision: float = (
        0.1  # of an inner problem: Newton's decrement, as a share of the anchors' distance
    )
    max_stiffness: float = 1e8  # multipliers α₀ − κce carry κc times the rounding of e
    warm_stiffness: float = 5.0  # around a point whose own is unknown, so that multipliers can still move
    settled: float = 1e-4  # of the tolerance: anchors that move by less need no more stiffness
    # Decrements below these shares of the objective: not seen in a sum, and nothing but rounding.
    rounding_decrement: float = 1e-14
    zero_decrement: float = 1e-28
    smallest_gap: float = 2.0**-52  # a smaller one is rounding
    small_values: int = 20_000  # in X: up to so many, steps down to this gap cost next to nothing
    small_tol: float = 1e-13


@dataclass(eq=False)
class _State:
    """The problem that is being solved: a sample at first, then the whole."""

    problem: Problem
    seed: int
    tol: float
    is_small: bool  # so small that all digits cost nothing
    whole: AugmentedLagrangian | None = None
    passes_before: float = 0.0  # that found the start
    w: Array | None = None  # of the sample that was solved last
    b: float = 0.0
    spread: float = 0.0  # of its excesses around the corner
    sample_grams: float = 0.0
    grams: float = 0.0
    has_begun: bool = False
    had_stalled: bool = False


@dataclass(frozen=True)
class SemismoothNewton:
    """Proximal multipliers with semismooth Newton steps, for the hinge."""

    settings: SemismoothNewtonSettings = SemismoothNewtonSettings()

    name = "semismooth_newton"
    title = "semismooth Newton"
    needs = Needs(losses=frozenset({"hinge"}))

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        if problem.rows.n_columns > self.settings.max_columns:
            raise InvalidParameter(
                f"solver {self.name!r} keeps a matrix of columns by columns and takes up to "
                f"{self.settings.max_columns:,} of them; X has {problem.rows.n_columns:,}.",
                parameter="solver",
                value=self.name,
                remedy="Use {other}.",
                other=Setting("solver", "dual_descent"),
            )
        is_small = problem.rows.n_rows * problem.rows.n_columns <= self.settings.small_values
        state = _State(
            problem,
            seed,
            max(min(tol, self.settings.small_tol) if is_small else tol, self.settings.smallest_gap),
            is_small,
        )
        if warm_start is not None and warm_start.alpha is not None and problem.rows.holds(warm_start.alpha):
            # Its own anchors give its own multipliers again; those of another solver are as good as anchors.
            own = warm_start.multipliers
            given = make_feasible(problem, warm_start.alpha) if own is None else own.anchor
            anchor = problem.rows.zeros()
            problem.rows.reduce(WithinCosts(), given, problem.cost, anchor, token=token)
            stiffness = None if own is None else own.stiffness
            state.passes_before = 0.0 if own is None else own.passes
            state.whole = start_near(
                problem, warm_start.w, warm_start.b, anchor, stiffness, self.settings, token
            )
        return state

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Take one Newton step; the first one finds out where to begin, which may be the end already."""
        if state.whole is None:
            passes = self._begin(problem, state, token)
        elif not state.has_begun:
            passes = self.settings.passes_to_begin + state.passes_before
        else:
            passes = state.whole.take_step(state.tol, token)
        assert state.whole is not None
        is_start = not state.has_begun
        if is_start and is_wide(problem.rows) and problem.rows.n_rows <= self.settings.most_copied:
            passes += self._solve_near(problem, state, state.whole, token)
        state.has_begun = True
        whole = state.whole
        gap, grams = whole.relative_gap(), whole.grams + state.sample_grams
        step = Step(
            passes,
            gap,
            wants_certificate=gap <= self.settings.smallest_gap or whole.has_stalled(),
            is_exhausted=whole.has_stalled() and state.had_stalled,
            grams=grams - state.grams,
            goes_on=state.is_small and gap > state.tol and not whole.has_stalled(),
            is_start=is_start,
        )
        state.grams = grams
        state.had_stalled = whole.has_stalled()
        return step

    def _begin(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Solve samples, the smallest first; then begin with the whole problem accordingly."""
        passes = 0.0
        for size, sample in self._samples(problem, state.seed):
            level = self._place(sample, state, token)
            width = sample.rows.n_columns + 1
            enough = max(state.tol, 0.01 * np.sqrt(width / size))
            for _ in range(self.settings.max_sample_steps):
                passes += level.take_step(enough, token) * size / problem.rows.n_rows
                state.w, state.b = level.w, level.b
                if token.poll():  # passes over a sample may be too short to ask
                    raise Stopped
                if level.relative_gap() <= enough or level.has_stalled():
                    break
            state.sample_grams += level.grams * size / problem.rows.n_rows
            state.spread = level.spread(int(2.0 * np.sqrt(size * width)))
            if level.n_short() < 2 * width:
                state.spread = 0.0  # all but separable: the anchors of a sample would be misleading
        state.whole = self._place(problem, state, token)
        return passes + self.settings.passes_to_begin

    def _solve_near(
        self, problem: Problem, state: _State, whole: AugmentedLagrangian, token: StopToken
    ) -> float:
        """Solve the problem of the rows that are near the margin or short of it; return the passes."""
        rows, passes = problem.rows, 0.0
        most = min(self.settings.near_share * rows.n_rows, _most_rows(rows, self.settings))
        for _ in range(self.settings.near_rounds):
            numbers = whole.near_rows(self.settings.near_excess)
            if whole.relative_gap() <= state.tol or not 0 < len(numbers) <= most:
                break
            sign, cost, anchor = rows.take(numbers, problem.sign, problem.cost, whole.anchor)
            near = whole.on(
                replace(problem, rows=rows.subset(numbers), targets=BinaryTargets(sign, cost)), anchor, token
            )
            for _ in range(self.settings.max_sample_steps):
                passes += near.take_step(state.tol, token) * len(numbers) / rows.n_rows
                if token.poll():  # passes over so few rows may be too short to ask
                    raise Stopped
                if near.relative_gap() <= state.tol or near.has_stalled():
                    break
            anchors = np.zeros(rows.n_rows)
            anchors[numbers] = near.anchor
            state.whole = whole = near.on(problem, rows.keep(anchors), token)
            passes += self.settings.passes_to_begin
            state.sample_grams += near.grams * len(numbers) / rows.n_rows
        return passes

    def _samples(self, problem: Problem, seed: int) -> list[tuple[int, Problem]]:
        """Return samples with their sizes, the smallest first; each is drawn from the next one."""
        samples: list[tuple[int, Problem]] = []
        for size in reversed(self._sample_sizes(problem)):
            source = samples[-1][1] if samples else problem
            samples.append((size, sample_of(source, size, seed + len(samples))))
        return samples[::-1]

    def _sample_sizes(self, problem: Problem) -> list[int]:
        sizes: list[int] = []
        size = problem.class_costs.n_live
        while True:
            least = max(self.settings.least_sample, self.settings.sample_per_column * problem.rows.n_columns)
            size = max(least, min(size // self.settings.sample_share, largest_sample(problem.rows)))
            if 2 * size > (sizes[-1] if sizes else problem.class_costs.n_live):
                return sizes[::-1]
            sizes.append(size)

    def _place(self, problem: Problem, state: _State, token: StopToken) -> AugmentedLagrangian:
        """Return the augmented Lagrangian, around the last sample's weights if there are any that help."""
        if state.w is None or state.spread == 0:
            return start_at_zero(problem, state.seed, self.settings, token)
        return start_near(
            problem, state.w, state.b, _half_of_costs(problem), 0.5 / state.spread, self.settings, token
        )

    def point(self, problem: Problem, state: _State) -> Point:
        level = state.whole
        if level is None:  # stopped while samples were solved
            w = np.zeros(problem.rows.n_columns) if state.w is None else state.w
            level = start_near(problem, w, state.b, _half_of_costs(problem), None, self.settings, StopToken())
        b = problem.offset.to_certify(level.b)
        return Point(level.w.copy(), b, level.multipliers())

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        if state.whole is not None:
            state.whole.refresh()

    def warm_start(self, state: _State) -> WarmStart | None:
        level = state.whole
        if level is None:
            return None
        own = MultiplierStart(level.anchor, level.stiffness)
        return WarmStart(level.w, level.b, level.multipliers(), multipliers=own)

    def default_max_iter(self, problem: Problem) -> int:
        return 500


def _half_of_costs(problem: Problem) -> RowVector:
    """Return anchors in the middle between 0 and c."""
    anchor = problem.rows.zeros()
    problem.rows.reduce(Scale(0.5), problem.cost, anchor)
    return anchor


# ------------------------------------------------------------------------------------------------
# The augmented Lagrangian: one Newton step at a time, and when to raise the stiffness.
#
# In the coordinates (w, β) with β = b + shift·w the columns are centred, which changes nothing where the
# offset is free and keeps the columns apart from the constant one.


class AugmentedLagrangian:
    """The state of the method of multipliers on one problem.

    Attributes
    ----------
    w, b : the point
    stiffness : κ
    anchor : α₀ of every row
    """

    def __init__(
        self,
        problem: Problem,
        w: Array,
        b: float,
        anchor: RowVector,
        stiffness: float,
        shift: Array | None,
        settings: SemismoothNewtonSettings,
        token: StopToken,
    ) -> None:
        self.settings = settings
        self._problem = problem
        self._rows = problem.rows.condensed(token)
        self._shift = shift
        self.anchor = anchor
        self._excess = problem.rows.zeros()
        self._change = problem.rows.zeros()
        self.w, self.b = w.copy(), b
        self.stiffness = stiffness
        self._center = self._beta()
        self.grams = 0.0  # Gram matrices added up so far, one over all rows counting 1
        self._inner_steps = 0
        self._n_stalled = 0
        self._is_stale = False
        self._kept = KeptGram(problem, shift, settings) if is_wide(self._rows) else None
        self._free_rows: FreeRowSystem | None = None
        if self._kept is not None:
            most = min(self._rows.n_rows, self._rows.n_columns, int(_most_rows(self._rows, settings)))
            self._free_rows = FreeRowSystem(self._rows, shift, most)
        self._read_rows(token)

    # ------------------------------------------------------------------ the point

    def _beta(self) -> float:
        return self.b if self._shift is None else self.b + inner(self._shift, self.w)

    @property
    def objective(self) -> float:
        problem = self._problem
        return problem.penalty.value(self.w) + self._found.sums.loss + problem.offset.penalty(self.b)

    def _dual_weights(self) -> Array:
        """Return Σ sα(x − shift), which w is at the optimum."""
        return self._v if self._shift is None else self._v - self._found.sums.balance * self._shift

    def _infeasibility(self) -> float:
        """Return the share of w ≠ Σ sαx and of the offset in the gap."""
        balance, reach = self._found.sums.balance, abs(self._beta()) + 1.0
        return self._problem.gap(0.0, self.w, self._dual_weights(), self.b, balance, reach)

    def relative_gap(self) -> float:
        """Return the relative duality gap, computed from the stored arrays."""
        gap = self._found.sums.gap + self._infeasibility()
        bound = self.objective - gap
        return gap / bound if bound > 0 else math.inf

    def has_stalled(self) -> bool:
        """Whether several consecutive steps changed nothing but rounding."""
        return self._n_stalled >= 3

    def spread(self, count: int) -> float:
        """Return within how much of its corner the hinge has `count` rows."""
        nearest = self._rows.reduce(Smallest(count + 1), self._excess, self._problem.cost).sizes
        return min(max(float(nearest.max()), 0.02), 2.0)

    def near_rows(self, most: float) -> NDArray[np.intp]:
        """Return the numbers of the rows that cost anything and exceed the margin by less."""
        return _joined(self._rows.reduce(NearRows(most), self._problem.cost, self._excess))

    def on(self, problem: Problem, anchor: RowVector, token: StopToken) -> AugmentedLagrangian:
        """Return the same point and stiffness on other rows, with their anchors."""
        return AugmentedLagrangian(
            problem, self.w, self.b, anchor, self.stiffness, self._shift, self.settings, token
        )

    def n_short(self) -> int:
        """Return how many rows fall clearly short of the margin."""
        return self._rows.reduce(CountShort(-1e-3), self._excess)

    def multipliers(self) -> RowVector:
        """Return α of every row."""
        alpha = self._problem.rows.zeros()
        self._rows.reduce(Multipliers(self.stiffness), self._problem.cost, self.anchor, self._excess, alpha)
        return alpha

    # ------------------------------------------------------------------ passes

    @property
    def _arrays(self) -> tuple[RowVector, ...]:
        problem = self._problem
        return problem.sign, problem.cost, self.anchor, self._excess, self._change

    def refresh(self) -> None:
        """Have the next step recompute all arrays from the rows: they carry the rounding of many updates."""
        self._is_stale = True

    def _read_rows(self, token: StopToken) -> None:
        self._rows.reduce(Excess(self.w, self.b), self._problem.sign, self._excess, token=token)
        self._v = np.zeros(self._rows.n_columns)
        if self._kept is not None:
            self._kept.forget()
        self._move(Move(0.0, 0.0, self.stiffness, False, self._shift), token)
        self._is_stale = False

    def _move(self, move: Move, token: StopToken) -> float:
        kernel = move if self._kept is None else replace(move, has_gram=False)
        found: Moved = self._rows.reduce(kernel, *self._arrays, token=token)
        self._v += found.v
        self._found = found
        self.stiffness = move.after
        return 0.1 + (self._count_gram(found.sums.free) if self._kept is None else 0.0)

    def _count_gram(self, added: int) -> float:
        """Count a Gram matrix of so many rows; return its passes."""
        share = added / max(self._rows.n_rows, 1)
        self.grams += share
        return 0.5 * share

    # ------------------------------------------------------------------ Newton

    def _newton(self, token: StopToken) -> tuple[Array, float, float, float]:
        """Return the direction in (w, β), Newton's decrement, and the passes."""
        d, offset = self._rows.n_columns, self._problem.offset
        system, passes = self._system(token)
        gradient = np.append(self.w - self._dual_weights(), 0.0)
        self._offset_curvature = 0.0
        if offset.is_free:
            # A proximal term of the offset, for when no row is free. Next to none with free rows: where
            # columns are far from zero, w does most of what b does, and b has little curvature of its own.
            if self._found.sums.free:
                self._offset_curvature = 1e-12 * system.total
            else:
                self._offset_curvature = 1e-6 * self.stiffness * self._problem.class_costs.total
            gradient[d] = self._offset_curvature * (self._beta() - self._center) - self._found.sums.balance
        elif not offset.is_absent:
            self._offset_curvature = offset.stiffness
            gradient[d] = self._offset_curvature * self.b - self._found.sums.balance
        direction = -system.solve(gradient, None if offset.is_absent else self._offset_curvature)
        return direction[:d].copy(), float(direction[d]), -inner(gradient, direction), passes

    def _system(self, token: StopToken) -> tuple[ColumnSystem | FreeRowSystem, float]:
        """Return Newton's system, in the rows or in the columns, whichever are fewer, and the passes."""
        if self._kept is None or self._free_rows is None:
            assert self._found.gram is not None
            return ColumnSystem(self._found.gram.copy()), 0.0
        arrays = self._problem.cost, self.anchor, self._excess
        if 0 < self._found.sums.free <= self._free_rows.most:
            numbers = _joined(self._rows.reduce(FreeRows(self.stiffness), *arrays, token=token))
            (costs,) = self._rows.take(numbers, self._problem.cost)
            added = self._free_rows.update(numbers, self.stiffness * costs, token)
            return self._free_rows, self._count_gram(added)
        passes = self._count_gram(self._kept.update(self.stiffness, *arrays[1:], token))
        return ColumnSystem(self.stiffness * self._kept.gram), passes

    def take_step(self, tol: float, token: StopToken) -> float:
        """Take one Newton step, after as many changes of the anchors as are due; return its passes."""
        passes = 0.0
        if self._is_stale:
            self._read_rows(token)
            passes += 1.5
        for _ in range(self.settings.max_updates):
            dw, dbeta, decrement, of_gram = self._newton(token)
            passes += of_gram
            if not self._inner_is_solved(decrement, tol):
                break
            passes += self._renew_anchors(tol, token)
        else:
            self._n_stalled += 1
            return passes
        if not decrement > 0:
            self._n_stalled += 1
            return passes
        self._n_stalled = 0
        return passes + self._search(dw, dbeta, decrement, token)

    def _search(self, dw: Array, dbeta: float, decrement: float, token: StopToken) -> float:
        """Minimise the augmented Lagrangian along a direction."""
        db = dbeta if self._shift is None else dbeta - inner(self._shift, dw)
        center = self._center if self._problem.offset.is_free else 0.0
        constant = inner(self.w, dw) + self._offset_curvature * (self._beta() - center) * dbeta
        rise = inner(dw, dw) + self._offset_curvature * dbeta * dbeta

        def own(steps: Array) -> Array:
            return np.asarray(constant + rise * steps)

        def slopes(steps: Array) -> Array:
            kernel = Slopes(self.stiffness, steps)
            return np.asarray(own(steps) + self._rows.reduce(kernel, *self._arrays, token=token))

        kernel = Direction(dw, db, self.stiffness, FIRST_STEPS)
        first = own(FIRST_STEPS) + self._rows.reduce(kernel, *self._arrays, token=token)
        # Where the slopes are rounding, a whole step is as good as any.
        is_tiny = decrement <= self.settings.rounding_decrement * self.objective
        step = 1.0 if is_tiny else search_in_rounds(-decrement, first, slopes)
        passes = self._move(Move(step, self.stiffness, self.stiffness, False, self._shift), token)
        self.w += step * dw
        self.b += step * db
        self._inner_steps += 1
        return 1.0 + passes

    # ------------------------------------------------------------------ anchors

    def _inner_is_solved(self, decrement: float, tol: float) -> bool:
        if (
            self._inner_steps >= self.settings.max_inner_steps
            or decrement <= self.settings.zero_decrement * self.objective
        ):
            return True
        if decrement > self.settings.inner_precision * self._found.sums.moved:
            return False
        # If the hinge is hardly smoothed any more, only this inner problem, solved exactly, is wanted.
        return not self._is_stiff_enough(tol) or self._infeasibility() <= 0.3 * tol * self._scale()

    def _scale(self) -> float:
        return max(self.objective - self._found.sums.gap, 0.5 * self.objective)

    def _is_stiff_enough(self, tol: float) -> bool:
        """Whether smoothing the hinge costs less than half of the tolerance."""
        return self._found.sums.gap <= 0.5 * tol * self._scale()

    def _renew_anchors(self, tol: float, token: StopToken) -> float:
        """Make the multipliers the anchors; raise the stiffness as long as enough rows stay free."""
        free = self._found.sums.free / (self.settings.free_per_column * (self._rows.n_columns + 1))
        steps = self._inner_steps
        is_settled = (
            self.stiffness >= 1.0 and self._found.sums.moved <= self.settings.settled * tol * self._scale()
        )
        if self._is_stiff_enough(tol) or is_settled or steps >= 8:
            growth = 1.0
        elif free > 1.0:
            growth = min(10.0, free)
        else:
            growth = 10.0 if steps <= 1 else 10.0 / 3.0 if steps <= 3 else 1.8
        self._center = self._beta()
        self._inner_steps = 0
        kappa = self.stiffness
        stiffer = max(kappa, min(kappa * growth, self.settings.max_stiffness))
        return self._move(Move(0.0, kappa, stiffer, True, self._shift), token)


# ---------------------------------------------------------------------- the Gram matrix, kept


def _most_rows(rows: Rows, settings: SemismoothNewtonSettings) -> float:
    """Return how many rows may be copied."""
    return min(rows.most_copied, settings.most_copied) / rows.n_columns


class KeptGram:
    """Σ c (x − shift, 1)(x − shift, 1)ᵀ of the free rows, from one step to the next.

    A few rows change, and adding them up costs less than joining the matrices of all blocks.

    Attributes
    ----------
    gram : array of shape (n_columns + 1, n_columns + 1)
    """

    def __init__(self, problem: Problem, shift: Array | None, settings: SemismoothNewtonSettings) -> None:
        self._problem = problem
        self._shift = shift
        self._settings = settings
        self._is_free = problem.rows.zeros(np.bool_)
        self._weight = problem.rows.zeros()  # c of the rows that were added last, −c of those subtracted
        self._size = 0.0  # Σ |weight| since it was made anew
        self.gram = np.zeros((problem.rows.n_columns + 1, problem.rows.n_columns + 1))
        self._is_new = True

    def forget(self) -> None:
        """Have the next update make it anew."""
        self._is_new = True

    def update(self, stiffness: float, anchor: RowVector, excess: RowVector, token: StopToken) -> int:
        """Bring it up to date with the multipliers; return how many rows were added or subtracted."""
        rows = self._problem.rows
        arrays = (self._problem.cost, anchor, excess, self._is_free, self._weight)
        is_new, self._is_new = self._is_new, True  # should this be interrupted
        seen = rows.reduce(FreeChanges(stiffness, is_new), *arrays, token=token)
        rounding = 2.0**-52 * stiffness * rows.norms()[1] * (self._size + seen.changed_cost)
        if not is_new and (seen.changed >= seen.free or rounding > self._settings.kept_rounding):
            is_new = True
            seen = rows.reduce(FreeChanges(stiffness, is_new), *arrays, token=token)
        if is_new:
            self.gram, self._size = np.zeros_like(self.gram), 0.0
        if seen.changed:
            self._add_changes(seen.changed, token)
        self._size += seen.changed_cost
        self._is_new = False
        return seen.changed

    def _add_changes(self, count: int, token: StopToken) -> None:
        """Add the rows that have become free, and subtract those that no longer are."""
        rows = self._problem.rows
        if count > min(self._settings.copied_share * rows.n_rows, _most_rows(rows, self._settings)):
            self.gram += rows.reduce(Gram(rows.n_columns, self._shift), self._weight, token=token)
            return
        numbers = _joined(rows.reduce(NonZero(), self._weight, token=token))
        (weights,) = rows.take(numbers, self._weight)
        # In place: for a few rows, another matrix would cost as much as they do.
        _core.weighted_gram(rows.subset(numbers).whole, weights, self._shift, self.gram, False, token)


# ---------------------------------------------------------------------- where to begin


def start_near(
    problem: Problem,
    w: Array,
    b: float,
    anchor: RowVector,
    stiffness: float | None,
    settings: SemismoothNewtonSettings,
    token: StopToken,
) -> AugmentedLagrangian:
    """Return the augmented Lagrangian around a point that is nearly right; the anchors become its own."""
    kappa = stiffness if stiffness is not None else settings.warm_stiffness
    return AugmentedLagrangian(problem, w, b, anchor, kappa, _shift(problem, token), settings, token)


@dataclass(frozen=True, eq=False)
class FirstStage:
    """A stage so smooth that at w = 0 most rows are free: the stiffness, the anchors and the offset."""

    stiffness: float
    anchor: RowVector
    b: float

    @classmethod
    def of(cls, problem: Problem, square: float) -> FirstStage:
        """Return the stage whose κc‖x‖² is moderate for rows of that ‖x‖²."""
        costs = problem.class_costs
        mean_cost = costs.total / max(costs.n_live, 1)
        # At w = 0 a multiplier is up to 2κc: below c, or the first direction would know no curvature.
        kappa = min(0.4, 10.0 / max(square * mean_cost, 1e-300))
        positive = negative = kappa
        if problem.offset.is_free and costs.positive > 0 and costs.negative > 0:
            least = min(costs.positive, costs.negative)
            positive, negative = kappa * least / costs.positive, kappa * least / costs.negative
        anchor = problem.rows.zeros()
        problem.rows.reduce(FirstAnchors(positive, negative), problem.sign, problem.cost, anchor)
        b = 0.0 if not problem.offset.is_free else _balanced_offset(problem, kappa, positive, negative)
        return cls(kappa, anchor, b)


def start_at_zero(
    problem: Problem, seed: int, settings: SemismoothNewtonSettings, token: StopToken
) -> AugmentedLagrangian:
    """Return the augmented Lagrangian of the first stage, at w = 0."""
    shift = _shift(problem, token)
    stage = FirstStage.of(problem, typical_square(problem, shift, seed, settings.rows_for_scale))
    w = np.zeros(problem.rows.n_columns)
    return AugmentedLagrangian(problem, w, stage.b, stage.anchor, stage.stiffness, shift, settings, token)


def _shift(problem: Problem, token: StopToken) -> Array | None:
    return mean_of_dense_rows(problem, problem.rows.condensed(token), token)


def typical_square(problem: Problem, shift: Array | None, seed: int, n_rows: int) -> float:
    """Return a ‖x‖² that no column of extreme scale can spoil, from some of the rows.

    It is d times the geometric mean of the columns' mean squares.
    """
    live = PositiveCostRows(problem.rows, problem.sign, problem.cost)
    ranks = np.arange(live.count)
    if live.count > n_rows:
        ranks = np.random.default_rng(seed).choice(live.count, n_rows, replace=False)
    X = problem.rows.subset(live.numbers(ranks)).X
    if isinstance(X, np.ndarray):
        centred = X.astype(np.float64) - (0.0 if shift is None else shift)
        squares = np.einsum("ij,ij->j", centred, centred) / max(len(ranks), 1)
    else:
        values = X.data.astype(np.float64)
        squares = np.bincount(X.indices, values * values, minlength=X.shape[1]) / max(len(ranks), 1)
    squares = squares[squares > 0]
    return float(len(squares) * np.exp(np.log(squares).mean())) if len(squares) else 1.0


def _balanced_offset(problem: Problem, kappa: float, positive: float, negative: float) -> float:
    """Return b with Σ sα = 0 at w = 0: rows of one class have one share α/c."""
    costs = problem.class_costs

    def balance(b: float) -> tuple[float, None]:
        excess = costs.positive * min(max(positive - kappa * (b - 1.0), 0.0), 1.0)
        excess -= costs.negative * min(max(negative - kappa * (-b - 1.0), 0.0), 1.0)
        return -excess, None

    return find_root(balance, (-2.0, 2.0), 0.0, at_low=balance(-2.0)[0], accepted=(0.0, 0.0))


# ------------------------------------------------------------------------------------------------
# The passes of the semismooth Newton method as kernels of `rows.reduce`.
#
# The kernels of a step are given the per-row arrays sign, cost, anchor, excess and change, in this order; the
# core's header ``proximal_passes.hpp`` says what they are.


@dataclass(frozen=True)
class Excess:
    """Fill excess with s(x·w + b) − 1."""

    w: Array
    b: float

    writes = (1,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, excess = pieces
        _core.proximal_excess(block, self.w, self.b, sign, excess, token)


@dataclass(frozen=True, eq=False)
class Moved(Record):
    """What a move found; v holds changes, gram the free rows if it was asked for."""

    sums: ProximalSums
    v: Array
    gram: Array | None


@dataclass(frozen=True, eq=False)
class Move:
    """Move the excesses by `step` of their change, with the anchors and the stiffness renewed if asked."""

    step: float
    before: float
    after: float
    anchor: bool
    shift: Array | None
    has_gram: bool = True

    @property
    def writes(self) -> tuple[int, ...]:
        return (2, 3) if self.anchor else (3,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Moved:
        d = block.n_columns
        v, gram = np.zeros(d), np.zeros((d + 1, d + 1)) if self.has_gram else None
        sign, cost, anchor, excess, change = pieces
        settings = self.step, self.before, self.after, anchor if self.anchor else None, self.shift
        sums = _core.proximal_move(block, *settings, sign, cost, anchor, excess, change, v, gram, token)
        return Moved(sums, v, gram)


@dataclass(frozen=True, eq=False)
class Changes(Record):
    """How many rows are free; how many became so or no longer are, and what those cost."""

    free: int
    changed: int
    changed_cost: float


@dataclass(frozen=True)
class FreeChanges:
    """Find the rows that are free, 0 < α < c; per-row arrays: cost, anchor, excess, is_free, weight.

    The weight is c of a row that has become free, −c of one that no longer is, else 0; with `is_new` no row
    counts as free before.
    """

    stiffness: float
    is_new: bool

    writes = (3, 4)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Changes:
        cost, anchor, excess, is_free, weight = pieces
        free = _is_free(self.stiffness, cost, anchor, excess)
        change = free.astype(np.int8) if self.is_new else free.astype(np.int8) - is_free
        np.multiply(change, cost, out=weight)
        is_free[:] = free
        return Changes(int(free.sum()), int(np.count_nonzero(change)), float(np.abs(weight).sum()))


def _is_free(
    stiffness: float, cost: NDArray[Any], anchor: NDArray[Any], excess: NDArray[Any]
) -> NDArray[np.bool_]:
    alpha = np.empty_like(cost)
    _core.proximal_alpha(stiffness, cost, anchor, excess, alpha)
    return np.asarray((alpha > 0) & (alpha < cost))


# Of each block its number of rows, and the places of some of them.
Places = list[tuple[int, NDArray[np.intp]]]


def _joined(places: Places) -> NDArray[np.intp]:
    """Return row numbers."""
    first = np.cumsum([0, *(n_rows for n_rows, _ in places)])
    return np.concatenate([start + found for start, (_, found) in zip(first, places, strict=False)])


@dataclass(frozen=True)
class NonZero:
    """Find the rows with an entry other than 0."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Places:
        (a,) = pieces
        return [(len(a), np.flatnonzero(a))]


@dataclass(frozen=True)
class FreeRows:
    """Find the rows with 0 < α < c; per-row arrays: cost, anchor, excess."""

    stiffness: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Places:
        cost, anchor, excess = pieces
        return [(len(cost), np.flatnonzero(_is_free(self.stiffness, cost, anchor, excess)))]


@dataclass(frozen=True)
class NearRows:
    """Find the rows that cost anything and whose excess is below a number; per-row arrays: cost, excess."""

    below: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Places:
        cost, excess = pieces
        return [(len(cost), np.flatnonzero((cost > 0) & (excess < self.below)))]


@dataclass(frozen=True, eq=False)
class Direction:
    """Fill change with s(x·dw + db); return the slopes of the rows' terms at some steps along it."""

    dw: Array
    db: float
    stiffness: float
    steps: Array

    writes = (4,)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, cost, anchor, excess, change = pieces
        slopes = np.zeros(len(self.steps))
        _core.proximal_direction(
            block,
            self.dw,
            self.db,
            self.stiffness,
            self.steps,
            sign,
            cost,
            anchor,
            excess,
            change,
            slopes,
            token,
        )
        return slopes


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slopes alone: no row is read."""

    stiffness: float
    steps: Array

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        _, cost, anchor, excess, change = pieces
        slopes = np.zeros(len(self.steps))
        _core.proximal_slopes(self.stiffness, self.steps, cost, anchor, excess, change, slopes)
        return slopes


@dataclass(frozen=True)
class Multipliers:
    """Fill alpha with the multipliers of the rows."""

    stiffness: float

    writes = (3,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        cost, anchor, excess, alpha = pieces
        _core.proximal_alpha(self.stiffness, cost, anchor, excess, alpha)


@dataclass(frozen=True)
class CountShort:
    """Count the rows whose excess is below a number."""

    below: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        (excess,) = pieces
        return int(np.count_nonzero(excess < self.below))


@dataclass(frozen=True)
class FirstAnchors:
    """Fill anchor with one share of the cost for each class; per-row arrays: sign, cost, anchor."""

    positive: float
    negative: float

    writes = (2,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, cost, anchor = pieces
        np.multiply(np.where(sign > 0, self.positive, self.negative), cost, out=anchor)


@dataclass(frozen=True)
class WithinCosts:
    """Fill anchor with numbers given, cut off at the costs; per-row arrays: given, cost, anchor."""

    writes = (2,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        given, cost, anchor = pieces
        np.minimum(given, cost, out=anchor)
