"""The weights of an online learner on their way, and how to find them again at any earlier step."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.errors import InvalidParameter
from maxmargin.learners.online_method import OnlineMethod
from maxmargin.rows import Array, MemoryRows, Rows
from maxmargin.rows.joins import JoinsNothing

__all__ = ["Examples", "Segment", "Steps", "Walk", "WalkReplay"]

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
class _Visits(JoinsNothing):
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
