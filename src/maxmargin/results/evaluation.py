"""How a classifier does on rows with known labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.reliability import Reliability, WithInterval
from maxmargin.results.wording import Readable, chosen_percent, percent, plural

__all__ = ["Evaluation"]


@dataclass(frozen=True, eq=False)
class Evaluation(Readable):
    """Errors, counted by class, and what probabilities are worth where there are any.

    Attributes
    ----------
    labels : array
        The classes of the model and, behind them, labels of the rows that it does not know.
    counts : int array of shape (len(labels), n_classes)
        How many rows of each label were predicted to be of each of the model's classes.
    n_classes : int
        How many of the labels the model knows; rows of all others are errors.
    error : WithInterval
        The share of errors, and the Clopper–Pearson interval of the probability of one.
    confidence : float
        Of that interval.
    area : float or None
        Under the ROC curve: the probability that a row of the second class scores higher than one of the
        first, ties counted half. None for other than two classes, or where one of them has no rows.
    reliability : Reliability or None
        Of the probabilities, where the model has any and knows all labels.
    is_training : bool
        Whether these are the rows that the model was fitted to: the error has no interval then (NaN).

    Examples
    --------
    >>> counts = np.array([[3, 1], [0, 4]])
    >>> found = Evaluation(np.array(["a", "b"]), counts, 2, WithInterval(0.125, 0.003, 0.527))
    >>> print(found)
    error 12.5 % (0.30 % to 52.7 % with 95 % confidence): 1 of 8 rows wrong
    >>> found.n_rows, found.n_errors, found.recall.tolist(), found.precision.tolist()
    (8, 1, [0.75, 1.0], [1.0, 0.8])
    """

    labels: NDArray[Any]
    counts: NDArray[np.intp]
    n_classes: int
    error: WithInterval
    confidence: float = 0.95
    area: float | None = None
    reliability: Reliability | None = None
    is_training: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows were judged."""
        return int(self.counts.sum())

    @property
    def n_errors(self) -> int:
        """How many of them were given another label than their own."""
        return self.n_rows - int(np.trace(self.counts[: self.n_classes]))

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of each label's rows that were recognised; NaN where there are none."""
        right = np.zeros(len(self.labels))
        right[: self.n_classes] = np.diagonal(self.counts[: self.n_classes])
        return _share(right, self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of rows said to be of a class that are; NaN where it was never said."""
        return _share(np.diagonal(self.counts[: self.n_classes]), self.counts.sum(axis=0))

    def __str__(self) -> str:
        rate, low, high = (percent(value) for value in (self.error.value, self.error.low, self.error.high))
        sure = f"with {chosen_percent(self.confidence)} confidence"
        rows = f"{self.n_errors:,} of {plural(self.n_rows, 'row')} wrong"
        if self.is_training:
            fitted = "these are the rows that the model was fitted to, which say little about new ones"
            return f"training error {rate}: {rows}; {fitted}"
        return f"error {rate} ({low} to {high} {sure}): {rows}"


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))
