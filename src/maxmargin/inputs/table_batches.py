"""Tables in batches: the same rows as of the whole, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from maxmargin.errors import FileFormatError
from maxmargin.inputs.assemble_rows import Part
from maxmargin.inputs.column_roles import Feature, Roles
from maxmargin.inputs.column_values import NumberColumns
from maxmargin.inputs.encode_table import check_width, encode_table, encoding_of, refuse_no_weight
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.table_columns import FoundColumns, Refusal
from maxmargin.inputs.table_look import TableLook
from maxmargin.results.data import Data
from maxmargin.results.encoding import Encoding

__all__ = ["Batches", "TableSource", "table_batches"]


@dataclass(frozen=True)
class Batches:
    """Rows in batches (X, y) or (X, y, weight), and what is known of them before."""

    rows: Iterator[tuple[Any, ...]]
    feature_names: tuple[str, ...] | None = None
    encoding: Encoding | None = None
    label: str | int | None = None
    weight: str | int | None = None
    scheme: str = "arrays"
    n_columns: int | None = None


class TableSource(Protocol):
    """A table that can be read again and again, some rows at a time."""

    roles: Roles
    settings: ReadSettings
    scheme: str

    def read(self) -> Iterator[tuple[FoundColumns, Refusal]]:
        """Yield the columns of some rows, and what makes errors about them."""
        ...

    def is_settled(self) -> bool:
        """Whether the last reading took all columns for what they are; if not, it is read again."""
        ...

    def end(self) -> None:
        """Do what is to be done behind the last row of the last reading."""
        ...

    def remembered(self, data: Data) -> Data:
        """Return a few rows with what the source itself knows about its columns."""
        ...


@dataclass(frozen=True)
class Scheme:
    """How every batch of a table is read, so that it is a part of the whole."""

    roles: Roles
    settings: ReadSettings


def table_batches(source: TableSource, scratch: Path) -> Batches:
    """Return a table's rows, after a first reading where only the whole tells how they are read.

    Parameters
    ----------
    source : TableSource
        The table.
    scratch : Path
        A folder for numbers of which the usual ones are looked for.
    """
    known = scheme_of(source, scratch)
    rows = encoded(source, known)
    first = next(rows, None)
    if first is None:
        raise FileFormatError("there are columns but no rows", source.roles.header.source)
    example = source.remembered(first)
    return Batches(
        split(first, rows, source),
        feature_names=example.feature_names,
        encoding=example.encoding,
        label=example.label,
        weight=example.weight,
        scheme=example.scheme,
    )


def encoded(source: TableSource, known: Scheme) -> Iterator[Data]:
    """Yield each batch as a data set."""
    for found, refuse in source.read():
        if found.n_rows:
            yield encode_table(known.roles, found, known.settings, refuse, source.scheme, is_batch=True)


def split(first: Data, rest: Iterator[Data], source: TableSource) -> Iterator[tuple[Any, ...]]:
    """Yield each batch as rows, labels and perhaps weights."""
    data: Data | None = first
    has_weight = source.roles.weight is None
    while data is not None:
        if data.y is None:
            raise FileFormatError(
                "there are no labels; give label= a column's name"
                if source.roles.label is None
                else "a part of the labels is missing; every row needs one",
                source.roles.header.source,
            )
        has_weight = has_weight or bool(data.sample_weight.any())  # type: ignore[union-attr]
        yield (data.X, data.y) if data.sample_weight is None else (data.X, data.y, data.sample_weight)
        data = next(rest, None)
    source.end()
    if not has_weight:
        refuse_no_weight(source.roles)


# ---------------------------------------------------------------- the first reading


def scheme_of(source: TableSource, scratch: Path) -> Scheme:
    """Read the table once, or as often as it takes to know what its columns are."""
    settings = source.settings
    if settings.encoding is not None:
        while not source.is_settled():
            for _ in source.read():
                pass
        return Scheme(source.roles, settings)
    if settings.missing == "refuse" and source.is_settled() and not has_texts(source):
        return Scheme(source.roles, settings)
    look = looked(source)
    parts = look.parts(lambda place: None) if settings.missing == "refuse" else filled(source, look, scratch)
    encoding = encoding_of(source.roles, parts)
    check_width(sum(part.width for part in parts), settings, source.roles)
    look.check_rest()
    if encoding is None:
        return Scheme(source.roles, settings)
    known = {column.name: column for column in encoding.columns}
    features = tuple(
        Feature(feature.place, feature.name, known[feature.name].kind, known[feature.name])
        for feature in source.roles.features
    )
    read_alike = replace(settings, encoding=encoding, missing="refuse", drop=(), categories=())
    return Scheme(replace(source.roles, features=features), read_alike)


def has_texts(source: TableSource) -> bool:
    """Tell by the first rows whether any feature is text: then only the whole tells which texts there are."""
    for found, _ in source.read():
        return bool(found.texts)
    return False


def looked(source: TableSource) -> TableLook:
    """Look at all rows; a source that took a column for something else is read again."""
    while True:
        look = TableLook(source.roles, source.settings)
        for found, refuse in source.read():
            look.add(found, refuse)
        if source.is_settled():
            return look


def filled(source: TableSource, look: TableLook, scratch: Path) -> list[Part]:
    """Return the columns with what stands for missing values, numbers by another reading."""
    parts = look.parts(lambda place: None)  # tells of columns that are none before the work is done
    counts = look.number_counts
    if not counts:
        return parts
    with NumberColumns(scratch, list(counts.values()), look.dtype) as columns:
        for found, _ in source.read():
            columns.add(found.numbers)
        rule = source.settings.missing
        usual = {place: columns.usual_value(column, rule) for column, place in enumerate(counts)}
    return look.parts(usual.__getitem__)
