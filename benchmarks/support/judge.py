"""How far given coefficients are from the optimum of their own problem, by a certified bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.own_solvers import fit_within, solvers_for

__all__ = ["Judge", "objective"]

_VALUE = {
    "hinge": lambda m: np.maximum(0.0, 1.0 - m),
    "squared_hinge": lambda m: np.maximum(0.0, 1.0 - m) ** 2,
    "logistic": lambda m: np.logaddexp(0.0, -m),
}


def objective(X: Any, y: np.ndarray, loss: str, C: float, point: tuple[np.ndarray, float, str]) -> float:
    """Return ½‖w‖² + C Σ loss, plus ½b² where the offset is penalised; in double precision."""
    w, b, offset = point
    penalty = w @ w + (b * b if offset == "penalized" else 0.0)
    return float(0.5 * penalty + C * _VALUE[loss](y * (X @ w + b)).sum())


@dataclass
class Judge:
    """The bounds of one task, one for each treatment of the offset; each is computed when first asked for.

    Attributes
    ----------
    tol : float
        How tight the bounds should be.
    max_time : float
        Seconds that each of our solvers may spend on one.
    """

    X: Any
    y: np.ndarray
    loss: str
    C: float
    tol: float = 1e-8
    max_time: float = 300.0
    known: dict[str, Any] = field(default_factory=dict)

    def certificate(self, offset: str) -> Any:
        """Return the tightest certificate that our own solvers find for this treatment of the offset."""
        if offset not in self.known:
            kinds = {"free": {}, "penalized": {"penalize_intercept": True}, "none": {"fit_intercept": False}}
            settings = {"loss": self.loss, "C": self.C, "tol": self.tol, **kinds[offset]}
            found = []
            for solver in ("auto", *solvers_for(self.loss)):
                _, model = fit_within(self.X, self.y, self.max_time, solver=solver, **settings)
                found += [] if model is None else [model.certificate]
                if found and found[-1].relative_gap <= self.tol:
                    break
            self.known[offset] = min(found, key=lambda proof: proof.relative_gap)
        return self.known[offset]

    def excess(self, w: np.ndarray, b: float, offset: str) -> float:
        """Return by which share of the bound the objective exceeds it."""
        bound = self.certificate(offset).bound
        return objective(self.X, self.y, self.loss, self.C, (w, b, offset)) / bound - 1.0

    def looseness(self) -> dict[str, float]:
        """Return the certified gap of each bound used: what the excess may be overstated by."""
        return {offset: proof.relative_gap for offset, proof in self.known.items()}
