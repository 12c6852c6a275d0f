"""Every step of an online learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidParameter
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, percent, plural, short

__all__ = ["DescentTrace", "Landscape", "Trace", "TracedStep", "number", "vector"]


class TracedMethod(Protocol):
    """The method that was traced: its name, and how it describes a step."""

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

    def describe(self, step: TracedStep) -> str:
        """Describe in words what a step did."""
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

    method: TracedMethod
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
        """Describe in words, with the actual numbers, what step t did; step 0 is the start."""
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
        return self.method.describe(seen)

    def __str__(self) -> str:
        updates = int(np.count_nonzero(self.updated))
        return f"{self.method.title}: {plural(len(self), 'step')}, {plural(updates, 'update')}; {self.reason}"

    def _count(self, t: int) -> int:
        """Return how many of the steps lie up to t."""
        last = self.first + len(self) - 1
        if t == -1:
            return len(self)
        if int(t) != t:
            raise InvalidParameter.must_be("t", "a whole number", t)
        if not self.first - 1 <= t <= last:
            raise InvalidParameter.must_be("t", f"between {self.first - 1} and {last}, or -1", t)
        return int(t) - self.first + 1


# ------------------------------------------------------------------------------------------------
# The course of a descent, step by step.


@dataclass(frozen=True, eq=False)
class DescentTrace(Readable):
    """Every iterate of a descent, and what was seen there; entry 0 of each array is the start.

    Attributes
    ----------
    coefs : array of shape (T + 1, d)
        θ after every step.
    intercepts : array of shape (T + 1,)
        θ₀ after every step.
    objective : array of shape (T + 1,)
        mean loss + lam/2 ‖θ‖².
    gradient_norm : array of shape (T + 1,)
        ‖(sub)gradient‖ with respect to (θ, θ₀).
    step : array of shape (T + 1,)
        The length η of the step that led there; NaN at the start.
    training_error : array of shape (T + 1,)
        The share of examples with an agreement of 0 or less.
    reason : str
        Why it ended.
    landscape : Landscape or None
        The objective as a function, for pictures.
    has_offset : bool
        Whether θ₀ was free to move.

    Examples
    --------
    >>> from maxmargin import gradient_descent
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    >>> trace = gradient_descent(X, y, lam=0.1, step="1/t", max_steps=50)
    >>> len(trace), trace.weights(1), trace.intercept(1)
    (50, array([1.5]), 0.0)
    >>> print(trace.explain(1))
    Step 1: η = 1, ‖gradient‖ = 1.5; the objective falls from 1 to 0.9875, training error 50.0 %.
    >>> bool(trace.objective[trace.best] < 0.5), list(trace.columns())
    (True, ['t', 'objective', 'gradient_norm', 'step', 'training_error'])
    >>> len(trace.frame())
    51
    """

    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    objective: NDArray[np.float64]
    gradient_norm: NDArray[np.float64]
    step: NDArray[np.float64]
    training_error: NDArray[np.float64]
    reason: str
    landscape: Landscape | None = field(default=None, repr=False)
    has_offset: bool = True

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.objective) - 1

    def weights(self, t: int = -1) -> NDArray[np.float64]:
        """Return θ after step t; 0 is the start, −1 the end."""
        found: NDArray[np.float64] = self.coefs[self._at(t)]
        return found

    def intercept(self, t: int = -1) -> float:
        """Return θ₀ after step t; 0 is the start, −1 the end."""
        return float(self.intercepts[self._at(t)])

    @property
    def best(self) -> int:
        """The step after which the objective was lowest: subgradient steps may lead up."""
        return int(np.argmin(self.objective))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table of `frame` as a dictionary of columns."""
        return {
            "t": np.arange(len(self.objective)),
            "objective": self.objective,
            "gradient_norm": self.gradient_norm,
            "step": self.step,
            "training_error": self.training_error,
        }

    def frame(self) -> Any:
        """Return a pandas data frame with a row for the start and each step; without pandas, the columns."""
        return frame_of(self.columns(), "t")

    def explain(self, t: int = -1) -> str:
        """Describe step t in a sentence."""
        t = self._at(t)
        now, error = short(float(self.objective[t])), percent(float(self.training_error[t]))
        if t == 0:
            return f"Start: objective {now}, training error {error}."
        before = float(self.objective[t - 1])
        change = "falls" if self.objective[t] < before else "does not fall: it goes"
        step, norm = short(float(self.step[t])), short(float(self.gradient_norm[t - 1]))
        return (
            f"Step {t}: η = {step}, ‖gradient‖ = {norm}; the objective {change} from {short(before)} "
            f"to {now}, training error {error}."
        )

    def __str__(self) -> str:
        first, last, lowest = (short(float(self.objective[t])) for t in (0, -1, self.best))
        best = "" if self.best == len(self) else f" (lowest after step {self.best:,}: {lowest})"
        return (
            f"gradient descent, {plural(len(self), 'step')}: objective {first} → {last}{best}, "
            f"training error {percent(float(self.training_error[-1]))}; {self.reason}"
        )

    def _at(self, t: int) -> int:
        steps = len(self)
        if int(t) != t:
            raise InvalidParameter.must_be("t", "a whole number", t)
        if not -steps - 1 <= t <= steps:
            raise InvalidParameter.must_be("t", f"between 0 and {steps}, or -1 for the end", t)
        return int(t) % (steps + 1)


# ------------------------------------------------------------------------------------------------
# What a descent descends on: an objective as a function of (θ, θ₀), for pictures of it.

_AT_ONCE = 4_000_000  # agreements in memory: 32 MB


