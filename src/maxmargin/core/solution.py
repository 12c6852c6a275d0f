"""What a solver hands back: the point, its proof, and how it got there."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.presentation.wording import Readable

__all__ = ["History", "Plan", "Progress", "Solution", "Status"]


class Status(Enum):
    """Why a solver stopped; the value is the sentence shown to the user."""

    SOLVED = "the certified gap reached the tolerance"
    MAX_ITER = "the iteration limit was reached"
    MAX_TIME = "the time limit was reached"
    STOPPED = "watch asked to stop"
    INTERRUPTED = "it was interrupted"
    NODE_LIMIT = "the node limit was reached"
    STALLED = "rounding errors leave nothing to gain"
    LOST = "the rows could not be reached any more"


@dataclass(frozen=True)
class Plan(Readable):
    """Which solver was chosen, and why, in words.

    Attributes
    ----------
    solver : str
        Its name.
    reason : str
        Why this one.
    about : str
        The problem in a few words.
    is_chosen : bool
        Whether the solver was chosen here and not by the user, so that another one may go on if it ends
        above the tolerance.
    """

    solver: str
    reason: str
    about: str = ""
    is_chosen: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return (
            f"{self.solver}: {self.about}; {self.reason}" if self.about else f"{self.solver}: {self.reason}"
        )


@dataclass(frozen=True)
class Progress:
    """The live state of a fit, as `watch` receives it.

    Attributes
    ----------
    seconds : float
        Since the fit began.
    passes : float
        Readings of all the data so far, the certificates' included.
    iteration : int
        The solver's own count.
    objective, bound, relative_gap : float
        The best so far, certified.
    label : str
        Which class is being fitted, when there are several.
    grams : float
        Gram matrices added up so far, one over all rows counting 1; 0 if the solver does not say.
    """

    seconds: float
    passes: float
    iteration: int
    objective: float
    bound: float
    relative_gap: float
    label: str = ""
    grams: float = 0.0


@dataclass(frozen=True)
class History:
    """The course of a fit, one entry per certificate."""

    seconds: NDArray[np.float64]
    passes: NDArray[np.float64]
    objective: NDArray[np.float64]
    bound: NDArray[np.float64]
    gap: NDArray[np.float64]
    grams: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, course: list[Progress]) -> History:
        """Collect what `watch` was shown."""

        def column(name: str) -> NDArray[np.float64]:
            return np.array([getattr(entry, name) for entry in course], dtype=np.float64)

        objective, bound = column("objective"), column("bound")
        return cls(column("seconds"), column("passes"), objective, bound, objective - bound, column("grams"))

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(frozen=True)
class Solution:
    """The best point a solver found for one problem.

    Attributes
    ----------
    coef : array of shape (n_columns,)
        The weights w (θ in the lecture notes).
    intercept : float
        The offset b (θ₀), the midpoint when the best one is an interval.
    intercept_interval : (float, float)
        All offsets that are best for these weights.
    alpha : array of shape (n_rows,)
        The dual point that proves the bound.
    certificate : Certificate
    status : Status
    n_iter : int
    history : History
    plan : Plan
    memory : object
        What a warm start of the same solver wants back; nobody else looks inside.
    """

    coef: NDArray[np.float64]
    intercept: float
    intercept_interval: tuple[float, float]
    alpha: NDArray[np.float64]
    certificate: Certificate
    status: Status
    n_iter: int
    history: History
    plan: Plan
    memory: Any = field(default=None, repr=False, compare=False)
