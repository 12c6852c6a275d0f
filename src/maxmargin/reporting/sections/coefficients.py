"""What the model uses: its largest coefficients, with names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Section, drawn_problems, signed
from maxmargin.reporting.subject import Subject

__all__ = ["coefficients"]

LISTED = 150  # of all coefficients, the largest
LISTED_OF_ALL = 360  # of all classes together
VALUES_AT_ONCE = 2_000_000
FIRST = 20  # shown until all are asked for


def coefficients(evidence: Evidence) -> Section:
    """Return the section."""
    subject = evidence.subject
    shown, note = drawn_problems(subject)
    spread = _deviations(subject.examined.X)
    most = min(LISTED, LISTED_OF_ALL // len(shown))
    groups = [_group(subject, k, spread, most) for k in shown]
    n_columns = subject.model.coef.shape[1]
    lead = [
        "A coefficient is what one unit more of a column adds to the score. Since columns have different "
        "units, they are ranked by what one standard deviation adds: coefficient times deviation."
    ]
    if subject.model.is_joint:
        lead.append(
            "The class with the largest score wins, so that only differences between the classes' scores "
            "count: a column speaks for a class where its coefficient there is larger than elsewhere."
        )
    notes = [note] if note else []
    if n_columns > most:
        notes.append(f"Of {n_columns:,} columns the {most} that move the score most are listed.")
    if not subject.has_names:
        notes.append("The columns have no names: x1 is the first.")
    return Section(
        "coefficients",
        "What it uses",
        "Coefficients",
        lead,
        notes=notes,
        template="coefficients.html.j2",
        data={"groups": groups, "first": FIRST},
    )


def _deviations(X: Any) -> NDArray[np.float64]:
    """Return the standard deviation of each column, dense or sparse, a block of rows at a time."""
    n_rows, n_columns = X.shape
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.zeros(n_columns)
    if not isinstance(X, np.ndarray):
        squares += np.bincount(X.indices, X.data.astype(np.float64) ** 2, minlength=n_columns)
        return np.asarray(np.sqrt(np.maximum(squares / n_rows - mean**2, 0.0)))
    step = max(1, VALUES_AT_ONCE // n_columns)
    for first in range(0, n_rows, step):
        squares += ((X[first : first + step] - mean) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(squares / n_rows))


def _group(subject: Subject, k: int, spread: NDArray[np.float64], most: int) -> dict[str, Any]:
    theta = subject.model.coef[k]
    moved = theta * spread
    order = np.argsort(-np.abs(moved), kind="stable")[:most]
    largest = float(np.abs(moved[order[:1]]).max(initial=0.0)) or 1.0
    names = subject.class_names
    rows = [
        {
            "rank": place + 1,
            "name": subject.names[column],
            "coef": signed(theta[column], 4),
            "coef_value": float(f"{theta[column]:.6g}"),
            "moved": signed(moved[column]),
            "moved_value": float(f"{moved[column]:.6g}"),
            # of the half on its own side of the middle, in hundredths
            "share": round(50.0 * abs(float(moved[column])) / largest, 2),
            "is_positive": bool(theta[column] > 0),
        }
        for place, column in enumerate(order)
        if theta[column] != 0
    ]
    other = "other classes" if subject.model.is_joint else f"not {names[k]}"
    towards = (names[0], names[1]) if len(names) == 2 else (other, names[k])
    offset = signed(subject.model.intercept[k], 4)
    return {"name": towards[1], "towards": towards, "rows": rows, "offset": offset}
