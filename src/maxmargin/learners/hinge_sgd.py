"""Stochastic subgradient descent on the mean hinge loss, as E has it: no regulariser.

    draw an example; if y(θ·x) ≤ 1:   θ ← θ + η_k y x,   η_k = 1/(k + 1), k = 0, 1, …

It differs from the perceptron in three things: near mistakes (0 < y(θ·x) ≤ 1) count too, steps become
shorter, and examples come at random. Each can be switched by itself; with all three off it is the perceptron
through the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.learners.online_method import OnlineMethod
from maxmargin.results.step_words import TracedStep, number
from maxmargin.rows import Array

__all__ = ["HingeSGDMethod"]


@dataclass(frozen=True, kw_only=True)
class HingeSGDMethod(OnlineMethod):
    """E's step, and the empirical risk with the hinge loss."""

    near_mistakes: bool = True

    title: ClassVar[str] = "hinge SGD"
    kernel: ClassVar[str] = "margin"
    kinks: ClassVar[tuple[float, ...]] = (1.0,)

    @property
    def objective(self) -> str:
        return "mean hinge loss"

    @property
    def threshold(self) -> float:
        return 1.0 if self.near_mistakes else 0.0

    def risk(self, agreements: Array, theta: Array) -> float:
        return float(np.mean(np.maximum(0.0, 1.0 - agreements)))

    def tell(self, step: TracedStep) -> str:
        limit = number(self.threshold)
        if not step.updated:
            why = "right by enough" if self.near_mistakes else "right"
            return f"{step.seen} > {limit}, {why}; nothing changes"
        why = "a mistake" if step.agreement <= 0 else "a near mistake"
        return f"{step.seen} ≤ {limit}, {why}; {step.moved(step.step)}, with η = {number(step.step)}"
