"""From a nearly optimal point of the hinge to the optimum: duals that are exactly 0 or c, gap of rounding.

The multipliers of the dual are updated by α ← clip(α₀ − σ(m − 1), 0, c), where (w, b) minimises what that
update comes from, the augmented Lagrangian: a hinge that is smoothed over a width of about c/σ. Rows that are
not on the margin go to 0 or c at once and stay there; on the others, the free rows F, each solution is one
Newton step with the matrix E + Σ_F σ x̃x̃ᵀ as soon as F is right. A few updates with growing σ leave nothing
but rounding. Repeated rows and more free rows than columns do no harm: what the rows do not determine stays
where it was, which for an interior point is the middle. Only per-row arrays are copied.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, StopToken
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.line_search import line_search
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Largest, Record, Rows, RowVector, Scale, inner
from maxmargin.rows.kernels import Gram, Scores
from maxmargin.solvers.coordinates import CentredCoordinates, mean_of_dense_rows

__all__ = ["Crossover", "CrossoverSettings"]


_EPSILON = 2.0**-52


@dataclass(frozen=True)
class CrossoverSettings:
    """The constants of the crossover.

    A number in brackets is the decision that measured one. The others were chosen; decision 0032 says how
    much the work of a dozen fits changes when one is halved or doubled.
    """

    max_updates: int = 8  # of the multipliers
    max_newton_steps: int = 12  # for one update
    growth: float = 30.0  # of σ from one update to the next
    least_stiffness: float = 1e2  # the range of σ/c
    max_stiffness: float = 1e12
    first_move: float = 0.1  # how far, as a share of c, the first update may move a free row
    rounding: float = 1e-18  # of the bound: a line search for less would follow noise


@dataclass(frozen=True, eq=False)
class CrossoverPoint:
    """The best point found: weights, offset, duals; its relative gap as it was seen here; the passes."""

    w: Array
    b: float
    alpha: RowVector
    relative_gap: float
    passes: float


class Crossover:
    """Solves the last part of a fit; passes of all attempts are counted in `spent`."""

    def __init__(self, settings: CrossoverSettings | None = None) -> None:
        self.settings = settings or CrossoverSettings()
        self.spent = 0.0

    def improve(
        self,
        problem: Problem,
        alpha: RowVector,
        pass_budget: float,
        token: StopToken,
        *,
        point: tuple[Array, float] | None = None,
        coordinates: CentredCoordinates | None = None,
        rows: Rows | None = None,
        target: float = 1e-16,
    ) -> CrossoverPoint:
        """Return the best point found.

        Parameters
        ----------
        alpha : per-row array
            Nearly optimal; it is not changed.
        pass_budget : float
            Passes that all attempts together may cost.
        point : (w, b), optional
            Weights and offset to start from; those of α without it, which lose their digits where columns
            have very different sizes.
        coordinates, rows : optional
            The problem's coordinates and rows, if they have been prepared already.
        target : float
            The relative gap at which to stop.
        """
        work = _Work(
            problem,
            problem.rows if rows is None else rows,
            _coordinates_of(problem, token) if coordinates is None else coordinates,
            make_feasible(problem, alpha),
            self.settings,
            token,
        )
        with contextlib.suppress(ValueError):  # numbers that are not finite: what was found before counts
            work.run(point, pass_budget - self.spent, target)
        self.spent += work.passes
        relative_gap, x, best_alpha = work.best
        w, b = work.coordinates.split(x)
        return CrossoverPoint(w, b, best_alpha, relative_gap, work.passes)


def _coordinates_of(problem: Problem, token: StopToken) -> CentredCoordinates:
    return CentredCoordinates(
        problem.offset, problem.rows.n_columns, mean_of_dense_rows(problem, problem.rows, token)
    )


class _Work:
    """The state of one attempt."""

    def __init__(
        self,
        problem: Problem,
        rows: Rows,
        coordinates: CentredCoordinates,
        start: RowVector,
        settings: CrossoverSettings,
        token: StopToken,
    ) -> None:
        self.settings = settings
        self.problem, self.rows, self.coordinates, self.token = problem, rows, coordinates, token
        self.start = start
        total, squares = rows.reduce(Sizes(), start, token=token).tolist()
        self.unit = squares / total if total > 0 else 1.0
        self.alpha, self.z, self.h = rows.zeros(), rows.zeros(), rows.zeros()
        self.change = rows.zeros()
        self.x = np.zeros(coordinates.curvature.shape[0])
        self.factor: Factor | None = None
        self.factored: RowVector = None  # the h of these factors
        self.best: tuple[float, Array, RowVector] = (np.inf, self.x, start)
        self.bound = 0.0
        self.relative_gap = np.inf
        self.passes = 0.0

    def run(self, point: tuple[Array, float] | None, pass_budget: float, target: float) -> None:
        self.begin(point)
        stiffness = self.first_stiffness()
        self.solve_active_set()
        best = self.best
        for _ in range(self.settings.max_updates):
            if not self.solve(stiffness, pass_budget) or self.best is best:
                break
            best = self.best
            self.polish(target)
            if self.best[0] <= target or self.passes > pass_budget:
                break
            stiffness = min(stiffness * self.settings.growth, self.settings.max_stiffness)
            self.start, self.alpha = self.alpha, self.start

    def begin(self, point: tuple[Array, float] | None) -> None:
        problem = self.problem
        if point is None:
            dual_sum = self._dual_sum(self.start)
            w = dual_sum[:-1].copy()
            self._score(w, 0.0, self.z)
            b = problem.offset.square * float(dual_sum[-1])
            if problem.offset.is_free:
                b = chosen_from(problem.offset.best(problem, self.z))
            self.x = self.coordinates.join(w, b)
        else:
            self.x = self.coordinates.join(*point)
            self._score(self.coordinates.split(self.x)[0], 0.0, self.z)

    def first_stiffness(self) -> float:
        """Estimate the active set; return a σ/c that moves no free row far.

        The margins of the free rows measure how good the point is.
        """
        problem = self.problem
        kernel = SplitRows(self.coordinates.split(self.x)[1], self.unit)
        vectors = (problem.sign, problem.cost, self.z, self.start, self.h)
        farthest = self.rows.reduce(kernel, *vectors, token=self.token)
        stiffness = float(
            np.clip(
                self.settings.first_move / max(farthest.value, 1e-300),
                self.settings.least_stiffness,
                self.settings.max_stiffness,
            )
        )
        self.rows.reduce(Scale(stiffness), self.h, self.h, token=self.token)
        return stiffness

    def solve_active_set(self) -> None:
        """Solve on the estimated active set: exact at once if the estimate is right."""
        kernel = DualSumOfStep(self.coordinates.split(self.x)[1])
        vectors = (self.problem.sign, self.z, self.start, self.h)
        dual_sum = self.rows.reduce(kernel, *vectors, token=self.token)
        self.passes += 1.0
        factor = self._factor(0.0)
        self._go(
            self.x + factor.solve(self.coordinates.centred(dual_sum) - self.coordinates.curvature * self.x)
        )

    def solve(self, stiffness: float, pass_budget: float) -> bool:
        """Minimise for one σ by Newton's method; return whether that succeeded."""
        problem = self.problem
        step = 1.0
        for _ in range(self.settings.max_newton_steps):
            vectors = (problem.sign, problem.cost, self.z, self.start, self.alpha, self.h)
            offset = self.coordinates.split(self.x)[1]
            self.rows.reduce(Clip(offset, stiffness, self.unit), *vectors, token=self.token)
            side = self._evaluate()
            if step == 1.0 and self._factors_are_of_h():
                self._refine(side)
                return True
            if self.passes > pass_budget:
                return False
            step = self._newton(stiffness, self._factor(1e-6 * stiffness).solve(side), side)
        return False

    def _factor(self, hold: float) -> Factor:
        """Return the factors of the matrix; without free rows only `hold` keeps the offset in place."""
        if self.factor is None or not self._factors_are_of_h():
            gram = self.rows.reduce(
                Gram(self.rows.n_columns, self.coordinates.shift), self.h, token=self.token
            )
            n_free = self.rows.reduce(CountFree(), self.h, token=self.token)
            self.passes += n_free / max(self.rows.n_rows, 1)
            held = hold * self.unit * self.rows.n_rows if n_free == 0 else 0.0
            self.factor, self.factored = self.coordinates.factor(gram, hold=held), self.rows.copied(self.h)
        return self.factor

    def _factors_are_of_h(self) -> bool:
        if self.factored is None:
            return False
        return self.rows.reduce(CountDifferent(), self.h, self.factored, token=self.token) == 0

    def _newton(self, stiffness: float, change: Array, side: Array) -> float:
        """Take the best step along a direction; return how long it was."""
        problem, coordinates = self.problem, self.coordinates
        decrement = inner(side, change)
        self._change_scores(change)
        offset = coordinates.split(self.x)[1]
        vectors = (problem.sign, problem.cost, self.z, self.start, self.change)

        def slope(step: float) -> tuple[float, None]:
            own = inner(coordinates.curvature * (self.x + step * change), change)
            kernel = ClipSlope(offset, stiffness, self.unit, step)
            return own + self.rows.reduce(kernel, *vectors, token=self.token), None

        step = line_search(slope, -decrement) if decrement > self.settings.rounding * self.bound else 1.0
        self._go(self.x + step * change)
        return step

    def _refine(self, side: Array) -> None:
        """Refine iteratively: remove what rounding, times σ, has left of w − Σ sαx."""
        assert self.factor is not None
        problem, change = self.problem, self.factor.solve(side)
        self._change_scores(change)
        self.x = self.x + change
        kernel = MoveDuals(self.coordinates.split(self.x - change)[1] - self.coordinates.split(self.x)[1])
        vectors = (problem.sign, problem.cost, self.h, self.change, self.alpha, self.z)
        self.rows.reduce(kernel, *vectors, token=self.token)
        self._evaluate()

    def polish(self, target: float) -> None:
        """Scale the point so that free rows lie just above the margin, where just below costs too much.

        With large costs on separable rows it does: c times 1e-16 may be more than the tolerance.
        """
        problem = self.problem
        offset = self.coordinates.split(self.x)[1]
        vectors = (problem.sign, problem.cost, self.z, self.alpha, self.h)
        seen = self.rows.reduce(LargestViolations(offset), *vectors, token=self.token)
        error = _EPSILON * (2.0 + abs(offset) + seen.largest)
        if (seen.below + error) * seen.room <= 0.1 * target * self.bound:
            return
        settled, scores = self.x, self.z
        lift = 1.0 + 2.0 * (seen.below + error)
        self.x, self.z = self.x * lift, self.rows.zeros()
        self.rows.reduce(Scale(lift), scores, self.z, token=self.token)
        self._evaluate()
        if self.relative_gap <= target:
            self._keep()
        self.x, self.z = settled, scores

    def _change_scores(self, change: Array) -> None:
        self._score(*self.coordinates.split(change), self.change)

    def _go(self, x: Array) -> None:
        self.x = x
        self._score(self.coordinates.split(x)[0], 0.0, self.z)

    def _evaluate(self) -> Array:
        """Keep the point if its relative gap is the smallest so far; return Σ sα x̃ − E x, 0 at the end."""
        problem, coordinates = self.problem, self.coordinates
        w, b = coordinates.split(self.x)
        vectors = (problem.sign, problem.cost, self.z, self.alpha)
        sums = self.rows.reduce(Gap(b), *vectors, token=self.token)
        dual_sum = self._dual_sum(self.alpha)
        v = dual_sum[:-1]
        gap = problem.gap(sums.gap, w, v, b, sums.balance, 1.0 + abs(b))
        dual = problem.dual_value(sums.dual, v, sums.balance)
        self.relative_gap = gap / dual if dual > 0 else np.inf
        self.bound = max(dual, self.bound)
        if self.relative_gap < self.best[0]:
            self._keep()
        return np.asarray(coordinates.centred(dual_sum) - coordinates.curvature * self.x)

    def _keep(self) -> None:
        self.best = (self.relative_gap, self.x, self.rows.copied(self.alpha))

    def _score(self, w: Array, offset: float, z: RowVector) -> None:
        self.rows.reduce(Scores(w, offset), z, token=self.token)
        self.passes += 1.0

    def _dual_sum(self, alpha: RowVector) -> Array:
        """Return Σ sα (x, 1)."""
        self.passes += 1.0
        return self.rows.reduce(DualSum(), self.problem.sign, alpha, token=self.token)


