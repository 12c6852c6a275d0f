"""Labels as scikit-learn's users hand them in."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from maxmargin.errors import InvalidInput
from maxmargin.validation import check_labels, refuse_masked

__all__ = ["checked_labels"]


def checked_labels(y: Any) -> NDArray[Any]:
    """Return the labels as a vector of classes; warns about a column as scikit-learn does."""
    if hasattr(y, "tocsr"):
        raise InvalidInput("y is sparse; it must be a vector of labels, one for each row.")
    refuse_masked("y", y)
    vector = np.asarray(y)
    if vector.ndim == 2 and vector.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Use y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=3)
    labels = check_labels(vector, len(vector) if vector.ndim else 0)
    if len(labels) > 0:
        check_classification_targets(labels)
    return labels
