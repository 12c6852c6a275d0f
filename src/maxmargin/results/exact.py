"""What an exact learner hands back for two classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.certificate import Certificate
from maxmargin.results.solution import Plan, Status

__all__ = ["ExactSolution"]


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
