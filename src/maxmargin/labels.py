"""Which classes the labels of rows name, and each row's place among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput

__all__ = ["classes_of", "codes_of", "distinct"]

_MANY_LABELS = 10_000  # from so many on, counting is faster than sorting
_LOOKED_AT = 2_000
_FEW_CLASSES = 8


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values in increasing order.

    As np.unique, which without counts first imports all of NumPy's masked arrays.
    """
    return np.unique(values, return_counts=True)[0]


def classes_of(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the labels that there are, in increasing order.

    Sorting many labels takes longer than many a fit. A few of them usually show all classes, and counting
    each class proves that there is no other.
    """
    try:
        if labels.shape[0] > _MANY_LABELS and labels.dtype.kind in "biufUS":
            shown = distinct(labels[:: labels.shape[0] // _LOOKED_AT])
            if len(shown) <= _FEW_CLASSES:
                counted = sum(int(np.count_nonzero(labels == label)) for label in shown)
                if counted == labels.shape[0]:
                    return shown
        return distinct(labels)
    except TypeError:
        raise InvalidInput(
            "y mixes labels that cannot be compared, such as text and numbers. Use one kind."
        ) from None


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.integer[Any]]:
    """Return each row's class by its place among the classes; any place for a label that is none of them."""
    if len(classes) > _FEW_CLASSES:
        return np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    codes = np.zeros(labels.shape[0], dtype=np.int8)
    for place, label in enumerate(classes[1:], start=1):
        held = np.equal(labels, label).view(np.int8)
        held *= place
        codes += held
    return codes
