"""What the hard margin would be if one of the rows that hold it were given up (S38)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable, plural, short

__all__ = ["GivingUp"]


@dataclass(frozen=True, eq=False)
class GivingUp(Readable):
    """The margin without each of the support vectors, one at a time; without any other row it stays.

    Attributes
    ----------
    rows : array of whole numbers
        The support vectors, those that gain most first.
    margin : float
        The margin width 1/‖θ‖ with all rows.
    margins : array
        The margin without each; inf where the row is the last of its class.
    """

    rows: NDArray[np.intp]
    margin: float
    margins: NDArray[np.float64]

    @property
    def gains(self) -> NDArray[np.float64]:
        """By how much the margin would grow; 0 where others hold it just as well."""
        return np.asarray(self.margins - self.margin)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table as a dictionary of columns."""
        return {"row": self.rows, "margin": self.margins, "gain": self.gains}

    def frame(self) -> Any:
        """Return a pandas data frame with a line for each support vector; without pandas, the columns."""
        return frame_of(self.columns(), "row")

    def __str__(self) -> str:
        held = f"{plural(len(self.rows), 'row')} hold{'s' if len(self.rows) == 1 else ''} the margin at"
        if len(self.rows) == 0:
            return f"no row holds the margin at {short(self.margin)}"
        first, best = int(self.rows[0]), float(self.margins[0])
        if not best > self.margin * (1 + 1e-9):
            return f"{held} {short(self.margin)}, and giving up any one of them gains nothing"
        gain = "there would be no margin to speak of, its class being gone"
        if np.isfinite(best):
            gain = f"it would be {short(best)}, {best / self.margin:.3g} times as wide"
        return f"{held} {short(self.margin)}; without row {first} {gain}"
