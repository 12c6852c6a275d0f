"""The steps of any descent, and an objective that somebody gave for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput

__all__ = ["GivenObjective", "course_of"]

MOST_DRAWN, FEWEST_DRAWN = 3000, 100  # steps; of longer descents every so many
WORK = 60_000_000  # agreements that the steps may cost; with many rows fewer are drawn


class GivenObjective:
    """An objective that the user gave as a function."""

    title = "objective"

    def __init__(self, value: Callable[[NDArray[np.float64], float], float]) -> None:
        self._value = value

    def on(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([float(self._value(point[:-1], float(point[-1]))) for point in points])

    def kink_lines(self, base: Any, directions: NDArray[np.float64]) -> tuple[Any, Any]:
        return np.zeros((0, len(directions))), np.zeros(0)


def course_of(trace: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the numbers of the steps, from the start on, and (θ, θ₀) after each."""
    if hasattr(trace, "coefs"):
        steps, first = np.arange(len(trace.coefs)), 0
    elif hasattr(trace, "course"):
        steps, first = np.arange(len(trace) + 1), int(trace.first) - 1
    else:
        raise InvalidInput(
            "a trace is needed, of gradient_descent or trace_ of an online learner; "
            f"got {type(trace).__name__}"
        )
    n_rows = getattr(getattr(getattr(trace, "landscape", None), "X", None), "shape", (1,))[0]
    most = int(np.clip(WORK // max(1, n_rows), FEWEST_DRAWN, MOST_DRAWN))
    if len(steps) > most:
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, most).round().astype(int))]
    if hasattr(trace, "coefs"):
        return steps, np.column_stack([trace.coefs[steps], trace.intercepts[steps]])
    coefs, offsets = trace.course((steps + first).tolist())
    return steps + first, np.column_stack([coefs, offsets])
