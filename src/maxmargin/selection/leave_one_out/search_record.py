"""What a search for C by leave-one-out found: exact counts of errors where they matter, bounds elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, percent, plural, short
from maxmargin.selection.leave_one_out.record import LeaveOneOut

__all__ = ["ErrorCount", "LeaveOneOutSearch"]


@dataclass(frozen=True, eq=False)
class ErrorCount:
    """What is known of the leave-one-out errors at one C.

    Attributes
    ----------
    lower, upper : int
        The number is certainly between them. Rows that are certainly wrong in the fit of all rows are wrong
        when they are left out, and rows of the hinge beyond the margin are right.
    estimated : int
        The number as estimated left-out scores have it; it decides in which order C's are looked at.
    training_errors : int
    scores : array of shape (n_rows, 1 or n_classes)
        The estimated left-out scores.
    certificate : Certificate
        Of the fit of all rows; the worst of the classes'.
    seconds, finish_seconds : float
        For the fit and the bounds, and for the exact number.
    record : LeaveOneOut or None
        What the exact number comes from.
    """

    lower: int
    upper: int
    estimated: int
    training_errors: int
    scores: NDArray[np.float64]
    certificate: Certificate
    seconds: float
    finish_seconds: float = 0.0
    record: LeaveOneOut | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.lower == self.upper


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOutSearch(Readable):
    """Leave-one-out for every C: the exact number of errors, or bounds that show that it cannot be the best.

    Attributes
    ----------
    Cs : array of shape (n_Cs,)
        In the order in which they were given.
    counts : list of ErrorCount or None
        None for a C that there was no time to look at.
    n_examples : int
        The rows that count: those with any weight.
    scores : array of shape (n_Cs,)
        1 − error where the error is exact, or the mean log-probability from estimated left-out scores; NaN
        where it is not known.
    by : "error" or "log_loss"
    best_index : int
        The C that is chosen.
    """

    Cs: NDArray[np.float64]
    counts: list[ErrorCount | None]
    n_examples: int
    scores: NDArray[np.float64]
    by: str
    best_index: int

    @property
    def n_splits(self) -> int:
        """As many as rows that count."""
        return self.n_examples

    @property
    def mean(self) -> NDArray[np.float64]:
        """The scores, under the name that tables of splits use."""
        return self.scores

    @property
    def certificates(self) -> NDArray[np.object_]:
        """The certificate of the fit of all rows at each C; None where there was no time for it."""
        proofs = np.full((len(self.Cs), 1), None, dtype=object)
        for place, count in enumerate(self.counts):
            proofs[place, 0] = None if count is None else count.certificate
        return proofs

    @property
    def relative_gaps(self) -> NDArray[np.float64]:
        """The certified relative gap of the fit of all rows at each C."""
        found = [math.nan if proof is None else proof.relative_gap for proof in self.certificates[:, 0]]
        return np.array(found)[:, None]

    @property
    def unfinished(self) -> NDArray[np.float64]:
        """The C's that might be better than the one that is chosen: those there was no time for."""
        if self.by == "log_loss":
            return np.asarray(self.Cs[np.isnan(self.scores)])
        fewest = min((count.upper for count in self.counts if count is not None), default=self.n_examples)
        open_ones = [count is None or (not count.is_exact and count.lower < fewest) for count in self.counts]
        return np.asarray(self.Cs[np.array(open_ones)])

    def results(self) -> dict[str, Any]:
        """Return the table, with the columns of `GridSearchCV` and what is known of each number of errors."""
        ranked = np.where(np.isnan(self.scores), np.nanmin(self.scores, initial=0.0) - 1.0, self.scores)

        def column(name: str, missing: float = math.nan) -> NDArray[np.float64]:
            return np.array([missing if count is None else getattr(count, name) for count in self.counts])

        upper = column("upper", float(self.n_examples))
        lower = column("lower", 0.0)
        with np.errstate(invalid="ignore"):
            deviation = np.sqrt(self.scores * (1.0 - self.scores))
        return {
            "mean_fit_time": column("seconds"),
            "std_fit_time": np.zeros(len(self.Cs)),
            "mean_score_time": column("finish_seconds"),
            "std_score_time": np.zeros(len(self.Cs)),
            "param_C": np.ma.masked_array(self.Cs, mask=False),
            "params": [{"C": float(C)} for C in self.Cs],
            "mean_test_score": self.scores.copy(),
            "std_test_score": deviation if self.by == "error" else np.full(len(self.Cs), math.nan),
            "rank_test_score": np.array([1 + int((ranked > own).sum()) for own in ranked], dtype=np.int32),
            "least_errors": lower.astype(np.int64),
            "most_errors": upper.astype(np.int64),
            "errors_are_exact": lower == upper,
            "estimated_errors": column("estimated"),
            "training_errors": column("training_errors"),
            "max_relative_gap": self.relative_gaps[:, 0],
        }

    def frame(self) -> Any:
        """Return the table as a pandas data frame, one row per C; without pandas, as a dictionary."""
        return frame_of(
            {"C": self.Cs, **{k: v for k, v in self.results().items() if k != "params"}}, index="C"
        )

    def __str__(self) -> str:
        tried = f"{plural(len(self.Cs), 'value')} of C by leave-one-out"
        best = self.counts[self.best_index]
        C = short(self.Cs[self.best_index])
        if best is None:
            return f"{tried}: none is finished"
        if self.by == "log_loss":
            return f"{tried}: best C = {C}, with log-loss {short(-self.scores[self.best_index])}, estimated"
        exact = sum(count is not None and count.is_exact for count in self.counts)
        if not best.is_exact:
            said = f"{best.lower:,} to {best.upper:,} errors"
        else:
            said = f"{plural(best.lower, 'error')} ({percent(best.lower / self.n_examples)}), exact"
        judged = f"{exact} counted to the end, the others ruled out by bounds"
        if exact == len(self.Cs):
            judged = "all counted to the end"
        return f"{tried}: best C = {C}, with {said}; {judged}"

    __repr__ = __str__
