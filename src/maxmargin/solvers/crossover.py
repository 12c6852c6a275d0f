"""From a nearly optimal point of the hinge to the optimum: duals that are exactly 0 or c, gap of rounding.

The multipliers of the dual are updated by α ← clip(α₀ − σ(m − 1), 0, c), where (w, b) minimises what that
update comes from: the objective with the hinge rounded off over a width of about c/σ. Rows that are not on
the margin go to 0 or c at once and stay there; on the others, the free rows F, each solution is one Newton
step with the matrix E + Σ_F σ x̃x̃ᵀ as soon as F is right. A few updates with growing σ leave nothing but
rounding. Repeated rows and more free rows than columns do no harm: what the rows do not determine stays
where it was, which for an interior point is the middle. Nothing is ever copied but numbers beside the rows.
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
from maxmargin.separation.frame import Frame, mean_of_table

__all__ = ["Crossover"]


_NEWTON_STEPS = 12  # for one update of the multipliers
_UPDATES = 8
_EPSILON = 2.0**-52
_ROUNDING = 1e-18  # of the bound: a line search for less would follow noise
_GROWTH = 30.0  # of σ from one update to the next
_SIGMA = (1e2, 1e12)  # the range of σ/c
_FREE_SHARE = 0.1  # how far, as a share of c, the first update may move a free row


@dataclass(frozen=True, eq=False)
class Crossed:
    """The best point found: weights, offset, duals; its relative gap as it was seen here; the passes."""

    w: Array
    b: float
    alpha: RowVector
    relative_gap: float
    passes: float


class Crossover:
    """Solves the last part of a fit; passes of all attempts are counted in `spent`."""

    def __init__(self) -> None:
        self.spent = 0.0

    def improve(
        self,
        problem: Problem,
        alpha: RowVector,
        allowance: float,
        token: StopToken,
        *,
        point: tuple[Array, float] | None = None,
        frame: Frame | None = None,
        rows: Rows | None = None,
        target: float = 1e-16,
    ) -> Crossed:
        """Return the best point met on the way.

        Parameters
        ----------
        alpha : row vector
            Nearly optimal; it is not changed.
        allowance : float
            Passes that all attempts together may cost.
        point : (w, b), optional
            Weights and offset to start from; those of α without it, which lose their digits where columns
            have very different sizes.
        frame, rows : optional
            The problem's frame and rows, if they have been prepared already.
        target : float
            The relative gap at which to be content.
        """
        work = _Work(
            problem,
            problem.rows if rows is None else rows,
            _frame_of(problem, token) if frame is None else frame,
            make_feasible(problem, alpha),
            token,
        )
        with contextlib.suppress(ValueError):  # numbers that are not finite: what was found before counts
            work.run(point, allowance - self.spent, target)
        self.spent += work.passes
        relative_gap, x, best_alpha = work.best
        w, b = work.frame.split(x)
        return Crossed(w, b, best_alpha, relative_gap, work.passes)


def _frame_of(problem: Problem, token: StopToken) -> Frame:
    return Frame(problem.offset, problem.rows.n_columns, mean_of_table(problem, problem.rows, token))


class _Work:
    """The numbers of one attempt."""

    def __init__(
        self, problem: Problem, rows: Rows, frame: Frame, start: RowVector, token: StopToken
    ) -> None:
        self.problem, self.rows, self.frame, self.token = problem, rows, frame, token
        self.start = start
        total, squares = rows.reduce(Sizes(), start, token=token).tolist()
        self.unit = squares / total if total > 0 else 1.0
        self.alpha, self.z, self.h = rows.zeros(), rows.zeros(), rows.zeros()
        self.change = rows.zeros()
        self.x = np.zeros(frame.penalty.shape[0])
        self.factor: Factor | None = None
        self.factored: RowVector = None  # the h of these factors
        self.best: tuple[float, Array, RowVector] = (np.inf, self.x, start)
        self.bound = 0.0
        self.relative_gap = np.inf
        self.passes = 0.0

    def run(self, point: tuple[Array, float] | None, allowance: float, target: float) -> None:
        self.begin(point)
        stiffness = self.first_stiffness()
        self.take_at_its_word()
        best = self.best
        for _ in range(_UPDATES):
            if not self.solve(stiffness, allowance) or self.best is best:
                break
            best = self.best
            self.nudge(target)
            if self.best[0] <= target or self.passes > allowance:
                break
            stiffness = min(stiffness * _GROWTH, _SIGMA[1])
            self.start, self.alpha = self.alpha, self.start

    def begin(self, point: tuple[Array, float] | None) -> None:
        problem = self.problem
        if point is None:
            pull = self._pull(self.start)
            w = pull[:-1].copy()
            self._score(w, 0.0, self.z)
            b = problem.offset.square * float(pull[-1])
            if problem.offset.is_free:
                b = chosen_from(problem.offset.best(problem, self.z))
            self.x = self.frame.place(w, b)
        else:
            self.x = self.frame.place(*point)
            self._score(self.frame.split(self.x)[0], 0.0, self.z)

    def first_stiffness(self) -> float:
        """Tell free rows from others; return a σ/c that moves none of the free ones far.

        The margins of free rows tell how good the point is.
        """
        problem = self.problem
        kernel = SplitRows(self.frame.split(self.x)[1], self.unit)
        vectors = (problem.sign, problem.cost, self.z, self.start, self.h)
        farthest = self.rows.reduce(kernel, *vectors, token=self.token)
        stiffness = float(np.clip(_FREE_SHARE / max(farthest.value, 1e-300), *_SIGMA))
        self.rows.reduce(Scale(stiffness), self.h, self.h, token=self.token)
        return stiffness

    def take_at_its_word(self) -> None:
        """Solve for the free rows as they were told apart: right at once if they were told right."""
        kernel = PullOfStep(self.frame.split(self.x)[1])
        vectors = (self.problem.sign, self.z, self.start, self.h)
        pull = self.rows.reduce(kernel, *vectors, token=self.token)
        self.passes += 1.0
        factor = self._factor(0.0)
        self._go(self.x + factor.solve(self.frame.centred(pull) - self.frame.penalty * self.x))

    def solve(self, stiffness: float, allowance: float) -> bool:
        """Minimise for one σ by Newton's method; return whether that succeeded."""
        problem = self.problem
        step = 1.0
        for _ in range(_NEWTON_STEPS):
            vectors = (problem.sign, problem.cost, self.z, self.start, self.alpha, self.h)
            offset = self.frame.split(self.x)[1]
            self.rows.reduce(Clip(offset, stiffness, self.unit), *vectors, token=self.token)
            side = self._judge()
            if step == 1.0 and self._factors_are_of_h():
                self._settle(side)
                return True
            if self.passes > allowance:
                return False
            step = self._newton(stiffness, self._factor(1e-6 * stiffness).solve(side), side)
        return False

    def _factor(self, hold: float) -> Factor:
        """Return the factors of the matrix; without free rows only `hold` keeps the offset in place."""
        if self.factor is None or not self._factors_are_of_h():
            gram = self.rows.reduce(Gram(self.rows.n_columns, self.frame.shift), self.h, token=self.token)
            n_free = self.rows.reduce(CountFree(), self.h, token=self.token)
            self.passes += n_free / max(self.rows.n_rows, 1)
            held = hold * self.unit * self.rows.n_rows if n_free == 0 else 0.0
            self.factor, self.factored = self.frame.factor(gram, hold=held), self.rows.copied(self.h)
        return self.factor

    def _factors_are_of_h(self) -> bool:
        if self.factored is None:
            return False
        return self.rows.reduce(CountDifferent(), self.h, self.factored, token=self.token) == 0

    def _newton(self, stiffness: float, change: Array, side: Array) -> float:
        """Take the best step along a direction; return how long it was."""
        problem, frame = self.problem, self.frame
        promised = inner(side, change)
        self._change_scores(change)
        offset = frame.split(self.x)[1]
        vectors = (problem.sign, problem.cost, self.z, self.start, self.change)

        def slope(step: float) -> tuple[float, None]:
            own = inner(frame.penalty * (self.x + step * change), change)
            kernel = ClipSlope(offset, stiffness, self.unit, step)
            return own + self.rows.reduce(kernel, *vectors, token=self.token), None

        step = line_search(slope, -promised) if promised > _ROUNDING * self.bound else 1.0
        self._go(self.x + step * change)
        return step

    def _settle(self, side: Array) -> None:
        """Remove what rounding, times σ, has left of w − Σ sαx: the same system, for changes alone."""
        assert self.factor is not None
        problem, change = self.problem, self.factor.solve(side)
        self._change_scores(change)
        self.x = self.x + change
        kernel = Settle(self.frame.split(self.x - change)[1] - self.frame.split(self.x)[1])
        vectors = (problem.sign, problem.cost, self.h, self.change, self.alpha, self.z)
        self.rows.reduce(kernel, *vectors, token=self.token)
        self._judge()

    def nudge(self, target: float) -> None:
        """Lift free rows a rounding error above the margin, where one below it would cost too much.

        With large costs on separable rows it would: c times 1e-16 may be more than the tolerance.
        """
        problem = self.problem
        offset = self.frame.split(self.x)[1]
        vectors = (problem.sign, problem.cost, self.z, self.alpha, self.h)
        seen = self.rows.reduce(AtStake(offset), *vectors, token=self.token)
        error = _EPSILON * (2.0 + abs(offset) + seen.largest)
        if (seen.below + error) * seen.room <= 0.1 * target * self.bound:
            return
        settled, scores = self.x, self.z
        lift = 1.0 + 2.0 * (seen.below + error)
        self.x, self.z = self.x * lift, self.rows.zeros()
        self.rows.reduce(Scale(lift), scores, self.z, token=self.token)
        self._judge()
        if self.relative_gap <= target:
            self._keep()
        self.x, self.z = settled, scores

    def _change_scores(self, change: Array) -> None:
        self._score(*self.frame.split(change), self.change)

    def _go(self, x: Array) -> None:
        self.x = x
        self._score(self.frame.split(x)[0], 0.0, self.z)

    def _judge(self) -> Array:
        """Keep the point if its relative gap is the smallest so far; return Σ sα x̃ − E x, 0 at the end."""
        problem, frame = self.problem, self.frame
        w, b = frame.split(self.x)
        vectors = (problem.sign, problem.cost, self.z, self.alpha)
        sums = self.rows.reduce(Judge(b), *vectors, token=self.token)
        pull = self._pull(self.alpha)
        v = pull[:-1]
        gap = sums.gap + 0.5 * inner(w - v, w - v)
        dual = sums.dual - 0.5 * inner(v, v)
        gap += problem.offset.gap(b, sums.balance, 1.0 + abs(b))
        dual -= problem.offset.dual_penalty(sums.balance)
        self.relative_gap = gap / dual if dual > 0 else np.inf
        self.bound = max(dual, self.bound)
        if self.relative_gap < self.best[0]:
            self._keep()
        return np.asarray(frame.centred(pull) - frame.penalty * self.x)

    def _keep(self) -> None:
        self.best = (self.relative_gap, self.x, self.rows.copied(self.alpha))

    def _score(self, w: Array, offset: float, z: RowVector) -> None:
        self.rows.reduce(Scores(w, offset), z, token=self.token)
        self.passes += 1.0

    def _pull(self, alpha: RowVector) -> Array:
        """Return Σ sα (x, 1)."""
        self.passes += 1.0
        return self.rows.reduce(PullOfDuals(), self.problem.sign, alpha, token=self.token)


