"""Stochastic gradient descent on the negative log-likelihood of logistic regression.

    θ₀ ← θ₀ + η y (1 − P),    θ ← θ + η y x (1 − P),    P = P(y|x, θ, θ₀) = 1/(1 + exp(−y(θ·x + θ₀)))

Both updates (D17, D18) take P under the old weights. 1 − P is the probability of a mistake: the perceptron's
update, made in proportion to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.learners.online_method import OnlineMethod
from maxmargin.results.step_words import TracedStep, number
from maxmargin.rows import Array

__all__ = ["LogisticSGDMethod"]


@dataclass(frozen=True, kw_only=True)
class LogisticSGDMethod(OnlineMethod):
    """D's step, and the mean log-loss."""

    title: ClassVar[str] = "logistic SGD"
    kernel: ClassVar[str] = "logistic"

    @property
    def objective(self) -> str:
        return "mean logistic loss"

    def risk(self, agreements: Array, theta: Array) -> float:
        return float(np.mean(np.logaddexp(0.0, -agreements)))

    def tell(self, step: TracedStep) -> str:
        mistake = 0.5 * (1.0 - math.tanh(0.5 * step.agreement))
        weighed = f"so P = {number(1 - mistake)} and the probability of a mistake 1 − P = {number(mistake)}"
        return f"{step.seen}, {weighed}; {step.moved(step.step * mistake)}, with η(1 − P) before y x"
