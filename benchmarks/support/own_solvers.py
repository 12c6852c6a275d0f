"""Our own solvers, one by one: which of them can do a loss, and what a fit costs."""

from __future__ import annotations

import time
import warnings
from typing import Any

import maxmargin
from maxmargin.errors import MaxMarginError
from maxmargin.solvers.choose import BASELINES, SOLVERS

__all__ = ["fit_within", "solvers_for"]


NOTHING: dict[str, Any] = {
    "gap": float("inf"),
    "status": "FAILED",
    "reason": "",
    "iterations": 0,
    "passes": 0.0,
    "grams": None,
    "chosen": "",
    "why": "",
    "seconds": None,
    "cpu": None,
}


def solvers_for(loss: str) -> list[str]:
    """Return the names of the solvers that say they can minimise this loss, baselines left out."""
    able = (name for name, solver in SOLVERS.items() if loss in solver.needs.losses)
    return [name for name in able if name not in BASELINES]


def fit_within(X: Any, y: Any, seconds: float, **settings: Any) -> tuple[dict[str, Any], Any]:
    """Fit for that many seconds at most; return cost and proof (or what went wrong), and the model."""
    began, cpu = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", maxmargin.ConvergenceWarning)  # the gap is in the answer
            model = maxmargin.train(X, y, max_time=seconds, **settings)
    except Exception as problem:  # one solver that refuses or breaks shall not end the whole table
        status = "REFUSED" if isinstance(problem, MaxMarginError) else "FAILED"
        return {**NOTHING, "status": status, "reason": f"{type(problem).__name__}: {problem}"}, None
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu
    history, plan = model.histories[0], model.plans[0]
    record = {
        "gap": model.certificate.relative_gap,
        "status": model.status.name,
        "reason": model.status.value,
        "iterations": model.n_iter[0],
        "passes": float(history.passes[-1]) if len(history) else 0.0,
        "grams": grams_of(model),
        "chosen": plan.solver,
        "why": plan.reason,
        "seconds": spent,
        "cpu": cpu,
    }
    return record, model


def grams_of(model: Any) -> float | None:
    """Return the rows summed into weighted Gram matrices, divided by all rows; None where nobody counted."""
    counted = model.histories[0].grams
    return float(counted[-1]) if len(counted) and counted[-1] > 0 else None
