"""No rows, or one class and a free offset: what the problem still determines (S37)."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.errors import NoFiniteOptimum
from maxmargin.losses.table import dual_form
from maxmargin.problem import Offset
from maxmargin.results.certificate import Certificate
from maxmargin.results.solution import History, Plan, Status
from maxmargin.training.costs import Targets
from maxmargin.training.model import LinearModel

__all__ = ["is_undetermined", "undetermined_model"]


def is_undetermined(targets: Targets, offset: Offset) -> bool:
    """Whether nothing pins the offset down.

    Without offset, or with a penalised one, a single class makes a problem like any other.
    """
    return len(targets.classes) == 0 or (len(targets.classes) == 1 and offset.kind == "free")


def undetermined_model(targets: Targets, n_columns: int, loss: str, tol: float) -> LinearModel:
    """Return θ = 0 with the interval of offsets that are all best; a lone class counts as positive."""
    one = len(targets.classes) == 1
    if one and math.isinf(dual_form(loss).rests_at):
        raise NoFiniteOptimum(
            f"only one class ({targets.classes[0]!s}): θ = 0, and the {loss} loss falls for ever as the "
            "offset grows, so no finite offset is best. Give rows of a second class.",
            direction=np.zeros(n_columns),
            offset=1.0,
            kind="complete",
            n_separated=int(np.count_nonzero(targets.cost)),
        )
    empty = np.zeros(0)
    return LinearModel(
        coef=np.zeros((1, n_columns)),
        intercept=np.array([1.0 if one else 0.0]),
        classes=targets.classes,
        loss=loss,
        C=targets.C,
        tol=tol,
        class_weight=targets.class_weight,
        is_weighted=targets.is_weighted,
        intercept_intervals=[(1.0 if one else -np.inf, np.inf)],
        certificates=[Certificate("duality", 0.0, 0.0)],
        statuses=[Status.SOLVED],
        plans=[Plan("none", "no second class: θ = 0, and any offset in the interval is best")],
        histories=[History(empty, empty, empty, empty, empty)],
        n_iter=[0],
    )
