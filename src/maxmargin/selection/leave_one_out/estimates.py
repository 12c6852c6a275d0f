"""Estimates of the agreement of each example with the classifier fitted without it, at little cost.

One Newton step of the problem without example i leads from the optimum of all examples to

    m′ ≈ m − α l / (1 − h l),      l = x̃ᵀH⁻¹x̃,

with the example's dual α = −cℓ′(m), its curvature h = cℓ″(m), and its leverage l in the Hessian H of all:
the approximate leave-one-out of the smooth losses. An example with α = 0 keeps its agreement.

The hinge has its curvature in one point, and what counts is how many examples are near it, not which of
them lie on it. So the corner is rounded: h = c·¾(1 − u²)/δ, u = (m − 1)/δ, is the density of examples at the
margin, smoothed by a parabola of width δ. The width holds three times as many examples as there are free
ones: about as far as margins move when an example leaves.

These are estimates only: no decision is based on them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status, WarmStart
from maxmargin.presentation.wording import Readable, plural
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.selection.leave_one_out.metric import Metric, in_few_columns
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["Estimated", "agreements_by_folds", "alone_in_class", "curvatures", "estimate_agreements"]


# ------------------------------------------------------------------------------------------------
# Left-out agreements from a few folds, for problems whose systems of equations would be too large.
#
# Every fold is left out once, as costs of 0 over the same rows, and the rest is fitted from where the full
# fit ended. An example's agreement is then that with a classifier which did not see it, nor a fifth of the
# others: an estimate on the cautious side.

_FOLDS = 5
# Fits start at the optimum of all rows and must leave it: what they keep of it would be optimistic.
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class ByFolds:
    """Agreements, and how they were found."""

    agreements: Array
    by: str


def agreements_by_folds(
    problem: Problem,
    w: Array,
    b: float,
    alpha: Array,
    agreements: Array,
    token: StopToken,
    *,
    tol: float = TOLERANCE,
) -> ByFolds:
    """Return every example's agreement with the fit, certified to `tol`, that leaves its fold out.

    A deadline or Ctrl-C raises as a pass over the rows would: half of the folds are no estimate.
    """
    fold = _folds(problem)
    count = int(fold.max(initial=-1)) + 1
    found, z = agreements.copy(), problem.rows.zeros()
    passes = 0.0
    for k in range(count):
        held = fold == k
        part = problem.with_cost(np.where(held, 0.0, problem.cost))
        solver, plan = choose("auto", part, tol)
        warm_start = WarmStart(w, b, np.where(held, 0.0, alpha)) if problem.is_regularised else None
        fit = run(part, solver, plan, Limits(tol), token=token, warm_start=warm_start, seed=k)
        if fit.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if fit.status is Status.MAX_TIME:
            raise Stopped
        passes += float(fit.history.passes[-1]) if len(fit.history) else 0.0
        problem.rows.reduce(Scores(fit.coef), z)
        found[held] = problem.sign[held] * (z[held] + fit.intercept)
    return ByFolds(found, f"by {count} folds, {passes:,.0f} passes over the rows")


def _folds(problem: Problem) -> NDArray[np.intp]:
    """Return the fold of every row, both classes spread evenly; −1 for one that costs nothing.

    A class of fewer examples than folds makes fewer folds, so that no fit lacks a class; that of one example
    is in every fit.
    """
    live = problem.cost > 0
    classes = [np.flatnonzero(live & (problem.sign == sign)) for sign in (1, -1)]
    sizes = [rows.size for rows in classes if rows.size > 1]
    count = min([_FOLDS, *sizes])
    fold = np.full(problem.rows.n_rows, -1, dtype=np.intp)
    random = np.random.default_rng(0)
    for rows in classes:
        if rows.size > 1:
            fold[random.permutation(rows)] = np.arange(rows.size) % count
    return fold


# ------------------------------------------------------------------------------------------------

MOST_COLUMNS = 2_000  # beyond, a system of that size costs more than a handful of fits
WITHOUT_ITS_CLASS = -1.0  # for the other class alone θ = 0 and θ₀ = ∓1 is best, of both hinges
_PER_FREE_ROW = 3
_NARROWEST, _WIDEST = 0.15, 0.5  # widths between which the estimates are equally good
_FEWEST_ROWS = 10  # that a width must hold whatever it is, or nothing would hold the offset
_LEAST_SHARE = 1e-9  # of 1, below which an example is alone in some direction: rounding decides there
_HOLD = 1e-9  # of all curvature, on a free offset


@dataclass(frozen=True, eq=False)
class Estimated(Readable):
    """Estimated left-out agreements.

    Attributes
    ----------
    agreements : array of shape (n_rows,)
        NaN for rows that cost nothing.
    by : str
        How they were found, and what that cost.
    """

    agreements: Array
    by: str

    def __str__(self) -> str:
        return f"left-out agreements of {plural(len(self.agreements), 'example')}, estimated: {self.by}"


def estimate_agreements(
    problem: Problem,
    w: Array,
    b: float,
    alpha: Array,
    token: StopToken,
    *,
    leaving: Array | None = None,
    tol: float = TOLERANCE,
) -> Estimated:
    """Estimate how every example agrees with the classifier that is fitted without it.

    Parameters
    ----------
    problem : Problem
        With any loss that has a dual, any offset.
    w, b, alpha
        Its solution; whichever solver found it, to whatever accuracy.
    token : StopToken
    leaving : row vector, optional
        What leaves of each row's cost, where a row stands for several copies of an example; by default all.
    tol : float
        How accurate the folds' fits should be, where folds are needed.

    Returns
    -------
    Estimated
        By leverages in one system of equations. Where that has more than 2,000 columns and there are as
        many rows, by five folds instead.
    """
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(w), z, token=token)
    agreements = problem.sign * (z + b)
    leaving = problem.cost if leaving is None else leaving
    narrow = in_few_columns(problem, MOST_COLUMNS, token)
    if narrow is None:
        found = agreements_by_folds(problem, w, b, alpha, agreements, token, tol=tol)
        estimates, by = found.agreements, found.by
    else:
        estimates = _by_leverages(narrow, agreements, alpha, leaving, token)
        order = narrow.rows.n_columns + 1
        by = f"by leverages, from one {order:,} × {order:,} system of equations"
    estimates[problem.cost <= 0] = np.nan
    alone = alone_in_class(problem)
    estimates[alone[leaving[alone] >= problem.cost[alone]]] = WITHOUT_ITS_CLASS
    return Estimated(estimates, by)


def _by_leverages(
    problem: Problem, agreements: Array, alpha: Array, leaving: Array, token: StopToken
) -> Array:
    h = curvatures(problem, agreements, alpha)
    hold = _HOLD * float(h.sum()) if problem.offset.is_free else 0.0
    metric = Metric.of(problem, h, token, hold=hold)
    moving = (alpha > 0) & (problem.cost > 0)
    leverages = metric.leverages(moving, token)
    share = np.divide(leaving, problem.cost, out=np.zeros_like(leaving), where=problem.cost > 0)
    room = np.maximum(1.0 - share * h * leverages, _LEAST_SHARE)
    if problem.loss.is_smooth:
        gone = share * alpha
    else:  # what the remaining copies can take over does not leave
        gone = np.maximum(alpha - (problem.cost - leaving), 0.0)
    return np.asarray(agreements - np.where(moving, gone * leverages / room, 0.0))


def curvatures(problem: Problem, agreements: Array, alpha: Array) -> Array:
    """Return c ℓ″(m), with the corner of the hinge rounded."""
    if problem.loss.is_smooth:
        return np.asarray(problem.cost * problem.agreement_loss.curvature(agreements))
    width = _width(problem, agreements, alpha)
    u = (agreements - 1.0) / width
    return np.asarray(problem.cost * (0.75 / width) * np.maximum(1.0 - u * u, 0.0))


def _width(problem: Problem, agreements: Array, alpha: Array) -> float:
    """Return how far from the margin the corner of the hinge is rounded."""
    live = problem.cost > 0
    distances = np.abs(agreements[live] - 1.0)
    if distances.size == 0:
        return _WIDEST
    free = int(np.count_nonzero((alpha > 0) & (alpha < problem.cost)))
    wanted = _PER_FREE_ROW * min(max(free, 1), problem.rows.n_columns + 1)

    def holds(count: int) -> float:
        place = min(count, distances.size) - 1
        return float(np.partition(distances, place)[place]) * (1.0 + 1e-3)

    return max(min(max(holds(wanted), _NARROWEST), _WIDEST), holds(_FEWEST_ROWS))


def alone_in_class(problem: Problem) -> NDArray[np.intp]:
    """Return the examples, two at most, without which a class is gone and a free offset undetermined."""
    own = [np.flatnonzero((problem.cost > 0) & (problem.sign == sign)) for sign in (1, -1)]
    is_free = problem.offset.is_free
    return np.concatenate([rows if is_free and rows.size == 1 else rows[:0] for rows in own])
