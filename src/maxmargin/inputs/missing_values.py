"""Missing values: found, refused with their place, or replaced by a usual value of their column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError
from maxmargin.inputs.assemble_rows import Part
from maxmargin.inputs.table_columns import Refusal

__all__ = ["MISSING", "Strange", "fill_in", "find_strange", "refuse_missing", "usual_value"]

ROWS_AT_ONCE = 16384
MISSING = "the value is missing; "


class Strange(NamedTuple):
    """What is not a finite number in a matrix."""

    infinite: tuple[int, int] | None  # row and column of the first infinite number
    has_gaps: NDArray[np.bool_]  # for each column whether a value is missing


def find_strange(numbers: NDArray[Any]) -> Strange:
    """Look for infinite numbers and for NaN, which stands for a missing value."""
    has_gaps = np.zeros(numbers.shape[1], dtype=bool)
    infinite = None
    for first in range(0, len(numbers), ROWS_AT_ONCE):
        rows = numbers[first : first + ROWS_AT_ONCE]
        if np.isfinite(rows).all():
            continue
        has_gaps |= np.isnan(rows).any(axis=0)
        is_infinite = np.isinf(rows)
        if infinite is None and is_infinite.any():
            row, column = divmod(int(np.argmax(is_infinite)), rows.shape[1])
            infinite = first + row, column
    return Strange(infinite, has_gaps)


def refuse_missing(parts: list[Part], refuse: Refusal) -> None:
    """Refuse the first missing value, the upper one before the lower one."""
    found = []
    for number, part in enumerate(parts):
        if part.is_complete:
            continue
        is_missing = part.is_missing
        if is_missing.any():
            found.append((int(np.argmax(is_missing)), number))
    if not found:
        return
    row, number = min(found)
    feature = parts[number].feature
    advice = (
        "the earlier table had none there and was not read with missing=…, so nothing stands for it"
        if feature.known is not None
        else 'missing="median" replaces it (or "mean", "most_frequent")'
    )
    raise refuse(f"{MISSING}{advice}", row, feature.place)


def usual_value(part: Part, rule: str, source: str) -> float | str:
    """Return what stands for a missing value of this column.

    Parameters
    ----------
    part : Part
        The column.
    rule : {"mean", "median", "most_frequent"}
        Of numbers; categories always have their most frequent one. Of several that are equally frequent it
        is the smallest.
    source : str
        What error messages call the table.
    """
    present = part.values if part.is_complete else part.values[~part.is_missing]
    if len(present) == 0:
        raise FileFormatError(
            f'the column "{part.feature.name}" has no value at all; leave it out by drop=', source
        )
    if part.categories is not None:
        return part.categories[int(np.argmax(np.bincount(present)))]
    if rule == "mean":
        return float(np.mean(present, dtype=np.float64))
    if rule == "median":
        return float(np.median(present.astype(np.float64)))
    values, counts = np.unique(present, return_counts=True)
    return float(values[np.argmax(counts)])


def fill_in(part: Part) -> None:
    """Put what stands for missing values in their place."""
    if part.fill is None or part.is_complete:
        return
    is_missing = part.is_missing
    fill = part.fill if part.categories is None else part.categories.index(str(part.fill))
    part.values[is_missing] = fill
