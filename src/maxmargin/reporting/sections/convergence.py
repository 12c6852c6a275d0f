"""How the fit converged."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.solution import History
from maxmargin.presentation.wording import chosen_percent, percent
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Chart, Column, Section, Table, digits, drawn_problems, numbers

__all__ = ["convergence"]

TITLE, SHORT = "How the fit converged", "Convergence"
LEAST = 1e-16  # a gap that is nothing but rounding


def convergence(evidence: Evidence) -> Section:
    """Return the section; if the history of the fit is not known it says so."""
    subject, model = evidence.subject, evidence.subject.model
    shown, note = drawn_problems(subject)
    if model.is_joint:
        shown, note = [0], ""
    histories = {k: model.histories[k] for k in shown if k < len(model.histories) and len(model.histories[k])}
    plan = f"{model.plans[0]}" if model.plans else ""
    if not histories:
        why = "The history of the fit is not known"
        ours = bool(model.certificates)
        because = "a model file does not contain it" if ours else "the model was not fitted by maxmargin"
        notes = [f"{why}: {because}."] + ([f"Solver: {plan}."] if plan else [])
        return Section("convergence", TITLE, SHORT, notes=notes)
    views = [_view(history, subject.problem_names[k]) for k, history in histories.items()]
    lead = [
        "The most by which the model could be above the optimum, by passes over the data: the gap "
        "between its objective and the bound, relative to the bound. Each is a certificate, not an estimate. "
        f"The goal was {chosen_percent(model.tol)}. Solver: {plan}."
    ]
    spec = {
        "kind": "gap",
        "xLabel": "passes over the data",
        "yLabel": "relative gap",
        "views": views,
        "goal": model.tol,
    }
    tables = [_table(history, subject.problem_names[k]) for k, history in histories.items()]
    last = next(iter(histories.values()))
    status = model.status.value if model.status is not None else ""
    n_passes = round(float(last.passes[-1]))
    caption = f"It ended after {n_passes:,} {'pass' if n_passes == 1 else 'passes'}: {status}."
    chart = Chart("convergence-chart", "Gap against passes over the data", spec, tables, caption)
    return Section("convergence", TITLE, SHORT, lead, [chart], notes=[note] if note else [])


def _gaps(history: History) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.maximum(history.gap, LEAST * np.abs(history.objective)) / history.bound
    return np.where(history.bound > 0, gaps, np.nan)


def _view(history: History, name: str) -> dict[str, Any]:
    known = np.isfinite(_gaps(history))
    return {"name": name, "x": numbers(history.passes[known]), "gap": numbers(_gaps(history)[known])}


def _table(history: History, name: str) -> Table:
    columns = ("passes over the data", "objective", "bound", "within")
    rows = [
        [
            digits(passes),
            digits(objective, 7),
            digits(bound, 7),
            percent(gap, "up") if np.isfinite(gap) else "unknown",
        ]
        for passes, objective, bound, gap in zip(
            history.passes, history.objective, history.bound, _gaps(history), strict=True
        )
    ]
    return Table(f"The history of the fit, {name}", [Column(one, is_number=True) for one in columns], rows)
