"""Leave-one-out of the logistic loss and the squared hinge: certain signs for all examples.

M   an example that is wrong already gets only more so: its agreement grows with its own cost;
L1  a bound on how far the optimum moves when an example leaves, from its leverage alone;
L2  the same around the point to which one or more Newton steps without the example lead;
L3  a fit without the example, with a Hessian of its own.

All bounds are about the left-out optimum itself: that the full fit is not quite exact is part of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem import Problem
from maxmargin.results.leave_one_out import REASONS, LeaveOneOut, Reason
from maxmargin.results.solution import Progress, Solution, Status
from maxmargin.rows import Array
from maxmargin.rows.kernels import Scores
from maxmargin.selection.estimated_agreements import (
    MOST_COLUMNS,
    WITHOUT_ITS_CLASS,
    alone_in_class,
    estimate_agreements,
)
from maxmargin.selection.few_columns import in_few_columns
from maxmargin.selection.newton_without import follow_newton
from maxmargin.selection.smooth_optimum import (
    TIGHT,
    SmoothOptimum,
    examine_optimum,
    raise_if_stopped,
    reach_of_gap,
    solve_tightly,
)
from maxmargin.selection.verdicts import TIE, Verdicts, rounding_of_agreements
from maxmargin.selection.warm_start import start_of
from maxmargin.selection.wide_metric import WideMetric

__all__ = ["smooth_left_out"]

Watch = Callable[[Progress], Any]

_SAFE = 0.5  # an example this far on the right side at worst is decided without a look at its leverage
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
    memory: Any = None,
    label: str = "",
) -> LeaveOneOut:
    """Decide for every example whether it is wrong when it is left out.

    A stop, by the token or by `watch`, leaves the rest undecided. The cost: a fit to nine digits, one more
    Hessian (three for the squared hinge), the leverages of the rows, a few readings of the rows for many
    examples at once, and a fit for each of the few that are left. With more than 2,000 columns and as many
    rows no Hessian is made; then what bounds leave open is fitted, one by one.
    """
    narrow = in_few_columns(problem, MOST_COLUMNS, token) or problem
    start = memory if narrow is problem else None
    solution = solve_tightly(narrow, token, solver=solver, seed=seed, watch=watch, memory=start, label=label)
    z = narrow.rows.zeros()
    narrow.rows.reduce(Scores(solution.coef), z)
    work = _Work(narrow, solution, narrow.sign * (z + solution.intercept), token, watch, label)
    status = solution.status if solution.status in _CUT_SHORT else work.run(is_exact=agreements == "exact")
    return _record(work, agreements, status)


class _StoppedByWatch(Exception):
    """`watch` asked to stop."""


class _Work:
    """Decides the examples of one problem, from the cheapest rule to the dearest."""

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
        self.verdicts = Verdicts(rounding_of_agreements(problem, solution.coef, solution.intercept))
        self.estimates: Array | None = None
        self._token, self._watch = token, watch
        self._label = f"{label}: leaving out" if label else "leaving out"
        self._began = time.perf_counter()
        self._exact = 0.0
        is_absent = problem.cost <= 0
        self.verdicts.outcome[is_absent] = 1
        self.verdicts.code[is_absent] = REASONS.index(Reason.ABSENT)

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
        return Status.SOLVED if self.verdicts.undecided.size == 0 else Status.STALLED

    def _unsettled(self) -> NDArray[np.intp]:
        """Return the examples that need more work: undecided, or not known exactly where that is wanted."""
        verdicts = self.verdicts
        if not self._exact:
            return verdicts.undecided
        is_left = ~np.isin(verdicts.code, [REASONS.index(Reason.ABSENT), REASONS.index(Reason.ALONE)])
        return np.flatnonzero(is_left & ~(verdicts.bound <= self._exact))

    def _decide_alone(self) -> None:
        """An example without which its class is gone counts as wrong: a free offset goes to the other."""
        self.verdicts.decide(alone_in_class(self.problem), -1, Reason.ALONE)

    def _resting(self) -> NDArray[np.intp]:
        """Decide the examples whose loss is 0: they leave everything as it is, and their agreement is ≥ 1.

        Return those for which the gap of the fit leaves a doubt, or whose agreement is wanted exactly.
        """
        m, rests_at = self.agreements, self.problem.dual.rests_at
        is_resting = (self.problem.cost > 0) & (m >= rests_at)
        is_safe = m - reach_of_gap(self.problem, self.solution) > _SAFE
        self.verdicts.decide(np.flatnonzero(is_resting & is_safe), +1, Reason.NO_SUPPORT_VECTOR)
        return np.flatnonzero(is_resting if self._exact else is_resting & ~is_safe)

    def _use_bounds(self, optimum: SmoothOptimum, resting: NDArray[np.intp]) -> None:
        verdicts, bounds, alpha, m = self.verdicts, optimum.bounds, optimum.alpha, self.agreements
        moving = np.flatnonzero((alpha > 0) & (self.problem.cost > 0))
        verdicts.decide(moving[m[moving] + bounds.near(moving) < -TIE], -1, Reason.WRONG_ALREADY)
        for which, reason in ((moving, Reason.BOUND), (resting, Reason.NO_SUPPORT_VECTOR)):
            for fallen, bound in bounds.without(which, alpha):
                verdicts.settle(which, m[which] - fallen, bound, reason)
        self._tell()

    def _settle_newton(self, which: NDArray[np.intp], agreement: Array, bound: Array) -> NDArray[np.bool_]:
        verdicts = self.verdicts
        verdicts.settle(which, agreement, bound, Reason.CERTIFICATE)
        self._tell()
        is_decided = verdicts.outcome[which] != 0
        return np.asarray(is_decided & (verdicts.bound[which] <= self._exact) if self._exact else is_decided)

    def _refit(self, row: int) -> None:
        """Fit without the example, from where the full fit ended; its own Hessian bounds what is left."""
        problem, which = self.problem, np.array([row], dtype=np.intp)
        cost = problem.cost.copy()
        cost[row] = 0.0
        rest = replace(problem, cost=cost)
        alpha = np.where(cost > 0, self.solution.alpha, 0.0)
        start = start_of(self.solution.coef, self.solution.intercept, alpha)
        for tol in (TIGHT, _TIGHTEST):
            found = solve_tightly(rest, self._token, tol=tol, memory=start)
            raise_if_stopped(found)
            at_fit = examine_optimum(rest, found, self._token, also=which)
            self._settle_refit(which, at_fit, reach_of_gap(rest, found)[which])
            if row not in self._unsettled():
                break
            polished = examine_optimum(rest, found, self._token, also=which, steps=_POLISH)
            self._settle_refit(which, polished, np.array([np.inf]))
            if row not in self._unsettled():
                break
            start = start_of(found.coef, found.intercept, found.alpha)
        self._tell()

    def _settle_refit(self, which: NDArray[np.intp], optimum: SmoothOptimum, reach: Array) -> None:
        bound = np.minimum(optimum.bounds.near(which), reach)
        self.verdicts.settle(which, optimum.agreements[which], bound, Reason.REFITTED)

    def _tell(self) -> None:
        if self._watch is None:
            return
        proof, left = self.solution.certificate, self.verdicts.undecided.size
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
    verdicts, problem = work.verdicts, work.problem
    is_live = problem.cost > 0
    record = LeaveOneOut(
        errors=verdicts.outcome < 0,
        codes=verdicts.code,
        training_errors=int(np.count_nonzero(is_live & (work.agreements <= 0))),
        full_agreements=np.where(is_live, work.agreements, np.nan),
        certificate=work.solution.certificate,
        status=Status.SOLVED if verdicts.undecided.size == 0 else status,
        loss=problem.loss,
    )
    if agreements == "exact":
        return replace(
            record,
            agreements=np.where(verdicts.bound < np.inf, verdicts.agreement, np.nan),
            agreement_bounds=np.where(is_live, verdicts.bound, np.inf),
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