@dataclass(frozen=True, eq=False)
class Landscape:
    """The objective of a descent at any parameters, and where its slope jumps.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    signs : array of ±1
    value : callable
        The objective from the agreements of all rows and θ.
    kinks : tuple of float
        The agreements at which the slope of the loss jumps; empty for a smooth loss.
    title : str
        What the objective is.

    Examples
    --------
    >>> import maxmargin as mm
    >>> trace = mm.gradient_descent([[0.4], [-0.9], [0.7]], [-1, 1, 1], fit_intercept=False)
    >>> trace.landscape.title, round(trace.landscape([1.0]), 6)
    ('mean hinge loss', 1.2)
    """

    X: Any = field(repr=False)
    signs: NDArray[np.float64] = field(repr=False)
    value: Callable[[NDArray[np.float64], NDArray[np.float64]], float] = field(repr=False)
    kinks: tuple[float, ...] = ()
    title: str = "objective"

    def __call__(self, coef: Any, intercept: float = 0.0) -> float:
        """Return the objective at θ, θ₀."""
        return float(self.on(np.append(np.asarray(coef, dtype=np.float64), intercept)[None, :])[0])

    def on(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the objective at many points: rows that hold θ and, last, θ₀."""
        values = np.empty(len(points))
        chunk = max(1, _AT_ONCE // max(1, self.X.shape[0]))
        for start in range(0, len(points), chunk):
            some = points[start : start + chunk]
            agreements = self.signs[:, None] * (np.asarray(self.X @ some[:, :-1].T) + some[:, -1])
            for k, point in enumerate(some):
                values[start + k] = self.value(agreements[:, k], point[:-1])
        return values

    def kink_lines(
        self, base: NDArray[np.float64], directions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the slope jumps within base + a·directions: all a with normals @ a = levels.

        Parameters
        ----------
        base : array of shape (d + 1,)
            θ and, last, θ₀.
        directions : array of shape (k, d + 1)
            One for a line, two for a plane.

        Returns
        -------
        normals : array of shape (m, k)
        levels : array of shape (m,)
        """
        slopes = self.signs[:, None] * (np.asarray(self.X @ directions[:, :-1].T) + directions[:, -1])
        at_base = self.signs * (np.asarray(self.X @ base[:-1]) + base[-1])
        crosses = np.abs(slopes).max(axis=1) > 1e-12 * max(1.0, float(np.abs(slopes).max(initial=0.0)))
        normals = [slopes[crosses] for _ in self.kinks]
        levels = [kink - at_base[crosses] for kink in self.kinks]
        if not self.kinks:
            return np.zeros((0, len(directions))), np.zeros(0)
        return np.concatenate(normals), np.concatenate(levels)


# ------------------------------------------------------------------------------------------------
# One step of an online learner in words, with its actual numbers.

_SHOWN = 6  # entries of a vector that are written out; of longer ones, half as many at each end


@dataclass(frozen=True, eq=False)
class TracedStep:
    """Everything about one step.

    Attributes
    ----------
    t : int
        The number of the step, from 1.
    example : int
        The row that was visited, from 0.
    x : array of shape (d,)
    y : int
        Its label, -1 or +1.
    agreement : float
        y(θ·x + θ₀) before the step.
    updated : bool
        Whether the example moved the weights.
    step : float
        The step size η.
    before, after : (array, float)
        θ and θ₀.
    has_offset : bool
    """

    t: int
    example: int
    x: NDArray[np.float64]
    y: int
    agreement: float
    updated: bool
    step: float
    before: tuple[NDArray[np.float64], float]
    after: tuple[NDArray[np.float64], float]
    has_offset: bool

    @property
    def seen(self) -> str:
        """Which example it was, and its agreement."""
        score = "y(θ·x+θ₀)" if self.has_offset else "y(θ·x)"
        return f"t={self.t}, example {self.example}: {score} = {number(self.agreement)}"

    def moved(self, pull: float, keep: float = 1.0) -> str:
        """Write θ ← keep·θ + pull·y·x and what it gives, and the same of θ₀ with 1 for x."""
        theta, offset = self.before
        kept = vector(theta) if keep == 1 else f"{number(keep)}·{vector(theta)}"
        text = f"θ ← {kept} {_signed(self.y * pull, vector(self.x))} = {vector(self.after[0])}"
        if self.has_offset:
            text += f", θ₀ ← {number(offset)} {_signed(self.y * pull, '')} = {number(self.after[1])}"
        return text


def number(value: float) -> str:
    """Write a number with four digits and a real minus sign.

    Examples
    --------
    >>> number(-0.42), number(3.0), number(1 / 3)
    ('−0.42', '3', '0.3333')
    """
    return f"{value + 0.0:.4g}".replace("-", "−")


def vector(values: NDArray[np.float64]) -> str:
    """Write a vector; of a long one the beginning and the end.

    Examples
    --------
    >>> vector(np.array([0.3, -0.1])), vector(np.arange(100.0))
    ('(0.3, −0.1)', '(0, 1, 2, …, 97, 98, 99)')
    """
    if len(values) <= _SHOWN:
        return f"({', '.join(number(value) for value in values)})"
    half = _SHOWN // 2
    first, last = (", ".join(number(value) for value in part) for part in (values[:half], values[-half:]))
    return f"({first}, …, {last})"


def _signed(factor: float, what: str) -> str:
    """Write "+ factor·what" with the sign as an operation, and no factor of 1."""
    size = "" if abs(factor) == 1 and what else number(abs(factor))
    joined = f"{size}·{what}" if size and what else size + what
    return f"{'−' if factor < 0 else '+'} {joined}"
