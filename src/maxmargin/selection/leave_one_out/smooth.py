"""Leave-one-out of the logistic loss and the squared hinge: certain signs for all examples.

M   an example that is wrong already gets only more so: its agreement grows with its own cost;
L1  a bound on how far the optimum moves when an example leaves, from its leverage alone;
L2  the same around the point to which one or more Newton steps without the example lead;
L3  a fit without the example, with a Hessian of its own.

All bounds are about the left-out optimum itself: they include the gap of the full fit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress, Solution, Status, WarmStart
from maxmargin.rows.base import Array, Record
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.leave_one_out.cases import TIE, Cases, rounding_of_agreements
from maxmargin.selection.leave_one_out.estimates import (
    MOST_COLUMNS,
    WITHOUT_ITS_CLASS,
    alone_in_class,
    estimate_agreements,
)
from maxmargin.selection.leave_one_out.metric import (
    Metric,
    WideMetric,
    frame_of_rows,
    in_few_columns,
    lifted_rows,
)
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason
from maxmargin.selection.leave_one_out.smooth_bounds import LogisticBounds, SquaredHingeBounds
from maxmargin.selection.warm_start import certified_start, warm_start_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.newton_passes import Evaluation, evaluate
from maxmargin.solvers.run import Limits, run

__all__ = ["examine_optimum", "follow_newton", "smooth_left_out", "solve_tightly"]


Watch = Callable[[Progress], Any]

_SAFE = 0.5  # an example whose agreement is at least this large is decided without its leverage
_TIGHTEST = 1e-13  # relative gap of a fit after one to the usual tolerance left something open
_POLISH = 4  # Newton steps after a fit, at most: what they leave is rounding
_CUT_SHORT = (Status.INTERRUPTED, Status.MAX_TIME, Status.STOPPED)


def smooth_left_out(
    problem: Problem,
    *,
    agreements: Literal["estimated", "exact"] | None = None,
    solver: str = "auto",
    token: StopToken,
    seed: int = 0,
    watch: Watch | None = None,
    start: WarmStart | None = None,
    label: str = "",
) -> LeaveOneOut:
    """Decide for every example whether it is wrong when it is left out.

    A stop, by the token or by `watch`, leaves the rest undecided. The cost: a fit to nine digits, one more
    Hessian (three for the squared hinge), the leverages of the rows, a few readings of the rows for many
    examples at once, and a fit for each of the few that are left. With more than 2,000 columns and as many
    rows no Hessian is made; then what bounds leave open is fitted, one by one.
    """
    narrow = in_few_columns(problem, MOST_COLUMNS, token) or problem
    if start is not None and narrow is not problem:  # whose weights are combinations of its own rows
        w = narrow.rows.reduce(Combine(narrow.rows.n_columns), narrow.sign * start.alpha)
        start = replace(start, w=w)
    solution = solve_tightly(narrow, token, solver=solver, seed=seed, watch=watch, start=start, label=label)
    z = narrow.rows.zeros()
    narrow.rows.reduce(Scores(solution.coef), z)
    work = _Work(narrow, solution, narrow.sign * (z + solution.intercept), token, watch, label)
    status = solution.status if solution.status in _CUT_SHORT else work.run(is_exact=agreements == "exact")
    return _record(work, agreements, status)


class _StoppedByWatch(Exception):
    """`watch` asked to stop."""


class _Work:
    """Decides the examples of one problem, cheap rules first."""

    def __init__(
        self,
        problem: Problem,
        solution: Solution,
        agreements: Array,
        token: StopToken,
        watch: Watch | None,
        label: str,
    ) -> None:
        self.problem, self.solution, self.agreements = problem, solution, agreements
        self.cases = Cases(rounding_of_agreements(problem, solution.coef, solution.intercept))
        self.estimates: Array | None = None
        self._token, self._watch = token, watch
        self._label = f"{label}: leaving out" if label else "leaving out"
        self._began = time.perf_counter()
        self._exact = 0.0
        is_absent = problem.cost <= 0
        self.cases.outcome[is_absent] = 1
        self.cases.code[is_absent] = REASONS.index(Reason.ABSENT)

    def run(self, *, is_exact: bool) -> Status:
        """Decide as many examples as the token allows; return what ended it."""
        self._exact = TIE if is_exact else 0.0
        try:
            self._decide_alone()
            resting = self._resting()
            optimum = examine_optimum(self.problem, self.solution, self._token, also=resting)
            self._use_bounds(optimum, resting)
            self.estimates = _one_step(optimum)
            if self.problem.rows.n_columns <= MOST_COLUMNS:
                follow_newton(optimum, self._unsettled(), self._settle_newton, self._token)
            for row in self._unsettled():
                self._refit(int(row))
        except Stopped:
            return Status.MAX_TIME
        except _StoppedByWatch:
            return Status.STOPPED
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.SOLVED if self.cases.undecided.size == 0 else Status.STALLED

    def _unsettled(self) -> NDArray[np.intp]:
        """Return the examples that need more work: undecided, or not known exactly where that is wanted."""
        cases = self.cases
        if not self._exact:
            return cases.undecided
        is_left = ~np.isin(cases.code, [REASONS.index(Reason.ABSENT), REASONS.index(Reason.ALONE)])
        return np.flatnonzero(is_left & ~(cases.bound <= self._exact))

    def _decide_alone(self) -> None:
        """An example without which its class is gone counts as wrong: a free offset goes to the other."""
        self.cases.decide(alone_in_class(self.problem), -1, Reason.ALONE)

    def _resting(self) -> NDArray[np.intp]:
        """Decide the examples whose loss is 0: they leave everything as it is, and their agreement is ≥ 1.

        Return those for which the gap of the fit leaves a doubt, or whose agreement is wanted exactly.
        """
        m, rests_at = self.agreements, self.problem.dual.rests_at
        is_resting = (self.problem.cost > 0) & (m >= rests_at)
        lowest = m - reach_of_gap(self.problem, self.solution)
        is_safe = lowest > _SAFE
        which = np.flatnonzero(is_resting & is_safe)
        self.cases.decide_right(which, lowest[which], Reason.NO_SUPPORT_VECTOR)
        return np.flatnonzero(is_resting if self._exact else is_resting & ~is_safe)

    def _use_bounds(self, optimum: SmoothOptimum, resting: NDArray[np.intp]) -> None:
        cases, bounds, alpha, m = self.cases, optimum.bounds, optimum.alpha, self.agreements
        moving = np.flatnonzero((alpha > 0) & (self.problem.cost > 0))
        cases.decide_wrong(moving, m[moving] + bounds.near(moving), Reason.WRONG_ALREADY)
        for which, reason in ((moving, Reason.BOUND), (resting, Reason.NO_SUPPORT_VECTOR)):
            for fallen, bound in bounds.without(which, alpha):
                cases.settle(which, m[which] - fallen, bound, reason)
        self._report()

    def _settle_newton(self, which: NDArray[np.intp], agreement: Array, bound: Array) -> NDArray[np.bool_]:
        cases = self.cases
        cases.settle(which, agreement, bound, Reason.CERTIFICATE)
        self._report()
        is_decided = cases.outcome[which] != 0
        return np.asarray(is_decided & (cases.bound[which] <= self._exact) if self._exact else is_decided)

    def _refit(self, row: int) -> None:
        """Fit without the example, from where the full fit ended; its own Hessian bounds what is left."""
        problem, which = self.problem, np.array([row], dtype=np.intp)
        cost = problem.cost.copy()
        cost[row] = 0.0
        rest = problem.with_cost(cost)
        alpha = np.where(cost > 0, self.solution.alpha, 0.0)
        start = WarmStart(self.solution.coef, self.solution.intercept, alpha)
        for tol in (TIGHT, _TIGHTEST):
            found = solve_tightly(rest, self._token, tol=tol, start=start)
            raise_if_stopped(found)
            at_fit = examine_optimum(rest, found, self._token, also=which)
            self._settle_refit(which, at_fit, reach_of_gap(rest, found)[which])
            if row not in self._unsettled():
                break
            polished = examine_optimum(rest, found, self._token, also=which, steps=_POLISH)
            self._settle_refit(which, polished, np.array([np.inf]))
            if row not in self._unsettled():
                break
            start = WarmStart(found.coef, found.intercept, found.alpha)
        self._report()

    def _settle_refit(self, which: NDArray[np.intp], optimum: SmoothOptimum, reach: Array) -> None:
        bound = np.minimum(optimum.bounds.near(which), reach)
        self.cases.settle(which, optimum.agreements[which], bound, Reason.REFITTED)

    def _report(self) -> None:
        if self._watch is None:
            return
        proof, left = self.solution.certificate, self.cases.undecided.size
        progress = Progress(
            seconds=time.perf_counter() - self._began,
            passes=0.0,
            iteration=len(self.agreements) - left,
            objective=proof.objective,
            bound=proof.bound,
            relative_gap=proof.relative_gap,
            label=f"{self._label}, {left:,} to go",
        )
        if self._watch(progress):
            raise _StoppedByWatch


def _one_step(optimum: SmoothOptimum) -> Array | None:
    """Return what one Newton step without each example leads to; None if no Hessian was made."""
    metric, leverages = optimum.bounds.metric, optimum.bounds.leverages
    if isinstance(metric, WideMetric):
        return None
    room = np.maximum(metric.room(leverages), 1e-9)
    fallen = np.where(optimum.alpha > 0, optimum.alpha * leverages / room, 0.0)
    estimates = np.where(optimum.problem.cost > 0, optimum.agreements - fallen, np.nan)
    estimates[alone_in_class(optimum.problem)] = WITHOUT_ITS_CLASS
    return estimates


def _record(work: _Work, agreements: Literal["estimated", "exact"] | None, status: Status) -> LeaveOneOut:
    cases, problem = work.cases, work.problem
    is_live = problem.cost > 0
    record = LeaveOneOut(
        errors=cases.outcome < 0,
        codes=cases.code,
        training_errors=int(np.count_nonzero(is_live & (work.agreements <= 0))),
        full_agreements=np.where(is_live, work.agreements, np.nan),
        certificate=work.solution.certificate,
        status=Status.SOLVED if cases.undecided.size == 0 else status,
        loss=problem.loss.name,
    )
    if agreements == "exact":
        return replace(
            record,
            agreements=np.where(cases.bound < np.inf, cases.agreement, np.nan),
            agreement_bounds=np.where(is_live, cases.bound, np.inf),
            agreements_are="exact",
            agreements_by="by Newton's method without each of the examples, or a fit without it",
        )
    if agreements == "estimated" and status not in _CUT_SHORT:
        if work.estimates is not None:
            by = "by one Newton step, from the leverages that bounds are made of"
            return replace(record, agreements=work.estimates, agreements_are="estimated", agreements_by=by)
        solution = work.solution
        found = estimate_agreements(problem, solution.coef, solution.intercept, solution.alpha, StopToken())
        return replace(
            record, agreements=found.agreements, agreements_are="estimated", agreements_by=found.by
        )
    return record


# ------------------------------------------------------------------------------------------------
# Newton's method for many problems at once, each without another example.
#
# All start from the optimum of all examples and use its Hessian less the example's own share, which is a
# change of rank one: a step costs one reading of the rows for many examples together, and the solution of
# two triangles for each. The first step is the approximate leave-one-out; the bounds say what is certain
# there, and further steps make it more.

# Takes rows, their left-out agreements and bounds of their errors; returns which rows need no more steps.
Settle = Callable[[NDArray[np.intp], Array, Array], NDArray[np.bool_]]

_MOST_STEPS = 12
_LOSING = 0.5  # a gradient that falls by less: the Hessian is too far off
_VALUES_AT_ONCE = 1 << 18  # of all points of a batch
_CORES = 4  # of `_core.left_out_gradients`


def follow_newton(optimum: SmoothOptimum, which: NDArray[np.intp], settle: Settle, token: StopToken) -> None:
    """Take steps for some examples until `settle` has enough, or until they lead nowhere."""
    at_once = max(_VALUES_AT_ONCE // (optimum.problem.rows.n_columns + 1), 8)
    for first in range(0, which.size, at_once):
        _Batch(optimum, which[first : first + at_once]).follow(settle, token)


class _Batch:
    def __init__(self, optimum: SmoothOptimum, which: NDArray[np.intp]) -> None:
        self._optimum = optimum
        metric, leverages = optimum.bounds.metric, optimum.bounds.leverages
        room = metric.room(leverages)[which]
        self.which = which[
            room > 0
        ]  # without an example that is alone in some direction the Hessian is singular
        self._room = room[room > 0]
        self._sign = optimum.problem.sign[self.which].astype(np.float64)
        self._lifted = lifted_rows(optimum.problem, metric.frame, self.which)
        self._solved = metric.solve(self._lifted)
        share = -optimum.alpha[self.which] * self._sign / self._room
        self._change = share[:, None] * self._solved
        self._size = np.full(self.which.size, np.inf)

    def follow(self, settle: Settle, token: StopToken) -> None:
        bounds = self._optimum.bounds
        for _ in range(_MOST_STEPS):
            if self.which.size == 0:
                return
            gradients, least = self._read(token)
            solved = bounds.metric.solve(gradients)
            reach = bounds.around(self.which, self._lifted, gradients, solved, least)
            moved = self._sign * np.einsum("ij,ij->i", self._lifted, self._change)
            is_done = settle(self.which, self._optimum.agreements[self.which] + moved, reach)
            size = np.sqrt(np.maximum(np.einsum("ij,ij->i", gradients, solved), 0.0))
            is_falling = size < _LOSING * self._size
            self._size = size
            self._step(solved)
            self._keep(~is_done & is_falling)

    def _step(self, solved: Array) -> None:
        h = self._optimum.bounds.metric.h[self.which]
        along = np.einsum("ij,ij->i", self._lifted, solved)
        self._change -= solved + (h * along / self._room)[:, None] * self._solved

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        for name in ("which", "_room", "_sign", "_lifted", "_solved", "_change", "_size"):
            setattr(self, name, getattr(self, name)[kept])

    def _read(self, token: StopToken) -> tuple[Array, Array]:
        """Return left-out gradients at the points, and what bounds need to know of the rows there."""
        optimum = self._optimum
        problem, place, frame = optimum.problem, optimum.place, optimum.bounds.metric.frame
        w = place.w + self._change[:, :-1]
        b = place.b + self._change[:, -1]
        if frame.shift is not None:
            b -= np.einsum("ij,j->i", self._change[:, :-1], frame.shift)
        kernel = _Gradients(problem.loss.name, w, b, place.b, self.which.astype(np.int64))
        numbers = np.arange(problem.rows.n_rows, dtype=np.int64)
        vectors = (numbers, problem.sign, problem.cost, place.z, optimum.bounds.size, optimum.bounds.core)
        found = optimum.bounds.metric.rows.reduce(kernel, *vectors, token=token)
        gradients = found.gradient
        if frame.shift is not None:
            gradients[:, :-1] -= gradients[:, -1:] * frame.shift
        gradients[:, :-1] += w
        gradients[:, -1] = 0.0 if frame.offset.is_absent else gradients[:, -1] + frame.offset.stiffness * b
        return gradients, found.least


@dataclass(frozen=True, eq=False)
class _Sums(Record):
    gradient: Array
    least: Annotated[Array, np.minimum]


@dataclass(frozen=True, eq=False)
class _Gradients:
    """Gradients at many points, each without one of the rows."""

    loss: str
    w: Array
    b: Array
    start: float
    left_out: NDArray[np.int64]

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        numbers, sign, cost, z, size, core = pieces
        count, columns = self.w.shape
        sums = _Sums(np.zeros((count, columns + 1)), np.full((count, _CORES), np.inf))
        within = self.left_out - (int(numbers[0]) if numbers.size else 0)
        _core.left_out_gradients(
            block, self.loss, sign, cost, z, self.start, size, core,
            self.w, self.b, within, sums.gradient, sums.least, token,
        )  # fmt: skip
        return sums


# ------------------------------------------------------------------------------------------------
# The full fit of a smooth loss that leave-one-out rests on, and what one more reading of the rows shows.

TIGHT = 1e-9  # relative gap; the next Newton step, which the bounds foresee, squares it

Bounds = LogisticBounds | SquaredHingeBounds
_BOUNDS: dict[str, type[LogisticBounds] | type[SquaredHingeBounds]] = {
    "logistic": LogisticBounds,
    "squared_hinge": SquaredHingeBounds,
}


@dataclass(frozen=True, eq=False)
class SmoothOptimum:
    """A solution, nearly exact, with its Hessian.

    Attributes
    ----------
    problem : Problem
    solution : Solution
    place : Evaluation
        Scores, curvatures and gradient there.
    agreements, alpha : row vectors
        s(x·w + b), and −cℓ′ of it.
    bounds : Bounds
        How far optima can be, of the problem itself and of those without one example.
    """

    problem: Problem
    solution: Solution
    place: Evaluation
    agreements: Array
    alpha: Array
    bounds: Bounds


def solve_tightly(
    problem: Problem,
    token: StopToken,
    *,
    tol: float = TIGHT,
    solver: str = "auto",
    seed: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    start: WarmStart | None = None,
    label: str = "",
) -> Solution:
    """Solve a problem to nearly all digits, by Newton's method unless it has too many columns.

    A start that is certified to the tolerance is the solution, and a fit begins at any other.
    """
    known = None if start is None else certified_start(problem, start, tol, token)
    if known is not None and known.status is Status.SOLVED:
        return known
    warm_start = None if known is None else warm_start_of(known)
    is_narrow = problem.loss.is_smooth and problem.rows.n_columns <= MOST_COLUMNS
    name = "newton" if solver == "auto" and is_narrow else solver
    method, plan = choose(name, problem, tol)
    return run(
        problem,
        method,
        plan,
        Limits(tol),
        token=token,
        watch=watch,
        warm_start=warm_start,
        seed=seed,
        label=label,
    )


def raise_if_stopped(solution: Solution) -> None:
    """Raise what a pass over the rows would have raised, if a fit was cut short."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.MAX_TIME:
        raise Stopped


