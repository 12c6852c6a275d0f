"""Examples whose labels look wrong, the most suspicious first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable

__all__ = ["Suspects"]

_NAMED = 3  # in a sentence


@dataclass(frozen=True, eq=False)
class Suspects(Readable):
    """Examples in the order in which their labels should be looked at; one entry for each in every array.

    Attributes
    ----------
    indices : array of int
        The rows, the most suspicious first.
    labels : array
    predicted : array
        What the model predicts for them.
    agreements : array
        With the model that was fitted to them too; with several classes, the score of the own class minus
        the largest other one. Its slack is what is missing to 1.
    left_out : array or None
        Agreements with the classifier that is fitted without the example; the mean of both ranks. None where
        the model names no problem to solve without it, and `agreements` alone rank.
    influence : array or None
        The dual variable of the example, the largest over the classes: how hard it pulls at the model.
    n_examples : int
        How many examples were looked at.
    n_at_odds : int
        How many of all of them are on the wrong side when left out, or of the model where that is not known.
    left_out_are : "estimated", "exact" or None
    left_out_by : str
        How they were found, and what that cost.
    """

    indices: NDArray[np.intp]
    labels: NDArray[Any]
    predicted: NDArray[Any]
    agreements: NDArray[np.float64]
    left_out: NDArray[np.float64] | None
    influence: NDArray[np.float64] | None
    n_examples: int
    n_at_odds: int
    left_out_are: str | None = None
    left_out_by: str = ""

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def slacks(self) -> NDArray[np.float64]:
        """max(0, 1 − agreement), by which an example misses its margin."""
        return np.asarray(np.maximum(0.0, 1.0 - self.agreements))

    def columns(self) -> dict[str, Any]:
        """Return the table of `frame` as a dictionary of columns."""
        table: dict[str, Any] = {
            "rank": np.arange(1, len(self) + 1),
            "row": self.indices,
            "label": self.labels,
            "predicted": self.predicted,
            "agreement": self.agreements,
            "slack": self.slacks,
        }
        if self.left_out is not None:
            table["left_out_agreement"] = self.left_out
        if self.influence is not None:
            table["influence"] = self.influence
        return table

    def frame(self) -> Any:
        """Return a pandas data frame with a row for each suspect; without pandas, the columns."""
        return frame_of(self.columns(), "rank")

    def __str__(self) -> str:
        against = "the classifier" if self.left_out is None else "the classifier that is fitted without them"
        about = "about " if self.left_out_are == "estimated" else ""
        found = f"{about}{self.n_at_odds:,} of {self.n_examples:,} examples are at odds with {against}"
        if len(self) == 0:
            return found
        named = "; ".join(self._in_words(place) for place in range(min(_NAMED, len(self))))
        return f"{found}, first of all {named}"

    def _in_words(self, place: int) -> str:
        left = "" if self.left_out is None else f", {self.left_out[place]:.2f} when left out"
        said = f"labelled {self.labels[place]!s}, predicted {self.predicted[place]!s}"
        return f"row {self.indices[place]:,} ({said}: agreement {self.agreements[place]:.2f}{left})".replace(
            " -", " −"
        )