# ------------------------------------------------------------------------------------------------
# The passes of the crossover over numbers beside the rows, and Σ f (x, 1) of numbers made of them.
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
    """Tell free rows from others; row vectors: sign, cost, z, then α and h, which are written.

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
    """Clip the duals at scores z; row vectors: sign, cost, z, α₀, then α and h, which are written."""

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
    """The slope of the rounded loss along a change of the scores; row vectors: sign, cost, z, α₀, change."""

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
class JudgeSums(Record):
    """Of the rows: their shares of the duality gap, Σ α and Σ sα."""

    gap: float
    dual: float
    balance: float


@dataclass(frozen=True)
class Judge:
    """The sums at scores z; row vectors: sign, cost, z, α."""

    offset: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> JudgeSums:
        sign, cost, z, alpha = pieces
        e = sign * (z + self.offset) - 1.0
        gap = np.maximum(e, 0.0) * alpha + np.maximum(-e, 0.0) * (cost - alpha)
        return JudgeSums(float(gap.sum()), float(alpha.sum()), float((sign * alpha).sum()))


def _combined(block: Block, coefficients: Array, token: StopToken) -> Array:
    """Return Σ f (x, 1) of a block's rows."""
    total = np.zeros(block.n_columns + 1)
    _core.multiply(block, None, None, coefficients, total[:-1], token)
    total[-1] = coefficients.sum()
    return total


