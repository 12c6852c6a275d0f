"""How this was made: data, model, versions, command; enough to reproduce it."""

from __future__ import annotations

import platform
from typing import Any

import numpy
import scipy

from maxmargin import __version__
from maxmargin._core import cpu
from maxmargin.data import describe_classes
from maxmargin.presentation.wording import plural, short
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.fingerprint import Fingerprint
from maxmargin.reporting.section import Section

__all__ = ["data_facts", "provenance", "size_of_data"]

REDACTED = (
    "Redacted: no values and no text of any row, and no single row in a picture. Shown all the same are row "
    "numbers with their labels and agreements, and the model itself: coefficients and column names."
)


def provenance(evidence: Evidence, fingerprint: Fingerprint, command: str) -> Section:
    """Return the section."""
    subject, model = evidence.subject, evidence.subject.model
    facts: list[tuple[str, Any]] = [
        ("Model", _model_words(evidence)),
        ("Data", size_of_data(evidence, fingerprint)),
        ("Classes", _classes(evidence)),
        ("Fingerprint of X", f"SHA-256 {fingerprint.rows}"),
        ("Fingerprint of y", f"SHA-256 {fingerprint.labels}"),
    ]
    if evidence.held_out is not None:
        facts.append(("Held out", plural(len(evidence.held_out.labels), "row")))
    if subject.examined.weights is not None:
        facts.append(("Sample weights", "given"))
    if model.calibration is not None:
        facts.append(("Probabilities", f"{model.calibration}"))
    facts.append(("Versions", _versions()))
    if command:
        facts.append(("Command", command))
    return Section(
        "provenance",
        "How this was made",
        "Provenance",
        [
            "The fingerprint depends on the numbers and labels alone, not on how they are stored. Whoever "
            "has the same data gets the same one, by fingerprint_of(X, y) of maxmargin.reporting.fingerprint."
        ],
        notes=[REDACTED] if subject.redact else [],
        template="provenance.html.j2",
        data={"facts": facts},
    )


def data_facts(evidence: Evidence, fingerprint: Fingerprint, command: str) -> list[tuple[str, str]]:
    """Return what the verdict says about the data, and what made it."""
    facts = [("rows", f"{fingerprint.n_rows:,}"), ("columns", f"{fingerprint.n_columns:,}")]
    facts.append(("classes", _classes(evidence)))
    if evidence.held_out is not None:
        facts.append(("held out", plural(len(evidence.held_out.labels), "row")))
    facts.append(("fingerprint", str(fingerprint)))
    facts.append(("made by", f"maxmargin {__version__}"))
    return [*facts, ("command", command)] if command else facts


def size_of_data(evidence: Evidence, fingerprint: Fingerprint) -> str:
    """Return the size of the data in words."""
    size = f"{plural(fingerprint.n_rows, 'row')} and {plural(fingerprint.n_columns, 'column')}"
    full = fingerprint.n_rows * fingerprint.n_columns
    if hasattr(evidence.subject.examined.X, "nnz") and full:
        return f"{size}, {fingerprint.n_values:,} values that are not 0"
    return size


def _classes(evidence: Evidence) -> str:
    labels = evidence.subject.examined.labels
    said = describe_classes(labels, evidence.subject.model.classes)
    return said.removeprefix("classes ")


def _model_words(evidence: Evidence) -> str:
    subject, model = evidence.subject, evidence.subject.model
    assessment = evidence.certificate.value
    if assessment is not None:
        return f"{subject.kind}: {assessment.problem}"
    if model.C is None:
        return f"{subject.kind}: given coefficients"
    return f"{subject.kind}: {model.loss.replace('_', ' ')} loss, C = {short(model.C)}"


def _versions() -> str:
    return (
        f"maxmargin {__version__} (instruction set {cpu()}), Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, SciPy {scipy.__version__}, {platform.system()} {platform.machine()}"
    )
