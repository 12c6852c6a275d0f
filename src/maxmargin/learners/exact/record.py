"""What an exact learner hands back for two classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import Plan, Status
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, plural, short

__all__ = ["ExactSolution", "GivingUp", "HingeMinimum"]


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """Weights and offset, and the proof of how good they are.

    Attributes
    ----------
    coef : array of shape (n_columns,)
    intercept : float
    certificate : Certificate
    plan : Plan
        The method, and why it is exact.
    intercept_interval : (float, float) or None
        All offsets that are best for these weights; None where there is only this one.
    alpha : array of shape (n_rows,) or None
        Dual variables ≥ 0, where they tell which rows hold the model.
    status : Status
        Why it ended; limits that a user set may end it early.
    n_iter : int
        The method's own count.
    details : object
        Whatever else the learner found, for the estimator to present.
    """

    coef: NDArray[np.float64]
    intercept: float
    certificate: Certificate
    plan: Plan
    intercept_interval: tuple[float, float] | None = None
    alpha: NDArray[np.float64] | None = None
    status: Status = Status.SOLVED
    n_iter: int = 1
    details: Any = field(default=None, repr=False)


# ------------------------------------------------------------------------------------------------
# What the hard margin would be if one of the rows that hold it were given up.


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


# ------------------------------------------------------------------------------------------------
# What is known of the smallest total hinge loss, besides the point that reaches it.


@dataclass(frozen=True)
class HingeMinimum(Readable):
    """The smallest hinge loss of any hyperplane, and from which C on the soft margin reaches it.

    Attributes
    ----------
    total, mean : float
        The smallest Σ weight · max(0, 1 − agreement), and the same divided by the sum of the weights.
    is_unique : bool or None
        Whether only one (θ, θ₀) reaches it. Of several, the model has the smallest ‖θ‖, and the middle of
        the offsets. None where there are too many columns to tell.
    sufficient_C : float
        For this and every larger C the soft margin has these very weights; for a smaller one it has others,
        if `is_least`.
    is_least : bool
        Whether `sufficient_C` is the smallest such C; otherwise it is one that was seen to suffice.
    """

    total: float
    mean: float
    is_unique: bool | None
    sufficient_C: float  # noqa: N815 - C is the letter's name
    is_least: bool = True

    @property
    def is_separable(self) -> bool:
        """Whether the loss is 0: the hard margin."""
        return self.total == 0

    def __str__(self) -> str:
        what = f"smallest mean hinge loss {short(self.mean)}"
        if self.is_separable:
            what = "no hinge loss at all: the hard margin"
        known = ", reached at one point only"
        if self.is_unique is None or self.is_separable:
            known = ""
        elif not self.is_unique:
            known = ", reached at many points, of which this is the shortest"
        word = "every" if self.is_least else "at least every"
        return f"{what}{known}; {word} soft margin with C ≥ {short(self.sufficient_C)} has the same weights"
