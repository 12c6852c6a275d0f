"""The certified fit of the points on the page, and which of them are wrong when left out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin.errors import LeaveOneOutWarning, NoFiniteOptimum
from maxmargin.fit.train import fit_linear
from maxmargin.model.model import LinearModel
from maxmargin.play.state import Task
from maxmargin.presentation.wording import percent
from maxmargin.selection.leave_one_out.leave_one_out import leave_one_out

__all__ = ["TOLERANCE", "fit", "fit_task", "left_out"]

TOLERANCE = 1e-6  # of the optimum: beyond what a picture can show
PATIENCE = 2.0  # seconds; then the answer is what is known by then, and says so


def fit(task: Task) -> dict[str, Any]:
    """Fit and return everything that the picture and the numbers beside it show."""
    if not task.has_both_classes:
        return {"is_determined": False, "words": _why_undetermined(task)}
    model = fit_task(task)
    proof = model.certificates[0]
    agreement = model.agreements(task.X, task.sign)
    answer: dict[str, Any] = {
        "is_determined": True,
        "theta": model.coef[0].tolist(),
        "theta0": float(model.intercept[0]),
        "theta0_interval": [float(end) for end in model.intercept_intervals[0]],
        "margin": _margin(task, model),
        "C": task.C,
        "lam": task.lam,
        "objective": proof.objective,
        "bound": proof.bound,
        "gap": proof.gap,
        "relative_gap": "0 %, to rounding" if proof.is_rounding else percent(proof.relative_gap, "up"),
        "certificate": str(proof),
        "warning": str(model.warning() or ""),
        "solver": model.plans[0].solver,
        "agreements": agreement.tolist(),
        "training_errors": int(np.count_nonzero(agreement <= 0)),
        "support": None,
    }
    if model.support is not None:
        answer["support"] = model.support.indices.tolist()
        answer["n_on_margin"] = int(model.support.n_free[0])
    return answer


def fit_task(task: Task) -> LinearModel:
    """Fit on one thread: for points on a page a second one costs more than it gains.

    The solver for the hinge is named because in a plane it takes the same few milliseconds at every C, and
    ends exactly at the optimum, so that the support vectors on the picture are not a matter of tolerance.
    """
    solver = "semismooth_newton" if task.loss == "hinge" else "auto"
    return fit_linear(
        task.X,
        task.sign,
        tol=TOLERANCE,
        max_time=PATIENCE,
        n_jobs=1,
        solver=solver,
        tries=False,
        **task.settings(),
    )


def left_out(task: Task) -> dict[str, Any]:
    """Return which points are wrong when they are left out, and the sentence that says how it is known."""
    if not task.has_both_classes:
        return {"errors": [], "undecided": [], "n_errors": 0, "words": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeaveOneOutWarning)  # its words are in the record's own
        record = leave_one_out(
            _unfitted(task), task.X, task.sign, agreements=None, max_time=PATIENCE, n_jobs=1
        )
    undecided = [k for k, reason in enumerate(record.reasons) if reason.name == "UNDECIDED"]
    return {
        "errors": np.flatnonzero(record.errors).tolist(),
        "undecided": undecided,
        "n_errors": record.n_errors,
        "words": str(record),
        "warning": record.warning() or "",
    }


def _unfitted(task: Task) -> LinearModel:
    """Return a model that names the problem and knows nothing else."""
    return LinearModel(
        coef=np.zeros((1, 2)),
        intercept=np.zeros(1),
        classes=np.array([-1, 1]),
        loss=task.loss,
        C=task.C,
        offset="free" if task.has_offset else "none",
        tol=TOLERANCE,
    )


def _why_undetermined(task: Task) -> str:
    """Return what the library says of points of one class, or of none."""
    if task.n_points == 0:
        return "Place points of both classes to see a boundary."
    try:
        model = fit_linear(task.X, task.sign, n_jobs=1, tries=False, **task.settings())
    except NoFiniteOptimum:
        return f"One class only: θ = 0, and the {task.loss} loss falls for ever as the offset grows."
    if not task.has_offset:
        return "One class only: there is nothing to tell apart."
    low = model.intercept_intervals[0][0]
    return f"One class only: θ = 0, and every offset of {low:g} or more in its favour is best."


def _margin(task: Task, model: LinearModel) -> float | None:
    """Return 1/‖θ‖, or None where θ is 0 to rounding: no point's score then differs from the offset."""
    norm = float(np.linalg.norm(model.coef[0]))
    largest = float(np.linalg.norm(task.X, axis=1).max())
    rounding = 8.0 * np.finfo(np.float64).eps * max(1.0, abs(float(model.intercept[0])))
    return 1.0 / norm if norm * largest > rounding else None
