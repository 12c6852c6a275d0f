"""How far to go against the gradient: the step sizes η of the lecture notes, and backtracking.

Steps are those of the λ form, mean loss + λ/2 ‖θ‖², and counted from t = 1. For examples that are drawn at
random the theory asks that Σ η = ∞ (not summable: the optimum can be reached from anywhere) and Σ η² < ∞
(square summable: the noise dies away); rules that decrease like 1/t are such.

    1/t        1, ½, ⅓, …   also written 1/(k + 1) with k from 0
    1/(t + 1)  ½, ⅓, ¼, …   also written 1/(k + 1) with k from 1
    constant   η, η, η, …   a small learning rate
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from maxmargin.errors import InvalidParameter
from maxmargin.losses.base import Loss
from maxmargin.validation import check_positive

__all__ = [
    "STEP_RULES",
    "Armijo",
    "ConstantStep",
    "OneOverLambdaT",
    "OneOverSqrtT",
    "OneOverT",
    "StepRule",
    "choose_rule",
    "named_rule",
]


class StepRule(ABC):
    """A rule for the lengths of steps: settings only, so that one object may serve many descents."""

    is_for_smooth_losses: ClassVar[bool] = False
    needs_lam: ClassVar[bool] = False
    is_summable: ClassVar[bool] = False
    is_square_summable: ClassVar[bool] = False

    @abstractmethod
    def length(self, t: int, lam: float, last: float) -> float:
        """Return the length to try in step t; `last` is the length of step t − 1, 0 before the first."""

    def is_enough(self, fall: float, length: float, square: float) -> bool:
        """Whether to take a step by which the objective falls so far; `square` is ‖gradient‖²."""
        return True

    def formula(self, lam: float) -> tuple[float, float, float]:
        """Return (power, scale, delay) of η = scale/(t + delay)^power, as the compiled loops take it."""
        raise InvalidParameter(
            f"{self} needs the objective at every step, which steps from one example at a time do not know; "
            "choose another step rule, such as '1/t'"
        )


@dataclass(frozen=True)
class ConstantStep(StepRule):
    """η = size: neither summable nor square summable, so the noise of single examples stays.

    Examples
    --------
    >>> ConstantStep(0.5).is_summable, ConstantStep(0.5).is_square_summable
    (False, False)
    """

    size: float = 0.1

    def __post_init__(self) -> None:
        check_positive("size", self.size)

    def length(self, t: int, lam: float, last: float) -> float:
        return self.size

    def formula(self, lam: float) -> tuple[float, float, float]:
        return 0.0, self.size, 0.0

    def __str__(self) -> str:
        return f"{self.size:g}"


@dataclass(frozen=True)
class OneOverT(StepRule):
    """η = scale/(t + delay): 1, ½, ⅓, …; with delay = 1 ½, ⅓, ¼, ….

    Not summable but square summable (Σ 1/t = ∞, Σ 1/t² = π²/6).

    Examples
    --------
    >>> [OneOverT(delay=1).length(t, lam=0.0, last=0.0) for t in (1, 3)]
    [0.5, 0.25]
    >>> OneOverT().is_summable, OneOverT().is_square_summable
    (False, True)
    """

    scale: float = 1.0
    delay: float = 0.0

    is_square_summable = True

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        if self.delay != 0:
            check_positive("delay", self.delay)

    def length(self, t: int, lam: float, last: float) -> float:
        return self.scale / (t + self.delay)

    def formula(self, lam: float) -> tuple[float, float, float]:
        return 1.0, self.scale, self.delay

    def __str__(self) -> str:
        return f"{self.scale:g}/(t + {self.delay:g})" if self.delay else f"{self.scale:g}/t"


@dataclass(frozen=True)
class OneOverLambdaT(OneOverT):
    """η = scale/(λ(t + delay)): with scale 1 that of the published Pegasos, for strongly convex objectives.

    Not summable but square summable. With scale 2 and delay 1 later steps count more, and the objective's
    distance from its minimum falls like 1/t without a logarithm.

    Examples
    --------
    >>> OneOverLambdaT().length(2, lam=0.01, last=0.0)
    50.0
    """

    needs_lam = True

    def length(self, t: int, lam: float, last: float) -> float:
        return self.scale / (lam * (t + self.delay))

    def formula(self, lam: float) -> tuple[float, float, float]:
        return 1.0, self.scale / lam, self.delay

    def __str__(self) -> str:
        return f"{self.scale:g}/(λ(t + {self.delay:g}))" if self.delay else f"{self.scale:g}/(λt)"


@dataclass(frozen=True)
class OneOverSqrtT(StepRule):
    """η = scale/√t: the rule for convex objectives without a regulariser.

    Neither summable nor square summable: it needs the best or the average iterate, not the last.

    Examples
    --------
    >>> OneOverSqrtT().length(4, lam=0.0, last=0.0), OneOverSqrtT().is_square_summable
    (0.5, False)
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def length(self, t: int, lam: float, last: float) -> float:
        return self.scale / math.sqrt(t)

    def formula(self, lam: float) -> tuple[float, float, float]:
        return 0.5, self.scale, 0.0

    def __str__(self) -> str:
        return f"{self.scale:g}/√t"