def examine_optimum(
    problem: Problem, solution: Solution, token: StopToken, *, also: NDArray[np.intp], steps: int = 0
) -> SmoothOptimum:
    """Read the rows once more at a solution, for everything that bounds are made of.

    `also` names rows whose agreements are to be bounded although they have no part in the loss; `steps` of
    Newton's method are taken to begin with, as long as each makes the gradient shorter.
    """
    place, metric = _place(problem, solution.coef, solution.intercept, token)
    for _ in range(steps):
        dw, db = metric.frame.split(-metric.solve(place.gradient[None])[0])
        there, other = _place(problem, place.w + dw, place.b + db, token)
        if not other.length(there.gradient) < 0.5 * metric.length(place.gradient):
            break
        place, metric = there, other
    agreements = problem.sign * (place.z + place.b)
    alpha = np.asarray(_core.loss_best_alpha(problem.loss.name, agreements, problem.cost))
    bounds = _BOUNDS[problem.loss.name](problem, metric, place, also, token)
    return SmoothOptimum(problem, solution, place, agreements, alpha, bounds)


def _place(problem: Problem, w: Array, b: float, token: StopToken) -> tuple[Evaluation, Metric | WideMetric]:
    """Evaluate a point, with its Hessian or, where that would be too large, what bounds it."""
    rows, at = problem.rows.condensed(token), (w, b)
    if rows.n_columns > MOST_COLUMNS:
        z = rows.zeros()
        rows.reduce(Scores(w), z, token=token)
        curvature = problem.agreement_loss.curvature(problem.sign * (z + b))
        wide = WideMetric.of(problem, np.asarray(problem.cost * curvature), token)
        return evaluate(problem, rows, wide.frame, *at, False, token), wide
    frame = frame_of_rows(problem, token)
    place = evaluate(problem, rows, frame, *at, True, token)
    assert place.hessian is not None
    return place, Metric(rows, frame, place.h, Factor(place.hessian))


def reach_of_gap(problem: Problem, solution: Solution) -> Array:
    """Return how far agreements at a solution can be from those at the optimum, by the duality gap alone.

    ‖w − w*‖ ≤ √(2·gap), and the best free offset moves no more than the scores do.
    """
    norm2, largest = problem.rows.norms()
    radius = math.sqrt(2.0 * solution.certificate.gap)
    if problem.offset.is_free:
        return np.asarray(radius * (np.sqrt(norm2) + math.sqrt(largest)))
    return np.asarray(radius * np.sqrt(norm2 + problem.offset.square))
