"""Which column of a table is the label, the weight or a feature: by name, by number, or by an encoding."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from maxmargin.encoding import LABEL_NAMES, Encoding, SourceColumn
from maxmargin.errors import FileFormatError, InvalidParameter, Setting
from maxmargin.io.settings import ReadSettings

__all__ = ["Feature", "Header", "Roles", "assign_roles", "no_labels", "ways_out"]


SHOWN_NAMES = 8


@dataclass(frozen=True)
class Header:
    """The columns of a source, as far as they are known before its rows are read."""

    source: str
    n_fields: int
    names: tuple[str, ...] = ()  # empty where the source has none

    def name(self, place: int) -> str:
        """Return the column's name; a number, counted from 1, where the source has no names."""
        return self.names[place] if self.names else f"column {place + 1}"

    def given(self, place: int) -> str | int:
        """Return how a user would name the column to `load_data`."""
        return self.names[place] if self.names and self.names.count(self.names[place]) == 1 else place


@dataclass(frozen=True)
class Feature:
    """A column that becomes features, or that is left out.

    ``known`` is the column of an earlier table that decides how this one is read. Without it a column may be
    numbers or categories (``"guess"``) unless somebody said so.
    """

    place: int  # in the source; −1 for a dropped column of an encoding, which need not be there
    name: str
    kind: Literal["guess", "number", "categories", "dropped"]
    known: SourceColumn | None = None


@dataclass(frozen=True)
class Roles:
    """What each column of a source is for; without a label only where an encoding decides."""

    header: Header
    features: tuple[Feature, ...]
    label: int | None
    weight: int | None

    @cached_property
    def read(self) -> tuple[Feature, ...]:
        """The features that are not left out."""
        return tuple(feature for feature in self.features if feature.kind != "dropped")


def assign_roles(header: Header, settings: ReadSettings) -> Roles:
    """Return what each column is for.

    Parameters
    ----------
    header : Header
        What columns there are.
    settings : ReadSettings
        What the user said about them.
    """
    weight = None if settings.weight is None else find_column(header, "weight", settings.weight)
    if settings.encoding is not None:
        return _by_encoding(header, settings, weight, settings.encoding)
    label = _find_label(header, settings.label, weight)
    if label == weight:
        raise InvalidParameter(f'"{header.name(label)}" of {header.source} cannot be both label and weight')
    chosen: dict[int, Literal["dropped", "categories"]] = {}
    for kind, columns in (("dropped", settings.drop), ("categories", settings.categories)):
        setting = "drop" if kind == "dropped" else "categories"
        for column in columns:
            place = find_column(header, setting, column)
            if place in (label, weight):
                role = "label" if place == label else "weight"
                raise InvalidParameter(
                    f"{{parameter}}: {column!r} of {header.source} is the {role}, no feature",
                    parameter=setting,
                    value=column,
                )
            if chosen.get(place, kind) != kind:
                raise InvalidParameter(
                    f"{column!r} of {header.source} is in {{drop}} and in {{categories}}",
                    drop=Setting("drop"),
                    categories=Setting("categories"),
                )
            chosen[place] = kind  # type: ignore[assignment]
    features = tuple(
        Feature(place, header.name(place), chosen.get(place, "guess"))
        for place in range(header.n_fields)
        if place not in (label, weight)
    )
    if all(feature.kind == "dropped" for feature in features):
        raise InvalidParameter(f"{header.source}: no column is left as a feature")
    return Roles(header, features, label, weight)


