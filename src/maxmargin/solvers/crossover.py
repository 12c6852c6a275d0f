"""From a nearly optimal point of the hinge to the optimum: duals that are exactly 0 or c, gap of rounding.

These are steps of the semismooth Newton method around the point, with its duals as anchors and a stiffness so
high that only rows on the margin stay free. Multipliers of the others go to 0 or c at once and stay there.
Repeated rows and more free rows than columns do no harm: what the rows do not determine stays where it was,
which for an interior point is the middle.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, NotFactorised, StopToken
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Record, RowVector
from maxmargin.rows.kernels import Scores
from maxmargin.solvers.semismooth_newton import (
    AugmentedLagrangian,
    Excess,
    SemismoothNewtonSettings,
    start_near,
)

__all__ = ["Crossover", "CrossoverSettings"]

_EPSILON = 2.0**-52


@dataclass(frozen=True)
class CrossoverSettings:
    """The constants of the crossover; decision 0033 measures it."""

    max_steps: int = 60
    first_move: float = 0.1  # how far, in units of the mean dual, the first update may move a free row
    least_stiffness: float = 1e2  # of the first update, in the same units
    max_stiffness: float = 1e12


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
        target : float
            The relative gap at which to stop.
        """
        alpha = make_feasible(problem, alpha)
        passes = 2.5
        if point is None:
            point = _point_of(problem, alpha, token)
            passes += 2.0
        level = self._start(problem, *point, alpha, token)
        best = level.relative_gap(), level.w.copy(), level.b, level.multipliers()
        with contextlib.suppress(ValueError, NotFactorised):  # numbers that are not finite
            for _ in range(self.settings.max_steps):
                if best[0] <= target or level.has_stalled() or self.spent + passes > pass_budget:
                    break
                passes += level.take_step(target, token)
                if level.relative_gap() < best[0]:
                    best = level.relative_gap(), level.w.copy(), level.b, level.multipliers()
        relative_gap, w, b, found = best
        crossed = CrossoverPoint(w, b, found, relative_gap, passes)
        at_stake = problem.rows.reduce(FreeRoom(), problem.cost, found, token=token)
        if 4.0 * _EPSILON * at_stake > target * level.objective:
            crossed = _scaled_to_margin(problem, crossed, target, token)
        self.spent += crossed.passes
        return crossed

    def _start(
        self, problem: Problem, w: Array, b: float, alpha: RowVector, token: StopToken
    ) -> AugmentedLagrangian:
        """Return the augmented Lagrangian, so stiff that no free row moves far.

        The margins of the free rows measure how good the point is.
        """
        rows, excess = problem.rows, problem.rows.zeros()
        rows.reduce(Excess(w, b), problem.sign, excess, token=token)
        total, squares = rows.reduce(Sizes(), alpha, token=token).tolist()
        unit = squares / total if total > 0 else 1.0
        seen = rows.reduce(FreeMargins(unit), problem.cost, alpha, excess, token=token)
        stiffness = self.settings.first_move / max(seen.farthest, 1e-300)
        stiffness = min(max(stiffness, self.settings.least_stiffness), self.settings.max_stiffness)
        kappa = stiffness * seen.shares / max(problem.class_costs.n_live, 1)
        settings = SemismoothNewtonSettings(max_stiffness=self.settings.max_stiffness)
        return start_near(problem, w, b, alpha, kappa, settings, token)


def _scaled_to_margin(
    problem: Problem, point: CrossoverPoint, target: float, token: StopToken
) -> CrossoverPoint:
    """Return a slightly longer point if that is good enough or better, judged afresh.

    With large costs on separable rows, free rows that rounding leaves below the margin cost more than the
    length: c times 1e-16 may be more than the tolerance, and the certificate pays for rounding.
    """
    rows, excess = problem.rows, problem.rows.zeros()
    rows.reduce(Excess(point.w, point.b), problem.sign, excess, token=token)
    v = rows.reduce(DualSum(), problem.sign, point.alpha, token=token)[:-1]
    seen = rows.reduce(Violations(), problem.cost, point.alpha, excess, token=token)
    error = _EPSILON * (3.0 + 2.0 * abs(point.b) + seen.largest)
    found = []
    for scale in (1.0, 1.0 + 2.0 * (seen.below + error)):
        arrays = (problem.sign, problem.cost, point.alpha, excess)
        sums = rows.reduce(ScaledGap(scale), *arrays, token=token)
        w, b = scale * point.w, scale * point.b
        gap = problem.gap(sums.gap, w, v, b, sums.balance, 1.0 + abs(b))
        dual = problem.dual_value(sums.dual, v, sums.balance)
        relative_gap = gap / dual if dual > 0 else np.inf
        found.append(CrossoverPoint(w, b, point.alpha, relative_gap, point.passes + 2.0))
    shorter, longer = found
    return longer if longer.relative_gap <= max(target, shorter.relative_gap) else shorter


