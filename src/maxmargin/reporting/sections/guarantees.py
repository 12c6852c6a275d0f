"""What is known about new rows: measured, estimated and proved."""

from __future__ import annotations

from maxmargin.presentation.wording import percent
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Section, capital

__all__ = ["guarantees_section"]

TITLE, SHORT = "What is known about new rows", "Guarantees"


def guarantees_section(evidence: Evidence) -> Section:
    """Return the section."""
    known = evidence.guarantees.value
    if known is None:
        return Section("guarantees", TITLE, SHORT, notes=[f"Not known: {evidence.guarantees.why_not}"])
    lead = [
        "The share of errors on new rows, by everything that can be said about it; what was measured comes "
        "before what is proved for every distribution. A statement is called vacuous when always guessing "
        f"the larger class, which errs on {percent(known.guessing)}, is as good."
    ]
    lines = [
        {
            "name": line.name,
            "value": percent(line.value),
            "in_short": line.in_short.replace("; vacuous", ""),
            "is_vacuous": line.is_vacuous,
            "statement": capital(line.statement),
            "assumptions": line.assumptions,
            "source": line.source,
        }
        for line in known
    ]
    price = capital(f"{known.price}.") if known.price else ""
    return Section(
        "guarantees",
        TITLE,
        SHORT,
        lead,
        notes=[price] if price else [],
        template="guarantees.html.j2",
        data={"lines": lines, "not_claimed": known.not_claimed},
    )