def find_column(header: Header, setting: str, column: str | int) -> int:
    """Return the place of a column that a user named, or an error that says which there are."""

    def no_column(why: str) -> InvalidParameter:
        text = f'"{column}"' if isinstance(column, str) else ""
        return InvalidParameter(
            f"{{setting}}: {why}", parameter=setting, value=column, setting=Setting(setting, column, text)
        )

    if isinstance(column, int):
        if not -header.n_fields <= column < header.n_fields:
            raise no_column(f"{header.source} has the columns 0 to {header.n_fields - 1}")
        return column % header.n_fields
    found = [place for place, name in enumerate(header.names) if name == column]
    if len(found) == 1:
        return found[0]
    if found:
        raise no_column(f"{header.source} has {len(found)} columns of this name")
    if not header.names:
        raise no_column(f"{header.source} has no names of columns; give its number, from 0")
    raise no_column(
        f"{header.source} has no such column; {did_you_mean(column, header.names)}its columns are "
        f"{shown(header.names)}"
    )


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return a hint at a name that may have been meant, nothing where none is near."""
    by_small = {known.casefold(): known for known in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), by_small, n=1, cutoff=0.6)
    return f'did you mean "{by_small[near[0]]}"? ' if near else ""


def ways_out(name: str, *, instead: str = "") -> dict[str, Any]:
    """Return the remedy for a column that cannot be read as it is, as fields of an error."""
    return {
        "remedy": f"{instead}{{drop}} leaves it out, {{categories}} takes it as categories",
        "drop": Setting("drop", [name], f'["{name}"]'),
        "categories": Setting("categories", [name], f'["{name}"]'),
    }


def no_labels(source: str) -> FileFormatError:
    """Return the error of a table without labels."""
    return FileFormatError(
        "there are no labels", source, remedy="give {label}, a column's name", label=Setting("label", ...)
    )


def shown(names: Sequence[str]) -> str:
    """Return the first names, in quotes."""
    return ", ".join(f'"{name}"' for name in names[:SHOWN_NAMES]) + (
        ", …" if len(names) > SHOWN_NAMES else ""
    )


def _find_label(header: Header, label: str | int | None, weight: int | None) -> int:
    if label is not None:
        return find_column(header, "label", label)
    usual = [place for place, name in enumerate(header.names) if name.lower() in LABEL_NAMES]
    usual = [place for place in usual if place != weight]
    if len(usual) > 1:
        candidates = ", ".join(f'"{header.names[place]}"' for place in usual)
        raise InvalidParameter(
            f"{header.source}: the label may be any of {candidates}",
            parameter="label",
            remedy="say which by {label}",
            label=Setting("label", ...),
        )
    if usual:
        return usual[0]
    return header.n_fields - 1 if weight != header.n_fields - 1 else header.n_fields - 2


# ---------------------------------------------------------------- by an earlier table


def _by_encoding(header: Header, settings: ReadSettings, weight: int | None, encoding: Encoding) -> Roles:
    if weight is None and settings.earlier_weight is not None:
        weight = _earlier_weight(header, encoding, settings.earlier_weight)
    label = None if settings.label is None else find_column(header, "label", settings.label)
    if label is None and isinstance(settings.earlier_label, int):
        label = _label_by_order(header, encoding, settings.earlier_label, weight)
    if label is not None and label == weight:
        raise InvalidParameter(f'"{header.name(label)}" of {header.source} cannot be both label and weight')
    if _is_encoded(header, encoding):
        encoding = Encoding(tuple(SourceColumn(name) for name in encoding.feature_names))
    places = (
        _places_by_name(header, encoding)
        if encoding.has_names and header.names
        else _places_by_order(header, encoding, {label, weight} - {None})
    )
    if settings.earlier_names:
        _check_same_names(header, places, settings.earlier_names)
    used = {place for place in places if place >= 0}
    left_out = {column.name for column in encoding.columns if column.kind == "dropped"}
    ignored = {place for place, name in enumerate(header.names) if name in left_out}
    for role, place in (("label", label), ("weight", weight)):
        if place in used:
            raise InvalidParameter(
                f'{role}: "{header.name(place)}" of {header.source} is a feature of the encoding'
            )
    if label is None:
        label = _earlier_label(header, settings.earlier_label, used, weight)
    if label is None:
        label = _label_beside(header, {*used, *ignored, weight})
    features = tuple(
        Feature(place, column.name, column.kind, column)
        for place, column in zip(places, encoding.columns, strict=True)
    )
    return Roles(header, features, label, weight)


def _is_encoded(header: Header, encoding: Encoding) -> bool:
    """Return whether the table has the features themselves, as `save_data` writes them."""
    names = set(header.names)
    with_categories = {column.name for column in encoding.columns if column.kind == "categories"}
    return bool(with_categories) and not with_categories & names and set(encoding.feature_names) <= names


def _places_by_name(header: Header, encoding: Encoding) -> list[int]:
    """Return where the encoding's columns are, in any order; further columns are not looked at."""
    by_name: dict[str, int] = {}
    repeated = set()
    for place, name in enumerate(header.names):
        repeated |= {name} & by_name.keys()
        by_name.setdefault(name, place)
    needed = [column.name for column in encoding.columns if column.kind != "dropped"]
    missing = [name for name in needed if name not in by_name]
    if missing:
        others = f" (nor are {len(missing) - 1} others)" if len(missing) > 1 else ""
        hint = did_you_mean(missing[0], [name for name in header.names if name not in needed]).strip()
        raise FileFormatError(
            f'a column "{missing[0]}" is needed, which is not there{others}' + (f"; {hint}" if hint else ""),
            header.source,
        )
    twice = [name for name in needed if name in repeated]
    if twice:
        raise FileFormatError(f'two columns have the name "{twice[0]}"; rename one', header.source)
    return [-1 if column.kind == "dropped" else by_name[column.name] for column in encoding.columns]


