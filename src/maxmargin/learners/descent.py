"""Gradient descent to look at: every iterate is kept.

It minimises the empirical risk, or with lam > 0 λ/2 ‖θ‖² + mean loss for any loss,

    J(θ, θ₀) = (1/n) Σ loss(yᵢ (θ·xᵢ + θ₀)) + lam/2 ‖θ‖²,

by θ ← θ − η ∇J, all examples at a time. The solver of the same name descends on data of any size and
certifies how far it got; this is for data small enough to follow every step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.errors import InvalidParameter
from maxmargin.learners.trace import DescentTrace, Landscape, number
from maxmargin.losses.agreement import LabelledRows
from maxmargin.losses.base import FloatArray, Loss
from maxmargin.losses.risk import weighted_sum, weighted_sum_gradient
from maxmargin.losses.table import find_loss
from maxmargin.solvers.step_rules import StepRule, choose_rule
from maxmargin.validation import check_matrix, check_positive

__all__ = ["gradient_descent"]


_LARGEST = 100_000_000  # numbers that a trace may hold
_HALVINGS = 60  # then a step is lost in rounding errors


def gradient_descent(
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Loss = "hinge",
    lam: float = 0.0,
    fit_intercept: bool = True,
    step: StepRule | str | float | None = None,
    max_steps: int = 100,
    start: tuple[ArrayLike, float] | None = None,
) -> DescentTrace:
    """Descend along the (sub)gradient and keep every iterate.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        The labels, -1 or +1.
    loss : str or Loss, default "hinge"
        Any convex loss in :data:`maxmargin.losses.LOSSES`.
    lam : float, default 0
        The λ of λ/2 ‖θ‖² + mean loss; 0 is the empirical risk alone.
    fit_intercept : bool, default True
        Whether there is an offset θ₀; it is not penalised.
    step : float, str or StepRule, optional
        A constant; or "1/t", "1/(t+1)", "1/sqrt(t)", "1/(lam t)", "2/(lam (t+1))" or "armijo", with t
        counted from 1. By default "armijo" for smooth losses; for others "2/(lam (t+1))", or "1/sqrt(t)"
        where lam is 0.
    max_steps : int, default 100
    start : (coef, intercept), optional
        Where to start; 0 by default.

    Returns
    -------
    DescentTrace
        With ``weights(t)``, ``intercept(t)``, ``frame()`` and ``explain(t)``.

    Examples
    --------
    >>> X, y = [[0.4], [-0.9], [0.7]], [-1, 1, 1]
    >>> trace = gradient_descent(X, y, fit_intercept=False, step=1, max_steps=1, start=([1.0], 0.0))
    >>> print(trace.explain())
    Step 1: η = 1, ‖gradient‖ = 0.2; the objective falls from 1.2 to 1.16, training error 66.7 %.
    """
    checked, convex = check_matrix(X), _convex(loss)
    coef, intercept = (np.zeros(checked.shape[1]), 0.0) if start is None else start
    if not fit_intercept and intercept != 0:
        raise InvalidParameter(f"without an offset descent starts at intercept 0; got {intercept!r}")
    rows = LabelledRows.check(coef, intercept, checked, y)
    steps = check_positive("max_steps", max_steps, integer=True)
    if (steps + 1) * (len(rows.coef) + 1) > _LARGEST:
        raise InvalidParameter(
            f"max_steps={steps:,} times {len(rows.coef):,} columns is more than a trace can hold; "
            "take fewer steps, or train with solver='gradient_descent', which keeps no iterates"
        )
    strength = 0.0 if lam == 0 else check_positive("lam", lam)
    rule = choose_rule(step, convex, strength)
    return _descend(_Objective(convex, strength, fit_intercept), rows, rule, steps)


def _convex(loss: str | Loss) -> Loss:
    found = find_loss(loss)
    if not found.is_convex:
        raise InvalidParameter(
            f"the {found.name} loss is not convex: its slope says nothing about its minimum"
        )
    return found


@dataclass(frozen=True)
class _Place:
    """An iterate and what is seen there; the gradient's last entry is that of the offset."""

    rows: LabelledRows
    value: float
    gradient: FloatArray
    step: float

    @property
    def square(self) -> float:
        return float(np.sum(self.gradient * self.gradient))

    @property
    def error(self) -> float:
        return float(np.mean(self.rows.agreements <= 0))


