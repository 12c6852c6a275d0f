"""A fitted model as a notebook shows it: certificate, plan, and how far the rows are on the right side."""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.results.agreement_counts import AgreementCounts
from maxmargin.results.cards import card, details, histogram, verdict
from maxmargin.results.solution import Status
from maxmargin.results.wording import chosen_percent, plural, short

if TYPE_CHECKING:
    from maxmargin.training.model import LinearModel

__all__ = ["model_card", "with_counts"]

_MOST_ROWS = 20_000  # a picture of 40 bars does not change with more
_MOST_VALUES = 20_000_000  # of a dense sample
_FEWEST_ROWS = 500


def with_counts(
    model: LinearModel, X: Any, codes: NDArray[np.integer[Any]], present: NDArray[np.bool_] | None = None
) -> LinearModel:
    """Return the model with counts of the agreements of its rows, or of some of them where there are many.

    Parameters
    ----------
    model : LinearModel
    X : array or sparse matrix
        Checked.
    codes : array of int
        The class of each row, by its place among the model's classes.
    present : boolean array, optional
        Which rows count; a row of weight 0 is absent.
    """
    if len(model.classes) < 2 or X.shape[0] == 0:
        return model
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // max(1, X.shape[1])))
    every = -(-X.shape[0] // most)
    rows, places = X[::every], np.asarray(codes[::every])
    n_rows = X.shape[0]
    if present is not None and not present.all():
        kept = np.flatnonzero(present[::every])
        rows, places, n_rows = rows[kept], places[kept], int(np.count_nonzero(present))
    try:
        scores = model.scores(rows)
    except InvalidInput:  # they overflow: the model is what it is, and predicting will say so
        return model
    if len(scores) == 0:
        return model
    if scores.shape[1] == 1:
        signs = np.where(places == 1, 1.0, -1.0)
        counts = AgreementCounts.of(signs * scores[:, 0], signs, n_rows=n_rows)
    else:
        own = scores[np.arange(len(scores)), places]
        scores[np.arange(len(scores)), places] = -np.inf
        lead = own - scores.max(axis=1)
        counts = AgreementCounts.of(lead, np.ones(len(lead)), n_rows=n_rows, n_classes=len(model.classes))
    return replace(model, agreement_counts=counts)


def model_card(model: LinearModel, name: str = "LinearModel", course: str = "") -> str:
    """Return the card; `course` says how it was learned where there is no certificate."""
    return card(
        f"{name}: {_kind(model)}",
        _proof(model) or verdict(course),
        _plan(model),
        _picture(model),
        details("More", _numbers(model)),
    )


def _kind(model: LinearModel) -> str:
    strength = (
        "given" if model.C is None else "unregularised" if math.isinf(model.C) else f"C = {short(model.C)}"
    )
    shown = [str(label) for label in model.classes[:5]] + (["…"] if len(model.classes) > 5 else [])
    classes = f", classes {', '.join(shown)}" if shown else ", no classes"
    loss = "zero-one" if model.loss == "zero_one" else model.loss.replace("_", " ")
    return f"{loss}, {strength}, {plural(model.coef.shape[1], 'column')}{classes}"


def _proof(model: LinearModel) -> str:
    proof = model.certificate
    if proof is None:
        return ""
    label = ""
    if len(model.certificates) > 1:
        label = f"class {model.classes[model.certificates.index(proof)]!s}, the worst: "
    return verdict(f"{label}{proof}", proof.relative_gap <= model.tol)


def _plan(model: LinearModel) -> str:
    if not model.plans or model.certificate is None:
        return ""
    return f"<b>Plan</b> {escape(str(model.plans[model.certificates.index(model.certificate)]))}"


def _picture(model: LinearModel) -> str:
    counts = model.agreement_counts
    if counts is None:
        return ""
    said = escape(str(counts))
    if counts.n_classes > 2:
        said += ". Score of the own class less the largest other one; errors left of 0"
    else:
        said += f". Agreements, {escape(str(model.classes[1]))} up and {escape(str(model.classes[0]))} down"
    return f'{histogram(counts)}<div style="font-size:12px;opacity:.85">{said}</div>'


def _numbers(model: LinearModel) -> dict[str, str]:
    lines: dict[str, str] = {}
    proof = model.certificate
    if proof is not None:
        lines["objective"], lines["bound"] = short(proof.objective), short(proof.bound)
        lines["gap asked for"] = chosen_percent(model.tol)
    if model.status is not None and model.status is not Status.SOLVED:
        lines["it ended because"] = model.status.value
    margins = model.margin
    if len(margins) == 1:
        lines["margin width"] = short(float(margins[0])) if math.isfinite(margins[0]) else "∞ (θ = 0)"
    if model.support is not None:
        on_margin = int(model.support.n_free.sum())
        lines["support vectors"] = f"{len(model.support.indices):,}, {on_margin:,} of them on the margin"
    if model.n_iter:
        lines["iterations"] = f"{max(model.n_iter):,}"
    lines["offset"] = {"free": "free", "penalized": "penalised", "none": "none"}[model.offset]
    if model.calibration is not None:
        lines["probabilities"] = "calibrated"
    return lines
