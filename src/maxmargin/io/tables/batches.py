"""Tables in batches: the same rows as of the whole, in memory that does not grow with their number."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.encoding import Encoding
from maxmargin.errors import FileFormatError, MaxMarginError, Setting
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.columns import FoundColumns, Part, Refusal, TextColumn
from maxmargin.io.tables.encode import (
    BOOLEANS,
    are_booleans,
    check_infinite,
    check_width,
    encode_table,
    encoding_of,
    labels_of,
    refuse_missing,
    refuse_no_categories,
    refuse_no_weight,
    weights_of,
)
from maxmargin.io.tables.roles import Feature, Roles, no_labels

__all__ = ["Batches", "table_batches"]


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
            named = source.roles.header.source
            if source.roles.label is None:
                raise no_labels(named)
            raise FileFormatError("a part of the labels is missing; every row needs one", named)
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
    """Return whether any feature is text in the first rows: its categories need the whole table."""
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


# ------------------------------------------------------------------------------------------------
# What only the whole of a table tells about its columns, found by a first reading batch by batch.

# Of a column that nobody called categories. One with so many texts is refused; there is no need to keep more.
MOST_TEXTS = 1 << 16


@dataclass
class TextCounts:
    """How often each text of a column occurs."""

    counts: dict[str, int] = field(default_factory=dict)
    n_present: int = 0
    is_stated: bool = False
    first: str = ""
    refuse_first: Callable[..., FileFormatError] | None = None

    def add(self, column: TextColumn, place: int, refuse: Refusal, most: int | None) -> None:
        """Count the texts of a batch."""
        self.is_stated = self.is_stated or column.is_stated
        present = column.codes[column.codes >= 0]
        if self.refuse_first is None and len(present):
            row = int(np.argmax(column.codes >= 0))
            self.first = column.texts[column.codes[row]]
            self.refuse_first = lambda message, **fields: refuse(message, row, place, **fields)
        self.n_present += len(present)
        for text, count in zip(column.texts, np.bincount(present, minlength=len(column.texts)), strict=True):
            if count and (text in self.counts or most is None or len(self.counts) <= most):
                self.counts[text] = self.counts.get(text, 0) + int(count)

    @property
    def is_boolean(self) -> bool:
        """Whether the column holds booleans."""
        return are_booleans(self.counts) and not self.is_stated

    def usual_boolean(self, rule: str) -> float:
        """Return the mean, the median or the most frequent boolean, as a number."""
        n_true = sum(count for text, count in self.counts.items() if BOOLEANS[text.lower()] == 1)
        n_false = self.n_present - n_true
        if rule == "mean":
            return n_true / self.n_present
        if rule == "median":
            middle = [float(place >= n_false) for place in ((self.n_present - 1) // 2, self.n_present // 2)]
            return sum(middle) / 2
        return float(n_true > n_false)


class TableLook:
    """What is found out about the columns of a table, batch by batch.

    Mistakes are reported as for the whole table: about columns first, then the first missing value,
    then labels and weights.

    Parameters
    ----------
    roles : Roles
        What each column is for.
    settings : ReadSettings
        What the user said; there is no encoding, which would say all of it.
    """

    def __init__(self, roles: Roles, settings: ReadSettings) -> None:
        self.n_rows = 0
        self.number_counts: dict[int, int] = {}  # by place: how many are not missing
        self.dtype: Any = np.float64
        self._roles = roles
        self._settings = settings
        self._texts: dict[int, TextCounts] = {}
        self._has_weight = roles.weight is None
        self._later: dict[str, MaxMarginError] = {}  # what is raised if nothing worse is found

    def add(self, found: FoundColumns, refuse: Refusal) -> None:
        """Look at a batch."""
        nonfinite = check_infinite(found, refuse)
        self.n_rows += found.n_rows
        self.dtype = found.numbers.dtype
        parts = []
        column_of = {place: column for column, place in enumerate(found.number_places)}
        for feature in self._roles.read:
            place = feature.place
            if place in column_of:
                column = column_of[place]
                values, is_complete = found.numbers[:, column], not nonfinite.has_gaps[column]
                n_missing = 0 if is_complete else int(np.count_nonzero(np.isnan(values)))
                self.number_counts[place] = self.number_counts.get(place, 0) + found.n_rows - n_missing
                parts.append(Part(feature, values, column, is_complete))
            else:
                texts = found.texts[place]
                most = None if feature.kind == "categories" or texts.is_stated else MOST_TEXTS
                self._texts.setdefault(place, TextCounts()).add(texts, place, refuse, most)
                parts.append(Part(feature, texts.codes, categories=()))
        if self._settings.missing == "refuse":
            self._try("missing", lambda: refuse_missing(parts, refuse))
        self._try("labels", lambda: labels_of(self._roles, found, self._settings, refuse))
        self._try("weights", lambda: self._look_at_weights(found, refuse))

    def _look_at_weights(self, found: FoundColumns, refuse: Refusal) -> None:
        weights = weights_of(self._roles, found, refuse)
        self._has_weight = self._has_weight or (weights is not None and bool(weights.any()))

    def _try(self, what: str, check: Callable[[], Any]) -> None:
        if what not in self._later:
            try:
                check()
            except MaxMarginError as error:
                self._later[what] = error

    # ------------------------------------------------------------ the end

    def parts(self, number_fill: Callable[[int], float | None]) -> list[Part]:
        """Return the columns with their categories and with what stands for missing values, without rows.

        Parameters
        ----------
        number_fill : callable
            Returns what stands for a missing number in the column at a place.
        """
        for feature in self._roles.read:
            if feature.place in self._texts:
                self._check_texts(feature)
        if "missing" in self._later:
            raise self._later["missing"]
        return [self._part(feature, number_fill) for feature in self._roles.read]

    def check_rest(self) -> None:
        """Report mistakes in labels and weights."""
        for what in ("labels", "weights"):
            if what in self._later:
                raise self._later[what]
        if not self._has_weight:
            refuse_no_weight(self._roles)

    def _check_texts(self, feature: Feature) -> None:
        texts = self._texts[feature.place]
        is_free = feature.kind != "categories" and not texts.is_stated and not texts.is_boolean
        if is_free and texts.refuse_first is not None:
            source = self._roles.header.source
            refuse_no_categories(
                feature, texts.counts, texts.n_present, texts.first, texts.refuse_first, source
            )

    def _part(self, feature: Feature, number_fill: Callable[[int], float | None]) -> Part:
        place, rule = feature.place, self._settings.missing
        texts = self._texts.get(place)
        n_present = self.number_counts[place] if texts is None else texts.n_present
        if rule != "refuse" and n_present == 0:
            raise FileFormatError(
                f'the column "{feature.name}" has no value at all',
                self._roles.header.source,
                remedy="leave it out by {drop}",
                drop=Setting("drop", ...),
            )
        part = Part(feature, np.empty(0))
        if texts is None:
            part.fill = number_fill(place)
        elif feature.kind != "categories" and texts.is_boolean:
            part.fill = None if rule == "refuse" else texts.usual_boolean(rule)
        else:
            part.categories = tuple(sorted(texts.counts))
            if rule != "refuse":
                part.fill = max(part.categories, key=texts.counts.__getitem__)  # the first of several
        return part


# ------------------------------------------------------------------------------------------------
# What stands for missing values in columns of numbers that do not fit into memory.
#
# The numbers are written to one file, column after column, and used there by memory map.

AT_ONCE = 1 << 20  # numbers


class NumberColumns:
    """Columns of numbers on disk, without their gaps; use it in a ``with`` statement.

    Parameters
    ----------
    folder : Path
        Where the file is while it is needed.
    counts : list of int
        How many numbers each column has.
    dtype : dtype
        Their type, in which they were read.
    """

    def __init__(self, folder: Path, counts: list[int], dtype: Any) -> None:
        self._folder = folder
        self._ends = np.cumsum(counts).tolist()
        self._starts = [0, *self._ends[:-1]]
        self._dtype = np.dtype(dtype)

    def __enter__(self) -> NumberColumns:
        self._file = tempfile.TemporaryFile(dir=self._folder, prefix=".maxmargin-columns-")
        size = max(self._ends[-1], 1)
        self._file.truncate(size * self._dtype.itemsize)
        self._numbers: NDArray[Any] = np.memmap(self._file, dtype=self._dtype, mode="r+", shape=(size,))
        self._at = list(self._starts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self._numbers
        self._file.close()

    def add(self, numbers: NDArray[Any]) -> None:
        """Append the rows of a batch, a column each."""
        for column in range(numbers.shape[1]):
            values = numbers[:, column]
            present = values[~np.isnan(values)]
            self._numbers[self._at[column] : self._at[column] + len(present)] = present
            self._at[column] += len(present)

    def usual_value(self, column: int, rule: str) -> float:
        """Return the mean, the median or the most frequent number, as for a column in memory."""
        values = self._numbers[self._starts[column] : self._ends[column]]
        if rule == "mean":
            return float(np.mean(values, dtype=np.float64))
        values.sort()  # in place, in the file
        if rule == "median":
            middle = values[(len(values) - 1) // 2 : len(values) // 2 + 1]
            return float(np.mean(middle.astype(np.float64)))
        return _most_frequent(values)


def _most_frequent(values: NDArray[Any]) -> float:
    """Return the number that ascending numbers have most often, the smallest of several."""
    best, most = values[0], 0
    begun, length = values[0], 0  # a run that may go on in the next piece
    for first in range(0, len(values), AT_ONCE):
        distinct, counts = np.unique(values[first : first + AT_ONCE], return_counts=True)
        if distinct[0] == begun:
            counts[0] += length
        elif length > most:
            best, most = begun, length
        if counts[:-1].size and counts[:-1].max() > most:
            place = int(np.argmax(counts[:-1]))
            best, most = distinct[place], int(counts[place])
        begun, length = distinct[-1], int(counts[-1])
    return float(begun if length > most else best)
