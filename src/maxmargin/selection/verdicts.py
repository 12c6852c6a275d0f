"""What is known about examples that are left out one by one, while it is being found out.

An agreement is known up to a bound of its error. Beyond that bound its sign is certain; agreements so near to
0 that nobody would call them right, and certain to be so, are ties. Both are about the example alone: how
large the agreements of others are does not matter.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from maxmargin.problem import Problem
from maxmargin.results.leave_one_out import REASONS, Reason
from maxmargin.rows import Array, inner

__all__ = ["TIE", "Verdicts", "rounding_of_agreements", "sides"]

TIE = 1e-7  # agreements up to this size are ties, which count as wrong


def sides(agreement: Array, bound: Array) -> NDArray[np.int8]:
    """Return +1 for agreements that are right for certain, −1 for wrong, 0 for ties, 2 for not known."""
    found = np.full(agreement.shape, 2, dtype=np.int8)
    found[(np.abs(agreement) <= TIE) & (bound <= TIE)] = 0
    far = np.maximum(bound, TIE)
    found[agreement > far] = 1
    found[agreement < -far] = -1
    return found


def rounding_of_agreements(problem: Problem, w: Array, b: float) -> Array:
    """Return what rounding can make of the agreement of each row, by the size of what is added up."""
    n_terms = problem.rows.n_columns + 8
    sizes = np.sqrt(problem.rows.norms()[0]) * math.sqrt(inner(w, w)) + abs(b)
    return np.asarray(n_terms * 2.0**-52 * sizes)


class Verdicts:
    """One verdict a case, each final, with its reason.

    Attributes
    ----------
    outcome : int8 array
        +1 right when left out, −1 wrong, 0 not known.
    code : uint8 array
        The place of the reason in `REASONS`.
    agreement, bound : arrays
        The best known left-out agreement and how far it may be off; NaN and infinite at first.
    rounding : array
        What rounding may have made of each agreement when it was computed: part of every bound.
    """

    def __init__(self, rounding: Array) -> None:
        count = len(rounding)
        self.rounding = rounding
        self.outcome = np.zeros(count, dtype=np.int8)
        self.code = np.full(count, REASONS.index(Reason.UNDECIDED), dtype=np.uint8)
        self.agreement = np.full(count, np.nan)
        self.bound = np.full(count, np.inf)

    @property
    def undecided(self) -> NDArray[np.intp]:
        """The cases of which nothing is known yet."""
        return np.flatnonzero(self.outcome == 0)

    def decide(self, which: NDArray[np.intp], outcome: int, reason: Reason) -> None:
        """Note what becomes of some cases, and why that is known; what was known before stays."""
        new = which[self.outcome[which] == 0]
        self.outcome[new] = outcome
        self.code[new] = REASONS.index(reason)

    def settle(self, which: NDArray[np.intp], agreement: Array, bound: Array, reason: Reason) -> None:
        """Note left-out agreements with their bounds, and decide what they decide."""
        bound = np.where(np.isfinite(agreement) & (bound >= 0), bound + self.rounding[which], np.inf)
        better = bound < self.bound[which]
        self.agreement[which[better]] = agreement[better]
        self.bound[which[better]] = bound[better]
        side = sides(agreement, bound)
        self.decide(which[side == 1], +1, reason)
        self.decide(which[side == -1], -1, reason)
        self.decide(which[side == 0], -1, Reason.TIE)
