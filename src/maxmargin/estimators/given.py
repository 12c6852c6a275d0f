"""A linear model of given weights and offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.training.model import LinearModel
from maxmargin.validation import refuse_masked

__all__ = ["given_model"]


def given_model(
    coef: Any, intercept: Any, classes: Any, feature_names: Sequence[str] | None, loss: str
) -> LinearModel:
    """Return the model, once its parts fit together."""
    weights, offsets = _parameters(coef, intercept)
    n_problems, n_columns = weights.shape
    labels = _classes(classes, n_problems)
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != n_columns:
        raise InvalidInput(
            f"feature_names must name each of the {n_columns} weights; got {len(names)} names."
        )
    return LinearModel(coef=weights, intercept=offsets, classes=labels, loss=loss, feature_names=names)


def _parameters(coef: Any, intercept: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    refuse_masked("coef", coef)
    refuse_masked("intercept", intercept)
    try:
        weights = np.array(coef, dtype=np.float64)
        offsets = np.array(intercept, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InvalidInput("coef and intercept must hold numbers.") from None
    if weights.ndim not in (1, 2) or weights.size == 0:
        raise InvalidInput(
            f"coef must be a vector, or a matrix with one row per class; got shape {weights.shape}."
        )
    weights = np.atleast_2d(weights)
    if offsets.shape != (weights.shape[0],):
        raise InvalidInput(
            f"intercept must have one number for each of the {weights.shape[0]} row(s) of coef; "
            f"got {offsets.size}."
        )
    if not (np.isfinite(weights).all() and np.isfinite(offsets).all()):
        raise InvalidInput("coef and intercept must be finite; they contain NaN or inf.")
    return weights, offsets


def _classes(classes: Any, n_problems: int) -> NDArray[Any]:
    labels = np.array(classes)
    if n_problems == 2 or labels.shape != (max(n_problems, 2),):
        raise InvalidInput(
            "two classes take one row of coef, more take one row each; "
            f"got {n_problems} row(s) and {labels.size} classes."
        )
    if not np.array_equal(np.unique(labels), labels):
        raise InvalidInput(
            f"classes must differ and be in increasing order; got {labels.tolist()}. To make the first of "
            "two classes the positive one, negate coef and intercept."
        )
    return labels
