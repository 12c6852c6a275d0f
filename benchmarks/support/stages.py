"""Where the processor time of leave-one-out goes: its steps, watched from outside while it runs.

A step that the main thread takes alone, or for which others only work at its bidding, is measured by the
clock of the whole process; one that several threads take at the same time by the clock of its own thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import maxmargin.selection.leave_one_out.hinge as hinge_left_out
import maxmargin.selection.leave_one_out.refits as refits_of_hinge
from maxmargin.selection.leave_one_out.removals import NearSystem

__all__ = ["Stages", "watched_stages"]

Clock = Callable[[], float]

_ALL_SOLVES = "all solves"
_ORDER = (
    "fit to the optimum",
    "rules",
    "certificates",
    "solves on bands",
    "near rows",
    "removals",
    "proofs",
    "warm refits",
    "last refits",
)
_SHOWN = 1e-4  # seconds: a step that takes less has done nothing


class Stages:
    """Seconds of processor time, and how often, by the name of the step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, name: str, seconds: float, count: int) -> None:
        with self._lock:
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            self.counts[name] = self.counts.get(name, 0) + count

    def lines(self) -> list[dict[str, Any]]:
        """Return the steps in their order; what no other step claims of the solves is solved on bands."""
        seconds, counts = dict(self.seconds), dict(self.counts)
        parts = sum(seconds.get(name, 0.0) for name in ("near rows", "removals", "proofs", "warm refits"))
        rest = seconds.pop(_ALL_SOLVES, 0.0) - parts
        if "near rows" not in seconds and rest > 0:
            seconds["solves on bands"], counts["solves on bands"] = rest, counts[_ALL_SOLVES]
        shown = [name for name in _ORDER if seconds.get(name, 0.0) > _SHOWN]
        return [{"stage": name, "processor": seconds[name], "count": counts[name]} for name in shown]


@contextmanager
def watched_stages() -> Iterator[Stages]:
    """Watch the steps of every hinge leave-one-out that runs meanwhile."""
    stages = Stages()
    process, thread = time.process_time, time.thread_time

    def watch(stage: str, work: Callable[..., Any], clock: Clock, count: Callable[..., int]) -> Any:
        def run(*given: Any, **named: Any) -> Any:
            began = clock()
            try:
                return work(*given, **named)
            finally:
                stages.add(stage, clock() - began, count(*given))

        return run

    def refits(*given: Any) -> Iterator[Any]:
        steps = solve_again(*given)
        stages.add("warm refits", 0.0, 1)
        step = watch("warm refits", lambda: next(steps, None), thread, lambda: 0)
        while (found := step()) is not None:
            yield found

    solve_again = refits_of_hinge.solve_again
    steps = (
        (hinge_left_out, "find_optimum", "fit to the optimum", process, lambda *given: 1),
        (hinge_left_out._Work, "_use_rules", "rules", process, lambda work: len(work.cases.group)),
        (hinge_left_out, "certify_signs", "certificates", process, lambda cases, which, *_: which.size),
        (hinge_left_out, "solve_cases", _ALL_SOLVES, process, lambda cases, which, *_: which.size),
        (NearSystem, "make", "near rows", process, lambda system, *_: system.n_near),
        (NearSystem, "leave_out", "removals", thread, lambda system, rows, *_: rows.size),
        (NearSystem, "prove", "proofs", thread, lambda system, rows, *_: rows.size),
        (hinge_left_out, "refit", "last refits", process, lambda cases, which, *_: which.size),
    )
    with ExitStack() as stack:
        for owner, name, stage, clock, count in steps:
            stack.enter_context(patch.object(owner, name, watch(stage, getattr(owner, name), clock, count)))
        stack.enter_context(patch.object(refits_of_hinge, "solve_again", refits))
        yield stages
