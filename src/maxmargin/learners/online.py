"""The one loop of all online learners: passes, limits, the best weights so far, the trace.

A walk goes over the examples in pieces: to the end of a pass, to the next measurement of the risk, or to a
limit, whichever comes first. Between two pieces Python looks at what was found; the steps themselves are made
by the compiled core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.best_weights import BestWeights
from maxmargin.learners.walk import Examples, Segment, Steps, Walk, WalkReplay
from maxmargin.results.trace import Trace
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.kernels import Scores

__all__ = [
    "CLEAN_PASS",
    "Limits",
    "Outcome",
    "agreements",
    "draws_made",
    "learn",
    "passes_made",
    "updates_made",
]

_LONGEST_TRACE = 20_000_000  # steps: 420 MB
_NO_LIMIT = 2**62

CLEAN_PASS = "a whole pass without a mistake: the training error is 0"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to end, and what to keep on the way.

    Attributes
    ----------
    max_passes, max_draws, max_updates : int or None
        The most passes over the rows, examples looked at, and examples that move the weights.
    ends_when_clean : bool
        Whether a training error of 0 ends it.
    evaluate_every : int or None
        Examples between two measurements of the risk over all rows; None measures none.
    keeps_best : bool
        Whether the answer is the weights with the smallest risk measured; a risk of 0 then ends it.
    min_improvement : float or None
        Ends it when the best risk fell by less from one measurement to the next.
    lists_updates : bool
        Whether to list the rows that moved the weights.
    traces : bool
    """

    max_passes: int | None = None
    max_draws: int | None = None
    max_updates: int | None = None
    ends_when_clean: bool = False
    evaluate_every: int | None = None
    keeps_best: bool = False
    min_improvement: float | None = None
    lists_updates: bool = False
    traces: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of it.

    Attributes
    ----------
    coef, intercept : the answer: the last weights, the best or the average
    n_draws, n_updates, n_passes : int
        Made by this call; a pass that was begun counts.
    updated_rows : array or None
    converged : bool
        Whether it ended because there was nothing left to do.
    reason : str
        Why it ended.
    best_risk : float or None
    trace : Trace or None
    interrupted : bool
    """

    coef: Array
    intercept: float
    n_draws: int
    n_updates: int
    n_passes: int
    updated_rows: NDArray[np.uint32] | None
    converged: bool
    reason: str
    best_risk: float | None
    trace: Trace | None
    interrupted: bool = False


def learn(walk: Walk, rows: MemoryRows, sign: NDArray[np.int8], limits: Limits, token: StopToken) -> Outcome:
    """Walk on until a limit is reached or there is nothing left to do; Ctrl-C ends it with what there is."""
    examples = Examples(rows, sign, walk.method.norms(rows))
    course = _Course(walk, examples, limits, token)
    interrupted = False
    try:
        while not course.reason:
            course.go_on()
        course.measure_the_end()
    except KeyboardInterrupt:
        interrupted = True
        course.reason = "it was interrupted"
    return course.outcome(interrupted)


def passes_made(most: int) -> str:
    """Say that the passes were made."""
    return f"it made the {most:,} pass{'es' if most > 1 else ''} asked for"


def draws_made(most: int) -> str:
    """Say that so many examples were looked at."""
    return f"it looked at the {most:,} examples asked for"


def updates_made(most: int) -> str:
    """Say that so many updates were made."""
    return f"it made the {most:,} update{'s' if most > 1 else ''} asked for"


def agreements(rows: MemoryRows, sign: NDArray[np.int8], theta: Array, offset: float) -> Array:
    """Return y(θ·x + θ₀) of all rows."""
    scores = rows.zeros()
    rows.reduce(Scores(theta), scores)
    scores += offset
    scores *= sign
    return np.asarray(scores)


@dataclass(eq=False)
class _Course:
    """One call of `learn` on its way."""

    walk: Walk
    examples: Examples
    limits: Limits
    token: StopToken
    reason: str = ""
    converged: bool = False
    position: int = 0  # in the pass
    n_passes: int = 0  # begun
    updates_before_pass: int = 0
    # Never empty: a Ctrl-C may come before the first piece.
    pieces: list[Steps] = field(default_factory=lambda: [Steps.room(0)])
    updated: list[NDArray[np.uint32]] = field(default_factory=lambda: [np.empty(0, dtype=np.uint32)])
    evaluated: list[int] = field(default_factory=list)
    risks: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.best = BestWeights(self.limits.min_improvement)
        self.first_visit, self.first_update = self.walk.visits, self.walk.updates
        rows = self.examples.rows
        assert isinstance(rows, MemoryRows)
        self.rows = rows
        self.replay = WalkReplay(rows.X, self.examples.sign, self.examples.norm2)

    # ------------------------------------------------------------ one piece after the other

    def go_on(self) -> None:
        """Make the next piece, then look at what was found."""
        if self.position == 0 and not self._begin_pass():
            return
        self._make_piece()
        if self.limits.evaluate_every and self._draws() % self.limits.evaluate_every == 0:
            self._evaluate()
        if self.position == self.rows.n_rows:
            self._end_pass()
        self._look_at_limits()

    def _draws(self) -> int:
        return self.walk.visits - self.first_visit

    def _updates(self) -> int:
        return self.walk.updates - self.first_update

    def _begin_pass(self) -> bool:
        most = self.limits.max_passes
        if most is not None and self.n_passes == most:
            self._end(passes_made(most))
            return False
        self.n_passes += 1
        self.walk.n_passes += 1
        self.updates_before_pass = self.walk.updates
        return True

    def _make_piece(self) -> None:
        limits, draws = self.limits, self._draws()
        visits = self.rows.n_rows - self.position
        if limits.evaluate_every:
            visits = min(visits, limits.evaluate_every - draws % limits.evaluate_every)
        if limits.max_draws is not None:
            visits = min(visits, limits.max_draws - draws)
        most = _NO_LIMIT if limits.max_updates is None else limits.max_updates - self._updates()
        segment = Segment(self.walk.n_passes - 1, self.position, visits)
        listed = np.empty(visits, dtype=np.uint32) if limits.lists_updates else None
        steps = self._room(segment) if limits.traces else None
        before = self.walk.visits, self.walk.updates
        try:
            self.walk.sweep(
                self.examples, segment, self.token, most_updates=most, updated_rows=listed, steps=steps
            )
        finally:  # an interrupted piece counts as far as it came
            made = self.walk.visits - before[0]
            self.position += made
            if listed is not None:
                self.updated.append(listed[: self.walk.updates - before[1]].copy())
            if steps is not None:
                self.pieces.append(steps.first(made))

    def _room(self, segment: Segment) -> Steps:
        """Return arrays for the steps of a piece, and note where it starts."""
        if self._draws() + segment.visits > _LONGEST_TRACE:
            raise InvalidParameter(
                f"a trace holds at most {_LONGEST_TRACE:,} steps, and this fit makes more: set max_passes or "
                "max_updates lower, take fewer rows, or fit with trace=False"
            )
        self.replay.note(self._draws(), segment, self.walk)
        return Steps.room(segment.visits)

    def _end_pass(self) -> None:
        self.position = 0
        if not self.limits.ends_when_clean or self.walk.updates > self.updates_before_pass:
            return
        # A pass over all rows has seen them all under the same weights; draws at random may have missed some.
        if self.walk.method.arrangement != "drawn" or self._has_no_error():
            self._end(CLEAN_PASS, converged=True)

    def _has_no_error(self) -> bool:
        return bool((agreements(self.rows, self.examples.sign, *self.walk.weights()) > 0).all())

    def _look_at_limits(self) -> None:
        draws, updates = self.limits.max_draws, self.limits.max_updates
        if draws is not None and self._draws() >= draws:
            self._end(draws_made(draws))
        elif updates is not None and self._updates() >= updates:
            self._end(updates_made(updates))

    def _end(self, reason: str, *, converged: bool = False) -> None:
        if not self.reason:
            self.reason, self.converged = reason, converged

    # ------------------------------------------------------------ the risk over all rows

    def _evaluate(self) -> None:
        theta, offset = self.walk.weights()
        risk = self.walk.method.risk(agreements(self.rows, self.examples.sign, theta, offset), theta)
        self.evaluated.append(self.walk.visits)
        self.risks.append(risk)
        reason = self.best.offer((theta, offset), risk) if self.limits.keeps_best else ""
        if reason:
            self._end(reason, converged=True)

    def measure_the_end(self) -> None:
        """Measure the last weights too, where risks are measured at all."""
        if self.limits.evaluate_every and self.evaluated[-1:] != [self.walk.visits]:
            self._evaluate()

    # ------------------------------------------------------------ the answer

    def outcome(self, interrupted: bool) -> Outcome:
        averaged = self.walk.method.averaged
        theta, offset = self.best.weights or self.walk.weights(averaged=averaged)
        if not (np.isfinite(theta).all() and math.isfinite(offset)):
            raise InvalidInput(
                "the weights overflow: the steps are too long for these rows. Scale the columns, say to the "
                "range [-1, 1], or take smaller steps."
            )
        return Outcome(
            coef=theta,
            intercept=offset,
            n_draws=self._draws(),
            n_updates=self._updates(),
            n_passes=self.n_passes,
            updated_rows=np.concatenate(self.updated) if self.limits.lists_updates else None,
            converged=self.converged,
            reason=self.reason,
            best_risk=None if self.best.weights is None else self.best.risk,
            trace=self._trace() if self.limits.traces else None,
            interrupted=interrupted,
        )

    def _trace(self) -> Trace:
        columns = Steps(*(np.concatenate(column) for column in zip(*self.pieces, strict=True)))
        return Trace(
            method=self.walk.method,
            example=columns.example,
            agreement=columns.agreement + 0.0,  # −0 reads like a number below 0
            updated=columns.updated.view(np.bool_),
            step=columns.step,
            replay=self.replay,
            first=self.first_visit + 1,
            evaluated=np.array(self.evaluated, dtype=np.int64),
            risk=np.array(self.risks),
            reason=self.reason,
        )
