"""Scores and agreements of rows with any linear classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.sides import Sides, last_step, of_pair, parameters_of, rows_of, two_sides
from maxmargin.displays.widest_direction import scores_of
from maxmargin.errors import InvalidInput
from maxmargin.model.parameters import attribute_of

__all__ = ["agreements_of", "classifier_of", "names_at_classifier", "scored"]


Array = NDArray[np.float64]


def scored(model: Any, X: Any, positive: Any = None) -> tuple[Array, Any, float | None]:
    """Return θ·x + θ₀ for every row, the classes where the model knows them, and ‖θ‖ if it has a θ."""
    classifier, seen = last_step(model, X)
    if any(hasattr(classifier, name) for name in ("coef_", "coef")) or not hasattr(
        classifier, "decision_function"
    ):
        parameters = parameters_of(classifier, positive)
        rows = rows_of(seen, len(parameters.coef))
        return scores_of(rows, parameters), parameters.classes, parameters.norm
    scores = np.asarray(classifier.decision_function(seen), dtype=np.float64)
    if scores.ndim != 1:
        raise InvalidInput(f"two classes are needed: the model scores {scores.shape[-1]}")
    return scores, attribute_of(classifier, "classes", needed=False), None


def agreements_of(model: Any, X: Any, y: Any, positive: Any = None) -> tuple[Array, Sides]:
    """Return y(θ·x + θ₀) of every row, and on which side each belongs.

    Parameters
    ----------
    model : estimator, pipeline, LinearModel or pair (θ, θ₀)
    X : array, data frame or sparse matrix
    y : array of labels
    positive : label, optional
        With more than two classes, the one that is held against the rest, or two of them.
    """
    model, X, y, positive = of_pair(model, X, y, positive)
    scores, classes, _ = scored(model, X, positive)
    sides = two_sides(y, classes, positive, n_rows=len(scores))
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InvalidInput(f"the score of row {row} is {scores[row]}; only finite ones can be drawn.")
    return sides.signs * scores, sides


# ------------------------------------------------------------------------------------------------
# The classifier at the end of a pipeline, and the names of the columns that it sees.


def classifier_of(model: Any) -> Any:
    """Return the last step of a pipeline; anything else is returned as it is."""
    return model[-1] if hasattr(model, "steps") else model


def names_at_classifier(model: Any) -> Any:
    """Return the names of the columns that the classifier sees, as far as they are known."""
    if hasattr(model, "steps") and len(model.steps) > 1:
        name_columns = getattr(model[:-1], "get_feature_names_out", None)
        return None if name_columns is None else name_columns()
    classifier = classifier_of(model)
    for name in ("feature_names_in_", "feature_names"):
        if getattr(classifier, name, None) is not None:
            return getattr(classifier, name)
    return None
