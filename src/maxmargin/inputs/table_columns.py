"""What the readers of tables hand on: columns of numbers and of text, and how they say where something is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError
from maxmargin.inputs.column_roles import Header

__all__ = ["FoundColumns", "Refusal", "RowRefusal", "TextColumn", "category_text"]


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

    def __call__(self, message: str, row: int, place: int) -> FileFormatError:
        """Return the error; rows and places count from 0."""


class RowRefusal(NamedTuple):
    """Says where a value is by the number of its row."""

    header: Header
    first_row: int = 0  # of a batch, in the whole table

    def __call__(self, message: str, row: int, place: int) -> FileFormatError:
        where = f'row {self.first_row + row} (counted from 0), column "{self.header.name(place)}"'
        return FileFormatError(f"{where}: {message}", self.header.source)


def category_text(value: Any) -> str:
    """Return a value as the name of a category, the same whatever type of number it has."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
