"""What mixtures of two neighbouring solutions prove about every C: a few numbers, no vectors.

Weights with q = ½‖w‖² (plus the penalty of an offset) and loss R at unit cost have the objective q + C R at
every C; duals with value G at unit cost and Q = ‖Σ sτx‖² give the bound C G − ½C²Q there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.certificate import Certificate

__all__ = ["ROUNDING_OF_SUMS", "Mixtures"]

Array = NDArray[np.float64]

# Objective and bound are two sums that are subtracted: their rounding errors, as a share, are paid for.
ROUNDING_OF_SUMS = 2.0**-43


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Mixtures of two solutions of one problem, at C₁ and C₂.

    Attributes
    ----------
    primal_share, penalty, loss : arrays
        The share of the second solution's weights, and q and R of that mixture.
    dual_share, gain, square : arrays
        The share of the second solution's duals (each divided by its C), and G and Q of that mixture.
    """

    primal_share: Array
    penalty: Array
    loss: Array
    dual_share: Array
    gain: Array
    square: Array

    def objectives(self, C: Array | float) -> Array:
        """Return q + C R; one row per C if there are several."""
        C = np.asarray(C, dtype=np.float64)[..., None]
        return np.asarray(self.penalty + C * self.loss)

    def bounds(self, C: Array | float) -> Array:
        """Return C G − ½C²Q; one row per C if there are several."""
        C = np.asarray(C, dtype=np.float64)[..., None]
        return np.asarray(C * (self.gain - 0.5 * C * self.square))

    def relative_gaps(self, C: Array | float) -> Array:
        """Return the certified relative gap of the best mixtures at each C."""
        objective, bound = self.objectives(C).min(axis=-1), self.bounds(C).max(axis=-1)
        rounding = ROUNDING_OF_SUMS * objective
        gap, bound = np.maximum(objective - bound, 0.0) + 2.0 * rounding, bound - rounding
        return np.asarray(np.divide(gap, bound, out=np.full_like(gap, np.inf), where=bound > 0))

    def best_weights(self, C: float) -> float:
        """Return the share of the second solution in the weights with the least objective."""
        return float(self.primal_share[int(np.argmin(self.objectives(C)))])

    def best_duals(self, C: float) -> float:
        """Return the share of the second solution in the duals with the largest bound."""
        return float(self.dual_share[int(np.argmax(self.bounds(C)))])

    def certificate(self, C: float) -> Certificate:
        """Return the proof about the best weights at C; nothing is read for it, the formulas are exact."""
        objective = float(self.objectives(C).min())
        rounding = ROUNDING_OF_SUMS * objective
        bound = min(float(self.bounds(C).max()), objective) - rounding
        return Certificate("duality", objective + rounding, max(bound, 0.0), 2.0 * rounding)

    def missing(self, low: float, high: float, tol: float) -> list[tuple[float, float]]:
        """Return the stretches of [low, high] at which the best mixtures are not within `tol`.

        Two mixtures are, between the roots of ½(1 + tol) Q C² − ((1 + tol) G − R) C + q; the union of all
        these intervals is what is certified.
        """
        grown = 1.0 + tol * (1.0 - 1e-6) - 4.0 * ROUNDING_OF_SUMS
        middle = (grown * self.gain - self.loss[:, None]).ravel()
        square, constant = (
            np.broadcast_to(x, (len(self.loss), len(self.gain))).ravel()
            for x in (grown * self.square, self.penalty[:, None])
        )
        under_root = middle * middle - 2.0 * square * constant
        has_roots = (middle > 0) & (under_root >= 0)
        root = middle[has_roots] + np.sqrt(under_root[has_roots])
        begin = 2.0 * constant[has_roots] / root
        with np.errstate(divide="ignore"):
            end = root / square[has_roots]  # no end if Q = 0
        order = np.argsort(begin, kind="stable")
        begin = np.append(begin[order], np.inf)
        reached = np.maximum.accumulate(np.concatenate(([low], end[order])))
        holes = np.flatnonzero((begin > reached) & (reached < high))
        return [(float(reached[k]), float(min(begin[k], high))) for k in holes]
