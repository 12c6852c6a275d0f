"""Probabilities of rows that the model was not fitted to, beside what came true."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.reporting.subject import Subject
from maxmargin.results.leave_one_out import LeaveOneOut
from maxmargin.results.reliability import Reliability
from maxmargin.results.wording import plural
from maxmargin.training.examined import Examined
from maxmargin.training.model import LinearModel
from maxmargin.training.reliability import reliability

__all__ = ["judged_probabilities"]

Array = NDArray[np.float64]

LEAST_ROWS = 30  # fewer make no curve


def judged_probabilities(
    subject: Subject, held_out: Examined | None, left_out: LeaveOneOut | None
) -> tuple[Reliability, str]:
    """Return the curve, and which rows it is about: test rows, else training rows when they are left out."""
    model = subject.model
    if not model.has_probabilities:
        return _of_a_stranger(subject, held_out)
    if held_out is not None:
        return reliability(
            model.predict_proba(held_out.X), held_out.labels, classes=model.classes
        ), f"{plural(len(held_out.labels), 'held-out row')}"
    scores = None if left_out is None else _left_out_scores(subject, left_out)
    if scores is None:
        raise InvalidInput(
            "probabilities of the rows that the model was fitted to are too good to be true, and neither "
            "held-out rows nor left-out scores are at hand."
        )
    known = np.isfinite(scores).all(axis=1)
    if int(known.sum()) < LEAST_ROWS:
        raise InvalidInput(f"{plural(int(known.sum()), 'row')} with left-out scores make no curve.")
    shares = _probabilities(model, scores[known])
    labels = subject.examined.labels[known]
    which = f"{plural(int(known.sum()), 'training row')}, each by the classifier that is fitted without it"
    return reliability(shares, labels, classes=model.classes), which


def _of_a_stranger(subject: Subject, held_out: Examined | None) -> tuple[Reliability, str]:
    """Judge a classifier of another library that gives probabilities itself."""
    estimator = subject.examined.estimator
    if isinstance(estimator, LinearModel) or not hasattr(estimator, "predict_proba"):
        raise InvalidInput(
            "the model gives scores, not probabilities. Fit with the logistic loss, or with "
            "calibrate='sigmoid', 'temperature' or 'isotonic'."
        )
    if held_out is None:
        raise InvalidInput(
            "probabilities of the rows that the model was fitted to are too good to be true, and no held-out "
            "rows were given."
        )
    found = reliability(estimator, held_out.X, held_out.labels)
    return found, f"{plural(len(held_out.labels), 'held-out row')}"


def _left_out_scores(subject: Subject, left_out: LeaveOneOut) -> Array | None:
    """Return the scores that the rows have when they are left out; NaN where they are not known."""
    parts = left_out.per_class or (left_out,)
    signs = subject.examined.signs
    columns = [part.agreements for part in parts if part.agreements is not None]
    if len(columns) != signs.shape[1]:
        return None
    return np.asarray(np.column_stack(columns) * signs)


def _probabilities(model: LinearModel, scores: Array) -> Array:
    if model.calibration is not None:
        return model.calibration.probabilities(scores)
    positive = -np.logaddexp(0.0, -scores)
    if scores.shape[1] == 1:
        return np.asarray(np.exp(np.hstack([-np.logaddexp(0.0, scores), positive])))
    return np.asarray(np.exp(positive - np.logaddexp.reduce(positive, axis=1, keepdims=True)))
