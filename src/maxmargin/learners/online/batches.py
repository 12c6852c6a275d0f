"""Online learners over batches: pass after pass, each batch as one call of `learn`.

What `learn` decides from all rows (a pass without a mistake, the best weights so far) is decided here between
two passes, from one more reading of the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput
from maxmargin.io.batches import in_batch
from maxmargin.learners.online.learner import (
    CLEAN_PASS,
    BestWeights,
    Limits,
    Outcome,
    Walk,
    agreements,
    draws_made,
    learn,
    passes_made,
    updates_made,
)
from maxmargin.learners.online.method import OnlineMethod
from maxmargin.rows.base import Array
from maxmargin.rows.memory import MemoryRows

__all__ = ["Batch", "BatchCourse", "Measured", "measured", "walk_over"]


READ_ONCE = "the batches came to an end, and they can be read only once"


class Batch(NamedTuple):
    """Some rows, and their signs in each of the problems."""

    number: int
    rows: MemoryRows
    signs: list[NDArray[np.int8]]


@dataclass(frozen=True)
class Measured:
    """What all rows say about some weights."""

    risk: float
    smallest: float  # agreement
    n_errors: int
    n_rows: int


@dataclass(eq=False)
class BatchCourse:
    """One problem on its way over the batches."""

    method: OnlineMethod
    limits: Limits
    walk: Walk | None = None  # from the first batch on, which says how many columns there are
    reason: str = ""
    converged: bool = False
    interrupted: bool = False
    n_draws: int = 0
    n_updates: int = 0
    n_passes: int = 0
    best: BestWeights = field(default_factory=BestWeights)
    _draws_before_pass: int = 0
    _updates_before_pass: int = 0
    _updated: list[NDArray[Any]] = field(default_factory=lambda: [np.empty(0, dtype=np.uint32)])

    def __post_init__(self) -> None:
        self.best.min_improvement = self.limits.min_improvement

    def begin_pass(self) -> None:
        """Count a pass, unless all were made."""
        most = self.limits.max_passes
        if most is not None and self.n_passes == most:
            self.end(passes_made(most))
        if not self.reason:
            self.n_passes += 1
            self._draws_before_pass, self._updates_before_pass = self.n_draws, self.n_updates

    def take(self, batch: Batch, sign: NDArray[np.int8], first_row: int, token: StopToken) -> None:
        """Learn from a batch whose first row is so far from the beginning."""
        if self.walk is None:
            self.walk = Walk(self.method, batch.rows.n_columns)
        draws, updates = self.limits.max_draws, self.limits.max_updates
        limits = Limits(
            max_passes=1,
            max_draws=None if draws is None else draws - self.n_draws,
            max_updates=None if updates is None else updates - self.n_updates,
            lists_updates=self.limits.lists_updates,
        )
        found = learn(self.walk, batch.rows, sign, limits, token)
        self.n_draws += found.n_draws
        self.n_updates += found.n_updates
        if found.updated_rows is not None:
            rows = found.updated_rows.astype(np.int64) + first_row
            fits = first_row + batch.rows.n_rows <= np.iinfo(np.uint32).max
            self._updated.append(rows.astype(np.uint32) if fits else rows)
        if found.interrupted:
            self.interrupt()
        elif draws is not None and self.n_draws >= draws:
            self.end(draws_made(draws))
        elif updates is not None and self.n_updates >= updates:
            self.end(updates_made(updates))

    def wants_measuring(self, n_rows: int) -> bool:
        """Whether only all rows can tell what this pass was worth."""
        is_unsure = self._is_clean(n_rows) and self.method.arrangement == "drawn"  # some rows were not drawn
        return self._draws_in_pass() > 0 and (self.limits.keeps_best or is_unsure)

    def look_back(self, n_rows: int, found: Measured | None) -> None:
        """Draw the conclusions of a pass over so many rows; `found` is what all rows say of its weights."""
        if found is not None and self.limits.keeps_best:
            reason = self.best.offer(self.last_weights(), found.risk)
            if reason and self._draws_in_pass() == n_rows:
                self.reason, self.converged = reason, True
        if self._is_clean(n_rows) and (found is None or found.n_errors == 0):
            self.end(CLEAN_PASS, converged=True)

    def _draws_in_pass(self) -> int:
        return self.n_draws - self._draws_before_pass

    def _is_clean(self, n_rows: int) -> bool:
        """Whether it ends when a pass has no mistake, and this one had none."""
        is_whole = self._draws_in_pass() == n_rows
        return self.limits.ends_when_clean and is_whole and self.n_updates == self._updates_before_pass

    def end(self, reason: str, *, converged: bool = False) -> None:
        """End, if it has not ended before."""
        if not self.reason:
            self.reason, self.converged = reason, converged

    def interrupt(self) -> None:
        """End because of Ctrl-C."""
        self.interrupted = True
        self.end("it was interrupted")

    def last_weights(self) -> tuple[Array, float]:
        """Return θ and θ₀ after the last step."""
        assert self.walk is not None
        return self.walk.weights()

    def weights(self) -> tuple[Array, float]:
        """Return the answer: the best weights, or the last, or their average."""
        assert self.walk is not None
        return self.best.weights or self.walk.weights(averaged=self.method.averaged)

    def outcome(self) -> Outcome:
        """Return what came of it, as `learn` would."""
        theta, offset = self.weights()
        return Outcome(
            coef=theta,
            intercept=offset,
            n_draws=self.n_draws,
            n_updates=self.n_updates,
            n_passes=self.n_passes,
            updated_rows=np.concatenate(self._updated) if self.limits.lists_updates else None,
            converged=self.converged,
            reason=self.reason,
            best_risk=None if self.best.weights is None else self.best.risk,
            trace=None,
            interrupted=self.interrupted,
        )


Begin = Callable[[], Iterator[Batch]]


def walk_over(begin: Begin, courses: list[BatchCourse], *, repeats: bool, token: StopToken) -> int:
    """Let the courses go over the batches until all have ended; return how many rows a pass has.

    Ctrl-C ends them with what there is, also where it comes while a batch is made.
    """
    n_rows = 0
    try:
        while True:
            for course in courses:
                course.begin_pass()
            if all(course.reason for course in courses):
                return n_rows
            seen = _one_pass(begin, courses, token)
            n_rows = max(n_rows, seen)
            _look_back(begin, courses, seen)
            if not repeats:
                for course in courses:
                    course.end(READ_ONCE if course.limits.max_passes is None else passes_made(1))
    except KeyboardInterrupt:
        if courses[0].walk is None:
            raise
        for course in courses:
            course.interrupt()
        return n_rows


def _one_pass(begin: Begin, courses: list[BatchCourse], token: StopToken) -> int:
    """Make one pass; return how many rows there were, as far as anybody went."""
    seen = 0
    for batch in begin():
        with in_batch(batch.number):
            for course, sign in zip(courses, batch.signs, strict=True):
                if not course.reason:
                    course.take(batch, sign, seen, token)
                if course.interrupted:
                    raise KeyboardInterrupt
        seen += batch.rows.n_rows
        if all(course.reason for course in courses):
            break
    if seen == 0:
        raise InvalidInput(
            "the batches gave no row. What can be read only once, such as a generator, is empty the second "
            "time: hand in something that starts again, such as a function that returns a new generator, or "
            "give classes=… and max_passes=1."
        )
    return seen


def _look_back(begin: Begin, courses: list[BatchCourse], seen: int) -> None:
    """Decide what takes all rows: which weights are best, and whether a clean pass leaves no error."""
    points = {k: course.last_weights() for k, course in enumerate(courses) if course.wants_measuring(seen)}
    found = measured(begin, courses[0].method, points)
    for k, course in enumerate(courses):
        course.look_back(seen, found.get(k))


def measured(
    begin: Begin, method: OnlineMethod, points: dict[int, tuple[Array, float]]
) -> dict[int, Measured]:
    """Read the batches once more; return what all rows say about some weights, by the problem's number."""
    found: dict[int, Measured] = {}
    for batch in begin() if points else ():
        for k, (theta, offset) in points.items():
            agreed = agreements(batch.rows, batch.signs[k], theta, offset)
            before = found.get(k, Measured(0.0, np.inf, 0, 0))
            n_rows = before.n_rows + len(agreed)
            # A running mean: of one batch alone it is that batch's mean to the last bit.
            shift = (method.risk(agreed, theta) - before.risk) * (len(agreed) / n_rows)
            found[k] = Measured(
                risk=before.risk + shift,
                smallest=min(before.smallest, float(agreed.min())),
                n_errors=before.n_errors + int(np.count_nonzero(agreed <= 0)),
                n_rows=n_rows,
            )
    return found
