"""Labels to check: rows that the classifier contradicts, with and without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Column, Section, Table, digits, signed
from maxmargin.reporting.subject import Subject, class_names
from maxmargin.selection.suspects import Suspects

__all__ = ["suspects_section"]

TITLE, SHORT = "Labels to check", "Suspects"
CHARACTERS = 400  # of a text
MOST_COLUMNS = 4  # of a row that are listed


def suspects_section(evidence: Evidence, most: int) -> Section:
    """Return the section, with so many rows at most."""
    found, subject = evidence.suspects.value, evidence.subject
    if found is None:
        return Section("suspects", TITLE, SHORT, notes=[f"Not known: {evidence.suspects.why_not}"])
    if found.n_at_odds == 0:
        said = "The classifier contradicts no label."
        return Section("suspects", TITLE, SHORT, [said])
    against = "the classifier" if found.left_out is None else "the classifier that is fitted without them"
    about = "About " if found.left_out_are == "estimated" else ""
    lead = [
        f"{about}{found.n_at_odds:,} of {found.n_examples:,} labels are contradicted by {against}, the most "
        "suspicious first. A wrong label looks like this, but so does a correct one of a row that resembles "
        "the other class: somebody has to check.",
        _shown(subject),
    ]
    return Section("suspects", TITLE, SHORT, lead, tables=[_table(subject, found, most)])


def _shown(subject: Subject) -> str:
    if subject.redact:
        return "Redacted: the contents of the rows are left out; row numbers count from 0."
    if subject.texts is not None:
        return "Each is shown with the beginning of its text. Row numbers count from 0."
    return (
        "Each is shown with the columns that contradict its label most, and what they add to the score "
        "of the other class. Row numbers count from 0."
    )


def _table(subject: Subject, found: Suspects, most: int) -> Table:
    columns = [Column("row", is_number=True), Column("labelled"), Column("predicted")]
    columns.append(Column("agreement", is_number=True))
    if found.left_out is not None:
        columns.append(Column("when left out", is_number=True))
    if not subject.redact:
        columns.append(Column("text" if subject.texts is not None else "what contradicts the label"))
    labels = dict(zip(subject.model.classes.tolist(), class_names(subject.model.classes), strict=True))
    rows = []
    for place, row in enumerate(found.indices[:most].tolist()):
        own, said = found.labels[place], found.predicted[place]
        cells: list[Any] = [(str(row), row), labels[_plain(own)], labels[_plain(said)]]
        cells.append((digits(found.agreements[place], 3), float(found.agreements[place])))
        if found.left_out is not None:
            cells.append((digits(found.left_out[place], 3), float(found.left_out[place])))
        if not subject.redact:
            cells.append(_content(subject, row))
        rows.append(cells)
    caption = f"The {len(rows)} most suspicious rows" if len(rows) > 1 else "The suspicious row"
    return Table(caption, columns, rows, can_sort=True, can_filter=len(rows) > 8, stacks=True)


def _plain(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _content(subject: Subject, row: int) -> str:
    """Return the row's text, or the columns that speak loudest against its label."""
    if subject.texts is not None:
        text = " ".join(str(subject.texts[row]).split())
        return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS].rstrip()} …"
    values = subject.examined.X[[row]]
    values = np.ravel(values.toarray() if hasattr(values, "toarray") else values).astype(np.float64)
    pushes = _against(subject, row) * values
    loudest = [j for j in np.argsort(-pushes, kind="stable")[:MOST_COLUMNS] if pushes[j] > 0]
    if not loudest:
        return "no column does; the offset is against it"
    return "; ".join(f"{subject.names[j]} = {digits(values[j], 3)} ({signed(pushes[j], 2)})" for j in loudest)


def _against(subject: Subject, row: int) -> NDArray[np.float64]:
    """Return the weights by which the columns speak against a row's label.

    With several classes, those of the best other class, less those of its own.
    """
    model, sign = subject.model, subject.examined.signs[row]
    if len(sign) == 1:
        return np.asarray(-sign[0] * model.coef[0])
    others = np.where(sign > 0, -np.inf, subject.examined.scores[row])
    return np.asarray(model.coef[int(others.argmax())] - model.coef[int(sign.argmax())])