@dataclass(frozen=True)
class _Objective:
    loss: Loss
    lam: float
    has_offset: bool

    def at(self, rows: LabelledRows, step: float) -> _Place | None:
        """Evaluate value and gradient at the rows' parameters; None where they overflow."""
        n, theta = rows.total_weight, rows.coef
        value = weighted_sum(self.loss.value(rows.agreements), rows) / n
        value += 0.5 * self.lam * float(np.sum(theta * theta))
        if not math.isfinite(value):
            return None
        of_theta, of_offset = weighted_sum_gradient(self.loss, rows)
        gradient = np.append(of_theta / n + self.lam * theta, of_offset / n if self.has_offset else 0.0)
        with np.errstate(over="ignore"):
            place = _Place(rows, value, gradient, step)
            return place if math.isfinite(place.square) else None

    def value(self, agreements: FloatArray, theta: FloatArray) -> float:
        """Return the objective from the agreements of all rows."""
        mean = float(np.mean(self.loss.value(agreements)))
        return mean + 0.5 * self.lam * float(np.sum(theta * theta))

    def landscape(self, rows: LabelledRows) -> Landscape:
        """Return the objective as a function of (θ, θ₀)."""
        title = f"mean {self.loss.name.replace('_', ' ')} loss"
        if self.lam:
            title += f" + {number(self.lam / 2)}·‖θ‖²"
        # The user's array may hold something else when the picture is drawn.
        return Landscape(rows.X.copy(), rows.y, self.value, self.loss.kinks, title)

    def after(self, here: _Place, length: float) -> _Place | None:
        """Evaluate the end of a step of that length against the gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            theta = here.rows.coef - length * here.gradient[:-1]
            offset = here.rows.intercept - length * float(here.gradient[-1])
            return self.at(replace(here.rows, coef=theta, intercept=offset), length)


def _descend(objective: _Objective, rows: LabelledRows, rule: StepRule, steps: int) -> DescentTrace:
    here = objective.at(rows, math.nan)
    if here is None:
        raise InvalidParameter("the objective overflows at the start; start nearer to 0")
    course, reason = [here], f"{steps:,} steps were asked for"
    for t in range(1, steps + 1):
        if here.square == 0:
            reason = "the gradient is 0: a minimum"
            break
        there = _take_step(objective, rule, here, t)
        if there is None:
            backtracks = rule.is_for_smooth_losses
            reason = "no step leads further down" if backtracks else "steps too long: the objective overflows"
            break
        here = there
        course.append(here)
    return DescentTrace(
        coefs=np.array([place.rows.coef for place in course]),
        intercepts=np.array([place.rows.intercept for place in course]),
        objective=np.array([place.value for place in course]),
        gradient_norm=np.sqrt([place.square for place in course]),
        step=np.array([place.step for place in course]),
        training_error=np.array([place.error for place in course]),
        reason=reason,
        landscape=objective.landscape(rows),
        has_offset=objective.has_offset,
    )


def _take_step(objective: _Objective, rule: StepRule, here: _Place, t: int) -> _Place | None:
    """Return the next iterate; None if no length is good enough, or the objective overflows."""
    length = rule.length(t, objective.lam, 0.0 if t == 1 else here.step)
    for _ in range(_HALVINGS):
        there = objective.after(here, length)
        fall = -math.inf if there is None else here.value - there.value
        if rule.is_enough(fall, length, here.square):
            return there
        length *= 0.5
    return None
