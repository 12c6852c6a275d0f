"""What every certificate promises, as assertions."""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.oracles import Optimum
from reference.task import FORMULAS, Task

__all__ = ["ROUNDING", "check_honesty", "check_solution", "rounding_of"]

# Certificates are exact up to rounding; the largest error seen over the catalogue is 1e-13.
ROUNDING = 1e-11


def rounding_of(task: Task, w: np.ndarray, b: float) -> float:
    """How far the objective at (w, b) may be off by rounding the scores: ε times what was added up."""
    size = np.abs(task.X) @ np.abs(w) + abs(b) + 1
    steepness = np.where(task.loss == "squared_hinge", 2 * size, 1.0)
    return 8 * np.finfo(float).eps * float(task.cost @ (steepness * size))


def check_honesty(task: Task, w: np.ndarray, b: float, certificate: Any, optimum: Optimum) -> None:
    """Assert that the certificate of the point (w, b) is true, given a bracket of the optimum."""
    value = float(task.primal(w, b))
    rounding = rounding_of(task, w, b) + ROUNDING * value
    assert certificate.is_finite
    assert value - rounding <= certificate.objective <= value + rounding + 2 * certificate.rounding
    assert certificate.bound <= optimum.high * (1 + ROUNDING)
    assert certificate.objective >= optimum.low - rounding
    assert certificate.gap >= value - optimum.high - rounding
    assert certificate.relative_gap >= (value - optimum.high - rounding) / max(optimum.high, 1e-300)


def check_solution(task: Task, solution: Any, optimum: Optimum) -> None:
    """Assert that a solver's answer is honest, complete and as near to the oracle's as it claims."""
    certificate = solution.certificate
    check_honesty(task, solution.coef, solution.intercept, certificate, optimum)
    assert certificate.objective <= float(task.value_at_zero()) * (1 + ROUNDING)
    rounding = rounding_of(task, optimum.w, optimum.b) + ROUNDING * optimum.high
    distance = float(np.linalg.norm(solution.coef - optimum.w))
    assert distance <= np.sqrt(2 * (certificate.gap + rounding)) + optimum.error + np.sqrt(2 * rounding)
    assert solution.alpha.shape == task.cost.shape
    assert (solution.alpha >= 0).all()
    assert (solution.alpha[task.cost == 0] == 0).all()
    if FORMULAS[task.loss].bounded:
        assert (solution.alpha <= task.cost).all()
    low, high = solution.intercept_interval
    assert low <= solution.intercept <= high
    if task.kind == "none":
        assert solution.intercept == 0
    check_history(solution)


def check_history(solution: Any) -> None:
    """Assert that the course of a fit only ever improves, and ends at or above what was handed back."""
    history, certificate = solution.history, solution.certificate
    for column in (history.seconds, history.passes, history.bound, -history.objective):
        assert (np.diff(column) >= 0).all()
    np.testing.assert_array_equal(history.gap, history.objective - history.bound)
    if len(history):
        # The last certificate may do without the digits that one before it needed.
        rounding = 2 * certificate.rounding + 1e-12 * certificate.objective
        assert certificate.objective <= history.objective[-1] + rounding
        assert certificate.bound >= history.bound[-1] - rounding
