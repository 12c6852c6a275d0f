"""A text table before its records are read: separators, names, encodings, and pieces of whole records."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import maxmargin._core as _core
from maxmargin.encoding import LABEL_NAMES
from maxmargin.errors import FileFormatError, Setting
from maxmargin.io.lines import Stream
from maxmargin.io.open import located_errors
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.roles import Header

__all__ = [
    "OTHER_ENCODING",
    "SEPARATORS",
    "Layout",
    "as_float",
    "find_layout",
    "head_of",
    "is_missing",
    "is_utf8",
    "not_utf8_text",
    "whole_records",
]


SEPARATORS = "\t;,"
NO_COMMENT = "\n"  # ends a line in any case
# Of the first records, to tell names from rows and text from numbers.
LOOKED_AT = 100
FIELDS_LOOKED_AT = 20_000
MOST_FIELDS = 1 << 20
MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"})
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Layout:
    """How the text is written, where in it the rows start, and what the columns are called.

    ``looks_like_text`` tells for each column whether most of the first rows have text there; it is a guess.
    """

    dialect: _core.CsvDialect
    start: int
    header: Header
    looks_like_text: tuple[bool, ...]


def find_layout(content: bytes, path: Path, settings: ReadSettings) -> Layout:
    """Find separator and header from the first records.

    Parameters
    ----------
    content : bytes
        The text.
    path : Path
        What error messages call it.
    settings : ReadSettings
        Whether there are names, and how the text is written, if the user said so; a column that is named
        asks for names.
    """
    if content.startswith(UTF_16):
        encoding = Setting("text_encoding", "utf-16", '"utf-16"')
        raise FileFormatError(
            "the text is in UTF-16", path, remedy="{text_encoding} reads it", text_encoding=encoding
        )
    refuse_too_wide(content, path, settings)
    dialect = dialect_of(find_separator(content, path, settings), settings)
    with located_errors(path):
        first, start = _core.read_csv_record(content, 0, dialect)
    names = tuple(field.decode(errors="backslashreplace") for field in first)
    rows = following(content, start, dialect)
    columns = [
        [row[place] for row in rows if place < len(row) and not is_missing(row[place], settings.na)]
        for place in range(len(first))
    ]
    has_header = settings.header
    if has_header == "auto":
        has_header = is_header(names, columns, settings)
    if has_header:
        refuse_unreadable_names(first, content, path, dialect)
    header = Header(str(path), len(names), names if has_header else ())
    looks_like_text = tuple(
        2 * sum(is_text(field, settings) for field in column) > len(column) for column in columns
    )
    return Layout(dialect, start if has_header else 0, header, looks_like_text)


def dialect_of(separator: str, settings: ReadSettings) -> _core.CsvDialect:
    """Return how the text is written."""
    return _core.CsvDialect(separator, settings.decimal, settings.comment or NO_COMMENT, settings.na)


def refuse_too_wide(content: bytes, path: Path, settings: ReadSettings) -> None:
    """Refuse first lines of so many fields that looking at each by itself would take minutes."""
    separators = settings.separator or SEPARATORS
    for line in itertools.islice(re.finditer(rb"[^\n]*\S[^\n]*", content), 2):
        n_fields = max(content.count(separator.encode(), *line.span()) for separator in separators) + 1
        if n_fields > MOST_FIELDS:
            raise FileFormatError(
                f"{n_fields:,} fields in a line; a text table may have {MOST_FIELDS:,}: so many columns are "
                "for LIBSVM text, or for NumPy's files",
                path,
                content.count(b"\n", 0, line.start()) + 1,
            )


def find_separator(content: bytes, path: Path, settings: ReadSettings) -> str:
    """Return what separates fields: the one of tab, semicolon, comma that splits two lines alike."""
    separators = settings.separator or SEPARATORS
    n_fields = {
        separator: first_lengths(content, dialect_of(separator, settings)) for separator in separators
    }
    if n_fields[separators[0]] == (0, 0):
        raise FileFormatError("the file has no rows", path)
    alike = [separator for separator, (first, second) in n_fields.items() if first == second > 1]
    splitting = [separator for separator, (first, _) in n_fields.items() if first > 1]
    if alike or splitting:
        return (alike or splitting)[0]
    with located_errors(path):
        _core.read_csv_record(content, 0, dialect_of(separators[-1], settings))
    if settings.encoding is not None and len(settings.encoding.columns) == 1:
        return separators[-1]  # one feature, and no label
    if settings.separator is not None:
        raise FileFormatError(f'expected fields separated by "{settings.separator}"', path, 1)
    raise FileFormatError(
        "expected fields separated by commas, semicolons or tabs",
        path,
        1,
        remedy="{separator} names another character",
        separator=Setting("separator", ...),
    )


def first_lengths(content: bytes, dialect: _core.CsvDialect) -> tuple[int, int]:
    """Return how many fields the first two records have; 1 for one that the separator does not suit."""
    lengths, start = [1, 1], 0
    for number in range(2):
        with suppress(_core.ReadError):
            fields, start = _core.read_csv_record(content, start, dialect)
            lengths[number] = len(fields)
    return lengths[0], lengths[1]


def following(content: bytes, start: int, dialect: _core.CsvDialect) -> list[list[str]]:
    """Return the fields of some records, up to the first that is broken."""
    records: list[list[str]] = []
    with suppress(_core.ReadError):
        while len(records) < LOOKED_AT and sum(map(len, records)) < FIELDS_LOOKED_AT:
            fields, start = _core.read_csv_record(content, start, dialect)
            if not fields:
                break
            records.append([field.decode(errors="replace") for field in fields])
    return records


def is_header(first: tuple[str, ...], columns: list[list[str]], settings: ReadSettings) -> bool:
    """Return whether the first line holds names.

    It does if somebody asks for a column by name, if it has one of the usual names of labels, or if it has
    text where most rows have numbers. If there is text everywhere, a line of names is one whose fields are
    different from each other and from everything below them.
    """
    asked = (settings.label, settings.weight, *settings.drop, *settings.categories)
    if any(isinstance(column, str) for column in asked):
        return True
    if any(name.lower() in LABEL_NAMES for name in first):
        return True
    if settings.encoding is not None and settings.encoding.has_names:
        known = {column.name for column in settings.encoding.columns}
        if known & set(first):
            return True
    is_number = [
        2 * sum(not is_text(field, settings) for field in column) > len(column) for column in columns
    ]
    if any(is_text(name, settings) and number for name, number in zip(first, is_number, strict=True)):
        return True
    if not any(columns):
        return all(is_text(name, settings) for name in first)
    if any(is_number):
        return False
    is_new = all(name not in column for name, column in zip(first, columns, strict=True))
    return is_new and all(first) and len(set(first)) == len(first)


def is_missing(field: str, signs: Sequence[str] | None = None) -> bool:
    """Return whether a field is one of the signs of a missing value, by default of the usual ones."""
    return field.lower() in MISSING if signs is None else not field or field in signs


def is_text(field: str, settings: ReadSettings) -> bool:
    """Return whether a field is neither a number nor a sign of a missing one."""
    if is_missing(field, settings.na):
        return False
    try:
        as_float(field, settings.decimal)
    except ValueError:
        return True
    return False


def refuse_unreadable_names(
    names: list[bytes], content: bytes, path: Path, dialect: _core.CsvDialect
) -> None:
    """Refuse names that are no UTF-8, with their place."""
    for place, name in enumerate(names):
        if not is_utf8(name):
            line, column = _core.csv_field_position(content, 0, dialect, place)
            raise FileFormatError(not_utf8_text(name), path, line, column, **OTHER_ENCODING)


def as_float(text: str, decimal: str) -> float:
    """Return the number that a text is with this decimal mark; ValueError where it is none."""
    return float(text if decimal == "." else text.translate(str.maketrans("." + decimal, decimal + ".")))


# ------------------------------------------------------------------------------------------------
# Text that is no UTF-8.

# What to do about them.
OTHER_ENCODING: dict[str, Any] = {
    "remedy": "{text_encoding} reads it if that is its encoding",
    "text_encoding": Setting("text_encoding", "latin-1", '"latin-1"'),
}


def is_utf8(text: bytes) -> bool:
    """Return whether a field can be decoded."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def not_utf8_text(text: bytes, where: str = "") -> str:
    """Return what was found."""
    shown = text[:40].decode(errors="backslashreplace")
    return f'expected UTF-8 text{where}, found "{shown}"'


