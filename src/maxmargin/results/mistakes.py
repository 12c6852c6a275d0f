"""How many mistakes the perceptron can make, and the proof of it along a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.errors import InvalidInput
from maxmargin.results.separability import Separability
from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable, plural

__all__ = ["MistakeBound", "MistakeProof"]


@dataclass(frozen=True, eq=False)
class MistakeProof(Readable):
    """The two inequalities of the convergence proof, mistake by mistake; entry 0 is the start.

    Attributes
    ----------
    t : array of shape (T + 1,)
        Mistakes so far.
    progress : array of shape (T + 1,)
        ⟨w*, w_t⟩, which each mistake raises by γ or more.
    progress_bound : array of shape (T + 1,)
        γ t: never above ``progress``.
    length : array of shape (T + 1,)
        ‖w_t‖.
    length_bound : array of shape (T + 1,)
        R √t: never below ``length``.
    """

    t: NDArray[np.int64]
    progress: NDArray[np.float64]
    progress_bound: NDArray[np.float64]
    length: NDArray[np.float64]
    length_bound: NDArray[np.float64]

    @property
    def holds(self) -> bool:
        """Whether γ t ≤ ⟨w*, w_t⟩ ≤ ‖w_t‖ ≤ R √t throughout, up to rounding."""
        tiny = 1e-9 * np.maximum(self.length_bound, self.length)
        return bool(
            (self.progress_bound <= self.progress + tiny).all()
            and (self.progress <= self.length + tiny).all()
            and (self.length <= self.length_bound + tiny).all()
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table of `frame` as a dictionary of columns."""
        return {
            "t": self.t,
            "progress": self.progress,
            "progress_bound": self.progress_bound,
            "length": self.length,
            "length_bound": self.length_bound,
        }

    def frame(self) -> Any:
        """Return a pandas data frame with a row for each mistake; without pandas, the columns."""
        return frame_of(self.columns(), "t")

    def __str__(self) -> str:
        values = (self.progress_bound, self.progress, self.length, self.length_bound)
        low, progress, length, high = (f"{float(value[-1]):.4g}" for value in values)
        after = f"after {plural(int(self.t[-1]), 'mistake')}"
        if self.holds:
            return (
                f"{after}: γt = {low} ≤ ⟨w*, w⟩ = {progress} ≤ ‖w‖ = {length} ≤ R√t = {high}; both "
                "inequalities hold at every mistake"
            )
        return (
            f"{after}: γt = {low}, ⟨w*, w⟩ = {progress}, ‖w‖ = {length}, R√t = {high}; an inequality "
            "fails, so this was no run of the perceptron over the examples of the bound"
        )


