"""θ and θ₀ that somebody typed, measured against the certified optimum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin.play.fit import PATIENCE, TOLERANCE
from maxmargin.play.state import Hand, Task
from maxmargin.training.certify import certify

__all__ = ["compare"]


def compare(task: Task, hand: Hand) -> dict[str, Any]:
    """Return what the typed parameters are worth: objective, distance from the optimum, margins, errors."""
    if not task.has_both_classes:
        return {"is_determined": False, "words": "Place points of both classes to compare with an optimum."}
    theta0 = hand.theta0 if task.has_offset else 0.0
    agreement = task.sign * (task.X @ hand.theta + theta0)
    found = certify(
        hand.theta,
        task.X,
        task.sign,
        intercept=theta0,
        tol=TOLERANCE,
        max_time=PATIENCE,
        n_jobs=1,
        **task.settings(),
    )
    norm = math.hypot(*hand.theta)
    return {
        "is_determined": True,
        "theta": hand.theta.tolist(),
        "theta0": theta0,
        "objective": found.objective,
        "bound": found.bound,
        "optimum": found.own.objective,
        "words": str(found),
        "margin": 1.0 / norm if norm > 0 else None,
        "smallest_distance": float(agreement.min()) / norm if norm > 0 else None,
        "agreements": agreement.tolist(),
        "training_errors": int(np.count_nonzero(agreement <= 0)),
    }
