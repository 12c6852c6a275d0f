"""Agreements of rows with anybody's classifier of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.results.parameters import Parameters, attribute_of, signs_of

__all__ = ["agreements_of"]

Array = NDArray[np.float64]


def agreements_of(model: Any, X: Any, y: Any) -> tuple[Array, Array, NDArray[Any]]:
    """Return y(θ·x + θ₀) and ±1 of every row, and the negative and the positive class.

    Parameters
    ----------
    model : estimator, pipeline, LinearModel or pair (θ, θ₀)
    X : array, data frame or sparse matrix
    y : array of labels
    """
    scores, known = _scores(model, X)
    signs, classes = signs_of(y, known)
    if len(signs) != len(scores):
        raise InvalidInput(f"X has {len(scores)} rows, y has {len(signs)} labels.")
    if len(scores) == 0:
        raise InvalidInput("there are no rows to draw.")
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InvalidInput(f"the score of row {row} is {scores[row]}; only finite ones can be drawn.")
    return signs * scores, signs, classes


def _scores(model: Any, X: Any) -> tuple[Array, Any]:
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        if scores.ndim != 1:
            raise InvalidInput(f"two classes are needed: the model scores {scores.shape[-1]}")
        return scores, attribute_of(model, "classes", needed=False)
    parameters = Parameters.of(model)
    rows = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(parameters.coef):
        raise InvalidInput(f"the model has {len(parameters.coef)} columns; X has shape {rows.shape}")
    return np.asarray(rows @ parameters.coef + parameters.intercept), parameters.classes
