"""The classes of rows that come in pieces: named, found in all labels, or those of the first piece."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.estimators.labels import checked_labels
from maxmargin.inputs.batch_source import BatchSource, in_batch

__all__ = [
    "classes_found",
    "classes_of_the_first",
    "classes_of_the_stream",
    "named_classes",
    "refuse_unknown",
]


def classes_of_the_stream(known: Any, given: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes of all calls of `partial_fit`, and refuse labels that are none of them."""
    named = None if given is None else np.unique(np.asarray(given))
    if known is not None and named is not None and not np.array_equal(known, named):
        raise InvalidInput(
            f"classes={named.tolist()} is not the same as on the last call to partial_fit, which was "
            f"{known.tolist()}: they are fixed by the first call."
        )
    classes = known if known is not None else named if named is not None else np.unique(labels)
    if len(classes) < 2:
        raise InvalidInput(
            f"y holds only one class, {classes[0]!s}, and a classifier needs two: name all classes that will "
            "come with classes=… at the first call of partial_fit."
        )
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        where = int(np.flatnonzero(unknown)[0])
        raise InvalidInput(
            f"y[{where}] is {labels[where]!s}, which is none of the classes {', '.join(map(str, classes))} "
            "of the first call of partial_fit. Name all classes that will come with classes=… at that call."
        )
    return np.asarray(classes)


def named_classes(named: Any, known: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return the classes that the user names, else those that the source knows, else None."""
    if named is None:
        if known is not None and len(known) < 2:
            raise InvalidInput(f"the rows hold only one class, {known[0]!s}; a classifier needs two.")
        return known
    classes = np.unique(np.asarray(named))
    if len(classes) < 2:
        raise InvalidParameter(f"classes must name at least two classes; got {classes.tolist()}")
    return classes


def classes_found(source: BatchSource) -> NDArray[Any]:
    """Read all labels once."""
    found: NDArray[Any] | None = None
    for number, _, y, _ in source.numbered():
        with in_batch(number):
            found = _joined(found, checked_labels(y))
    if found is None or len(found) == 0:
        raise InvalidInput("there is no batch with a row to learn from")
    if len(found) < 2:
        raise InvalidInput(f"the batches hold only one class, {found[0]!s}; a classifier needs two.")
    return found


def _joined(found: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    present = np.unique(labels)
    if found is None or len(found) == 0 or len(present) == 0:
        return present if found is None or len(found) == 0 else found
    if (found.dtype.kind in "OU") != (present.dtype.kind in "OU"):
        known, new = found.tolist()[0], present.tolist()[0]
        raise InvalidInput(f"y holds labels such as {new!r}, and batches before it {known!r}")
    return np.unique(np.concatenate([found, present]))


def classes_of_the_first(source: BatchSource) -> tuple[BatchSource, NDArray[Any]]:
    """Look at the first batch of those that are read only once; return them with it in its place again."""
    batches = source.begin()
    first = next(BatchSource(lambda: batches, repeats=False).numbered(), None)
    if first is None:
        raise InvalidInput("there is no batch to learn from")
    number, X, y, weight = first
    with in_batch(number):
        classes = np.unique(checked_labels(y))
        if len(classes) < 2:
            only = f"y holds only one class, {classes[0]!s}" if len(classes) else "y is empty"
            raise InvalidInput(
                f"{only}, and the classes of batches that are read only once are those of the first one: "
                "name all classes that will come with classes=…"
            )
    again = (X, y) if weight is None else (X, y, weight)
    return BatchSource(lambda: chain([again], batches), repeats=False), classes


def refuse_unknown(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse a label that is none of the classes of a fit to batches."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        where = int(np.flatnonzero(unknown)[0])
        raise InvalidInput(
            f"y[{where}] is {labels[where]!s}, which is none of the classes {', '.join(map(str, classes))}. "
            "Name all classes that will come with classes=…"
        )
