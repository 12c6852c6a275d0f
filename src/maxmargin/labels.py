"""Which classes the labels of rows name, and each row's place among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput

__all__ = ["classes_of", "codes_of", "distinct", "why_no_classes"]

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


_FEW_NUMBERS = 20  # each of which may be a class, though most come once


def why_no_classes(classes: NDArray[Any], counts: Sequence[int]) -> str:
    """Return why labels are rather numbers to be predicted than classes; nothing where they may be classes.

    Those are numbers of which many come once; and numbers that are not whole, which scikit-learn refuses
    altogether, if there are many of them.

    Parameters
    ----------
    classes : array
        The distinct labels.
    counts : sequence of int
        How many rows each has.

    Examples
    --------
    >>> why_no_classes(np.arange(100.0) / 3, [2] * 100), why_no_classes(np.array([0.5, 2.0]), [1, 1])
    ('0.3333333333 is not a whole number', '')
    >>> why_no_classes(np.arange(214.0), [1] * 90 + [3] * 124)
    'of 214 different ones, 90 come once'
    """
    if classes.dtype.kind not in "iuf":
        return ""
    once = sum(count == 1 for count in counts)
    is_mostly_once, are_many = 3 * once > len(classes) > 2, len(classes) > _FEW_NUMBERS
    broken = classes[classes != np.floor(classes)]
    if len(broken) and (are_many or is_mostly_once):
        return f"{broken[0]:.10g} is not a whole number"
    if are_many and is_mostly_once:
        return f"of {len(classes):,} different ones, {once:,} come once"
    return ""


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