def _places_by_order(header: Header, encoding: Encoding, others: set[int | None]) -> list[int]:
    """Return where the encoding's columns are when only their order tells."""
    n_columns = len(encoding.columns)
    free = [place for place in range(header.n_fields) if place not in others]
    # One more may be there: the label, which comes last if nobody says where it is.
    n_more = len(free) - n_columns
    if n_more not in (0, 1):
        raise FileFormatError(
            f"expected {n_columns} columns, and one with the label if there are labels; "
            f"found {header.n_fields}",
            header.source,
        )
    return free[:n_columns]


def _check_same_names(header: Header, places: Sequence[int], names: tuple[str, ...]) -> None:
    """Refuse columns whose names differ from those of the earlier table, where names alone do not tell."""
    if not header.names:
        return
    for place, name in zip(places, names, strict=True):
        if header.names[place] != name:
            repeated = next(name for name in names if names.count(name) > 1)
            raise FileFormatError(
                f'column {place + 1} is "{header.names[place]}" and should be "{name}": the training table '
                f'had several columns "{repeated}", so their order must be the same',
                header.source,
            )


def _label_by_order(header: Header, encoding: Encoding, earlier: int, weight: int | None) -> int | None:
    """Return the label's place in a table as wide as the earlier one, whose columns have no names."""
    is_as_wide = header.n_fields == len(encoding.columns) + 1 + (weight is not None)
    by_name = encoding.has_names and bool(header.names)
    return earlier if is_as_wide and not by_name and 0 <= earlier < header.n_fields else None


def _earlier_label(header: Header, name: str | int | None, used: set[int], weight: int | None) -> int | None:
    """Return the column with the label's name in the earlier table, if it is there."""
    places = [place for place, found in enumerate(header.names) if found == name]
    return places[0] if len(places) == 1 and places[0] not in {*used, weight} else None


def _earlier_weight(header: Header, encoding: Encoding, earlier: str | int) -> int | None:
    """Return the column that had the weights in the earlier table, if it is there and is no feature."""
    if isinstance(earlier, int):
        is_as_wide = header.n_fields == len(encoding.columns) + 2
        return earlier if is_as_wide and earlier < header.n_fields else None
    places = [place for place, name in enumerate(header.names) if name == earlier]
    is_feature = any(column.name == earlier and column.kind != "dropped" for column in encoding.columns)
    return places[0] if len(places) == 1 and not is_feature else None


def _label_beside(header: Header, used: set[int | None]) -> int | None:
    """Return the label among columns that the encoding does not know: of a usual name, or the only one."""
    left = [place for place in range(header.n_fields) if place not in used]
    usual = [place for place in left if header.names and header.names[place].lower() in LABEL_NAMES]
    for candidates in (usual, left):
        if len(candidates) == 1:
            return candidates[0]
    return None
