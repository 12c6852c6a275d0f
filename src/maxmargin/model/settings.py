"""How to solve: everything about a fit that is not the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.offset import FreeOffset, NoOffset, Offset, PenalizedOffset
from maxmargin.core.solution import Plan, Progress
from maxmargin.errors import InvalidParameter
from maxmargin.solvers.run import Limits
from maxmargin.validation import check_positive

__all__ = ["Settings", "limits_from", "offset_from", "seed_from"]


@dataclass(frozen=True)
class Settings:
    """Checked settings of one fit."""

    loss: str
    offset: Offset
    limits: Limits
    solver: str = "auto"
    threads: int = 1
    seed: int = 0
    watch: Callable[[Progress], Any] | None = None
    announce: Callable[[Plan], Any] | None = None
    checkpoint: Callable[[int, Any], None] | None = None  # of the class, what its fit remembers


def offset_from(fit_intercept: bool, penalize_intercept: bool, intercept_scaling: float) -> Offset:
    """Return what the three settings say about the offset."""
    for name, value in (("fit_intercept", fit_intercept), ("penalize_intercept", penalize_intercept)):
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidParameter.must_be(name, "True or False", value)
    scale = check_positive("intercept_scaling", intercept_scaling)
    if not fit_intercept:
        return NoOffset()
    return PenalizedOffset(scale) if penalize_intercept else FreeOffset()


def limits_from(tol: Any, max_iter: Any, max_time: Any) -> Limits:
    """Return when to stop."""
    return Limits(
        check_positive("tol", tol),
        check_positive("max_iter", max_iter, or_none=True, integer=True),
        check_positive("max_time", max_time, or_none=True),
    )


def seed_from(random_state: Any) -> int:
    """Return the seed of the row order; None is one fixed order."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state) & (2**64 - 1)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise InvalidParameter.must_be(
        "random_state", "None, a whole number, a numpy Generator or RandomState", random_state
    )
