"""What the first lines of a text table tell: how fields are separated, and whether there are names."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import maxmargin._core as _core
from maxmargin.errors import FileFormatError
from maxmargin.inputs.column_roles import Header
from maxmargin.results.encoding import LABEL_NAMES
from maxmargin.inputs.csv_unreadable import is_utf8, not_utf8_text
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.source import located_errors

__all__ = ["SEPARATORS", "Layout", "find_layout", "is_missing"]

SEPARATORS = "\t;,"
# Of the first records, to tell names from rows and text from numbers.
LOOKED_AT = 100
FIELDS_LOOKED_AT = 20_000
MOST_FIELDS = 1 << 20
MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"})
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Layout:
    """How fields are separated, where in the text the rows start, and what the columns are called.

    ``looks_like_text`` tells for each column whether most of the first rows have text there; it is a guess.
    """

    separator: str
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
        Whether there are names, if the user said so; a column that is named asks for names.
    """
    if content.startswith(UTF_16):
        raise FileFormatError("the text is in UTF-16; save it as UTF-8", path)
    refuse_too_wide(content, path)
    separator = find_separator(content, path, settings)
    with located_errors(path):
        first, start = _core.read_csv_record(content, 0, separator)
    names = tuple(field.decode(errors="backslashreplace") for field in first)
    rows = following(content, start, separator)
    columns = [
        [row[place] for row in rows if place < len(row) and not is_missing(row[place])]
        for place in range(len(first))
    ]
    has_header = settings.header
    if has_header == "auto":
        has_header = is_header(names, columns, settings)
    if has_header:
        refuse_unreadable_names(first, content, path, separator)
    header = Header(str(path), len(names), names if has_header else ())
    looks_like_text = tuple(2 * sum(map(is_text, column)) > len(column) for column in columns)
    return Layout(separator, start if has_header else 0, header, looks_like_text)


def refuse_too_wide(content: bytes, path: Path) -> None:
    """Refuse first lines of so many fields that looking at each by itself would take minutes."""
    for line in itertools.islice(re.finditer(rb"[^\n]*\S[^\n]*", content), 2):
        n_fields = max(content.count(separator.encode(), *line.span()) for separator in SEPARATORS) + 1
        if n_fields > MOST_FIELDS:
            raise FileFormatError(
                f"{n_fields:,} fields in a line; a text table may have {MOST_FIELDS:,}: so many columns are "
                "for LIBSVM text, or for NumPy's files",
                path,
                content.count(b"\n", 0, line.start()) + 1,
            )


def find_separator(content: bytes, path: Path, settings: ReadSettings) -> str:
    """Return what separates fields: the one of tab, semicolon, comma that splits two lines alike."""
    n_fields = {separator: first_lengths(content, separator) for separator in SEPARATORS}
    if n_fields[SEPARATORS[0]] == (0, 0):
        raise FileFormatError("the file has no rows", path)
    alike = [separator for separator, (first, second) in n_fields.items() if first == second > 1]
    splitting = [separator for separator, (first, _) in n_fields.items() if first > 1]
    if alike or splitting:
        return (alike or splitting)[0]
    with located_errors(path):
        _core.read_csv_record(content, 0, SEPARATORS[-1])
    if settings.encoding is not None and len(settings.encoding.columns) == 1:
        return SEPARATORS[-1]  # one feature, and no label
    raise FileFormatError("expected fields separated by commas, semicolons or tabs", path, 1)


def first_lengths(content: bytes, separator: str) -> tuple[int, int]:
    """Return how many fields the first two records have; 1 for one that the separator does not suit."""
    lengths, start = [1, 1], 0
    for number in range(2):
        with suppress(_core.ReadError):
            fields, start = _core.read_csv_record(content, start, separator)
            lengths[number] = len(fields)
    return lengths[0], lengths[1]


def following(content: bytes, start: int, separator: str) -> list[list[str]]:
    """Return the fields of some records, up to the first that is broken."""
    records: list[list[str]] = []
    with suppress(_core.ReadError):
        while len(records) < LOOKED_AT and sum(map(len, records)) < FIELDS_LOOKED_AT:
            fields, start = _core.read_csv_record(content, start, separator)
            if not fields:
                break
            records.append([field.decode(errors="replace") for field in fields])
    return records


def is_header(first: tuple[str, ...], columns: list[list[str]], settings: ReadSettings) -> bool:
    """Tell whether the first line holds names.

    It does if somebody asks for a column by name, if it has one of the usual names of labels, or if it has
    text where most rows have numbers. Where there is text everywhere, names are told from rows by being
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
    is_number = [2 * sum(not is_text(field) for field in column) > len(column) for column in columns]
    if any(is_text(name) and number for name, number in zip(first, is_number, strict=True)):
        return True
    if not any(columns):
        return all(is_text(name) for name in first)
    if any(is_number):
        return False
    is_new = all(name not in column for name, column in zip(first, columns, strict=True))
    return is_new and all(first) and len(set(first)) == len(first)


def is_missing(field: str) -> bool:
    """Tell whether a field is one of the usual signs of a missing value."""
    return field.lower() in MISSING


def is_text(field: str) -> bool:
    """Tell whether a field is neither a number nor a sign of a missing one."""
    if is_missing(field):
        return False
    try:
        float(field)
    except ValueError:
        return True
    return False


def refuse_unreadable_names(names: list[bytes], content: bytes, path: Path, separator: str) -> None:
    """Refuse names that are no UTF-8, with their place."""
    for place, name in enumerate(names):
        if not is_utf8(name):
            line, column = _core.csv_field_position(content, 0, separator, place)
            raise FileFormatError(not_utf8_text(name), path, line, column)
