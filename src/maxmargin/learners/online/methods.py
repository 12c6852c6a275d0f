"""The perceptron: on every mistake, move towards the example.

    if y(θ·x + θ₀) ≤ 0:   θ ← θ + η y x,  θ₀ ← θ₀ + η y        (without θ₀ through the origin)

The normalised perceptron divides the step by the norm of the example, θ ← θ + y x/‖x‖; with an offset (x, 1).
The step size η changes nothing but the scale of θ and θ₀ as long as it is constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.learners.online.method import OnlineMethod
from maxmargin.learners.trace import TracedStep, number, vector
from maxmargin.presentation.wording import percent
from maxmargin.rows.base import Array
from maxmargin.solvers.step_rules import OneOverT

__all__ = [
    "HingeSGDMethod",
    "LogisticSGDMethod",
    "PegasosMethod",
    "PerceptronMethod",
    "share_left_of_the_first_step",
]


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

    def describe(self, step: TracedStep) -> str:
        if not step.updated:
            return f"{step.seen} > 0, right; nothing changes"
        pull, why = step.step, ""
        if self.normalizes:
            norm = float(np.sqrt(np.sum(step.x**2) + step.has_offset))
            lifted = "(x, 1)" if step.has_offset else "x"
            pull, why = pull / norm, f" (divided by ‖{lifted}‖ = {number(norm)})"
        return f"{step.seen} ≤ 0, a mistake; {step.moved(pull)}{why}"


# ------------------------------------------------------------------------------------------------
# Pegasos: stochastic subgradient steps on the soft-margin objective, without offset.
#
#     θ ← (1 − ηλ)θ + η y x   if y(θ·x) ≤ 1,        θ ← (1 − ηλ)θ   otherwise
#
# It approaches the minimum of λ/2 ‖θ‖² + mean hinge loss. The lecture takes η = 1/t, and
# the authors of the method take η = 1/(λt) (Shalev-Shwartz, Singer and Srebro, ICML 2007).
#
# Why η = 1/t is slow at small λ: what step 1 did is multiplied by 1 − λ/2, 1 − λ/3, …, 1 − λ/t, together
# about t^−λ. At λ = 0.01 a million steps leave 87 % of it, so the first, long steps, which were made in
# the wrong places, are all but kept; to forget nine tenths of them takes 10^(1/λ) steps. And where the
# optimum is far from θ = 0, as it tends to be at small λ, it is out of reach: t steps together are no
# longer than (1 + ln t) times the longest row. With η = 1/(λt) the factors 1 − 1/t multiply to 1/t: every
# step counts the same, and θ is an average; the steps reach 1/λ times as far.


@dataclass(frozen=True, kw_only=True)
class PegasosMethod(OnlineMethod):
    """Pegasos' step, and its objective λ/2 ‖θ‖² + mean hinge loss."""

    title: ClassVar[str] = "Pegasos"
    kernel: ClassVar[str] = "pegasos"
    kinks: ClassVar[tuple[float, ...]] = (1.0,)

    @property
    def objective(self) -> str:
        return f"mean hinge loss + {number(self.lam / 2)}·‖θ‖²"

    def risk(self, agreements: Array, theta: Array) -> float:
        mean = float(np.mean(np.maximum(0.0, 1.0 - agreements)))
        return mean + 0.5 * self.lam * float(np.sum(theta * theta))

    def describe(self, step: TracedStep) -> str:
        keep = 1 - step.step * self.lam
        if step.updated:
            said = f"{step.seen} ≤ 1, not beyond the margin; {step.moved(step.step, keep)}"
        else:
            shrunk = f"θ ← {number(keep)}·{vector(step.before[0])} = {vector(step.after[0])}"
            said = f"{step.seen} > 1, beyond the margin; {shrunk}"
        return f"{said}, with η = {number(step.step)} and 1 − ηλ = {number(keep)}{self._memory(step.t)}"

    def _memory(self, t: int) -> str:
        """Return how much of the first step is left, where that is what makes the method slow."""
        rule = self.step
        if type(rule) is not OneOverT or rule.scale * self.lam >= 0.5 or t < 2:
            return ""
        left = percent(share_left_of_the_first_step(t, rule.scale * self.lam, rule.delay))
        return f". Of what step 1 did, {left} is left: with η = {rule} and λ = {self.lam:g} it fades as t^−λ"


def share_left_of_the_first_step(t: int, pace: float, delay: float = 0.0) -> float:
    """Return Π (1 − pace/(r + delay)) over r = 2 … t: by how much later steps shrink what step 1 did.

    Examples
    --------
    >>> round(share_left_of_the_first_step(1_000_000, 0.01), 3)
    0.875
    """
    start, end = 2 + delay, t + 1 + delay
    return math.exp(
        math.lgamma(end - pace) - math.lgamma(start - pace) - math.lgamma(end) + math.lgamma(start)
    )


# ------------------------------------------------------------------------------------------------
# Stochastic subgradient descent on the mean hinge loss, as E has it: no regulariser.
#
#     draw an example; if y(θ·x) ≤ 1:   θ ← θ + η_k y x,   η_k = 1/(k + 1), k = 0, 1, …
#
# It differs from the perceptron in three things: near mistakes (0 < y(θ·x) ≤ 1) count too, steps become
# shorter, and examples come at random. Each can be switched by itself; with all three off it is the
# perceptron through the origin.


@dataclass(frozen=True, kw_only=True)
class HingeSGDMethod(OnlineMethod):
    """A step of hinge SGD, and the empirical risk with the hinge loss."""

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

    def describe(self, step: TracedStep) -> str:
        limit = number(self.threshold)
        if not step.updated:
            why = "right by enough" if self.near_mistakes else "right"
            return f"{step.seen} > {limit}, {why}; nothing changes"
        why = "a mistake" if step.agreement <= 0 else "a near mistake"
        return f"{step.seen} ≤ {limit}, {why}; {step.moved(step.step)}, with η = {number(step.step)}"


# ------------------------------------------------------------------------------------------------
# Stochastic gradient descent on the negative log-likelihood of logistic regression.
#
#     θ₀ ← θ₀ + η y (1 − P),    θ ← θ + η y x (1 − P),    P = P(y|x, θ, θ₀) = 1/(1 + exp(−y(θ·x + θ₀)))
#
# Both updates take P under the old weights. 1 − P is the probability of a mistake: the
# perceptron's update, made in proportion to it.


@dataclass(frozen=True, kw_only=True)
class LogisticSGDMethod(OnlineMethod):
    """A step of logistic SGD, and the mean log-loss."""

    title: ClassVar[str] = "logistic SGD"
    kernel: ClassVar[str] = "logistic"

    @property
    def objective(self) -> str:
        return "mean logistic loss"

    def risk(self, agreements: Array, theta: Array) -> float:
        return float(np.mean(np.logaddexp(0.0, -agreements)))

    def describe(self, step: TracedStep) -> str:
        mistake = 0.5 * (1.0 - math.tanh(0.5 * step.agreement))
        weighed = f"so P = {number(1 - mistake)} and the probability of a mistake 1 − P = {number(mistake)}"
        return f"{step.seen}, {weighed}; {step.moved(step.step * mistake)}, with η(1 − P) before y x"