# ------------------------------------------------------------------------------------------------
# Cutting a text table into pieces of whole records.

HEAD_BYTES = 4 << 20  # of text that are looked at for names and separators
LONGEST_HEAD = 64 << 20
FEWEST_LINES = 3
LONGEST_RECORD = 64 << 20  # bytes; an open quote must not fill the memory
QUOTE = b'"'


def head_of(stream: Stream) -> bytes:
    """Return the first lines: a few megabytes, and some lines at least."""
    head = bytearray()
    size = HEAD_BYTES
    while read_more(stream, head, size):
        if head.count(b"\n") > FEWEST_LINES or len(head) > LONGEST_HEAD:
            return bytes(head[: head.rfind(b"\n") + 1])
        size = len(head)
    return bytes(head)


def whole_records(
    stream: Stream,
    path: Path,
    dialect: _core.CsvDialect,
    piece_bytes: int,
    *,
    start: int = 0,
    cut_lines: bool = False,
) -> Iterator[bytes]:
    """Yield the text in pieces of about this size, each of whole records.

    Parameters
    ----------
    stream : Stream
        The text.
    path : Path
        What error messages call it.
    dialect : CsvDialect
        How the text is written: quotes count only where a field begins.
    piece_bytes : int
        How long a piece is, about; one long record may make it longer.
    start : int
        Where the first record starts; the first piece is no shorter.
    cut_lines : bool
        Whether a record that does not end is cut behind its first line, and not an error.
    """
    rest = bytearray()
    n_lines = 0
    size = piece_bytes
    while True:
        is_last = not read_more(stream, rest, size)
        end = len(rest) if is_last else _end_of_records(rest, dialect)
        if end <= start and not is_last:
            if len(rest) <= LONGEST_RECORD + start:
                size = max(piece_bytes, len(rest))  # twice as much, so that little is looked at twice
                continue
            if not cut_lines:
                raise FileFormatError(
                    "a record is longer than 64 MiB: a quote opens here or below and is not closed?",
                    path,
                    n_lines + 1,
                    1,
                )
            end = rest.find(b"\n", start) + 1 or len(rest)
        if end:
            piece = bytes(memoryview(rest)[:end])
            yield piece
            n_lines += piece.count(b"\n")
            del rest[:end]
        if is_last:
            return
        start, size = 0, piece_bytes


def read_more(stream: Stream, buffer: bytearray, size: int) -> bool:
    """Append so many bytes to the buffer, fewer at the end only; return whether there may be more."""
    begun = len(buffer)
    buffer.extend(bytes(size))
    n = 0
    with memoryview(buffer) as view:
        while n < size:
            n_read = stream.readinto(view[begun + n :])
            if not n_read:
                break
            n += n_read
    del buffer[begun + n :]
    return n == size


def _end_of_records(text: bytearray, dialect: _core.CsvDialect) -> int:
    if QUOTE in text:
        return _core.end_of_whole_csv_records(text, dialect)
    return text.rfind(b"\n") + 1
