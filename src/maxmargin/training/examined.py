"""Anybody's fitted linear classifier on examples, and how far ahead it has each example's own class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.results.parameters import attribute_of
from maxmargin.results.wording import plural
from maxmargin.rows import Array
from maxmargin.training.foreign_models import unwrap
from maxmargin.training.model import LinearModel
from maxmargin.validation import check_labels, check_matrix, check_weights

__all__ = ["Examined", "examine_model"]


@dataclass(frozen=True, eq=False)
class Examined:
    """A linear classifier and what it says about each example.

    Attributes
    ----------
    estimator : object
        What was given, without the pipeline or search around it.
    model : LinearModel
    X : array or CSR matrix
        The rows as the classifier sees them.
    labels, weights : arrays
        Weights are None where none were given.
    scores, signs : arrays of shape (n, 1) or (n, n_classes)
    """

    estimator: Any
    model: LinearModel
    X: Any
    labels: NDArray[Any]
    weights: Array | None
    scores: Array
    signs: Array

    @property
    def agreements(self) -> Array:
        """One column for each class against the rest; for two classes, one column."""
        return np.asarray(self.signs * self.scores)

    @property
    def lead(self) -> Array:
        """The agreement; with several classes, the score of the own class minus the largest other one.

        0 or less is an error.
        """
        if self.scores.shape[1] == 1:
            return self.agreements[:, 0]
        own = np.where(self.signs > 0, self.scores, -np.inf).max(axis=1)
        return np.asarray(own - np.where(self.signs < 0, self.scores, -np.inf).max(axis=1))

    @property
    def has_offset(self) -> bool:
        """Whether the classifier has, or could have had, an offset."""
        return self.model.offset != "none" or bool(self.model.intercept.any())

    @property
    def solves_a_problem(self) -> bool:
        """Whether the model was fitted here as the optimum of a problem with a regulariser and a dual.

        Only then does it make sense to ask for the optimum without one of the examples.
        """
        model = self.model
        is_fitted = model.C is not None and math.isfinite(model.C) and model.certificate is not None
        return is_fitted and model.loss in DUAL_LOSSES

    def check_support(self) -> None:
        """Refuse rows that the model was not fitted to, as far as its support vectors tell."""
        support = self.model.support
        last = -1 if support is None else int(support.indices.max(initial=-1))
        if last >= len(self.labels):
            raise InvalidInput(
                f"row {last:,} is a support vector of the model, but X has "
                f"{plural(len(self.labels), 'row')}. Give the data that the model was fitted to."
            )


def examine_model(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Examined:
    """Return what a fitted linear classifier says about examples of classes that it knows.

    Parameters
    ----------
    model : LinearModel, fitted estimator, pipeline or search
        Of a classifier of another library only θ, θ₀ and the classes are read.
    X, y, sample_weight : the examples
    """
    inner, X = unwrap(model, X)
    rows = check_matrix(X)
    labels = check_labels(y, rows.shape[0])
    weights = check_weights(sample_weight, rows.shape[0])
    linear = _linear_model(inner)
    if len(linear.classes) < 2:
        raise InvalidInput("a classifier of two classes or more is needed; this one knows only one.")
    scores = linear.scores(rows)
    return Examined(inner, linear, rows, labels, weights, scores, linear.signs(labels, rows.shape[0]))


def _linear_model(model: Any) -> LinearModel:
    if isinstance(model, LinearModel):
        return model
    if hasattr(model, "to_model"):
        found: LinearModel = model.to_model()
        return found
    coef = np.atleast_2d(np.asarray(attribute_of(model, "coef"), dtype=np.float64))
    offset = np.broadcast_to(np.ravel(attribute_of(model, "intercept")), coef.shape[:1])
    classes = np.asarray(attribute_of(model, "classes"))
    return LinearModel(coef, np.array(offset, dtype=np.float64), classes)