# ------------------------------------------------------------------------------------------------
# The passes of the crossover over per-row arrays, and Σ f (x, 1) of arrays made of them.
#
# e = s(x·w + b) − 1 throughout; `offset` is what is to be added to the stored scores z = x·w.


@dataclass(frozen=True)
class Sizes:
    """Return Σ α and Σ α²."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (alpha,) = pieces
        return np.array([alpha.sum(), (alpha * alpha).sum()])


@dataclass(frozen=True)
class SplitRows:
    """Split rows into free ones and others; per-row arrays: sign, cost, z, then α and h, which are written.

    A row counts as free if its margin is nearer to 1 than its dual, in units of c, is to 0 or c. The duals
    of the others go to the bound that is nearer. h is the unit of a free row, else 0. Returns how far the
    margins of free rows are from 1 at most.
    """

    offset: float
    unit: float

    writes = (3, 4)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Largest:
        sign, cost, z, alpha, h = pieces
        unit = np.minimum(np.where(cost > 0, cost, 1.0), self.unit)
        e = np.abs(sign * (z + self.offset) - 1.0)
        free = np.minimum(alpha, cost - alpha) > e * unit
        alpha[:] = np.where(free, alpha, np.where(alpha > 0.5 * cost, cost, 0.0))
        h[:] = np.where(free, unit, 0.0)
        return Largest(float(e.max(initial=0.0, where=free)))


@dataclass(frozen=True)
class Clip:
    """Clip the duals at scores z; per-row arrays: sign, cost, z, α₀, then α and h, which are written."""

    offset: float
    stiffness: float
    unit: float

    writes = (4, 5)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, cost, z, start, alpha, h = pieces
        sigma = self.stiffness * np.minimum(cost, self.unit)
        wanted = start - sigma * (sign * (z + self.offset) - 1.0)
        np.clip(wanted, 0.0, cost, out=alpha)
        h[:] = np.where((wanted > 0.0) & (wanted < cost), sigma, 0.0)


@dataclass(frozen=True)
class ClipSlope:
    """The slope of the smoothed loss along a change of scores; per-row arrays: sign, cost, z, α₀, change."""

    offset: float
    stiffness: float
    unit: float
    step: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, z, start, change = pieces
        e = sign * (z + self.step * change + self.offset) - 1.0
        sigma = self.stiffness * np.minimum(cost, self.unit)
        return -float((np.clip(start - sigma * e, 0.0, cost) * (sign * change)).sum())


@dataclass(frozen=True, eq=False)
class GapSums(Record):
    """Of the rows: their shares of the duality gap, Σ α and Σ sα."""

    gap: float
    dual: float
    balance: float


@dataclass(frozen=True)
class Gap:
    """The sums at scores z; per-row arrays: sign, cost, z, α."""

    offset: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> GapSums:
        sign, cost, z, alpha = pieces
        e = sign * (z + self.offset) - 1.0
        gap = np.maximum(e, 0.0) * alpha + np.maximum(-e, 0.0) * (cost - alpha)
        return GapSums(float(gap.sum()), float(alpha.sum()), float((sign * alpha).sum()))


def _combined(block: Block, coefficients: Array, token: StopToken) -> Array:
    """Return Σ f (x, 1) of a block's rows."""
    total = np.zeros(block.n_columns + 1)
    _core.multiply(block, None, None, coefficients, total[:-1], token)
    total[-1] = coefficients.sum()
    return total