@dataclass(frozen=True)
class PullOfDuals:
    """Return Σ sα (x, 1); row vectors: sign, α."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, alpha = pieces
        return _combined(block, sign * alpha, token)


@dataclass(frozen=True)
class PullOfStep:
    """Return Σ s(α − he)(x, 1): the pull if every free row were to come to the margin.

    Row vectors: sign, z, α, h.
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
    """Count the rows in which two vectors differ."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        first, second = pieces
        return int(np.count_nonzero(first != second))


@dataclass(frozen=True)
class Settle:
    """Move free duals and all scores by a change of the scores, of which `beyond` is the offset's.

    Row vectors: sign, cost, h, change, then α and z, which are written.
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
class Stakes(Record):
    """The largest |z|, how far rows below their cost fall short, and what free rows could still cost."""

    largest: Annotated[float, max]
    below: Annotated[float, max]
    room: float


@dataclass(frozen=True)
class AtStake:
    """What a rounding error below the margin may cost; row vectors: sign, cost, z, α, h."""

    offset: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Stakes:
        sign, cost, z, alpha, h = pieces
        e = sign * (z + self.offset) - 1.0
        return Stakes(
            float(np.abs(z).max(initial=0.0)),
            max(-float(e.min(initial=0.0, where=alpha < cost)), 0.0),
            float((cost - alpha).sum(where=h > 0)),
        )
