"""From a nearly optimal point of the hinge to the optimum: duals that are exactly 0 or c, gap of rounding.

The multipliers of the dual are updated by α ← clip(α₀ − σ(m − 1), 0, c), where (w, b) minimises what that
update comes from: the objective with the hinge rounded off over a width of about c/σ. Rows that are not on
the margin go to 0 or c at once and stay there; on the others, the free rows F, each solution is one Newton
step with the matrix E + Σ_F σ x̃x̃ᵀ as soon as F is right. A few updates with growing σ leave nothing but
rounding. Repeated rows and more free rows than columns do no harm: what the rows do not determine stays
where it was, which for an interior point is the middle. Nothing is ever copied but numbers beside the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.problem import Problem
from maxmargin.problem.feasible import make_feasible
from maxmargin.problem.offset import best_offset, chosen_from
from maxmargin.rows import Array, Rows
from maxmargin.rows.kernels import Combine, Gram, Scores
from maxmargin.solvers.frame import Frame, inner
from maxmargin.solvers.interior_path import find_root

__all__ = ["Crossed", "Crossover"]

_NEWTON_STEPS = 12  # for one update of the multipliers
_UPDATES = 8
_GROWTH = 30.0  # of σ from one update to the next
_SIGMA = (1e2, 1e12)  # the range of σ/c
_FREE_SHARE = 0.1  # how far, as a share of c, the first update may move a free row


@dataclass(frozen=True, eq=False)
class Crossed:
    """The best point found: weights, offset, duals; its relative gap as it was seen here; the passes."""

    w: Array
    b: float
    alpha: Array
    relative_gap: float
    passes: float


@dataclass(frozen=True)
class _Sums:
    """Of the rows at (w, b) with the clipped duals."""

    loss: float
    gap: float
    dual: float
    balance: float
    n_free: int

    def merged(self, other: _Sums) -> _Sums:
        return _Sums(
            self.loss + other.loss,
            self.gap + other.gap,
            self.dual + other.dual,
            self.balance + other.balance,
            self.n_free + other.n_free,
        )


@dataclass(frozen=True)
class _Clip:
    """Clip the duals at scores z; row vectors: sign, cost, z, α₀, then α and h, which are written."""

    offset: float
    stiffness: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        sign, cost, z, start, alpha, h = pieces
        e = sign * (z + self.offset) - 1.0
        sigma = self.stiffness * cost
        wanted = start - sigma * e
        np.clip(wanted, 0.0, cost, out=alpha)
        free = (wanted > 0.0) & (wanted < cost)
        h[:] = np.where(free, sigma, 0.0)
        short = np.maximum(-e, 0.0)
        return _Sums(
            loss=float((cost * short).sum()),
            gap=float((np.maximum(e, 0.0) * alpha + short * (cost - alpha)).sum()),
            dual=float(alpha.sum()),
            balance=float((sign * alpha).sum()),
            n_free=int(np.count_nonzero(free)),
        )

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        return first.merged(second)


@dataclass(frozen=True)
class _ClipSlope:
    """The slope of the rounded loss along a change of the scores; row vectors: sign, cost, z, α₀, change."""

    offset: float
    stiffness: float
    step: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, z, start, change = pieces
        e = sign * (z + self.step * change + self.offset) - 1.0
        return -float((np.clip(start - self.stiffness * cost * e, 0.0, cost) * (sign * change)).sum())

    def merge(self, first: float, second: float) -> float:
        return first + second


class Crossover:
    """Solves the last part of a fit; passes of all attempts are counted in `spent`."""

    def __init__(self) -> None:
        self.spent = 0.0

    def improve(
        self,
        problem: Problem,
        alpha: Array,
        allowance: float,
        token: StopToken,
        *,
        point: tuple[Array, float] | None = None,
        frame: Frame | None = None,
        rows: Rows | None = None,
    ) -> Crossed:
        """Return the best point met on the way.

        Parameters
        ----------
        alpha : row vector
            Nearly optimal; it is not changed.
        allowance : float
            Passes that all attempts together may cost.
        point : (w, b), optional
            Weights and offset to start from; those of α without it.
        frame, rows : optional
            The problem's frame and rows, if they have been prepared already.
        """
        work = _Work(
            problem,
            problem.rows if rows is None else rows,
            Frame.of(problem, token) if frame is None else frame,
            make_feasible(problem, alpha),
            token,
        )
        work.begin(point)
        before, best = self.spent, work.best
        stiffness = work.first_stiffness()
        for _ in range(_UPDATES):
            solved = work.solve(stiffness, allowance - self.spent)
            better = work.best is not best
            best = work.best
            stiffness = min(stiffness * _GROWTH, _SIGMA[1])
            if not solved or not better or before + work.passes > allowance:
                break
            work.start, work.alpha = work.alpha, work.start
        self.spent = before + work.passes
        w, b = work.frame.split(best[1])
        return Crossed(w, b, best[2], best[0], work.passes)


class _Work:
    """The numbers of one attempt."""

    def __init__(self, problem: Problem, rows: Rows, frame: Frame, start: Array, token: StopToken) -> None:
        self.problem, self.rows, self.frame, self.token = problem, rows, frame, token
        self.start = start
        self.alpha, self.z, self.h = rows.zeros(), rows.zeros(), rows.zeros()
        self.change = rows.zeros()
        self.x = np.zeros(frame.penalty.shape[0])
        self.best: tuple[float, Array, Array] = (np.inf, self.x, start)
        self.passes = 0.0

    def begin(self, point: tuple[Array, float] | None) -> None:
        problem = self.problem
        if point is None:
            w = self._combine(problem.sign * self.start)[:-1]
            self._score(w, self.z)
            b = problem.offset.square * float((problem.sign * self.start).sum())
            if problem.offset.kind == "free":
                b = chosen_from(best_offset(problem, self.z))
            self.x = self.frame.place(w, b)
        else:
            self.x = self.frame.place(*point)
            self._score(self.frame.split(self.x)[0], self.z)
        self.passes += 1.0

    def first_stiffness(self) -> float:
        """Return a σ/c that moves no free row far: the margins of free rows tell how good the point is."""
        problem = self.problem
        cost = np.where(problem.cost > 0, problem.cost, 1.0)
        e = np.abs(problem.sign * (self.z + self.frame.split(self.x)[1]) - 1.0)
        inside = np.minimum(self.start, problem.cost - self.start) / cost
        worst = float(e.max(initial=0.0, where=inside > e))
        return float(np.clip(_FREE_SHARE / max(worst, 1e-300), *_SIGMA))

    def solve(self, stiffness: float, allowance: float) -> bool:
        """Minimise for one σ by Newton's method; return whether that succeeded."""
        problem, frame = self.problem, self.frame
        last_free = None
        for _ in range(_NEWTON_STEPS):
            offset = frame.split(self.x)[1]
            vectors = (problem.sign, problem.cost, self.z, self.start, self.alpha, self.h)
            sums = self.rows.reduce(_Clip(offset, stiffness), *vectors, token=self.token)
            pull = self._combine(problem.sign * self.alpha)
            self._judge(sums, pull)
            free = self.h > 0
            if last_free is not None and np.array_equal(free, last_free):
                return True
            last_free = free
            if self.passes > allowance:
                return False
            self._newton(stiffness, sums, frame.centred(pull) - frame.penalty * self.x)
        return False

    def _newton(self, stiffness: float, sums: _Sums, side: Array) -> None:
        problem, frame = self.problem, self.frame
        gram = self.rows.reduce(Gram(self.rows.n_columns, frame.shift), self.h, token=self.token)
        self.passes += 1.0 + sums.n_free / max(self.rows.n_rows, 1)
        hold = 0.0 if sums.n_free > 0 else 1e-6 * stiffness * problem.class_costs.total
        change = frame.factor(gram, hold=hold).solve(side)
        dw, shifted = frame.split(change)
        self._score(dw, self.change)
        self.change += shifted
        promised = inner(side, change)
        offset = frame.split(self.x)[1]
        vectors = (problem.sign, problem.cost, self.z, self.start, self.change)

        def slope(step: float) -> float:
            own = inner(frame.penalty * (self.x + step * change), change)
            return own + self.rows.reduce(_ClipSlope(offset, stiffness, step), *vectors, token=self.token)

        step = find_root(slope, -promised) if promised > 0 else 1.0
        self.x = self.x + step * change
        self._score(frame.split(self.x)[0], self.z)

    def _judge(self, sums: _Sums, pull: Array) -> None:
        """Keep the point if its relative gap is the smallest so far."""
        problem = self.problem
        w = self.x[: self.frame.n_columns]
        v = pull[:-1]
        gap = sums.gap + 0.5 * inner(w - v, w - v)
        dual = sums.dual - 0.5 * inner(v, v)
        b = self.frame.split(self.x)[1]
        if problem.offset.kind == "penalized":
            scale = problem.offset.scale
            gap += 0.5 * (b / scale - scale * sums.balance) ** 2
            dual -= 0.5 * (scale * sums.balance) ** 2
        elif problem.offset.kind == "free":
            gap += abs(sums.balance) * (1.0 + abs(b))
        relative = gap / dual if dual > 0 else np.inf
        if relative < self.best[0]:
            self.best = (relative, self.x, self.alpha.copy())

    def _score(self, w: Array, z: Array) -> None:
        self.rows.reduce(Scores(w), z, token=self.token)
        self.passes += 1.0

    def _combine(self, signed: Array) -> Array:
        """Return Σ f (x, 1)."""
        v = self.rows.reduce(Combine(self.rows.n_columns), signed, token=self.token)
        self.passes += 1.0
        return np.append(v, float(signed.sum()))
