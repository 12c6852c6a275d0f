"""How to solve: everything about a fit that is not the data."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.objective import Objective, multi_class_of
from maxmargin.core.offset import FreeOffset, NoOffset, Offset, PenalizedOffset
from maxmargin.core.solution import Plan, Progress, WarmStart
from maxmargin.errors import InvalidParameter, Setting
from maxmargin.losses.table import DUAL_LOSSES, find_loss
from maxmargin.rows.cores import resolve_jobs
from maxmargin.solvers.run import Limits
from maxmargin.validation import check_choice, check_positive

__all__ = [
    "Settings",
    "check_watch",
    "l1_ratio_from",
    "limits_from",
    "objective_from",
    "offset_from",
    "seed_from",
    "settings_from",
]


@dataclass(frozen=True)
class Settings:
    """Checked settings of one fit."""

    objective: Objective
    limits: Limits
    solver: str = "auto"
    threads: int = 1
    seed: int = 0
    watch: Callable[[Progress], Any] | None = None
    announce: Callable[[Plan], Any] | None = None
    checkpoint: Callable[[int, WarmStart], None] | None = None  # called with a class and its fit's state


def settings_from(
    objective: Objective,
    *,
    tol: Any,
    max_iter: Any = None,
    max_time: Any = None,
    solver: str = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    watch: Callable[[Progress], Any] | None = None,
    announce: Callable[[Plan], Any] | None = None,
) -> Settings:
    """Check the settings of a fit as users give them."""
    limits = limits_from(tol, max_iter, max_time)
    check_watch(watch)
    return Settings(objective, limits, solver, resolve_jobs(n_jobs), seed_from(random_state), watch, announce)


def objective_from(
    *,
    loss: str,
    C: Any = None,
    lam: Any = None,
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    intercept_scaling: float = 1.0,
    class_weight: Any = None,
    multi_class: str = "auto",
    l1_ratio: Any = 0.0,
) -> Objective:
    """Check what is to be minimised as users give it; the strength is checked where the rows are known."""
    loss = check_choice("loss", loss, DUAL_LOSSES)
    l1_ratio = l1_ratio_from(l1_ratio, loss)
    if multi_class == "auto" and l1_ratio > 0:
        multi_class = "one_vs_rest"
    multi_class = multi_class_of(multi_class, loss)
    offset = offset_from(fit_intercept, penalize_intercept, intercept_scaling)
    return Objective(
        loss, offset, C=C, lam=lam, class_weight=class_weight, multi_class=multi_class, l1_ratio=l1_ratio
    )


def l1_ratio_from(l1_ratio: Any, loss: str) -> float:
    """Return the share of the L1 term, which is for smooth losses."""
    is_number = isinstance(l1_ratio, numbers.Real) and not isinstance(l1_ratio, bool | np.bool_)
    if not is_number or not 0.0 <= l1_ratio <= 1.0:
        raise InvalidParameter.must_be("l1_ratio", "a number from 0 to 1", l1_ratio)
    if l1_ratio > 0 and not find_loss(loss).is_smooth:
        raise InvalidParameter(
            "{setting} is not for {loss}",
            parameter="l1_ratio",
            value=l1_ratio,
            remedy="the logistic loss and the squared hinge have it",
            loss=Setting("loss", loss),
        )
    return float(l1_ratio)


def check_watch(watch: Any) -> None:
    """Refuse a `watch` that cannot be called."""
    if watch is not None and not callable(watch):
        raise InvalidParameter.must_be("watch", "a function of the progress", watch, or_none=True)


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
