"""How far a model is from the optimum, proved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from maxmargin.results.wording import Readable, percent, short

__all__ = ["PROOFS", "ROUNDING", "Certificate"]

# Each kind of proof, as sentences name it.
PROOFS = {"duality": "by duality", "newton-decrement": "by the Newton decrement"}

# Below this relative gap, double precision cannot tell a point from the optimum.
ROUNDING = 1e-14


@dataclass(frozen=True)
class Certificate(Readable):
    """A proof of how far a point is from the optimum of its problem.

    Attributes
    ----------
    kind : str
        What proves it: ``"duality"`` for the regularised losses, ``"newton-decrement"`` for maximum
        likelihood.
    objective : float
        The value at the point, in the sum form ½‖w‖² + Σ cᵢ ℓ(mᵢ), or Σ cᵢ ℓ(mᵢ) without a regulariser.
    bound : float
        No point of the problem has a smaller value than this.
    gap : float
        The most by which the objective can exceed the optimum, computed without cancellation.
    relative_gap : float
        The gap divided by the bound; what ``tol`` of the estimators means.
    residuals : mapping of str to float
        How well the optimality conditions hold, by name.
    """

    kind: str
    objective: float
    bound: float
    gap: float
    relative_gap: float
    residuals: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    def __str__(self) -> str:
        proof = PROOFS.get(self.kind, f"by {self.kind}")
        values = f"(objective {short(self.objective)}, bound {short(self.bound)}), {proof}"
        if self.relative_gap <= ROUNDING:
            return f"at the optimum to rounding {values}"
        if self.bound <= 0 and self.gap > 0:
            return f"no bound above 0 was found: anywhere up to {short(self.gap)} above the optimum {values}"
        return f"within {percent(self.relative_gap)} of the optimum {values}"

    @property
    def is_finite(self) -> bool:
        """Whether every number in it is finite; always true for what this package makes."""
        return all(math.isfinite(x) for x in (self.objective, self.bound, self.gap, self.relative_gap))

    # A mapping proxy cannot be pickled; a plain dictionary can.
    def __reduce__(self) -> tuple[type[Certificate], tuple[object, ...]]:
        return (
            type(self),
            (self.kind, self.objective, self.bound, self.gap, self.relative_gap, dict(self.residuals)),
        )
