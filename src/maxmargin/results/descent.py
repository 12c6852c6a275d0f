"""The course of a descent, step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidParameter
from maxmargin.results.landscape import Landscape
from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable, percent, plural, short

__all__ = ["DescentTrace"]


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
        """Say in a sentence what step t did."""
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
            raise InvalidParameter(f"t must be a whole number; got t={t!r}")
        if not -steps - 1 <= t <= steps:
            raise InvalidParameter(f"t must be between 0 and {steps}, or -1 for the end; got t={t!r}")
        return int(t) % (steps + 1)
