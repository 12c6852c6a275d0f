"""One step of an online learner in words, with its actual numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["TracedStep", "number", "vector"]

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
