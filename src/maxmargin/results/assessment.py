"""How far somebody's coefficients are above the optimum of the problem they were meant to solve."""

from __future__ import annotations

import math
from dataclasses import dataclass

from maxmargin.results.certificate import PROOFS, Certificate
from maxmargin.results.wording import Readable, magnitude, percent, short

__all__ = ["Assessment"]

# An excess up to here is told as "within": it is our own default tolerance.
_TINY = 1e-4

# Our own solution is so much smaller than the given one that the optimum, between it and 0, is 0.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Assessment(Readable):
    """What is proved about given coefficients: the interval in which their excess lies.

    Values are in the sum form ½‖θ‖² + Σ cost · loss, whichever form the model's own library writes; the
    percentages are the same in all of them.

    Attributes
    ----------
    problem : str
        The problem in words: loss, regularisation, offset, weights.
    objective : float
        Its value at the given coefficients; inf where that is beyond double precision.
    bound : float
        No coefficients have a smaller value than this.
    rounding : float
        How far rounding errors may reach; the objective and the bound already pay for them.
    own : Certificate
        Of our own solution of the same problem, from which the bound comes.
    label : str
        With several classes, the class that these numbers are about: the worst of them.
    shortfall : str
        Why our own solution did not reach the tolerance; empty if it did. The interval is wider then.
    per_class : tuple of Assessment
        With several classes, one for each against the rest, in the order of the classes.
    """

    problem: str
    objective: float
    bound: float
    own: Certificate
    rounding: float = 0.0
    label: str = ""
    shortfall: str = ""
    per_class: tuple[Assessment, ...] = ()

    @property
    def gap(self) -> float:
        """The most by which the objective can exceed the optimum: objective − bound."""
        return self._as_certificate.gap

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the bound; infinite where the bound is 0."""
        return self._as_certificate.relative_gap

    @property
    def is_rounding(self) -> bool:
        """Whether rounding errors are all that may separate the coefficients from the optimum."""
        return self._as_certificate.is_rounding

    @property
    def _as_certificate(self) -> Certificate:
        return Certificate(self.own.kind, self.objective, self.bound, self.rounding)

    @property
    def excess(self) -> float:
        """The least by which the objective exceeds the optimum: it exceeds our own solution's by this."""
        return max(0.0, self.objective - 2.0 * self.rounding - self.own.objective)

    @property
    def relative_excess(self) -> float:
        """The least by which the objective exceeds the optimum, as a share of the optimum."""
        if self.excess == 0:
            return 0.0
        share = self.excess / self.own.objective if self.own.objective > 0 else math.inf
        return min(share, self.relative_gap)

    def __str__(self) -> str:
        place = "the optimum of its own objective"
        if self.label:
            place += f" for {self.label}, the worst of {len(self.per_class)}"
        said = self._distance(f"{place} ({self.problem})")
        proof = PROOFS.get(self.own.kind, f"by {self.own.kind}")
        if not self.shortfall:
            return f"{said}, {proof}"
        reached = percent(self.own.relative_gap, "up")
        return f"{said}, {proof}; our own solution is within {reached}: {self.shortfall}"

    def _distance(self, place: str) -> str:
        low, high = self.relative_excess, self.relative_gap
        if math.isinf(self.objective):
            return f"beyond double precision above {place}"
        if self.gap == 0:
            return f"at {place}"
        if self.bound <= 0 and self.own.objective <= _NOTHING * self.objective:
            return f"{short(self.objective)} above {place}, which is 0"
        if self.bound <= 0:
            least = f"at least {percent(low, 'down')}" if low > 0 else "an unknown distance"
            return f"{least} above {place}; no bound above 0 was found"
        if self.is_rounding:
            return f"within rounding ({magnitude(high)}) of {place}"
        if high <= _TINY or low == 0:
            return f"within {percent(high, 'up')} of {place}"
        if percent(low) != percent(high):
            return f"between {percent(low, 'down')} and {percent(high, 'up')} above {place}"
        return f"{percent(high)} above {place}"