def _point_of(problem: Problem, alpha: RowVector, token: StopToken) -> tuple[Array, float]:
    """Return the weights and the offset of a dual point."""
    rows, z = problem.rows, problem.rows.zeros()
    dual_sum = rows.reduce(DualSum(), problem.sign, alpha, token=token)
    w, balance = dual_sum[:-1].copy(), float(dual_sum[-1])
    if not problem.offset.is_free:
        return w, problem.offset.square * balance
    rows.reduce(Scores(w), z, token=token)
    return w, chosen_from(problem.offset.best(problem, z))


# ------------------------------------------------------------------------------------------------
# The passes of the crossover.


@dataclass(frozen=True)
class Sizes:
    """Return Σ α and Σ α²."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (alpha,) = pieces
        return np.array([alpha.sum(), (alpha * alpha).sum()])


@dataclass(frozen=True)
class DualSum:
    """Return Σ sα (x, 1); per-row arrays: sign, α."""

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        sign, alpha = pieces
        signed, total = sign * alpha, np.zeros(block.n_columns + 1)
        _core.multiply(block, None, None, signed, total[:-1], token)
        total[-1] = signed.sum()
        return total


@dataclass(frozen=True, eq=False)
class Margins(Record):
    """How far margins of free rows are from 1 at most, and Σ min(c, unit)/c."""

    farthest: Annotated[float, max]
    shares: float


@dataclass(frozen=True)
class FreeMargins:
    """Look at the margins of free rows; per-row arrays: cost, α, excess.

    A row counts as free if its margin is nearer to 1 than its dual, in units of a typical one, is to 0 or c.
    """

    unit: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Margins:
        cost, alpha, excess = pieces
        live, e = cost > 0, np.abs(excess)
        unit = np.minimum(np.where(live, cost, 1.0), self.unit)
        free = np.minimum(alpha, cost - alpha) > e * unit
        shares = np.divide(unit, cost, out=np.zeros_like(cost), where=live)
        return Margins(float(e.max(initial=0.0, where=free)), float(shares.sum()))


@dataclass(frozen=True)
class FreeRoom:
    """Return Σ c − α over free rows: what they would cost for each unit below the margin.

    Per-row arrays: cost, α.
    """

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        cost, alpha = pieces
        return float((cost - alpha).sum(where=(alpha > 0) & (alpha < cost)))


@dataclass(frozen=True, eq=False)
class LargestViolations(Record):
    """The largest |e|, and by how much rows with α < c are below the margin at most."""

    largest: Annotated[float, max]
    below: Annotated[float, max]


@dataclass(frozen=True)
class Violations:
    """How far rows are from the margin; per-row arrays: cost, α, excess e."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> LargestViolations:
        cost, alpha, e = pieces
        below = -float(e.min(initial=0.0, where=alpha < cost))
        return LargestViolations(float(np.abs(e).max(initial=0.0)), max(below, 0.0))


@dataclass(frozen=True, eq=False)
class GapSums(Record):
    """Of the rows: their shares of the duality gap, Σ α and Σ sα."""

    gap: float
    dual: float
    balance: float


@dataclass(frozen=True)
class ScaledGap:
    """The sums at weights and offset times a number; per-row arrays: sign, cost, α, excess."""

    scale: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> GapSums:
        sign, cost, alpha, excess = pieces
        e = self.scale * excess + (self.scale - 1.0)
        gap = np.maximum(e, 0.0) * alpha + np.maximum(-e, 0.0) * (cost - alpha)
        return GapSums(float(gap.sum()), float(alpha.sum()), float((sign * alpha).sum()))
