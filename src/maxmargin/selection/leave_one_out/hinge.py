"""Exact leave-one-out of the hinge: cheap rules first, then the exact left-out optimum of what they leave.

Every step only ever decides what is certain, the full fit's own gap included:

N  an example whose dual is 0, or that its copies can carry, leaves the weights as they are;
M  an example that is wrong already gets only more so (the agreement grows with an example's own cost);
B  without a free offset, ‖w′ − w‖ is bounded by the example's own dual;
then the path on which the example's dual goes to 0, or, where rows are many, certificates of the sign and
solutions near the margin; and where that is lost, a fit without the example.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Stopped, StopToken
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress, Status, WarmStart
from maxmargin.rows.base import Array
from maxmargin.selection.leave_one_out.bands import MOST_COLUMNS, decide_by_certificates
from maxmargin.selection.leave_one_out.cases import HingeCases, LeftOutAgreements, cases_of
from maxmargin.selection.leave_one_out.distinct_rows import DistinctRows, merge_copies
from maxmargin.selection.leave_one_out.estimates import Estimated, estimate_agreements
from maxmargin.selection.leave_one_out.hinge_optimum import find_optimum
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason
from maxmargin.selection.leave_one_out.refits import refit, solve_left_out
from maxmargin.selection.leave_one_out.removals import follow_out, is_path_short, with_independent_free_rows

__all__ = ["hinge_left_out"]


Watch = Callable[[Progress], Any]

_TOO_WIDE = 0.1  # relative gap of a full fit beyond which fits without an example get no further
_COUNTS = 1e-14  # of a sum of n costs, n times: above what counts as equal


def hinge_left_out(
    problem: Problem,
    *,
    agreements: Literal["estimated", "exact"] | None = None,
    solver: str = "auto",
    token: StopToken,
    threads: int = 1,
    seed: int = 0,
    watch: Watch | None = None,
    start: WarmStart | None = None,
    label: str = "",
) -> LeaveOneOut:
    """Decide for every example whether it is wrong when it is left out.

    A stop, by the token or by `watch`, leaves the rest undecided.
    """
    distinct = merge_copies(problem, token)
    if start is not None and start.alpha is not None:
        start = replace(start, alpha=distinct.gathered(start.alpha))
    optimum = find_optimum(
        distinct.problem, token, solver=solver, seed=seed, watch=watch, start=start, label=label
    )
    cases = cases_of(optimum, distinct)
    status = optimum.solution.status
    work = _Work(cases, distinct, token, threads, seed, _ProgressReporter(cases, watch, label))
    if status not in (Status.INTERRUPTED, Status.MAX_TIME, Status.STOPPED):
        status = work.run(problem, agreements)
    record = _record(problem, cases, status)
    if agreements == "exact":
        return _with_exact(record, cases)
    return record if work.estimated is None else _with_estimates(record, work.estimated)


class _StoppedByWatch(Exception):
    """`watch` asked to stop."""


class _ProgressReporter:
    """Calls `watch` with the number of cases done; any of several threads may call it."""

    def __init__(self, cases: HingeCases, watch: Watch | None, label: str) -> None:
        self._cases, self._watch, self._label = cases, watch, label
        self._began = time.perf_counter()
        self._done = 0

    def __call__(self, count: int) -> None:
        self._done += count
        if self._watch is None:
            return
        proof = self._cases.optimum.solution.certificate
        left = int(np.count_nonzero(self._cases.outcome == 0))
        progress = Progress(
            seconds=time.perf_counter() - self._began,
            passes=0.0,
            iteration=self._done,
            objective=proof.objective,
            bound=proof.bound,
            relative_gap=proof.relative_gap,
            label=f"{self._label + ': ' if self._label else ''}leaving out, {left:,} to go",
        )
        if self._watch(progress):
            raise _StoppedByWatch


@dataclass(eq=False)
class _Work:
    cases: HingeCases
    distinct: DistinctRows
    token: StopToken
    threads: int
    seed: int
    report: Callable[[int], Any]
    estimated: Estimated | None = None

    def run(self, problem: Problem, agreements: Literal["estimated", "exact"] | None) -> Status:
        """Decide as many cases as the token allows; return what ended it."""
        try:
            self._use_rules()
            if agreements == "estimated":
                self._estimate(problem)
            if self.cases.optimum.solution.certificate.relative_gap > _TOO_WIDE:
                return Status.STALLED
            self._solve(to_the_end=agreements == "exact")
        except Stopped:
            return Status.MAX_TIME
        except _StoppedByWatch:
            return Status.STOPPED
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.SOLVED if self.cases.undecided.size == 0 else Status.STALLED

    def _estimate(self, problem: Problem) -> None:
        """Estimate the left-out agreements; copies share the dual of their row as they share its cost."""
        optimum, group = self.cases.optimum, self.distinct.group
        share = np.where(group >= 0, problem.cost, 0.0) / optimum.problem.cost[group]
        alpha = share * optimum.alpha[group]
        self.estimated = estimate_agreements(problem, optimum.w, optimum.b, alpha, self.token)

    def _use_rules(self) -> None:
        cases = self.cases
        cases.optimum = with_independent_free_rows(cases.optimum, self.token, self.threads)
        _decide_single_class(cases)
        decide_without_support(cases, self.token)
        _decide_wrong_already(cases)
        _decide_by_bound(cases)

    def _solve(self, *, to_the_end: bool) -> None:
        cases = self.cases
        if is_path_short(cases.optimum.problem):
            which = cases.unknown if to_the_end else cases.undecided
            follow_out(
                cases,
                _with_remainder(cases, which),
                self.token,
                self.threads,
                to_the_end=to_the_end,
                report=self.report,
            )
        else:
            if not to_the_end:
                certify_signs(cases, _with_remainder(cases, cases.undecided), self.token, self.threads)
            which = cases.unknown if to_the_end else cases.undecided
            solve_cases(
                cases,
                _with_remainder(cases, which),
                self.token,
                self.threads,
                self.report,
                signs_only=not to_the_end,
            )
        which = cases.unknown if to_the_end else cases.undecided
        which = np.union1d(which, cases.undecided)
        refit(
            cases,
            _with_remainder(cases, which),
            self.token,
            threads=self.threads,
            seed=self.seed,
            report=self.report,
        )


def _with_remainder(cases: HingeCases, which: NDArray[np.intp]) -> NDArray[np.intp]:
    """Leave out the cases after which one class is gone and a free offset has no value."""
    return np.asarray(which[cases.code[which] != REASONS.index(Reason.ALONE)])


def _decide_single_class(cases: HingeCases) -> None:
    """An example without which its class is gone counts as wrong: the offset goes to the other class."""
    problem = cases.optimum.problem
    if not problem.offset.is_free:
        return
    for sign in (1, -1):
        own = np.flatnonzero((problem.sign == sign) & (problem.cost > 0))
        if own.size == 1:
            which = np.flatnonzero((cases.group == own[0]) & (cases.new_cost == 0))
            cases.decide(which, -1, Reason.ALONE)


def _decide_wrong_already(cases: HingeCases) -> None:
    """Decide by rule M, which any best offset of the full fit may serve.

    But where the example's own cost does not count in the sum of all, its leaving changes no offset either.
    """
    optimum = cases.optimum
    every = np.arange(len(cases.group))
    problem, agreements = optimum.problem, optimum.agreements[cases.group]
    lost = problem.cost[cases.group] - cases.new_cost
    counts = lost > _COUNTS * problem.rows.n_rows * problem.class_costs.total
    for end in (optimum.b, *(optimum.interval if problem.offset.is_free else ())):
        if np.isfinite(end):
            at_end = agreements + problem.sign[cases.group] * (end - optimum.b)
            which = every[counts | (end == optimum.b)]
            highest = at_end[which] + cases.reach(which, optimum.gap)
            cases.decide_wrong(which, highest, Reason.WRONG_ALREADY)


def _decide_by_bound(cases: HingeCases) -> None:
    """Decide where the example's own dual moves the weights too little to change its sign.

    The left-out weights lie in the ball around the middle of w and w − αsx whose radius is √(gap′ − ¼‖αx‖²),
    gap′ = ½‖αx‖² + the gap of the full fit (Jaakkola and Haussler's bound, with room for that gap).
    """
    optimum = cases.optimum
    if optimum.problem.offset.is_free:
        return
    which = cases.undecided
    removed = np.maximum(optimum.alpha[cases.group[which]] - cases.new_cost[which], 0.0)
    norm = cases.reach(which, 0.5)  # √(2·½) times the row's own norm
    gap = optimum.gap + 1e-12 * optimum.objective
    shift = 0.5 * removed * norm + np.sqrt(0.25 * (removed * norm) ** 2 + gap) + np.sqrt(2.0 * gap)
    lowest = optimum.agreements[cases.group[which]] - norm * shift
    cases.decide_right(which, lowest, Reason.BOUND)


def _over_examples(cases: HingeCases, values: NDArray[Any], absent: Any) -> NDArray[Any]:
    """Return what is known of the cases for every example."""
    is_live = cases.of_example >= 0
    found = np.full(is_live.size, absent, dtype=values.dtype)
    found[is_live] = values[cases.of_example[is_live]]
    return found


def _record(problem: Problem, cases: HingeCases, status: Status) -> LeaveOneOut:
    optimum = cases.optimum
    in_fit = _over_examples(cases, optimum.agreements[cases.group], np.nan)
    return LeaveOneOut(
        errors=_over_examples(cases, cases.outcome < 0, False),
        codes=_over_examples(cases, cases.code, REASONS.index(Reason.ABSENT)),
        training_errors=int(np.count_nonzero(in_fit <= 0)),
        full_agreements=in_fit,
        certificate=optimum.solution.certificate,
        has_free_support_vector=not problem.offset.is_free or bool(optimum.is_free.any()),
        status=status if cases.undecided.size or status is Status.INTERRUPTED else Status.SOLVED,
        loss=problem.loss.name,
    )


def _with_exact(record: LeaveOneOut, cases: HingeCases) -> LeaveOneOut:
    known = np.where(cases.bound < np.inf, cases.agreement, np.nan)
    return replace(
        record,
        agreements=_over_examples(cases, known, np.nan),
        agreement_bounds=_over_examples(cases, cases.bound, np.inf),
        agreements_are="exact",
        agreements_by="from the optimum without each support vector",
    )


def _with_estimates(record: LeaveOneOut, estimated: Estimated) -> LeaveOneOut:
    return replace(
        record, agreements=estimated.agreements, agreements_are="estimated", agreements_by=estimated.by
    )


# ------------------------------------------------------------------------------------------------
# Rule N: an example whose dual the others can carry leaves the weights as they are; only b may move.
#
# The offsets that are best for fixed weights are an interval between two weighted order statistics of the
# breakpoints t = s − x·w, with or without the example. The interval is the same unless the example is
# itself at one of its ends; then it grows, and its middle moves away from the example.

_SAME = 1e-9  # relative: breakpoints nearer to an end of the interval than this may be that end


def decide_without_support(cases: HingeCases, token: StopToken) -> None:
    """Decide the cases whose dual fits into what their copies may carry: 0, if there are none."""
    optimum = cases.optimum
    which = np.flatnonzero(optimum.alpha[cases.group] <= cases.new_cost)
    if not optimum.problem.offset.is_free:
        _settle(cases, which, optimum.agreements[cases.group[which]])
        return
    scores = optimum.scores
    sign = optimum.problem.sign[cases.group[which]]
    at = sign - scores[cases.group[which]]
    touches = np.zeros(which.size, dtype=bool)
    for end in optimum.interval:
        if np.isfinite(end):
            touches |= np.abs(at - end) <= _SAME * (1.0 + np.abs(scores).max(initial=0.0) + abs(end))
    _settle(cases, which[~touches], optimum.agreements[cases.group[which[~touches]]])
    _settle(cases, which[touches], _with_new_offsets(cases, which[touches], scores, token))


def _with_new_offsets(cases: HingeCases, which: NDArray[np.intp], scores: Array, token: StopToken) -> Array:
    problem = cases.optimum.problem
    cost = problem.cost.copy()
    found = np.empty(which.size)
    for place, (group, rest) in enumerate(zip(cases.group[which], cases.new_cost[which], strict=True)):
        if token.poll():
            raise Stopped
        kept, cost[group] = cost[group], rest
        b = chosen_from(_core.hinge_offset(scores, problem.sign, cost))
        found[place] = problem.sign[group] * (scores[group] + b)
        cost[group] = kept
    return found


def _settle(cases: HingeCases, which: NDArray[np.intp], agreements: Array) -> None:
    cases.settle(which, agreements, cases.reach(which, cases.optimum.gap), Reason.NO_SUPPORT_VECTOR)


# ------------------------------------------------------------------------------------------------
# What becomes of left-out examples where rows are too many to follow each of them out.


def certify_signs(cases: HingeCases, which: NDArray[np.intp], token: StopToken, threads: int) -> None:
    """Decide cases that are right for certain without any fit, unless columns are too many for bands."""
    if cases.optimum.problem.rows.n_columns > MOST_COLUMNS:
        return
    decisions = np.zeros(which.size, dtype=np.int8)
    try:
        decide_by_certificates(
            cases.optimum, cases.group[which], cases.new_cost[which], token, threads, decisions
        )
    finally:
        cases.decide(which[decisions > 0], +1, Reason.CERTIFICATE)
    if token.stopped:
        raise Stopped


def solve_cases(
    cases: HingeCases,
    which: NDArray[np.intp],
    token: StopToken,
    threads: int,
    report: Callable[[int], Any],
    *,
    signs_only: bool,
) -> None:
    """Find the left-out agreements of cases, and decide what they decide."""
    found = LeftOutAgreements(cases.optimum, cases.group[which], cases.new_cost[which])
    try:
        solve_left_out(
            cases.optimum,
            found.groups,
            found.new_costs,
            token,
            threads,
            report,
            found,
            signs_only=signs_only,
        )
    finally:
        known = found.bounds < np.inf
        cases.settle(which[known], found.agreements[known], found.bounds[known], Reason.REFITTED)
    if token.stopped:
        raise Stopped
