"""The C with the fewest leave-one-out errors, exactly, without counting them at every C.

One tight fit of all rows gives certain bounds of the errors and an estimate. The C with the best estimate is
counted to the end, then the next one, and so on; a C whose lower bound exceeds a count that is known cannot
be the best and is not counted at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress, Solution, Status
from maxmargin.deadline import Deadline
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Array, Rows
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.folds.held_out import is_right
from maxmargin.selection.leave_one_out.cases import rounding_of_agreements
from maxmargin.selection.leave_one_out.estimates import estimate_agreements
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.leave_one_out.search_record import ErrorCount
from maxmargin.selection.warm_start import start_at_other_cost
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["Counting", "LeaveOneOutSearcher"]


CUT_SHORT = (Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)

# The exact errors of some problems, one per class, from their solutions; the token ends it, and the label is
# for `watch`.
Finish = Callable[[list[Problem], list[Solution], StopToken, str], LeaveOneOut]


@dataclass(frozen=True)
class Counting:
    """How to search: the solver, the tolerance of the fits, a deadline for all of it, seed and `watch`."""

    solver: str = "auto"
    tol: float = 1e-12
    max_time: float | None = None
    seed: int = 0
    watch: Callable[[Progress], Any] | None = None


@dataclass
class LeaveOneOutSearcher:
    """The state of a search.

    Attributes
    ----------
    problems : list of Problem
        One per class, at C = 1.
    codes : array
        The class of each row, by its number.
    Cs : array
    how : Counting
    finish : Finish
    counts : list of ErrorCount or None
        What is known at each C; None before it has been looked at.
    solutions : dict from number of C to list of Solution
        The fits of all rows.
    status : Status
        SOLVED, or what cut the search short.
    """

    problems: list[Problem]
    codes: NDArray[np.integer[Any]]
    Cs: NDArray[np.float64]
    how: Counting
    finish: Finish
    counts: list[ErrorCount | None] = field(init=False)
    solutions: dict[int, list[Solution]] = field(default_factory=dict)
    status: Status = Status.SOLVED

    def __post_init__(self) -> None:
        self.counts = [None] * len(self.Cs)
        self._deadline = Deadline(self.how.max_time)

    # ------------------------------------------------------------ bounds

    def look(self) -> None:
        """Fit all rows at every C, in increasing order, and note what each fit tells."""
        offset = self.problems[0].offset
        reach = RowReach(self.problems[0].rows, offset.is_free, offset.square)
        last: tuple[float, list[Solution]] | None = None
        for number in np.argsort(self.Cs, kind="stable"):
            began, C = time.perf_counter(), float(self.Cs[number])
            problems = self._problems(C)
            solutions = self._fit(problems, C, last)
            if self.status is not Status.SOLVED:
                return
            last = (C, solutions)
            try:
                count = count_bounds(
                    problems, solutions, self.codes, reach, self._deadline.token(), began=began
                )
            except Stopped:
                self.status = Status.MAX_TIME
            except KeyboardInterrupt:
                self.status = Status.INTERRUPTED
            if self.status is not Status.SOLVED:
                return
            self.counts[number], self.solutions[int(number)] = count, solutions

    def _problems(self, C: float) -> list[Problem]:
        return [problem.with_cost(C * problem.cost) for problem in self.problems]

    def _fit(
        self, problems: list[Problem], C: float, last: tuple[float, list[Solution]] | None
    ) -> list[Solution]:
        solutions: list[Solution] = []
        for k, problem in enumerate(problems):
            solver, plan = choose(self.how.solver, problem, self.how.tol)
            found = run(
                problem,
                solver,
                plan,
                Limits(self.how.tol),
                token=self._deadline.token(),
                watch=self.how.watch,
                memory=None if last is None else start_at_other_cost(last[1][k], C / last[0]),
                seed=self.how.seed,
                label=_label(C, k, len(problems)),
            )
            if found.status in CUT_SHORT:
                self.status = found.status
                return solutions
            solutions.append(replace(found, memory=None))
        return solutions

    # ------------------------------------------------------------ exact counts

    def count(self, number: int) -> ErrorCount:
        """Return the exact number of errors at one C, or better bounds where the time is over."""
        known = self._seen(number)
        if known.record is not None or self.status is not Status.SOLVED:
            return known
        began, C = time.perf_counter(), float(self.Cs[number])
        known_fits = self.solutions[number]
        record = self.finish(self._problems(C), known_fits, self._deadline.token(), f"C = {short(C)}")
        if record.status in CUT_SHORT:
            self.status = record.status
        most = record.n_errors + record.n_undecided
        found = replace(
            known,
            lower=max(known.lower, record.n_errors),
            upper=min(known.upper, most),
            record=record,
            finish_seconds=time.perf_counter() - began,
        )
        self.counts[number] = found
        return found

    def fewest_errors(self) -> int:
        """Return the place of the C with the fewest errors, the smallest of several; of what is known."""
        looked_at = [number for number, count in enumerate(self.counts) if count is not None]
        if not looked_at:
            return int(np.argmin(self.Cs))
        order = sorted(looked_at, key=lambda number: (self._seen(number).estimated, self.Cs[number]))
        best: tuple[int, float, int] | None = None
        for number in order:
            C = float(self.Cs[number])
            if best is not None and (self._seen(number).lower, C) > best[:2]:
                continue
            found = self.count(number)
            is_counted = found.is_exact or self.status is Status.SOLVED  # rounding may leave a few open
            if is_counted and (best is None or (found.upper, C) < best[:2]):
                best = (found.upper, C, number)
        # Where time was over before anything was counted, the estimate is the best there is.
        return best[2] if best is not None else order[0]

    def within_one_standard_error(self, best: int, n_examples: int) -> int:
        """Return the place of the smallest C with no more errors than the fewest and one standard error."""
        fewest = self._seen(best).upper
        share = fewest / n_examples
        most = fewest + float(np.sqrt(n_examples * share * (1.0 - share)))
        for number in np.argsort(self.Cs, kind="stable"):
            known = self.counts[number]
            if self.Cs[number] >= self.Cs[best]:
                return best
            if known is None or known.lower > most:
                continue
            if self.count(int(number)).upper <= most:
                return int(number)
        return best

    def _seen(self, number: int) -> ErrorCount:
        count = self.counts[number]
        assert count is not None
        return count


def _label(C: float, k: int, count: int) -> str:
    return f"C = {short(C)}" + (f", class {k + 1} of {count}" if count > 1 else "")


# ------------------------------------------------------------------------------------------------
# What one fit of all rows tells about leave-one-out: certain bounds of the errors, and an estimate.
#
# A row that is wrong in the fit of all rows gets no better when it is left out (the agreement grows with a
# row's own cost), and with several classes neither does its own class against the others. A row of the
# hinge beyond the margin pulls at nothing, so leaving it out changes nothing. Both are asked for with room
# for how far the fit may be from the optimum.


class RowReach:
    """How far scores of rows can be from those at the optimum: ‖w − w*‖ ≤ √(2·gap), times this.

    A free offset follows the weights: shifting every score shifts it as much, and it never moves further
    than the largest change of a score. Then only distances from the mean row count.
    """

    def __init__(self, rows: Rows, has_free_offset: bool, offset_square: float) -> None:
        norm2 = rows.norms()[0]
        self._largest = 0.0
        if has_free_offset:
            mean = rows.reduce(Combine(rows.n_columns), np.full(rows.n_rows, 1.0 / rows.n_rows))
            along: Array = rows.zeros()
            rows.reduce(Scores(mean), along)
            rounding = 1e-14 * float(norm2.max(initial=0.0))
            norm2 = np.maximum(norm2 - 2.0 * along + float((mean * mean).sum()), 0.0) + rounding
            self._largest = float(np.sqrt(norm2.max(initial=0.0)))
        self._norms = np.sqrt(norm2 + offset_square)

    def __call__(self, gap: float) -> Array:
        return np.asarray(np.sqrt(2.0 * gap) * (self._norms + self._largest))


def count_bounds(
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    codes: NDArray[np.integer],
    reach: RowReach,
    token: StopToken,
    *,
    began: float,
) -> ErrorCount:
    """Return what tight fits of all rows tell about leave-one-out.

    Parameters
    ----------
    problems, solutions : one per class
    codes : array
        The class of each row, by its number.
    reach : RowReach
    token : StopToken
    began : float
        When the work on this C began, by the performance counter.
    """
    live = problems[0].cost > 0
    shape = (len(live), len(problems))
    scores, estimated, outer, inner = (np.empty(shape) for _ in range(4))
    for k, (problem, found) in enumerate(zip(problems, solutions, strict=True)):
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(found.coef), z, token=token)
        scores[:, k] = z + found.intercept
        room = reach(found.certificate.gap)
        room += rounding_of_agreements(problem, found.coef, found.intercept)
        low, high = (_finite(end, found.intercept) for end in found.intercept_interval)
        # The agreements' ends over all best offsets: the smallest, and at least how far it is from there.
        least = problem.sign * z + np.where(problem.sign > 0, low, -high)
        outer[:, k], inner[:, k] = problem.sign * (least + room), least - room
        agreements = estimate_agreements(problem, found.coef, found.intercept, found.alpha, token).agreements
        estimated[:, k] = problem.sign * agreements
    codes = np.asarray(codes)[live]
    wrong = ~is_right(outer[live], codes)
    is_hinge = problems[0].loss.name in ("hinge", "squared_hinge")
    right = (inner[live] > 1).all(axis=1) if is_hinge else np.zeros_like(wrong)
    n_live = int(np.count_nonzero(live))
    return ErrorCount(
        lower=int(np.count_nonzero(wrong)),
        upper=n_live - int(np.count_nonzero(right & ~wrong)),
        estimated=int(np.count_nonzero(~is_right(estimated[live], codes))),
        training_errors=int(np.count_nonzero(~is_right(scores[live], codes))),
        scores=estimated,
        certificate=max((one.certificate for one in solutions), key=lambda proof: proof.relative_gap),
        seconds=time.perf_counter() - began,
    )


def _finite(end: float, otherwise: float) -> float:
    return end if np.isfinite(end) else otherwise
