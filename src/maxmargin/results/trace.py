"""Every step of an online learner."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidParameter
from maxmargin.results.landscape import Landscape
from maxmargin.results.step_words import TracedStep, number, vector
from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable, plural

__all__ = ["Narrator", "Replay", "Trace"]


class Narrator(Protocol):
    """The method that was traced: its name, and how it tells a step."""

    @property
    def title(self) -> str:
        """Return its name."""
        ...

    @property
    def fit_intercept(self) -> bool:
        """Return whether it has an offset."""
        ...

    @property
    def objective(self) -> str:
        """Return what it tries to make small, in words."""
        ...

    @property
    def kinks(self) -> tuple[float, ...]:
        """Return the agreements at which the slope of its loss jumps."""
        ...

    def risk(self, agreements: NDArray[np.float64], theta: NDArray[np.float64]) -> float:
        """Return what it tries to make small, from the agreements of all rows."""
        ...

    def tell(self, step: TracedStep) -> str:
        """Say in words what a step did."""
        ...


class Replay(Protocol):
    """Finds the weights at any step again, by repeating the steps since a point where they were kept."""

    def weights(self, count: int) -> tuple[NDArray[np.float64], float]:
        """Return θ and θ₀ after that many steps of the trace."""
        ...

    def course(self, counts: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return θ and θ₀ after so many steps, for increasing counts and in one go."""
        ...

    @property
    def X(self) -> Any:
        """Return all rows."""
        ...

    @property
    def sign(self) -> NDArray[np.int8]:
        """Return all labels, -1 or +1."""
        ...

    def row(self, example: int) -> tuple[NDArray[np.float64], int]:
        """Return a row and its label, -1 or +1."""
        ...


@dataclass(frozen=True, eq=False)
class Trace(Readable):
    """Every step of an online learner: arrays with one entry per step, and the weights on request.

    The weights are not stored but found again by repeating the steps, exactly, on a copy of the rows that the
    trace keeps.

    Attributes
    ----------
    example : array of int
        The row that was visited, counted from 0.
    agreement : array of float
        y(θ·x + θ₀) before the step.
    updated : array of bool
        Whether the example moved the weights. (Pegasos shrinks them in every step.)
    step : array of float
        The step size η.
    first : int
        The number of the first step: 1, unless earlier calls of ``partial_fit`` made steps.
    evaluated, risk : arrays
        After which steps the risk over all rows was measured, and the risk; empty if it never was.
    reason : str
        Why it ended.

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> trace = Perceptron(trace=True).fit([[2.0, 1.0], [1.0, -1.0]], [1, -1]).trace_
    >>> print(trace.explain(2))
    t=2, example 1: y(θ·x+θ₀) = −2 ≤ 0, a mistake; θ ← (2, 1) − (1, −1) = (1, 2), θ₀ ← 1 − 1 = 0
    >>> trace.weights(2)
    (array([1., 2.]), 0.0)
    >>> trace.columns()["updated"]
    array([ True,  True, False, False])
    >>> len(trace.frame()), trace.has_offset
    (4, True)
    """

    method: Narrator
    example: NDArray[np.uint32]
    agreement: NDArray[np.float64]
    updated: NDArray[np.bool_]
    step: NDArray[np.float64]
    replay: Replay = field(repr=False)
    first: int = 1
    evaluated: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    risk: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    reason: str = ""

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.example)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table of `frame` as a dictionary of columns."""
        return {
            "t": np.arange(self.first, self.first + len(self)),
            "example": self.example,
            "agreement": self.agreement,
            "updated": self.updated,
            "step": self.step,
        }

    def frame(self) -> Any:
        """Return a pandas data frame with a line for each step; without pandas, the columns."""
        return frame_of(self.columns())

    def weights(self, t: int = -1) -> tuple[NDArray[np.float64], float]:
        """Return θ and θ₀ after step t; the step before the first is the start, −1 the end."""
        return self.replay.weights(self._count(t))

    def course(self, ts: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return θ and θ₀ after each of the steps `ts`, which increase; by default the start and all steps.

        Examples
        --------
        >>> from maxmargin import Perceptron
        >>> trace = Perceptron(trace=True).fit([[2.0, 1.0], [1.0, -1.0]], [1, -1]).trace_
        >>> trace.course([0, 1, 2])
        (array([[0., 0.],
               [2., 1.],
               [1., 2.]]), array([0., 1., 0.]))
        """
        counts = (
            np.arange(len(self) + 1) if ts is None else np.array([self._count(t) for t in ts], dtype=np.intp)
        )
        if np.any(np.diff(counts) < 0):
            raise InvalidParameter("the steps of a course must increase; sort ts")
        return self.replay.course(counts)

    @property
    def landscape(self) -> Landscape:
        """What the method tries to make small, as a function of (θ, θ₀)."""
        signs = self.replay.sign.astype(np.float64)
        return Landscape(self.replay.X, signs, self.method.risk, self.method.kinks, self.method.objective)

    @property
    def has_offset(self) -> bool:
        """Whether there is an offset θ₀."""
        return self.method.fit_intercept

    def explain(self, t: int = -1) -> str:
        """Say in words, with the actual numbers, what step t did; the step before the first is the start."""
        count = self._count(t)
        if count == 0:
            theta, offset = self.replay.weights(0)
            beside = f" and θ₀ = {number(offset)}" if self.has_offset else ""
            return f"t={self.first - 1}, the start: θ = {vector(theta)}{beside}"
        at = count - 1
        example = int(self.example[at])
        x, y = self.replay.row(example)
        seen = TracedStep(
            t=self.first + at,
            example=example,
            x=x,
            y=y,
            agreement=float(self.agreement[at]),
            updated=bool(self.updated[at]),
            step=float(self.step[at]),
            before=self.replay.weights(at),
            after=self.replay.weights(count),
            has_offset=self.method.fit_intercept,
        )
        return self.method.tell(seen)

    def __str__(self) -> str:
        updates = int(np.count_nonzero(self.updated))
        return f"{self.method.title}: {plural(len(self), 'step')}, {plural(updates, 'update')}; {self.reason}"

    def _count(self, t: int) -> int:
        """Return how many of the steps lie up to t."""
        last = self.first + len(self) - 1
        if t == -1:
            return len(self)
        if int(t) != t:
            raise InvalidParameter(f"t must be a whole number; got t={t!r}")
        if not self.first - 1 <= t <= last:
            raise InvalidParameter(f"t must be between {self.first - 1} and {last}, or -1; got t={t!r}")
        return int(t) - self.first + 1
