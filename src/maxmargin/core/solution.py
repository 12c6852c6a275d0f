"""What a solver hands back: the point, its proof, and how it got there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.presentation.wording import Readable
from maxmargin.rows.base import Array, RowVector

__all__ = [
    "AverageStart",
    "History",
    "MultiplierStart",
    "PathStart",
    "Plan",
    "Progress",
    "Solution",
    "Status",
    "WarmStart",
]


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


@dataclass(frozen=True, eq=False)
class MultiplierStart:
    """What the semismooth Newton method adds: the anchor of each row, and the stiffness.

    Attributes
    ----------
    anchor : per-row array
    stiffness : float
    passes : float
        Readings of all rows that the fit owes for this start, if they are not counted elsewhere.
    """

    anchor: RowVector
    stiffness: float
    passes: float = 0.0


@dataclass(frozen=True, eq=False)
class PathStart:
    """What the interior point adds: a point of its path.

    Attributes
    ----------
    relative_gap : float
        At that point.
    mu, newton_left : float, int
        Where Newton's steps towards the path go, and how many are left; 0 once the path is followed.
    arrays : three per-row arrays, or None
        β, t and ξ. None: they are those of the path at μ.
    """

    relative_gap: float
    mu: float
    newton_left: int
    arrays: tuple[RowVector, RowVector, RowVector] | None = None


@dataclass(frozen=True, eq=False)
class AverageStart:
    """What gradient descent adds: the mean of the α, and the number and the length of the last step."""

    mean: RowVector
    t: int
    length: float


@dataclass(frozen=True, eq=False)
class WarmStart:
    """From where a fit can start: the point of an earlier one, of the same or another solver.

    Attributes
    ----------
    w : array of shape (n_columns,), or (K, n_columns) for K outputs
    b : float, or array of shape (K,)
    alpha : per-row array or None
        A dual point; None where the solver has none, or where it could not be kept.
    relative_gap : float
        What the gap will be at this point, if known.
    multipliers, path, average
        What one solver wants for itself; others leave it alone.
    C : float or None
        Of the soft margin from which a fit without a regulariser goes on.
    """

    w: Array
    b: Any
    alpha: RowVector | None = None
    relative_gap: float = math.inf
    multipliers: MultiplierStart | None = None
    path: PathStart | None = None
    average: AverageStart | None = None
    C: float | None = None

    @property
    def arrays(self) -> list[RowVector]:
        """All per-row arrays."""
        found = [self.alpha]
        found += [self.multipliers.anchor] if self.multipliers is not None else []
        found += self.path.arrays or () if self.path is not None else []
        found += [self.average.mean] if self.average is not None else []
        return [array for array in found if array is not None]

    def moved(self, move: Callable[[RowVector], RowVector | None]) -> WarmStart:
        """Return the start with other per-row arrays, as `move` makes them; None leaves one out."""
        multipliers, path, average = self.multipliers, self.path, self.average
        if multipliers is not None:
            anchor = move(multipliers.anchor)
            multipliers = None if anchor is None else replace(multipliers, anchor=anchor)
        if path is not None and path.arrays is not None:
            beta, t, xi = (move(array) for array in path.arrays)
            is_whole = beta is not None and t is not None and xi is not None
            path = replace(path, arrays=(beta, t, xi)) if is_whole else None
        if average is not None:
            mean = move(average.mean)
            average = None if mean is None else replace(average, mean=mean)
        alpha = None if self.alpha is None else move(self.alpha)
        return replace(self, alpha=alpha, multipliers=multipliers, path=path, average=average)


@dataclass(frozen=True)
class Solution:
    """The best point a solver found for one problem.

    Attributes
    ----------
    coef : array of shape (n_columns,), or (K, n_columns) for K outputs
        The weights w (θ in the lecture notes).
    intercept : float, or array of shape (K,)
        The offset b (θ₀), the midpoint when the best one is an interval.
    intercept_interval : (float, float), or two arrays
        All offsets that are best for these weights.
    alpha : array of shape (n_rows,) or (n_rows, K), or SoftmaxDuals
        The dual point that proves the bound.
    certificate : Certificate
    status : Status
    n_iter : int
    history : History
    plan : Plan
    warm_start : WarmStart or None
        From where a later fit can go on.
    """

    coef: NDArray[np.float64]
    intercept: Any
    intercept_interval: tuple[Any, Any]
    alpha: Any
    certificate: Certificate
    status: Status
    n_iter: int
    history: History
    plan: Plan
    warm_start: WarmStart | None = field(default=None, repr=False, compare=False)

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """The interval of the best offsets of each output."""
        low, high = (np.atleast_1d(end).tolist() for end in self.intercept_interval)
        return list(zip(low, high, strict=True))
