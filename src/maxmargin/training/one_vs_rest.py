"""One problem per class on shared rows, solved side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.results.solution import Solution, Status
from maxmargin.rows import Rows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import run
from maxmargin.training.costs import Targets
from maxmargin.training.settings import Settings

__all__ = ["solve_all"]


def solve_all(
    rows: Rows, targets: Targets, settings: Settings, memories: list[Any] | None = None
) -> list[Solution]:
    """Solve for every class against the rest; two classes make one problem, with the second positive.

    Ctrl-C ends all of them with what they have; the solutions then say INTERRUPTED.
    """
    positives = targets.positives
    if memories is None or len(memories) != len(positives):
        memories = [None] * len(positives)
    on_main = threading.current_thread() is threading.main_thread()
    token = StopToken(settings.limits.max_time, on_main)

    def solve(k: int) -> Solution:
        positive = positives[k]
        label = "" if len(positives) == 1 else f"class {targets.classes[positive]!s}"
        problem = Problem(rows, targets.sign(positive), targets.cost, settings.loss, settings.offset)
        solver, plan = choose(settings.solver, problem)
        if label:
            plan = replace(plan, reason=f"{plan.reason}; one class against the rest, {len(positives)} times")
        if settings.announce is not None and k == 0:
            settings.announce(plan)
        return run(
            problem,
            solver,
            plan,
            settings.limits,
            token=token,
            watch=settings.watch,
            memory=memories[k],
            seed=settings.seed,
            label=label,
        )

    if len(positives) == 1 or settings.threads == 1:
        solutions = []
        for k in range(len(positives)):
            solutions.append(solve(k))
            if solutions[-1].status is Status.INTERRUPTED:
                token.stop()  # the classes that are left only certify what doing nothing is worth
        return _mark_interrupted(solutions)
    return _side_by_side(solve, len(positives), settings.threads, token)


def _side_by_side(
    solve: Callable[[int], Solution], count: int, threads: int, token: StopToken
) -> list[Solution]:
    with ThreadPoolExecutor(min(threads, count), thread_name_prefix="maxmargin") as pool:
        futures: list[Future[Solution]] = [pool.submit(solve, k) for k in range(count)]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            token.stop()
            return [replace(future.result(), status=Status.INTERRUPTED) for future in futures]


def _mark_interrupted(solutions: list[Solution]) -> list[Solution]:
    if not any(solution.status is Status.INTERRUPTED for solution in solutions):
        return solutions
    return [replace(solution, status=Status.INTERRUPTED) for solution in solutions]
