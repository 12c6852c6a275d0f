"""What tells one online learner from another: its step, its order of examples, its words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._core import OnlineSettings
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.trace import TracedStep
from maxmargin.rows.base import Array, Rows
from maxmargin.solvers.step_rules import StepRule

__all__ = ["OnlineMethod", "arrangement_of"]


def arrangement_of(shuffle: Any) -> str:
    """Return the core's name for the order that `shuffle` asks for.

    Examples
    --------
    >>> arrangement_of(False), arrangement_of(True), arrangement_of("draws")
    ('given', 'shuffled', 'drawn')
    """
    if isinstance(shuffle, (bool, np.bool_)):
        return "shuffled" if shuffle else "given"
    if isinstance(shuffle, str) and shuffle == "draws":
        return "drawn"
    raise InvalidParameter.must_be(
        "shuffle",
        "False (the rows as they stand), True (a new order in every pass) or 'draws' (every row at "
        "random, with replacement)",
        shuffle,
    )


@dataclass(frozen=True, kw_only=True)
class OnlineMethod(ABC):
    """Settings of one online learner; everything that changes is in its `Walk`.

    Attributes
    ----------
    step : StepRule
    fit_intercept : bool
        Whether there is an offset θ₀.
    arrangement : str
        "given", "shuffled" or "drawn".
    seed : int
        Names the order, with the number of the pass.
    averaged : bool
        Whether the answer is the mean of θ over all steps.
    counts_updates : bool
        Whether t of the step rule counts updates rather than examples.
    lam : float
        λ of the regulariser; 0 without one.
    normalizes : bool
        Whether an update is divided by the norm of its row.
    """

    step: StepRule
    fit_intercept: bool
    arrangement: str
    seed: int = 0
    averaged: bool = False
    counts_updates: bool = False
    lam: float = 0.0
    normalizes: bool = False

    title: ClassVar[str]
    kernel: ClassVar[str]  # the core's rule: "margin", "pegasos" or "logistic"
    kinks: ClassVar[tuple[float, ...]] = ()  # the agreements at which the slope of its loss jumps

    @property
    def threshold(self) -> float:
        """The agreement up to which the margin rule updates."""
        return 0.0

    def settings(self) -> OnlineSettings:
        """Return them as the core takes them."""
        return OnlineSettings(
            self.step.formula(self.lam),
            threshold=self.threshold,
            lam=self.lam,
            has_offset=self.fit_intercept,
            counts_updates=self.counts_updates,
            arrangement=self.arrangement,
        )

    def norms(self, rows: Rows) -> Array | None:
        """Return the squared norms of the rows if updates are divided by them; refuses rows of norm 0."""
        norm2, _ = rows.norms()  # finds values that are not finite, too
        if not self.normalizes:
            return None
        if not self.fit_intercept and not norm2.all():
            raise InvalidInput(
                f"row {int(np.argmin(norm2))} of X (counted from 0) is zero: x/‖x‖ does not exist, and "
                "through the origin y(θ·x) = 0 is an error for every θ. Remove such rows, or allow an offset "
                "with fit_intercept=True."
            )
        return np.asarray(norm2)

    @property
    @abstractmethod
    def objective(self) -> str:
        """What the method tries to make small, in words."""

    @abstractmethod
    def risk(self, agreements: Array, theta: Array) -> float:
        """Return what the method tries to make small, from the agreements of all rows."""

    @abstractmethod
    def describe(self, step: TracedStep) -> str:
        """Describe in words what a step did."""
