"""Tables as text (CSV): fields between commas, semicolons or tabs; numbers, categories, a label."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.data import Data
from maxmargin.errors import FileFormatError
from maxmargin.io.lines import skipped_lines_text, warn_of_skipped_lines
from maxmargin.io.open import located_errors, open_source
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.columns import FoundColumns, Refusal, TextColumn
from maxmargin.io.tables.csv_text import (
    OTHER_ENCODING,
    Layout,
    as_float,
    find_layout,
    head_of,
    is_utf8,
    not_utf8_text,
    whole_records,
)
from maxmargin.io.tables.encode import encode_table
from maxmargin.io.tables.roles import Roles, assign_roles

__all__ = ["CsvSource", "read_csv"]


# The kinds of a field that the core distinguishes.
SKIPPED, NUMBER, GUESSED, TEXT, EITHER = "-ngte"
KEPT_ERRORS = 5  # as many as the core keeps
BATCH_BYTES = 2 << 20  # of text; its rows may take ten times as much
EXACT = 2.0**53  # from here on not every whole number is a double


@dataclass(frozen=True)
class Parsed:
    """The rows as the core gives them."""

    kinds: str
    numbers: NDArray[np.float64]
    n_texts: NDArray[np.int64]
    n_numbers: NDArray[np.int64]
    loose: list[tuple[NDArray[Any], list[bytes] | None]]
    starts: NDArray[np.int64]
    n_skipped: int
    skipped: list[tuple[str, int, int]]

    def places(self, wanted: str) -> tuple[int, ...]:
        """Return the fields of these kinds."""
        return places_of(self.kinds, wanted)


@lru_cache(maxsize=16)  # a table of many columns asks for the same ones in each batch
def places_of(kinds: str, wanted: str) -> tuple[int, ...]:
    """Return the fields of these kinds."""
    return tuple(place for place, kind in enumerate(kinds) if kind in wanted)


@dataclass(frozen=True)
class LineRefusal:
    """Says where a value is by its line and column."""

    content: bytes
    path: Path
    layout: Layout
    starts: NDArray[np.int64]
    n_lines: int = 0  # before the content, in the file

    def __call__(self, message: str, row: int, place: int, **fields: Any) -> FileFormatError:
        start = int(self.starts[row])
        line, column = _core.csv_field_position(self.content, start, self.layout.dialect, place)
        header = self.layout.header
        name = f'"{header.name(place)}" (field {place + 1})' if header.names else f"field {place + 1}"
        return FileFormatError(f"{name}: {message}", self.path, line + self.n_lines, column, **fields)


def read_csv(content: bytes, path: Path, settings: ReadSettings) -> Data:
    """Return the data set in a text table.

    Parameters
    ----------
    content : bytes
        The text.
    path : Path
        What error messages call it.
    settings : ReadSettings
        What the user said about it.
    """
    source = CsvSource(path, settings, content)
    while not source.is_settled():
        ((found, refuse),) = source.read()
    return source.with_skipped(encode_table(source.roles, found, settings, refuse, source.scheme))


class CsvSource:
    """A text table, read batch by batch or, from memory, as one batch; a `TableSource`.

    A reading ends with what its columns are by the lines that are not left out. If they were taken for
    something else, the table is read again; it ends, since a column is taken for text once at most, and for
    numbers for good.

    Parameters
    ----------
    path : Path
        The file, or what error messages call the text.
    settings : ReadSettings
    content : bytes, optional
        The whole text.
    """

    scheme = "csv"

    def __init__(self, path: Path, settings: ReadSettings, content: bytes | None = None) -> None:
        self.settings = settings
        self._path = path
        self._content = content
        if content is None:
            with open_source(path) as opened:
                opened.convert_text(settings.text_encoding)
                content = head_of(opened)
        self._layout = find_layout(content, path, settings)
        self.roles = assign_roles(self._layout.header, settings)
        self._kinds = kinds_of(self.roles, self._layout)
        self._is_settled = False
        self._tally = Tally(self._kinds, settings.decimal)

    def is_settled(self) -> bool:
        """Whether a whole reading found that all columns are what they were taken for."""
        return self._is_settled

    def remembered(self, data: Data) -> Data:
        """Text remembers nothing."""
        return data

    def end(self) -> None:
        """Warn about lines that were skipped."""
        if self._tally.skipped:
            warn_of_skipped_lines(self._path, self._tally.n_skipped, self._tally.skipped[0])

    def with_skipped(self, data: Data) -> Data:
        """Return the data with what was wrong with the lines that were skipped."""
        self.end()
        skipped = self._tally.skipped
        messages = tuple(f"line {error.line}, column {error.column}: {error.message}" for error in skipped)
        return replace(data, n_skipped=self._tally.n_skipped, skipped=messages) if messages else data

    def read(self) -> Iterator[tuple[FoundColumns, Refusal]]:
        """Yield batches; a whole reading may find that columns are something else."""
        self._tally = tally = Tally(self._kinds, self.settings.decimal)
        start, n_lines, before = self._layout.start, 0, b""
        with self._text() as (pieces, look_for_damage):
            for content in pieces:
                n_lines += before.count(b"\n")
                layout = replace(self._layout, start=start)
                try:
                    parsed = self._parse(content, layout, n_lines)
                except FileFormatError as error:
                    look_for_damage()
                    raise moved(error, n_lines) from None
                tally.add(parsed, self._path, n_lines)
                if len(parsed.starts):
                    refuse = LineRefusal(content, self._path, layout, parsed.starts, n_lines)
                    found = found_columns(parsed, self.roles)
                    tally.merged = tally.merged or merged_labels(found.label, self.roles, refuse)
                    yield found, refuse
                start, before = 0, content
        if tally.n_rows == 0:
            raise no_rows(self._path, self._layout, tally)
        if not self._is_settled:
            self._settle(tally)

    @contextmanager
    def _text(self) -> Iterator[tuple[Iterable[bytes], Callable[[], None]]]:
        """Open the text; yield its pieces and what looks for a better reason if one cannot be read."""
        if self._content is not None:
            yield [self._content], lambda: None
            return
        with open_source(self._path) as opened:
            opened.convert_text(self.settings.text_encoding)
            pieces = whole_records(
                opened,
                self._path,
                self._layout.dialect,
                BATCH_BYTES,
                start=self._layout.start,
                cut_lines=self.settings.skip_bad_lines,
            )
            yield pieces, opened.look_for_damage

    def _parse(self, content: bytes, layout: Layout, n_lines: int) -> Parsed:
        try:
            return parse(content, self._path, layout, self._kinds, self.settings)
        except FileFormatError as error:
            if self._is_settled or EITHER not in self._kinds:
                raise
            # An infinite number among labels is a mistake, unless its line is left out for something else,
            # or one text in another batch makes it a text.
            parsed = parse(content, self._path, layout, self._kinds.replace(EITHER, TEXT), self.settings)
            self._tally.unusable = self._tally.unusable or moved(error, n_lines)
            return parsed

    def _settle(self, tally: Tally) -> None:
        """Take columns for what they turned out to be; a further reading tells what is wrong in them."""
        decided = tally.decided(self.roles)
        wrong = tally.unusable or tally.merged
        if decided == self._kinds and wrong is not None:
            raise wrong
        self._is_settled = decided == self._kinds
        self._kinds = decided


class Tally:
    """What is counted while a table is read: texts and numbers in each column, lines left out."""

    def __init__(self, kinds: str, decimal: str) -> None:
        self.n_rows = 0
        self.n_skipped = 0
        self.skipped: list[FileFormatError] = []  # the first of them
        self.unusable: FileFormatError | None = None  # a label or weight that is no number, unless it is text
        self.merged: FileFormatError | None = None  # labels of too many digits, unless they are text
        self._kinds = kinds
        self._decimal = decimal
        self._in_numbers = np.zeros((2, len(places_of(kinds, NUMBER + GUESSED))), dtype=np.int64)
        self._in_texts: dict[int, FieldCounts] = {}
        self._seen: dict[int, set[bool]] = {}  # whether labels and weights are text, in some batch

    def add(self, parsed: Parsed, path: Path, n_lines: int) -> None:
        """Count a batch that begins behind so many lines."""
        self.n_rows += len(parsed.starts)
        self.n_skipped += parsed.n_skipped
        for message, line, column in parsed.skipped[: KEPT_ERRORS - len(self.skipped)]:
            self.skipped.append(FileFormatError(message, path, line + n_lines, column))
        self._in_numbers += (parsed.n_texts, parsed.n_numbers)
        for place, (codes, texts) in zip(parsed.places(TEXT + EITHER), parsed.loose, strict=True):
            if self._kinds[place] == TEXT and texts is not None:
                n_texts, n_numbers = counts_in_text(codes, texts, self._decimal)
                old = self._in_texts.get(place, FieldCounts(0, 0))
                self._in_texts[place] = FieldCounts(old.n_texts + n_texts, old.n_numbers + n_numbers)
            elif parsed.kinds[place] == EITHER and len(parsed.starts):
                self._seen.setdefault(place, set()).add(texts is not None)

    def decided(self, roles: Roles) -> str:
        """Return what the fields are, now that the whole is known; labels once all features are settled.

        Until then it is not known which lines are left out, and these decide nothing.
        """
        places = places_of(self._kinds, NUMBER + GUESSED)
        mixed = np.flatnonzero(self._in_numbers[0])
        counts = {places[column]: FieldCounts(*self._in_numbers[:, column].tolist()) for column in mixed}
        kinds = list(decided_kinds(self._kinds, counts | self._in_texts, roles))
        if kinds != list(self._kinds):
            return "".join(kinds)
        for place, is_text in self._seen.items():
            if is_text == {True, False} or (True in is_text and self.unusable is not None):
                kinds[place] = TEXT
        return "".join(kinds)


def moved(error: FileFormatError, n_lines: int) -> FileFormatError:
    """Return an error about a piece as one about the file."""
    line = None if error.line is None else error.line + n_lines
    return error.moved_to(error.path, line)


def parse(content: bytes, path: Path, layout: Layout, kinds: str, settings: ReadSettings) -> Parsed:
    """Read all records, each field as its kind says."""
    token = _core.StopToken(None, threading.current_thread() is threading.main_thread())
    names = layout.header.names
    with located_errors(path):
        found = _core.read_csv(
            content, layout.start, layout.dialect, kinds, names, settings.skip_bad_lines, token
        )
    return readable(Parsed(kinds, *found), content, path, layout, settings)


def readable(parsed: Parsed, content: bytes, path: Path, layout: Layout, settings: ReadSettings) -> Parsed:
    """Return the rows if all text is UTF-8; else refuse the first that is not, or leave such rows out."""
    places = parsed.places(TEXT + EITHER)
    bad = unreadable_fields(list(zip(places, parsed.loose, strict=True)))
    # The text of a line that was left out for something else is among the texts, though no row has it.
    of_no_row = parsed.n_skipped > 0 and any(
        not is_utf8(text) for _, texts in parsed.loose for text in texts or ()
    )
    if not bad and not of_no_row:
        return parsed
    errors = []
    for row, (place, text) in list(bad.items())[:KEPT_ERRORS]:
        names = layout.header.names
        where = f' in "{names[place]}" (field {place + 1})' if names else f" in field {place + 1}"
        start = int(parsed.starts[row])
        position = _core.csv_field_position(content, start, layout.dialect, place)
        errors.append((not_utf8_text(text, where), *position))
    if not settings.skip_bad_lines:
        raise FileFormatError(errors[0][0], path, *errors[0][1:], **OTHER_ENCODING)
    is_kept = np.ones(len(parsed.starts), dtype=bool)
    is_kept[list(bad)] = False
    loose = [without_rows(column, is_kept) for column in parsed.loose]
    return replace(
        parsed,
        numbers=parsed.numbers[is_kept],
        n_numbers=np.count_nonzero(~np.isnan(parsed.numbers[is_kept]), axis=0),
        loose=[
            as_numbers(column, settings.decimal) if parsed.kinds[place] == EITHER else column
            for place, column in zip(places, loose, strict=True)
        ],
        starts=parsed.starts[is_kept],
        n_skipped=parsed.n_skipped + len(bad),
        skipped=sorted([*parsed.skipped, *errors], key=lambda error: error[1:])[:KEPT_ERRORS],
    )


def as_numbers(column: Loose, decimal: str) -> Loose:
    """Return labels or weights as numbers if all that is left are numbers."""
    codes, texts = column
    if not texts or not all(is_number(text, decimal) for text in texts):
        return column
    return np.array([*(as_float(text.decode(), decimal) for text in texts), np.nan])[codes], None


def no_rows(path: Path, layout: Layout, tally: Tally) -> FileFormatError:
    """Return the error about a table without rows, some of which may have been left out."""
    rest = "a header but no rows" if layout.header.names else "no rows"
    left_out = f"; {skipped_lines_text(tally.n_skipped, tally.skipped[0])}" if tally.skipped else ""
    return FileFormatError(f"the file has {rest}{left_out}", path)


# ---------------------------------------------------------------- which column is what


def kinds_of(roles: Roles, layout: Layout) -> str:
    """Return the initial kind of each field for the core."""
    kinds = [SKIPPED] * roles.header.n_fields
    for feature in roles.read:
        seems_text = feature.kind == "guess" and layout.looks_like_text[feature.place]
        kinds[feature.place] = TEXT if feature.kind == "categories" or seems_text else GUESSED
    for place in (roles.label, roles.weight):
        if place is not None:
            kinds[place] = EITHER
    return "".join(kinds)


class FieldCounts(NamedTuple):
    """How many fields of a column are text, and how many are numbers."""

    n_texts: int
    n_numbers: int


def counts_in_text(codes: NDArray[Any], texts: list[bytes], decimal: str) -> FieldCounts:
    """Return the counts of a column that was read as text."""
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    found = zip(counts.tolist(), texts, strict=True)
    n_numbers = sum(count for count, text in found if is_number(text, decimal))
    return FieldCounts(int(counts.sum()) - n_numbers, n_numbers)


def decided_kinds(kinds: str, counts: Mapping[int, FieldCounts], roles: Roles) -> str:
    """Return the kinds once it is known how many texts there are among the numbers.

    A column with more texts than numbers holds text. In any other a text is a mistake, which the second
    reading names with its line. Of a column that an earlier table had as numbers, only one without any
    number is looked at as text: it may hold booleans.
    """
    decided = list(kinds)
    features = {feature.place: feature for feature in roles.read}
    for place, (n_texts, n_numbers) in counts.items():
        feature = features.get(place)
        if feature is None:
            continue
        if kinds[place] in NUMBER + GUESSED and n_texts > 0:
            is_text = n_numbers == 0 if feature.known is not None else n_texts > n_numbers
            decided[place] = TEXT if is_text else NUMBER
        elif kinds[place] == TEXT and feature.kind == "guess" and 0 < n_texts + n_numbers <= 2 * n_numbers:
            decided[place] = NUMBER
    return "".join(decided)


def is_number(text: bytes, decimal: str) -> bool:
    """Return whether the core would read a finite number."""
    try:
        return b"_" not in text and math.isfinite(as_float(text.decode(), decimal))
    except ValueError:
        return False


def merged_labels(
    label: NDArray[Any] | TextColumn | None, roles: Roles, refuse: Refusal
) -> FileFormatError | None:
    """Return the error about labels of so many digits that two of them may have become one number."""
    if roles.label is None or not isinstance(label, np.ndarray):
        return None
    is_too_long = np.abs(label) >= EXACT
    if not is_too_long.any():
        return None
    message = (
        "the label has so many digits that, as a number, it cannot be told from its neighbours (from "
        "9,007,199,254,740,992 on); put a letter before the labels, which makes them text"
    )
    return refuse(message, int(np.argmax(is_too_long)), roles.label)


def found_columns(parsed: Parsed, roles: Roles) -> FoundColumns:
    """Return the columns in the order of the features."""
    loose = {
        place: values if texts is None else TextColumn(values, [text.decode() for text in texts])
        for place, (values, texts) in zip(parsed.places(TEXT + EITHER), parsed.loose, strict=True)
    }
    column_of = {place: column for column, place in enumerate(parsed.places(NUMBER + GUESSED))}
    wanted = tuple(feature.place for feature in roles.read if feature.place in column_of)
    numbers = parsed.numbers
    if wanted != tuple(column_of):
        numbers = numbers[:, [column_of[place] for place in wanted]]
    return FoundColumns(
        n_rows=len(parsed.starts),
        numbers=numbers,
        number_places=wanted,
        texts={place: column for place, column in loose.items() if isinstance(column, TextColumn)},
        label=None if roles.label is None else loose[roles.label],
        weight=None if roles.weight is None else loose[roles.weight],
    )


# ------------------------------------------------------------------------------------------------
# Fields of a text table that are not UTF-8: an error with their place, or their rows are skipped.

# A column of text: each row's number, −1 where it is missing, and the texts; or numbers and None.
Loose = tuple[NDArray[Any], list[bytes] | None]


def unreadable_fields(columns: list[tuple[int, Loose]]) -> dict[int, tuple[int, bytes]]:
    """Return, by row, the first field that is no UTF-8: its place and its bytes."""
    found: dict[int, tuple[int, bytes]] = {}
    for place, (codes, texts) in columns:
        invalid = [code for code, text in enumerate(texts or ()) if not is_utf8(text)]
        if invalid and texts is not None:
            for row in np.flatnonzero(np.isin(codes, invalid)).tolist():
                found.setdefault(row, (place, texts[codes[row]]))
    return dict(sorted(found.items()))


def without_rows(column: Loose, is_kept: NDArray[np.bool_]) -> Loose:
    """Return a column of fewer rows, and with the texts of these only."""
    values, texts = column
    values = values[is_kept]
    if texts is None:
        return values, None
    used, codes = np.unique(values[values >= 0], return_inverse=True)
    values = values.copy()
    values[values >= 0] = codes.reshape(-1)
    return values, [texts[code] for code in used]
