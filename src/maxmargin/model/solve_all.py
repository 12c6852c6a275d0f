"""All problems of a fit on shared rows: one, or one for each class against the rest, side by side."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial

import numpy as np

from maxmargin._core import StopToken
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.errors import NoFiniteOptimum, RowsLost
from maxmargin.model.prepare import PreparedTargets
from maxmargin.model.settings import Settings
from maxmargin.rows.base import Helpers, Rows, RowVector, results_of
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.base import begin_together
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import run

__all__ = ["settle", "solve_all"]


def solve_all(
    rows: Rows,
    targets: PreparedTargets,
    settings: Settings,
    starts: Sequence[WarmStart | None] | None = None,
) -> list[Solution]:
    """Solve the one problem of two classes or of all, or that of each class against the rest.

    Ctrl-C ends all of them with their best points and the status INTERRUPTED. `RowsLost` carries a
    solution, or None, for each problem.
    """
    count = targets.n_problems
    if starts is None or len(starts) != count:
        starts = [None] * count
    threads = min(settings.threads, count)
    tokens = _Tokens(settings.limits.max_time, count, threads)
    is_interrupted = False
    if all(start is None for start in starts):
        try:
            starts = _shared_starts(rows, targets, settings, tokens.of_start())
        except KeyboardInterrupt:
            tokens.stop()  # the classes only certify θ = 0
            is_interrupted = True

    def solve(k: int) -> Solution:
        label = targets.names[k]
        problem = targets.problem(rows, k, settings.objective)
        solver, plan = choose(settings.solver, problem, settings.limits.tol, count)
        if label:
            plan = replace(plan, reason=f"{plan.reason}; one class against the rest, {count} times")
        try:
            return run(
                problem,
                solver,
                plan,
                settings.limits,
                token=tokens.next(),
                watch=settings.watch,
                announce=settings.announce if k == 0 else None,
                warm_start=start_on(rows, starts[k]),
                seed=settings.seed,
                label=label,
                checkpoint=None if settings.checkpoint is None else partial(settings.checkpoint, k),
            )
        except NoFiniteOptimum as error:
            raise (error.about(f"{label} against the rest") if label else error) from None

    if threads == 1:
        solutions = _one_by_one(solve, count, tokens)
    else:
        solutions = _side_by_side(solve, count, threads, tokens)
    return _all_interrupted(solutions) if is_interrupted else solutions


def _shared_starts(
    rows: Rows, targets: PreparedTargets, settings: Settings, token: StopToken
) -> Sequence[WarmStart | None]:
    """Return from where each class goes on, if its problems gain by taking the first steps together."""
    count = targets.n_problems
    nothing: list[WarmStart | None] = [None] * count
    if not begin_together(rows, count) or settings.objective.loss != "hinge":
        return nothing
    if isinstance(rows, MemoryRows):
        rows = rows.on_threads(settings.threads)  # no class is being fitted yet
    try:
        problems = targets.problems(rows, settings.objective)
        solver, _ = choose(settings.solver, problems[0], settings.limits.tol, count)
        if solver.name != "semismooth_newton":
            return nothing
        from maxmargin.solvers.shared_start import shared_start

        return shared_start(problems, settings.seed, token)
    except RowsLost as error:
        raise RowsLost(str(error), solutions=nothing) from error


class _Tokens:
    """One stop token a class: each gets its fair share of the time, and Ctrl-C stops all of them."""

    def __init__(self, max_time: float | None, count: int, threads: int) -> None:
        self._deadline = Deadline(max_time)
        self._waiting = count
        self._threads = threads
        self._given: list[StopToken] = []
        self._stopped = False
        self._lock = threading.Lock()

    def of_start(self) -> StopToken:
        """Return the token of what the classes do together, before any other is asked for."""
        return self._deadline.token(0.5)

    def next(self) -> StopToken:
        with self._lock:
            token = self._deadline.token(1.0 / math.ceil(self._waiting / self._threads))
            self._waiting -= 1
            self._given.append(token)
            if self._stopped:
                token.stop()
            return token

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for token in self._given:
                token.stop()


def _one_by_one(solve: Callable[[int], Solution], count: int, tokens: _Tokens) -> list[Solution]:
    solutions: list[Solution] = []
    for k in range(count):
        try:
            solutions.append(solve(k))
        except RowsLost as error:
            waiting = count - k - 1
            raise RowsLost(str(error), solutions=[*solutions, *error.solutions, *[None] * waiting]) from error
        if solutions[-1].status is Status.INTERRUPTED:
            tokens.stop()  # the remaining classes only certify θ = 0
    if any(solution.status is Status.INTERRUPTED for solution in solutions):
        return _all_interrupted(solutions)
    return solutions


def _all_interrupted(solutions: list[Solution]) -> list[Solution]:
    return [replace(solution, status=Status.INTERRUPTED) for solution in solutions]


def _side_by_side(
    solve: Callable[[int], Solution], count: int, threads: int, tokens: _Tokens
) -> list[Solution]:
    with Helpers(threads) as pool:
        futures: list[Future[Solution]] = [pool.submit(solve, k) for k in range(count)]
        try:
            return results_of(futures)
        except KeyboardInterrupt:
            tokens.stop()
            return _all_interrupted(results_of(futures))


# ------------------------------------------------------------------------------------------------
# The state of an earlier fit, for a fit whose rows are stored elsewhere: per-row arrays move there.


def start_on(rows: Rows, start: WarmStart | None) -> WarmStart | None:
    """Return a start whose per-row arrays are these rows' own; what cannot be moved is left out.

    Parameters
    ----------
    rows : Rows
    start : WarmStart or None
        Of a fit of the same rows, perhaps on disk, in memory or in another process.
    """
    return None if start is None else start.moved(lambda array: _moved(rows, array))


def _moved(rows: Rows, vector: RowVector) -> RowVector | None:
    if rows.holds(vector):
        return vector
    from maxmargin.rows.disk.rows import DiskRows
    from maxmargin.rows.disk.vectors import VectorFile

    if isinstance(vector, VectorFile) and vector.n_rows == rows.n_rows and rows.vectors_at_hand:
        return vector.read(slice(0, rows.n_rows))
    if isinstance(rows, DiskRows) and np.shape(vector)[:1] == (rows.n_rows,):
        return rows.keep(vector)
    return None


def settle(starts: Sequence[WarmStart | None]) -> None:
    """Have warm starts take no more room on disk than a later fit reads."""
    from maxmargin.rows.disk.vectors import VectorFile

    for start in starts:
        for array in start.arrays if start is not None else ():
            if isinstance(array, VectorFile):
                array.settle()
