"""Leave-one-out at some values of C of a path, nearest to the model's own first, as long as there is time."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import Interrupted, InvalidInput, LeaveOneOutWarning
from maxmargin.estimators.linear_classifier import LinearClassifier
from maxmargin.reporting.stages import Stages
from maxmargin.reporting.subject import Subject
from maxmargin.results.leave_one_out import LeaveOneOut
from maxmargin.results.path import Path
from maxmargin.results.solution import Status
from maxmargin.training.leave_one_out import leave_one_out
from maxmargin.training.named_problem import NamedProblem

__all__ = ["LeftOutAt", "left_out_along", "values_of_C"]

PER_DECADE = 2


@dataclass(frozen=True)
class LeftOutAt:
    """The leave-one-out errors at one C: between `least` and `most`, the same where all is decided."""

    C: float
    least: int
    most: int
    n_examples: int
    is_meaningful: bool = True

    @classmethod
    def of(cls, C: float, found: LeaveOneOut) -> LeftOutAt:
        """Read them from a record."""
        most = found.n_errors + found.n_undecided
        return cls(C, found.n_errors, most, found.n_examples, found.is_meaningful)


def values_of_C(C: float, path: Path) -> NDArray[np.float64]:  # noqa: N802 - C is the letter's name
    """Return the values to try, nearest to the model's own C first, which is not among them.

    Examples
    --------
    >>> from maxmargin import regularization_path
    >>> path = regularization_path([[0.0], [1.0], [3.0]], [0, 0, 1], C_min=0.1, C_max=10)
    >>> values_of_C(1.0, path).round(3).tolist()
    [3.162, 0.316, 10.0, 0.1]
    """
    low, high = np.log10(path.C[0] / C), np.log10(path.C[-1] / C)
    steps = [sign * k / PER_DECADE for k in range(1, 100) for sign in (1, -1)]
    within = [step for step in steps if low - 1e-9 <= step <= high + 1e-9]
    return np.array([C * 10.0**step for step in within])


def left_out_along(
    named: NamedProblem, subject: Subject, path: Path | None, stages: Stages, effort: dict[str, Any]
) -> list[LeftOutAt]:
    """Return what was found in the time that is left, in increasing order of C.

    A value is not begun when the last one took longer than what is left.
    """
    if path is None:
        raise InvalidInput("there is no path.")
    took = 0.0
    found: list[LeftOutAt] = []
    for C in values_of_C(named.targets.C, path):
        left = stages.seconds()
        if left is not None and left <= took:
            break
        began = time.perf_counter()
        try:
            record = _left_out_at(float(C), named, subject, left, effort)
        except Interrupted:
            raise Interrupted("interrupted along the path", _in_order(found)) from None
        took = time.perf_counter() - began
        found.append(LeftOutAt.of(float(C), record))
        if record.status is Status.MAX_TIME:
            break
    return _in_order(found)


def _in_order(found: list[LeftOutAt]) -> list[LeftOutAt]:
    return sorted(found, key=lambda point: point.C)


def _left_out_at(
    C: float, named: NamedProblem, subject: Subject, seconds: float | None, effort: dict[str, Any]
) -> LeaveOneOut:
    claim, examined = named.claim, subject.examined
    problem = LinearClassifier(
        C=C,
        loss=claim.loss,
        fit_intercept=claim.offset.kind != "none",
        penalize_intercept=claim.offset.kind == "penalized",
        intercept_scaling=claim.offset.scale,
        class_weight=claim.class_weight,
        tol=named.settings.limits.tol,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeaveOneOutWarning)  # each point tells whether it says anything
        return leave_one_out(
            problem,
            examined.X,
            examined.labels,
            sample_weight=subject.weights,
            agreements=None,
            max_time=seconds,
            **effort,
        )
