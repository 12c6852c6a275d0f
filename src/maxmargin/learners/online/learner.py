"""The one loop of all online learners: passes, limits, the best weights so far, the trace.

A walk goes over the examples in pieces: to the end of a pass, to the next measurement of the risk, or to a
limit, whichever comes first. Between two pieces Python looks at what was found; the steps themselves are made
by the compiled core.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.online.method import OnlineMethod
from maxmargin.learners.trace import Trace
from maxmargin.rows.base import Array, Rows
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows

__all__ = [
    "CLEAN_PASS",
    "BestWeights",
    "Limits",
    "Outcome",
    "Walk",
    "agreements",
    "draws_made",
    "learn",
    "passes_made",
    "updates_made",
]


# ------------------------------------------------------------------------------------------------
# The weights of an online learner on their way, and how to find them again at any earlier step.

_KEPT_NUMBERS = 20_000_000  # of weights that a trace keeps to start from: 160 MB
_NO_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class Examples:
    """What a learner learns from: rows, signs, and norms where updates are divided by them."""

    rows: Rows
    sign: NDArray[np.int8]
    norm2: Array | None = None

    @property
    def vectors(self) -> tuple[NDArray[Any], ...]:
        return (self.sign,) if self.norm2 is None else (self.sign, self.norm2)


class Segment(NamedTuple):
    """Steps that were made in one go: which part of which pass."""

    number: int  # of the pass
    position: int
    visits: int


class Steps(NamedTuple):
    """Arrays with one entry per step."""

    example: NDArray[np.uint32]
    agreement: Array
    updated: NDArray[np.uint8]
    step: Array

    @classmethod
    def room(cls, count: int) -> Steps:
        """Return arrays for so many steps."""
        return cls(
            np.empty(count, dtype=np.uint32),
            np.empty(count),
            np.empty(count, dtype=np.uint8),
            np.empty(count),
        )

    def first(self, count: int) -> Steps:
        """Return the entries that were filled."""
        return Steps(self.example[:count], self.agreement[:count], self.updated[:count], self.step[:count])


@dataclass(frozen=True, eq=False)
class _Visits:
    """One piece of a pass as `rows.sweep` takes it."""

    method: OnlineMethod
    state: _core.OnlineState
    segment: Segment
    most_updates: int
    updated_rows: NDArray[np.uint32] | None
    steps: Steps | None

    def __call__(
        self, block: Block, token: StopToken, order: tuple[int, int, int], *pieces: NDArray[Any]
    ) -> None:
        sign, norm2 = pieces if len(pieces) == 2 else (pieces[0], None)
        stretch = (*order[:2], self.segment.position, self.segment.visits, self.most_updates)
        trace = None if self.steps is None else _core.OnlineTrace(*self.steps)
        settings = self.method.settings()
        _core.online_sweep(
            block,
            self.method.kernel,
            settings,
            self.state,
            sign,
            norm2,
            stretch,
            self.updated_rows,
            trace,
            token,
        )


class Walk:
    """θ = scale · v, θ₀ and the counts: all that it takes to go on, in this call or the next."""

    def __init__(self, method: OnlineMethod, n_columns: int) -> None:
        self.method = method
        self.n_passes = 0  # begun so far; the next one's number
        self._v = np.zeros(n_columns)
        self._u = np.zeros(n_columns) if method.averaged else None
        self._state = _core.OnlineState(self._v, self._u)

    def continue_with(self, method: OnlineMethod) -> None:
        """Go on with settings that may have changed; averages cannot begin in the middle."""
        if method.averaged and self._u is None:
            raise InvalidParameter(
                "averaged=True needs the averages from the first step on; call fit, or set averaged=False"
            )
        self.method = method

    @property
    def visits(self) -> int:
        """Examples looked at so far."""
        return self._state.visits

    @property
    def updates(self) -> int:
        """Examples that moved the weights so far."""
        return self._state.updates

    def sweep(
        self,
        examples: Examples,
        segment: Segment,
        token: StopToken,
        *,
        most_updates: int = _NO_LIMIT,
        updated_rows: NDArray[np.uint32] | None = None,
        steps: Steps | None = None,
    ) -> None:
        """Make a piece of a pass; it may end early at the most updates, or when the token says so."""
        visits = _Visits(self.method, self._state, segment, most_updates, updated_rows, steps)
        examples.rows.sweep(visits, self.method.seed, segment.number, *examples.vectors, token=token)

    def weights(self, *, averaged: bool = False) -> tuple[Array, float]:
        """Return θ and θ₀ now, or their means over all steps."""
        theta = np.empty(self._v.shape[0])
        offset = self._state.weights(averaged, theta)
        return theta, offset

    def copy(self) -> Walk:
        """Return a walk that starts where this one is."""
        other = object.__new__(Walk)
        other.__setstate__(self.__getstate__())
        return other

    # The core's state cannot be pickled; its arrays and numbers can.
    def __getstate__(self) -> tuple[Any, ...]:
        return self.method, self.n_passes, self._v, self._u, self._state.numbers

    def __setstate__(self, kept: tuple[Any, ...]) -> None:
        self.method, self.n_passes, v, u, numbers = kept
        self._v, self._u = np.array(v), None if u is None else np.array(u)  # may come read-only from a file
        self._state = _core.OnlineState(self._v, self._u)
        self._state.numbers = numbers


@dataclass(eq=False)
class WalkReplay:
    """Repeats the steps of a trace from the nearest point at which the weights were kept."""

    X: Any
    sign: NDArray[np.int8]
    norm2: Array | None
    _segments: list[tuple[int, Segment]] = field(default_factory=list)  # with the steps made before each
    _kept: dict[int, Walk] = field(default_factory=dict)  # by the number of the segment

    def note(self, steps_before: int, segment: Segment, walk: Walk) -> None:
        """Note a segment that is about to be made; keeps the weights as long as that takes little memory."""
        if not self._kept or (len(self._kept) + 1) * self.X.shape[1] <= _KEPT_NUMBERS:
            self._kept[len(self._segments)] = walk.copy()
        self._segments.append((steps_before, segment))

    def weights(self, count: int) -> tuple[Array, float]:
        # Both are in order; a trace explains each of its steps, so nothing here may go through all of them.
        last = bisect_right(self._segments, count, key=lambda noted: noted[0]) - 1
        start = last if last in self._kept else max(k for k in self._kept if k <= last)
        walk = self._kept[start].copy()
        examples = Examples(MemoryRows(self.X), self.sign, self.norm2)
        for before, segment in self._segments[start : last + 1]:
            visits = min(segment.visits, count - before)
            walk.sweep(examples, segment._replace(visits=visits), StopToken())
        return walk.weights()

    def course(self, counts: NDArray[np.intp]) -> tuple[Array, Array]:
        walk, examples = self._kept[0].copy(), Examples(MemoryRows(self.X), self.sign, self.norm2)
        coefs, offsets = np.empty((len(counts), self.X.shape[1])), np.empty(len(counts))
        made, at = 0, 0
        for k, count in enumerate(counts):
            while made < count:
                before, segment = self._segments[at]
                visits = min(before + segment.visits, int(count)) - made
                part = Segment(segment.number, segment.position + made - before, visits)
                walk.sweep(examples, part, StopToken())
                made += visits
                at += made == before + segment.visits
            coefs[k], offsets[k] = walk.weights()
        return coefs, offsets

    def row(self, example: int) -> tuple[Array, int]:
        x = self.X[[example]]
        dense = x.toarray() if hasattr(x, "toarray") else np.asarray(x)
        return dense[0].astype(np.float64), int(self.sign[example])


# ------------------------------------------------------------------------------------------------

_LONGEST_TRACE = 20_000_000  # steps: 420 MB


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
    """Return the reason why a learner stopped: the number of passes."""
    return f"it made the {most:,} pass{'es' if most > 1 else ''} asked for"


def draws_made(most: int) -> str:
    """Return the reason why a learner stopped: the number of examples."""
    return f"it looked at the {most:,} examples asked for"


def updates_made(most: int) -> str:
    """Return the reason why a learner stopped: the number of updates."""
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


# ------------------------------------------------------------------------------------------------
# The best weights that an online learner has come by.


@dataclass(eq=False)
class BestWeights:
    """Weights with the smallest risk that was measured, and whether to look for better ones.

    Attributes
    ----------
    min_improvement : float or None
        The least fall of the best risk from one measurement to the next that is worth going on for.
    weights : (θ, θ₀) or None
    risk : float
    """

    min_improvement: float | None = None
    weights: tuple[Array, float] | None = None
    risk: float = math.inf
    _n_measured: int = 0

    def offer(self, weights: tuple[Array, float], risk: float) -> str:
        """Keep the weights if they are better; return why to end, or nothing."""
        gain = self.risk - risk
        self._n_measured += 1
        if gain > 0:
            self.weights, self.risk = weights, risk
        if risk == 0:
            return "the risk is 0: no better weights exist"
        least = self.min_improvement
        if least is not None and self._n_measured > 1 and max(gain, 0.0) < least:
            return f"the best risk fell by less than min_improvement={least:g}"
        return ""