@dataclass(frozen=True)
class DualSum:
    """Return Σ sα (x, 1); per-row arrays: sign, α."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, alpha = pieces
        return _combined(block, sign * alpha, token)


@dataclass(frozen=True)
class DualSumOfStep:
    """Return Σ s(α − he)(x, 1): that sum if every free row came to the margin.

    Per-row arrays: sign, z, α, h.
    """

    offset: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, z, alpha, h = pieces
        e = sign * (z + self.offset) - 1.0
        return _combined(block, sign * (alpha - h * e), token)


@dataclass(frozen=True)
class CountFree:
    """Count the rows with h ≠ 0."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        (h,) = pieces
        return int(np.count_nonzero(h))


@dataclass(frozen=True)
class CountDifferent:
    """Count the rows in which two arrays differ."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        first, second = pieces
        return int(np.count_nonzero(first != second))


@dataclass(frozen=True)
class MoveDuals:
    """Move free duals and all scores by a change of the scores, of which `beyond` is the offset's.

    Per-row arrays: sign, cost, h, change, then α and z, which are written.
    """

    beyond: float

    writes = (4, 5)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, cost, h, change, alpha, z = pieces
        alpha -= h * (sign * change)
        np.clip(alpha, 0.0, cost, out=alpha)
        z += change
        z += self.beyond


@dataclass(frozen=True, eq=False)
class Violations(Record):
    """The largest |z|, the largest violation of rows with α < c, and Σ c − α of the free rows."""

    largest: Annotated[float, max]
    below: Annotated[float, max]
    room: float


@dataclass(frozen=True)
class LargestViolations:
    """What a rounding error below the margin may cost; per-row arrays: sign, cost, z, α, h."""

    offset: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Violations:
        sign, cost, z, alpha, h = pieces
        e = sign * (z + self.offset) - 1.0
        return Violations(
            float(np.abs(z).max(initial=0.0)),
            max(-float(e.min(initial=0.0, where=alpha < cost)), 0.0),
            float((cost - alpha).sum(where=h > 0)),
        )
