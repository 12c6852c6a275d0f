"""The record of how the columns of a table became features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from maxmargin.errors import InvalidInput
from maxmargin.presentation.wording import Readable, plural

__all__ = ["LABEL_NAMES", "Encoding", "SourceColumn"]


LABEL_NAMES = ("label", "y", "target", "class")  # of columns that hold labels where nobody says which does
KINDS = ("number", "categories", "dropped")


@dataclass(frozen=True)
class SourceColumn:
    """One column of a table and what becomes of it.

    Parameters
    ----------
    name : str
        The column's name; ``"column 3"`` where the table has none.
    kind : {"number", "categories", "dropped"}
        A number is one feature as it is; categories are one feature each, 1 where the row has it and 0
        elsewhere; a dropped column is none.
    categories : tuple of str
        The categories in ascending order.
    fill : float or str, optional
        What stands for a missing value: a number or one of the categories. None refuses missing values.

    Examples
    --------
    >>> SourceColumn("colour", "categories", ("blue", "red")).feature_names
    ('colour=blue', 'colour=red')
    """

    name: str
    kind: Literal["number", "categories", "dropped"] = "number"
    categories: tuple[str, ...] = ()
    fill: float | str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.kind not in KINDS:
            raise InvalidInput(f"expected a column's name and one of {', '.join(KINDS)}; got {self!r}")
        if (self.kind == "categories") != bool(self.categories):
            raise InvalidInput(f'"{self.name}": a column has categories if and only if its kind says so')
        is_ascending = all(isinstance(category, str) for category in self.categories) and all(
            one < other for one, other in zip(self.categories, self.categories[1:], strict=False)
        )
        if not is_ascending:
            raise InvalidInput(f'"{self.name}": categories must be text, in ascending order and each once')
        if not self._is_fill_usable():
            raise InvalidInput(f'"{self.name}": {self.fill!r} cannot stand for a missing value')

    def _is_fill_usable(self) -> bool:
        if self.fill is None:
            return True
        if self.kind == "categories":
            return self.fill in self.categories
        if self.kind == "dropped" or isinstance(self.fill, bool):
            return False
        return isinstance(self.fill, int | float) and math.isfinite(self.fill)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the column's features: its own, or ``column=category`` for each category."""
        if self.kind == "categories":
            return tuple(f"{self.name}={category}" for category in self.categories)
        return (self.name,) if self.kind == "number" else ()


@dataclass(frozen=True)
class Encoding(Readable):
    """How the columns of a table became features, so that a further table is read the same way.

    ``load_data`` makes one where a feature is more than a column of numbers: where there are categories,
    replaced values or columns left out. It travels with the data and with models trained on them.

    Parameters
    ----------
    columns : tuple of SourceColumn
        The columns in the order of the table, without label and weight.
    has_names : bool
        Whether the table has names, by which columns are found in a further one; without, they are found
        by their order.

    Examples
    --------
    >>> encoding = Encoding((SourceColumn("age"), SourceColumn("colour", "categories", ("blue", "red"))))
    >>> encoding.feature_names
    ('age', 'colour=blue', 'colour=red')
    >>> encoding.n_features, encoding.is_plain
    (3, False)
    >>> print(encoding)
    1 column of numbers, 1 of categories (2 features)
    >>> Encoding.from_fields(encoding.to_fields()) == encoding
    True
    """

    columns: tuple[SourceColumn, ...]
    has_names: bool = True

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        if len(names) != len(self.columns):
            raise InvalidInput("the columns of an encoding must have different names")

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of all features, in their order."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return sum(len(column.feature_names) for column in self.columns)

    @property
    def is_plain(self) -> bool:
        """Whether every feature is simply a column of numbers, so that names alone tell how to read."""
        return all(column.kind == "number" and column.fill is None for column in self.columns)

    def to_fields(self) -> dict[str, Any]:
        """Return the record as text, numbers and lists, which JSON can hold."""
        return {
            "has_names": self.has_names,
            "columns": [
                {"name": column.name, "kind": column.kind}
                | ({"categories": list(column.categories)} if column.categories else {})
                | ({} if column.fill is None else {"fill": column.fill})
                for column in self.columns
            ],
        }

    @classmethod
    def from_fields(cls, fields: Any) -> Encoding:
        """Return the record that `to_fields` wrote; what is not one is `InvalidInput`."""
        try:
            columns = tuple(
                SourceColumn(
                    column["name"],
                    column.get("kind", "number"),
                    tuple(column.get("categories", ())),
                    column.get("fill"),
                )
                for column in fields["columns"]
                if isinstance(column, Mapping)
            )
            is_complete = len(columns) == len(fields["columns"]) and isinstance(fields["has_names"], bool)
        except (KeyError, TypeError, AttributeError):
            raise InvalidInput("not the fields of an encoding") from None
        if not is_complete:
            raise InvalidInput("not the fields of an encoding")
        return cls(columns, fields["has_names"])

    def __str__(self) -> str:
        kinds = [column.kind for column in self.columns]
        n_features = sum(len(column.categories) for column in self.columns)
        parts = [f"{plural(kinds.count('number'), 'column')} of numbers"]
        if "categories" in kinds:
            parts.append(f"{kinds.count('categories')} of categories ({plural(n_features, 'feature')})")
        if "dropped" in kinds:
            parts.append(f"{kinds.count('dropped')} left out")
        filled = sum(column.fill is not None for column in self.columns)
        if filled:
            parts.append(f"missing values, if any, replaced in {filled}")
        return ", ".join(parts)
