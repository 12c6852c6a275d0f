"""Which examples are wrong when they are left out, each with the reason why that is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import Status
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, percent

__all__ = ["REASONS", "LeaveOneOut", "Reason"]


class Reason(Enum):
    """Why it is known what becomes of an example that is left out; the value says it of one example."""

    NO_SUPPORT_VECTOR = "not a support vector"
    WRONG_ALREADY = "wrong already"
    BOUND = "decided by a bound"
    CERTIFICATE = "decided by a certificate"
    FOLLOWED = "followed until it was out"
    REFITTED = "refitted without it"
    TIE = "a tie, on the boundary when left out: counts as wrong"
    ALONE = "alone in its class: counts as wrong"
    ABSENT = "weighs nothing, not counted"
    UNDECIDED = "undecided"

    @property
    def of_many(self) -> str:
        """The same after a number of examples."""
        return {
            Reason.NO_SUPPORT_VECTOR: "are no support vectors",
            Reason.WRONG_ALREADY: "are wrong already",
            Reason.BOUND: "decided by bounds",
            Reason.CERTIFICATE: "decided by certificates",
            Reason.FOLLOWED: "followed until they were out",
            Reason.REFITTED: "refitted without them",
            Reason.TIE: "tied, which counts as wrong",
            Reason.ALONE: "alone in their class, which counts as wrong",
            Reason.ABSENT: "weigh nothing",
            Reason.UNDECIDED: "undecided",
        }[self]


REASONS = tuple(Reason)  # `LeaveOneOut.codes` are places in it


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Readable):
    """The leave-one-out errors of one problem, and how each of them is known.

    Attributes
    ----------
    errors : bool array of shape (n_rows,)
        True for an example that is certainly wrong when it is left out: its left-out agreement is ≤ 0.
    codes : uint8 array of shape (n_rows,)
        The place of each example's reason in `REASONS`; `reasons` has the reasons themselves.
    training_errors : int
        Examples that are wrong in the full fit, agreement ≤ 0.
    agreements : array of shape (n_rows,) or None
        Agreements of the examples with the classifier that was fitted without them. With several classes,
        the score of the own class minus the largest other one. NaN for examples that weigh nothing or, if
        they are exact, for those that are undecided or have no left-out classifier.
    agreements_are : "estimated", "exact" or None
        What `agreements` are worth. Estimates never decide `errors`.
    agreements_by : str
        How they were found, and what that cost.
    probabilities : array of shape (n_rows, n_classes) or None
        For softmax, the probabilities of the classes for each example when it is left out, as estimated; NaN
        for examples that weigh nothing.
    agreement_bounds : array of shape (n_rows,) or None
        How far each exact agreement may be off.
    full_agreements : array of shape (n_rows,) or None
        Agreements of the examples with the full fit, which they are part of.
    certificate : Certificate or None
        Of the full fit that everything rests on.
    has_free_support_vector : bool
        Whether some example lies on the margin with a dual variable strictly between 0 and its cost.
    status : Status
        SOLVED if every example was decided; else what ended the work.
    loss : str
    per_class : tuple of LeaveOneOut
        With several classes, one for each class against the rest.

    Examples
    --------
    >>> codes = np.array([0, 1, 3], dtype=np.uint8)
    >>> print(LeaveOneOut(np.array([False, True, False]), codes, 1))  # doctest: +NORMALIZE_WHITESPACE
    1 of 3 wrong when left out (33.3 %), exact; 1 are no support vectors, 1 are wrong already,
    1 decided by certificates

    What `leave_one_out` gives:

    >>> from maxmargin import LinearSVM, leave_one_out
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [-1, -1, 1, -1, 1, 1]
    >>> found = leave_one_out(LinearSVM(C=1), X, y)
    >>> found.n_errors, found.n_examples, found.n_undecided, round(found.error_rate, 2)
    (2, 6, 0, 0.33)
    >>> found.reasons[0].value, sum(found.counts.values()), len(found.frame())
    ('not a support vector', 6, 6)
    >>> found.is_meaningful, found.warning()
    (True, None)
    """

    errors: NDArray[np.bool_]
    codes: NDArray[np.uint8]
    training_errors: int
    agreements: NDArray[np.float64] | None = None
    agreements_are: Literal["estimated", "exact"] | None = None
    agreements_by: str = ""
    agreement_bounds: NDArray[np.float64] | None = None
    full_agreements: NDArray[np.float64] | None = None
    certificate: Certificate | None = None
    has_free_support_vector: bool = True
    status: Status = Status.SOLVED
    loss: str = "hinge"
    per_class: tuple[LeaveOneOut, ...] = field(default=(), repr=False)
    probabilities: NDArray[np.float64] | None = None

    # The status is kept by name: some formats, skops' among them, take no Enum.
    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["status"] = Status[state["status"]]

    @property
    def n_examples(self) -> int:
        """How many examples are counted: those that weigh anything."""
        return len(self.codes) - self.counts.get(Reason.ABSENT, 0)

    @property
    def n_errors(self) -> int:
        """How many are certainly wrong when left out; with `n_undecided` = 0, the exact number."""
        return int(np.count_nonzero(self.errors))

    @property
    def n_undecided(self) -> int:
        """How many are not known; only an interrupt or `max_time` leaves any."""
        return self.counts.get(Reason.UNDECIDED, 0)

    @property
    def error_rate(self) -> float:
        """The share of certain errors among the examples that are counted."""
        return self.n_errors / self.n_examples if self.n_examples else 0.0

    @property
    def reasons(self) -> list[Reason]:
        """Why it is known, for each example."""
        return [REASONS[code] for code in self.codes]

    @property
    def counts(self) -> dict[Reason, int]:
        """How many examples there are for each reason, without those that have none."""
        counted = np.bincount(self.codes, minlength=len(REASONS))
        return {reason: int(count) for reason, count in zip(REASONS, counted, strict=True) if count}

    @property
    def is_meaningful(self) -> bool:
        """Whether the count says anything about new examples.

        With a free offset and no support vector strictly between its bounds, leaving any example out moves
        the offset to the other class: the errors then reflect the class sizes, not the classifier.
        """
        return self.has_free_support_vector

    def warning(self) -> str | None:
        """Return the words of a warning, where leave-one-out says nothing about new examples."""
        if self.is_meaningful:
            return None
        return (
            "leave-one-out says little here: no support vector lies strictly between its bounds, so that "
            "the offset is held by the numbers of examples alone and jumps when one is left out. A larger C "
            "gives a classifier that the examples themselves hold."
        )

    def frame(self) -> Any:
        """Return a table with one line an example; without pandas, its columns."""
        columns: dict[str, Any] = {
            "wrong": self.errors,
            "reason": [reason.value for reason in self.reasons],
        }
        if self.agreements is not None:
            columns[f"{self.agreements_are}_agreement"] = self.agreements
        return frame_of(columns)

    def __str__(self) -> str:
        n = self.n_examples
        if self.n_undecided:
            most = self.n_errors + self.n_undecided
            said = f"at least {self.n_errors:,} and at most {most:,} of {n:,} wrong when left out"
            said += f" ({self.status.value})"
        else:
            said = f"{self.n_errors:,} of {n:,} wrong when left out ({percent(self.error_rate)}), exact"
        parts = [f"{count:,} {reason.of_many}" for reason, count in self.counts.items()]
        if not self.is_meaningful:
            parts.append("no support vector between its bounds, so that this says little")
        return f"{said}; {', '.join(parts)}" if parts else said
