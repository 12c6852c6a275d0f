"""The perceptron: on every mistake, move towards the example.

    if y(θ·x + θ₀) ≤ 0:   θ ← θ + η y x,  θ₀ ← θ₀ + η y        (E; without θ₀ through the origin)

B divides the step by the norm of the example, θ ← θ + y x/‖x‖; with an offset the example is (x, 1).
The step size η changes nothing but the scale of θ and θ₀ as long as it is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.learners.online_method import OnlineMethod
from maxmargin.results.step_words import TracedStep, number
from maxmargin.rows import Array

__all__ = ["PerceptronMethod"]


@dataclass(frozen=True, kw_only=True)
class PerceptronMethod(OnlineMethod):
    """The perceptron's step, and the training error as what it tries to make small."""

    title: ClassVar[str] = "perceptron"
    kernel: ClassVar[str] = "margin"
    kinks: ClassVar[tuple[float, ...]] = (0.0,)

    @property
    def objective(self) -> str:
        return "training error"

    def risk(self, agreements: Array, theta: Array) -> float:
        return float(np.mean(agreements <= 0))

    def tell(self, step: TracedStep) -> str:
        if not step.updated:
            return f"{step.seen} > 0, right; nothing changes"
        pull, why = step.step, ""
        if self.normalizes:
            norm = float(np.sqrt(np.sum(step.x**2) + step.has_offset))
            lifted = "(x, 1)" if step.has_offset else "x"
            pull, why = pull / norm, f" (divided by ‖{lifted}‖ = {number(norm)})"
        return f"{step.seen} ≤ 0, a mistake; {step.moved(pull)}{why}"
