"""What is known about examples that are left out one by one, while it is being found out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.leave_one_out import REASONS, Reason
from maxmargin.rows import Array

__all__ = ["Verdicts"]

_TIE = 1e-7  # agreements smaller than this, relative to the largest, count as 0
_BLUNT = 1e-3  # a bound so large, relative to the same, does not tell a tie from anything else


class Verdicts:
    """One verdict an example, each final, with its reason.

    Attributes
    ----------
    outcome : int8 row vector
        +1 right when left out, −1 wrong, 0 not known.
    code : uint8 row vector
        The place of the reason in `REASONS`.
    agreement, bound : row vectors
        The best known left-out agreement and how far it may be off; NaN and infinite at first.
    tie : float
        Agreements up to this size are called 0.
    """

    def __init__(self, agreements: Array) -> None:
        count = len(agreements)
        self.outcome = np.zeros(count, dtype=np.int8)
        self.code = np.full(count, REASONS.index(Reason.UNDECIDED), dtype=np.uint8)
        self.agreement = np.full(count, np.nan)
        self.bound = np.full(count, np.inf)
        self.tie = _TIE * (1.0 + float(np.abs(agreements).max(initial=0.0)))

    @property
    def undecided(self) -> NDArray[np.intp]:
        """The examples of which nothing is known yet."""
        return np.flatnonzero(self.outcome == 0)

    def decide(self, which: NDArray[np.intp], outcome: int, reason: Reason) -> None:
        """Note what becomes of some examples, and why that is known; what was known before stays."""
        new = which[self.outcome[which] == 0]
        self.outcome[new] = outcome
        self.code[new] = REASONS.index(reason)

    def settle(self, which: NDArray[np.intp], agreement: Array, bound: Array, reason: Reason) -> None:
        """Note left-out agreements with their bounds, and decide what they decide."""
        bound = np.where(np.isfinite(agreement) & (bound >= 0), bound, np.inf)
        better = bound < self.bound[which]
        self.agreement[which[better]] = agreement[better]
        self.bound[which[better]] = bound[better]
        far = np.maximum(bound, self.tie)
        self.decide(which[agreement > far], +1, reason)
        self.decide(which[agreement < -far], -1, reason)
        is_tie = (np.abs(agreement) <= self.tie) & (bound <= self.tie)
        self.decide(which[is_tie], -1, Reason.TIE)

    def settle_ties(self, which: NDArray[np.intp]) -> None:
        """Call those ties of which the best that can be known leaves no other word."""
        close = self.bound[which] <= _BLUNT / _TIE * self.tie
        near = np.abs(self.agreement[which]) <= np.maximum(self.bound[which], self.tie)
        self.decide(which[close & near], -1, Reason.TIE)
