"""How far a model is from the optimum, proved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

from maxmargin.presentation.cards import card, details, verdict
from maxmargin.presentation.wording import Readable, magnitude, percent, short

__all__ = ["PROOFS", "Certificate"]


# Each kind of proof, as sentences name it.
PROOFS = {
    "duality": "by duality",
    "newton-decrement": "by the Newton decrement",
    "lp-dual": "by the dual linear program",
    "normal-equations": "by the normal equations",
    "zero-one-bound": "by exact search",
    "separation": "by the agreements",
}

# A gap of at most this many times its rounding errors is rounding.
_FEW = 4.0


@dataclass(frozen=True)
class Certificate(Readable):
    """A proof of how far a point is from the optimum of its problem.

    Attributes
    ----------
    kind : str
        What proves it: ``"duality"`` for the regularised losses and the hard margin, ``"newton-decrement"``
        for smooth losses without a regulariser, ``"lp-dual"`` for linear programs, ``"normal-equations"``
        for least squares, ``"zero-one-bound"`` for the fewest errors, ``"separation"`` for a hyperplane
        that separates: made by `separation`.
    objective : float
        The value at the point is no larger than this; in the sum form ½‖w‖² + Σ cᵢ ℓ(mᵢ), or Σ cᵢ ℓ(mᵢ)
        without a regulariser.
    bound : float
        No point of the problem has a smaller value than this.
    rounding : float
        How far rounding errors may reach: computed with the sums, and already added to the objective and
        taken from the bound.
    residuals : mapping of str to float
        How well the optimality conditions hold, by name.

    Examples
    --------
    >>> from maxmargin import train
    >>> proof = train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], C=10).certificate
    >>> print(proof)
    within rounding (1e-13 %) of the optimum (objective 0.5, bound 0.5), by duality
    >>> proof.kind, proof.bound <= 0.5 <= proof.objective, proof.relative_gap <= 1e-4, proof.is_finite
    ('duality', True, True, True)
    """

    kind: str
    objective: float
    bound: float
    rounding: float = 0.0
    residuals: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    @cached_property
    def gap(self) -> float:
        """The most by which the objective can exceed the optimum: objective − bound.

        Examples
        --------
        >>> Certificate("duality", 10.5, 10.0).gap
        0.5
        """
        gap = max(self.objective - self.bound, 0.0)
        is_short = math.isfinite(gap) and math.fsum([self.objective, -self.bound, -gap]) > 0
        return math.nextafter(gap, math.inf) if is_short else gap  # rounded up

    @cached_property
    def relative_gap(self) -> float:
        """The gap divided by the bound, which is what ``tol`` means; infinite where the bound is 0.

        Examples
        --------
        >>> Certificate("duality", 10.5, 10.0).relative_gap, Certificate("duality", 10.5, 0.0).relative_gap
        (0.05, inf)
        """
        if self.gap == 0:
            return 0.0
        share = self.gap / self.bound if self.bound > 0 else math.inf
        is_short = math.isfinite(share) and Fraction(share) * Fraction(self.bound) < Fraction(self.gap)
        return math.nextafter(share, math.inf) if is_short else share

    @property
    def is_rounding(self) -> bool:
        """Whether rounding errors are all that may separate the point from the optimum.

        Examples
        --------
        >>> Certificate("duality", 10.5, 10.0).is_rounding, Certificate("duality", 1.5, 1.0, 0.5).is_rounding
        (False, True)
        """
        return self.gap <= _FEW * self.rounding

    @classmethod
    def separation(cls, smallest_agreement: float, errors: float, total: float) -> Certificate:
        """Return what the agreements themselves prove about a hyperplane that should separate.

        Parameters
        ----------
        smallest_agreement : float
            Over all rows that count; above 0 the hyperplane separates.
        errors, total : float
            Rows with agreement ≤ 0, and all rows, each counted with its weight. `objective` is the errors,
            and the bound is 0: no fewer are possible. Their share is a residual.

        Examples
        --------
        >>> print(Certificate.separation(0.25, 0, 6))
        every row is on its own side, the smallest agreement is 0.25
        """
        share = errors / total if total > 0 else 0.0
        residuals = {"smallest_agreement": float(smallest_agreement), "share_of_errors": share}
        return cls("separation", float(errors), 0.0, residuals=MappingProxyType(residuals))

    def __str__(self) -> str:
        if self.kind in ("separation", "zero-one-bound"):
            return self.verdict
        proof = PROOFS.get(self.kind, f"by {self.kind}")
        return f"{self.verdict} (objective {short(self.objective)}, bound {short(self.bound)}), {proof}"

    @property
    def verdict(self) -> str:
        """What is proved, without the numbers that prove it.

        Examples
        --------
        >>> Certificate("duality", 10.5, 10.0).verdict
        'within 5.0 % of the optimum'
        """
        if self.kind == "separation":
            return self._separation_in_words()
        if self.kind == "zero-one-bound":
            return self._errors_in_words()
        if self.gap == 0:
            return "at the optimum"
        if self.bound <= 0:
            return f"no bound above 0 was found: anywhere up to {short(self.gap, 'up')} above the optimum"
        if self.is_rounding:
            return f"within rounding ({magnitude(self.relative_gap)}) of the optimum"
        return f"within {percent(self.relative_gap, 'up')} of the optimum"

    def _separation_in_words(self) -> str:
        smallest = short(self.residuals.get("smallest_agreement", math.nan))
        if self.objective == 0:
            return f"every row is on its own side, the smallest agreement is {smallest}"
        share = percent(self.residuals.get("share_of_errors", math.nan))
        errors = f"{short(self.objective)} ({share}) of the rows, by weight,"
        return f"no separation: {errors} have agreement ≤ 0, the smallest agreement is {smallest}"

    def _errors_in_words(self) -> str:
        made, proof = short(self.objective), PROOFS[self.kind]
        noun = "error" if self.objective == 1 else "errors"
        if self.gap == 0:
            return f"{made} {noun}, and no hyperplane makes fewer, {proof}"
        return f"{made} {noun}; the fewest possible are between {short(self.bound)} and {made}, {proof}"

    def _repr_html_(self) -> str:
        numbers = {
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "relative gap": self.relative_gap,
            "rounding errors": self.rounding,
            **{f"residual: {name}": value for name, value in self.residuals.items()},
        }
        written = {name: short(value) for name, value in numbers.items()}
        return card("Certificate", verdict(str(self)), details("Numbers", written))

    @property
    def is_finite(self) -> bool:
        """Whether objective and bound are finite; always true for what this package makes."""
        return math.isfinite(self.objective) and math.isfinite(self.bound)

    # A mapping proxy cannot be pickled; a plain dictionary can.
    def __reduce__(self) -> tuple[type[Certificate], tuple[object, ...]]:
        return (
            type(self),
            (self.kind, self.objective, self.bound, self.rounding, dict(self.residuals)),
        )
