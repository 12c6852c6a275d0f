"""The C with the fewest leave-one-out errors, exactly, without counting them at every C.

One tight fit of all rows gives certain bounds of the errors and an estimate. The C with the best estimate is
counted to the end, then the next one, and so on; a C whose lower bound exceeds a count that is known cannot
be the best and is not counted at all.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem import Problem
from maxmargin.results.leave_one_out import LeaveOneOut
from maxmargin.results.leave_one_out_search import ErrorCount
from maxmargin.results.solution import Progress, Solution, Status
from maxmargin.results.wording import short
from maxmargin.selection.leave_one_out_bounds import RowReach, count_bounds
from maxmargin.selection.warm_start import start_at_other_cost
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["Counting", "Finish", "LeaveOneOutSearcher"]

CUT_SHORT = (Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)

# The exact errors of some problems, one per class; the token ends it, and the label is for `watch`.
Finish = Callable[[list[Problem], StopToken, str], LeaveOneOut]


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
        max_time = self.how.max_time
        self._deadline = None if max_time is None else time.perf_counter() + max_time

    # ------------------------------------------------------------ bounds

    def look(self) -> None:
        """Fit all rows at every C, in increasing order, and note what each fit tells."""
        offset = self.problems[0].offset
        reach = RowReach(self.problems[0].rows, offset.kind == "free", offset.square)
        last: tuple[float, list[Solution]] | None = None
        for number in np.argsort(self.Cs, kind="stable"):
            began, C = time.perf_counter(), float(self.Cs[number])
            problems = self._problems(C)
            solutions = self._fit(problems, C, last)
            if self.status is not Status.SOLVED:
                return
            last = (C, solutions)
            try:
                count = count_bounds(problems, solutions, self.codes, reach, self._token(), began=began)
            except Stopped:
                self.status = Status.MAX_TIME
            except KeyboardInterrupt:
                self.status = Status.INTERRUPTED
            if self.status is not Status.SOLVED:
                return
            self.counts[number], self.solutions[int(number)] = count, solutions

    def _problems(self, C: float) -> list[Problem]:
        return [replace(problem, cost=C * problem.cost) for problem in self.problems]

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
                token=self._token(),
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

    def _token(self) -> StopToken:
        left = None if self._deadline is None else max(self._deadline - time.perf_counter(), 0.0)
        return StopToken(left, threading.current_thread() is threading.main_thread())

    # ------------------------------------------------------------ exact counts

    def count(self, number: int) -> ErrorCount:
        """Return the exact number of errors at one C, or better bounds where the time is over."""
        known = self._seen(number)
        if known.record is not None or self.status is not Status.SOLVED:
            return known
        began, C = time.perf_counter(), float(self.Cs[number])
        record = self.finish(self._problems(C), self._token(), f"C = {short(C)}")
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