@dataclass(frozen=True)
class Armijo(StepRule):
    """Backtracking: halve the step until the objective falls by `share` of what the slope promises.

    The first step tries the length `first`, every other one twice the length of the one before. At a kink
    there may be no way down along a subgradient, so that the loss has to be smooth.

    Examples
    --------
    >>> from maxmargin import gradient_descent
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1]
    >>> trace = gradient_descent(X, y, loss="logistic", step=Armijo(), max_steps=100)
    >>> bool((trace.objective[1:] <= trace.objective[:-1]).all())    # it never climbs
    True
    """

    first: float = 1.0
    share: float = 0.25

    is_for_smooth_losses = True

    def __post_init__(self) -> None:
        check_positive("first", self.first)
        if not 0 < check_positive("share", self.share) < 1:
            raise InvalidParameter.must_be("share", "between 0 and 1", self.share)

    def length(self, t: int, lam: float, last: float) -> float:
        return 2.0 * last if last > 0 else self.first

    def is_enough(self, fall: float, length: float, square: float) -> bool:
        return fall >= self.share * length * square

    def __str__(self) -> str:
        return "backtracking"


STEP_RULES: dict[str, StepRule] = {
    "1/t": OneOverT(),
    "1/(k+1)": OneOverT(),  # k from 0, so that the first step is 1
    "1/(t+1)": OneOverT(delay=1.0),
    "1/sqrt(t)": OneOverSqrtT(),
    "1/(lam t)": OneOverLambdaT(),
    "2/(lam (t+1))": OneOverLambdaT(2.0, 1.0),
    "armijo": Armijo(),
}


def choose_rule(step: Any, loss: Loss, lam: float) -> StepRule:
    """Return the rule that is meant by a rule, a name, a number (a constant) or None (a suitable one).

    Examples
    --------
    >>> from maxmargin.losses import LOSSES
    >>> print(choose_rule(0.5, LOSSES["hinge"], lam=0.0), choose_rule(None, LOSSES["hinge"], lam=0.1))
    0.5 2/(λ(t + 1))
    """
    if step is None:
        name = "armijo" if loss.is_smooth else "2/(lam (t+1))" if lam > 0 else "1/sqrt(t)"
        step = STEP_RULES[name]
    rule = named_rule(step, lam)
    if rule.is_for_smooth_losses and not loss.is_smooth:
        raise InvalidParameter(
            f"{rule} needs a smooth loss: at a kink of the {loss.name} loss no step along a subgradient may "
            "lead down; choose another step rule, such as '1/t'"
        )
    return rule


def named_rule(step: Any, lam: float) -> StepRule:
    """Return the rule that is meant by a rule, a name or a number (a constant); lam = 0 is no regulariser.

    Examples
    --------
    >>> print(named_rule("1/(k+1)", lam=0.0), named_rule("1/(lam t)", lam=0.1))
    1/t 1/(λt)
    """
    if isinstance(step, StepRule):
        rule = step
    elif isinstance(step, str) and step in STEP_RULES:
        rule = STEP_RULES[step]
    elif isinstance(step, Real):
        rule = ConstantStep(check_positive("step", step))
    else:
        names = ", ".join(repr(name) for name in STEP_RULES)
        raise InvalidParameter(f"step must be a positive number, a step rule or one of {names}; got {step!r}")
    if rule.needs_lam and not lam > 0:
        raise InvalidParameter(f"the step rule {rule} needs lam > 0; got lam={lam!r}")
    return rule
