"""The total exponential loss Σ c exp(−m) at a point, and the proof of how far it is from its minimum.

The exponential loss has |ℓ‴| = ℓ″, all that the bound by the Newton decrement asks for (newton_decrement.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from maxmargin._core import StopToken
from maxmargin.core.certificate.newton_decrement import certify_by_decrement
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine, Scores

__all__ = ["Place", "certify_exponential"]


@dataclass(frozen=True, eq=False)
class Place:
    """A point, its scores x·w, and q = c exp(−m): what each row costs there, and how hard it pulls.

    Attributes
    ----------
    pull : (w, b)-gradient's negative, Σ q s (x, 1)
    """

    w: Array
    b: float
    z: Array
    q: Array
    value: float

    @classmethod
    def at(cls, problem: Problem, w: Array, b: float, z: Array | None = None) -> Place:
        """Evaluate the loss; the scores z are computed where they are not known."""
        if z is None:
            z = problem.rows.zeros()
            problem.rows.reduce(Scores(w), z)
        live = problem.cost > 0  # a row that does not count may be anywhere
        with np.errstate(over="ignore", under="ignore"):
            q = np.exp(-problem.sign * (z + b), out=np.zeros(len(z)), where=live)
            q *= problem.cost
        return cls(w, b, z, q, float(q.sum()))

    def pull(self, problem: Problem, token: StopToken | None = None) -> Array:
        """Return Σ q s (x, 1), the gradient with its sign turned; its last entry is the offset's."""
        signed = self.q * problem.sign
        of_columns = problem.rows.reduce(Combine(problem.rows.n_columns), signed, token=token)
        return np.append(of_columns, signed.sum() if problem.offset.is_free else 0.0)


def certify_exponential(
    problem: Problem, w: Array, b: float, *, token: StopToken | None = None
) -> Certificate:
    """Return how far (w, b) is from the smallest total exponential loss, from the rows alone."""
    place = Place.at(problem, w, b)
    certificate, _ = certify_by_decrement(problem, w, b, place.z, token=token)
    if not math.isfinite(place.value):
        return certificate
    pull = np.abs(place.pull(problem, token))
    left = {"features": float(pull[:-1].max(initial=0.0)), "labels": float(pull[-1])}
    return replace(certificate, residuals=MappingProxyType(left))