@dataclass(frozen=True, eq=False)
class MistakeBound(Readable):
    """At most so many mistakes, in whatever order the examples come and however often.

    Attributes
    ----------
    bound : float
        (R/γ)², with normalised updates 1/γ²; inf if the examples are not separable.
    gamma : float
        γ, a margin that is attained in the space the perceptron walks in; 0 if not separable. It is proved
        up to rounding, from below: the bound is safe.
    gamma_upper : float
        No classifier attains more than this.
    radius : float
        R, the length of the longest row there; 1 with normalised updates.
    coef, intercept : array of shape (d,), float
        w* of the proof, of length 1 together, which attains γ.
    fit_intercept, normalize : bool
        Which perceptron it is about.
    n_train, n_test : int
        How many examples γ and R cover.
    mistakes : int or None
        Mistakes made so far, if they were given.
    witness : Separability or None
        What `separability` found, where it was asked: if there is no bound, the proof of it.
    """

    bound: float
    gamma: float
    gamma_upper: float
    radius: float
    coef: NDArray[np.float64]
    intercept: float
    fit_intercept: bool
    normalize: bool
    n_train: int
    n_test: int
    mistakes: int | None = None
    witness: Separability | None = field(default=None, repr=False)

    @property
    def exists(self) -> bool:
        """Whether there is a bound."""
        return math.isfinite(self.bound)

    @property
    def most(self) -> float:
        """The largest whole number of mistakes that the bound allows; inf if there is none."""
        return float(math.floor(self.bound)) if self.exists else math.inf

    @property
    def remaining(self) -> float:
        """Mistakes that are still possible: `most` less those made so far."""
        return self.most - (self.mistakes or 0)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on, in words."""
        update = "θ ← θ + y x/‖x‖" if self.normalize else "θ ← θ + y x"
        if self.fit_intercept:
            update += " for the lifted rows (x, 1)"
        covered = plural(self.n_train, "training example")
        if self.n_test:
            covered += f" and {plural(self.n_test, 'test example')}"
        found = [
            f"the perceptron starts at θ = 0 and updates on an agreement of 0 or less by {update}, "
            "with any constant step; it is not averaged",
            f"γ and R cover the {covered}, and the bound counts mistakes on these only",
        ]
        if self.n_test:
            found.append(
                "each test prediction is followed by its true label, and a mistake by the update, before the "
                "next one is made"
            )
        return tuple(found)

    def along(self, trace: Any) -> MistakeProof:
        """Return the proof's two inequalities along a run.

        Parameters
        ----------
        trace : Trace, or array of shape (T + 1, d) or (T + 1, d + 1)
            The trace of a perceptron with a constant step, or the weights at the start and after each mistake
            with step 1, an offset as the last column.
        """
        self._refuse_other_walks(trace)
        weights = _weights_after_mistakes(trace, self.fit_intercept)
        if weights.ndim != 2 or weights.shape[1] != len(self.coef) + self.fit_intercept:
            raise InvalidInput(
                f"weights must have {len(self.coef) + self.fit_intercept} columns, and one row for the start "
                f"and for each mistake; got shape {weights.shape}"
            )
        if weights[:1].any():
            raise InvalidInput("the proof is about a perceptron that starts at θ = 0; this one does not")
        best = np.append(self.coef, self.intercept) if self.fit_intercept else self.coef
        t = np.arange(len(weights))
        count = t.astype(np.float64)
        return MistakeProof(
            t=t,
            progress=weights @ best,
            progress_bound=self.gamma * count,
            length=np.sqrt((weights * weights).sum(axis=1)),
            length_bound=self.radius * np.sqrt(count),
        )

    def _refuse_other_walks(self, trace: Any) -> None:
        """Refuse traces that the theorem says nothing about."""
        if isinstance(trace, (list, tuple)) and trace and hasattr(trace[0], "weights"):
            raise InvalidInput(
                f"one trace at a time; got {len(trace)}, one for each class against the rest. Bound and "
                "trace must be about the same two classes."
            )
        method = getattr(trace, "method", None)
        if method is None:  # weights as an array
            return
        if method.title != "perceptron":
            raise InvalidInput(f"the proof is about the perceptron; this is a trace of {method.title}")
        own = f"fit_intercept={self.fit_intercept}, normalize={self.normalize}"
        other = f"fit_intercept={method.fit_intercept}, normalize={method.normalizes}"
        if own != other:
            raise InvalidInput(f"the bound is for a perceptron with {own}; the trace has {other}")

    def __str__(self) -> str:
        who = f"the {'normalised ' if self.normalize else ''}perceptron"
        if not self.exists:
            if self.witness is None or self.witness.is_separable:
                return f"no bound on the mistakes of {who}: the margin is too small for double precision"
            return f"no bound on the mistakes of {who}: {self.witness}"
        formula = f"1/γ² with γ = {self.gamma:.4g}"
        if not self.normalize:
            formula = f"(R/γ)² with R = {self.radius:.4g}, γ = {self.gamma:.4g}"
        most = f"{who} makes at most {plural(int(self.most), 'mistake')}, {formula}"
        if self.mistakes is None:
            return most
        rest = f"{self.mistakes:,} made, {int(self.remaining):,} still possible"
        feedback = " if each test prediction is followed by its true label" if self.n_test else ""
        return f"{most}; {rest}{feedback}"


def _weights_after_mistakes(trace: Any, fit_intercept: bool) -> NDArray[np.float64]:
    if not hasattr(trace, "weights"):
        array: ArrayLike = trace
        return np.asarray(array, dtype=np.float64)
    mistakes = np.flatnonzero(np.asarray(trace.updated))
    steps = np.asarray(trace.step)[mistakes]
    if len(steps) and (steps != steps[0]).any():
        raise InvalidInput("the proof is about a constant step; the steps of this trace differ")
    places = trace.first + np.append(-1, mistakes)
    pairs = [trace.weights(int(place)) for place in places]
    weights = np.array([np.append(coef, offset) if fit_intercept else coef for coef, offset in pairs])
    return weights / steps[0] if len(steps) else weights  # a constant step only scales them
