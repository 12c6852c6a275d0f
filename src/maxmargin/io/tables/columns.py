"""What the readers of tables hand on: columns of numbers and of text, and how they say where something is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError
from maxmargin.io.tables.roles import Feature, Header

__all__ = ["FoundColumns", "Part", "Refusal", "RowRefusal", "TextColumn", "assemble", "category_text"]


class TextColumn(NamedTuple):
    """A column of text: for each row the number of its text, −1 where it is missing."""

    codes: NDArray[np.int32]
    texts: list[str]
    # Somebody said that these are categories: the user, or the type of the column.
    is_stated: bool = False


@dataclass(frozen=True)
class FoundColumns:
    """The columns of a source that are of use.

    ``numbers`` has a column for each feature of numbers, in their order, NaN where a value is missing;
    ``texts`` has the other features, by their place in the source. Labels and weights are numbers, truth
    values or text.
    """

    n_rows: int
    numbers: NDArray[Any]
    number_places: tuple[int, ...]
    texts: Mapping[int, TextColumn]
    label: NDArray[Any] | TextColumn | None
    weight: NDArray[Any] | TextColumn | None


class Refusal(Protocol):
    """Makes an error about one value."""

    def __call__(self, message: str, row: int, place: int, **fields: Any) -> FileFormatError:
        """Return the error; rows and places count from 0, and fields are those of a `MaxMarginError`."""


class RowRefusal(NamedTuple):
    """Says where a value is by the number of its row."""

    header: Header
    first_row: int = 0  # of a batch, in the whole table

    def __call__(self, message: str, row: int, place: int, **fields: Any) -> FileFormatError:
        where = f'row {self.first_row + row} (counted from 0), column "{self.header.name(place)}"'
        return FileFormatError(f"{where}: {message}", self.header.source, **fields)


def category_text(value: Any) -> str:
    """Return a value as the name of a category, the same whatever type of number it has."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# ------------------------------------------------------------------------------------------------
# Rows from columns: dense where they are numbers, sparse where categories leave most of them zero.


@dataclass
class Part:
    """A column on its way to features.

    ``values`` are numbers, NaN where one is missing, or with ``categories`` their positions: −1 where one is
    missing, −2 for a category that has no feature. ``column`` is where the numbers are in the matrix that
    the reader made, None if they are not in it. ``is_complete`` says that nothing is missing for sure.
    """

    feature: Feature
    values: NDArray[Any]
    column: int | None = None
    is_complete: bool = False
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Return where a value is missing."""
        found: NDArray[np.bool_] = np.isnan(self.values) if self.categories is None else self.values == -1
        return found

    @property
    def width(self) -> int:
        """The number of features."""
        return 1 if self.categories is None else len(self.categories)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        name = self.feature.name
        return (name,) if self.categories is None else tuple(f"{name}={text}" for text in self.categories)


def assemble(numbers: NDArray[Any], parts: list[Part]) -> Any:
    """Return the rows as an array, or as a CSR array if there are more than two features for each column.

    Then more than half of the values are zero. It follows from the columns alone, so that a further table is
    stored as the first was.

    Parameters
    ----------
    numbers : array
        The columns of numbers; they are the rows where there is nothing else.
    parts : list of Part
        The columns in the order of the features.
    """
    if [part.column for part in parts] == list(range(numbers.shape[1])):
        return numbers
    dtype = numbers.dtype if numbers.shape[1] else np.dtype(np.float64)
    n_rows = len(numbers)
    width = sum(part.width for part in parts)
    if width > 2 * len(parts):
        return sparse_rows(parts, n_rows, width, dtype)
    X = np.zeros((n_rows, width), dtype=dtype)
    for part, first in with_offsets(parts):
        if part.categories is None:
            X[:, first] = part.values
        else:
            rows = np.flatnonzero(part.values >= 0)
            X[rows, first + part.values[rows]] = 1
    return X


def sparse_rows(parts: list[Part], n_rows: int, width: int, dtype: np.dtype[Any]) -> Any:
    """Return the rows as a CSR array without stored zeros, columns in ascending order."""
    from scipy.sparse import csr_array

    n_values = sum(int(np.count_nonzero(is_stored(part))) for part in parts)
    index: Any = np.int32 if max(n_values, width) < 2**31 else np.int64
    lengths = np.zeros(n_rows, dtype=index)
    for part in parts:
        np.add(lengths, is_stored(part), out=lengths)
    starts = np.zeros(n_rows + 1, dtype=index)
    np.cumsum(lengths, out=starts[1:])
    columns, values = np.empty(n_values, dtype=index), np.empty(n_values, dtype=dtype)
    at = starts[:-1].copy()
    for part, first in with_offsets(parts):
        rows = np.flatnonzero(is_stored(part))
        here = at[rows]
        is_number = part.categories is None
        columns[here] = first if is_number else first + part.values[rows]
        values[here] = part.values[rows] if is_number else 1
        at[rows] = here + 1
    X = csr_array((values, columns, starts), shape=(n_rows, width))
    X.has_sorted_indices = True
    X.has_canonical_format = True
    return X


def is_stored(part: Part) -> NDArray[np.bool_]:
    """Return which rows have a value of this column that is not zero."""
    return part.values != 0 if part.categories is None else part.values >= 0


def with_offsets(parts: list[Part]) -> Iterator[tuple[Part, int]]:
    """Yield the columns, each with the number of its first feature."""
    first = 0
    for part in parts:
        yield part, first
        first += part.width
