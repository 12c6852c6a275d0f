"""Data and models as the JSON object of ``--json`` describes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.core.certificate.record import Certificate
    from maxmargin.data import Data
    from maxmargin.model.certify import Assessment
    from maxmargin.model.degenerate import Degeneracy
    from maxmargin.model.model import LinearModel

__all__ = ["assessment_fields", "certificate_fields", "data_fields", "model_fields", "plain_labels"]


def data_fields(data: Data, source: Path) -> dict[str, Any]:
    """Return the size of a data set, its classes and where they were found."""
    import numpy as np

    counts = [int(np.count_nonzero(data.y == label)) for label in data.classes]
    return {
        "source": source,
        "rows": data.n_rows,
        "columns": data.n_columns,
        "values": int(data.X.nnz) if hasattr(data.X, "nnz") else None,
        "scheme": data.scheme,
        "label": data.label,
        "classes": [
            {"label": label, "rows": rows}
            for label, rows in zip(plain_labels(data.classes), counts, strict=True)
        ],
        "skipped": int(getattr(data, "n_skipped", 0)),
    }


def certificate_fields(proof: Certificate | None, tol: float | None = None) -> dict[str, Any] | None:
    """Return what is proved, and whether it is what was asked for."""
    if proof is None:
        return None
    return {
        "kind": proof.kind,
        "objective": proof.objective,
        "bound": proof.bound,
        "gap": proof.gap,
        "relative_gap": proof.relative_gap,
        "tol": tol,
        "is_reached": None if tol is None else bool(proof.relative_gap <= tol),
    }


def assessment_fields(found: Assessment) -> dict[str, Any]:
    """Return how far a model is from the optimum: of the worst class and of each."""
    return {
        "problem": found.problem,
        "label": found.label or None,
        "objective": found.objective,
        "bound": found.bound,
        "gap": found.gap,
        "relative_gap": found.relative_gap,
        "relative_excess": found.relative_excess,
        "shortfall": found.shortfall or None,
        "per_class": [assessment_fields(one) for one in found.per_class] or None,
    }


def model_fields(model: LinearModel) -> dict[str, Any]:
    """Return what a model minimises, how near it came and what it is like."""
    support = model.support
    return {
        "loss": model.loss,
        "multi_class": model.multi_class if len(model.classes) > 2 else None,
        "C": model.C,
        "offset": model.offset,
        "classes": plain_labels(model.classes),
        "plan": {"solver": model.plans[0].solver, "reason": model.plans[0].reason} if model.plans else None,
        "certificate": certificate_fields(model.certificate, model.tol),
        "degenerate": None if model.degenerate is None else degeneracy_fields(model.degenerate),
        "status": model.status,
        "iterations": sum(model.n_iter),
        "margin": model.margin,
        "support_vectors": None if support is None else len(support.indices),
        "on_the_margin": None if support is None else support.n_free,
        "calibration": None if model.calibration is None else model.calibration.kind,
    }


def degeneracy_fields(found: Degeneracy) -> dict[str, Any]:
    """Return what makes a model useless on its training rows, and what was tried instead."""
    return {
        "classes": found.n_classes,
        "predicted": found.n_predicted,
        "never_predicted": found.never,
        "zero_weights": found.zero,
        "tried": [vars(tried) for tried in found.tried],
    }


def plain_labels(labels: Any) -> list[Any]:
    """Return labels as files have them: 1, not 1.0."""
    return [
        int(label) if isinstance(label, float) and label.is_integer() else label for label in labels.tolist()
    ]
