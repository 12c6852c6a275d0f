"""Tables of numbers as text (CSV): comma, semicolon or tab between fields, one column with the label."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import maxmargin._core as _core
from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.inputs.source import located_errors
from maxmargin.results.data import Data

__all__ = ["read_table", "table_lines"]

SEPARATORS = "\t;,"
LABEL_NAMES = ("label", "y", "target", "class")
MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})
ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Layout:
    """Where in the text the rows start, how fields are separated and which one is the label."""

    separator: str
    start: int
    names: tuple[str, ...]
    n_fields: int
    label_field: int

    @property
    def label(self) -> str | int:
        """The label's column by name where there are names, else by number."""
        return self.names[self.label_field] if self.names else self.label_field


def read_table(content: bytes, path: Path, *, label: str | int | None, n_columns: int | None) -> Data:
    """Return the rows of a text table as a dense array.

    Parameters
    ----------
    content : bytes
        The text.
    path : Path
        What error messages call it.
    label : str, int or None
        The label's column by name, or by number (from 0, negative from the end). None takes the column
        named label, y, target or class if there is a header with one of them, else the last column.
    n_columns : int or None
        The number of features that are expected; None expects what the first line has.
    """
    layout = find_layout(content, path, label)
    if n_columns is not None and n_columns != layout.n_fields - 1:
        raise FileFormatError(
            f"expected {n_columns} columns beside the label, found {layout.n_fields - 1}", path
        )
    with located_errors(path):
        X, labels, texts = _core.read_csv(
            content, layout.start, layout.separator, layout.n_fields, layout.label_field, layout.names
        )
    if len(labels) == 0:
        raise FileFormatError("the file has a header but no rows", path)
    y = labels if texts is None else np.array([decoded(text, path) for text in texts])[labels]
    features = tuple(name for field, name in enumerate(layout.names) if field != layout.label_field)
    return Data(X, y, feature_names=features or None, scheme="csv", label=layout.label)


# ---------------------------------------------------------------- what the first two lines tell


def find_layout(content: bytes, path: Path, label: str | int | None) -> Layout:
    """Find separator, header and label column from the first two records."""
    separator = find_separator(content, path)
    with located_errors(path):
        first, second_start = _core.read_csv_record(content, 0, separator)
        second, _ = _core.read_csv_record(content, second_start, separator)
    names = tuple(decoded(field, path) for field in first)
    has_header = isinstance(label, str) or is_header(
        names, [field.decode(errors="replace") for field in second], label
    )
    return Layout(
        separator=separator,
        start=second_start if has_header else 0,
        names=names if has_header else (),
        n_fields=len(names),
        label_field=find_label(names, path, label, has_header),
    )


def find_separator(content: bytes, path: Path) -> str:
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
    raise FileFormatError("expected fields separated by commas, semicolons or tabs", path, 1)


def first_lengths(content: bytes, separator: str) -> tuple[int, int]:
    """Return how many fields the first two records have; 1 for one that the separator does not suit."""
    lengths, start = [1, 1], 0
    for number in range(2):
        with suppress(_core.ReadError):
            fields, start = _core.read_csv_record(content, start, separator)
            lengths[number] = len(fields)
    return lengths[0], lengths[1]


def is_header(first: tuple[str, ...], second: list[str], label: int | None) -> bool:
    """Tell whether the first line holds names: text where numbers belong.

    The label may be text in every line, so it tells something only if the second line has a number there.
    """
    if any(name.lower() in LABEL_NAMES for name in first):
        return True
    label_field = -1 if label is None else label
    label_field += len(first) if label_field < 0 else 0
    return any(
        is_text(name)
        and (
            field != label_field
            or (field < len(second) and second[field] != "" and not is_text(second[field]))
        )
        for field, name in enumerate(first)
    )


def is_text(field: str) -> bool:
    """Tell whether a field is neither a number nor one of the usual signs of a missing one."""
    if field.lower() in MISSING:
        return False
    try:
        float(field)
    except ValueError:
        return True
    return False


def find_label(names: tuple[str, ...], path: Path, label: str | int | None, has_header: bool) -> int:
    """Return the number of the label's column."""
    if isinstance(label, str):
        return find_named_label(names, path, label)
    if label is not None:
        if not -len(names) <= label < len(names):
            raise InvalidParameter(f"label={label}: {path} has the columns 0 to {len(names) - 1}")
        return label % len(names)
    if has_header:
        usual = [field for field, name in enumerate(names) if name.lower() in LABEL_NAMES]
        if len(usual) > 1:
            candidates = ", ".join(f'"{names[field]}"' for field in usual)
            raise InvalidParameter(f"{path}: the label may be any of {candidates}; say which by label=…")
        if usual:
            return usual[0]
    return len(names) - 1


def find_named_label(names: tuple[str, ...], path: Path, label: str) -> int:
    """Return the number of the column with this name."""
    found = [field for field, name in enumerate(names) if name == label]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidParameter(f'label="{label}": {path} has {len(found)} columns of this name')
    shown = ", ".join(f'"{name}"' for name in names[:8]) + (", …" if len(names) > 8 else "")
    raise InvalidParameter(f'label="{label}": {path} has no such column; its columns are {shown}')


def decoded(field: bytes, path: Path) -> str:
    """Return a field as text."""
    try:
        return field.decode()
    except UnicodeDecodeError:
        shown = field[:40].decode(errors="backslashreplace")
        raise FileFormatError(f'expected UTF-8 text, found "{shown}"', path) from None


# ---------------------------------------------------------------- writing


def table_lines(data: Data, separator: str) -> Iterator[bytes]:
    """Yield the data set as a text table with a header, in pieces of many lines; the label comes last.

    Numbers are written with as many digits as it takes to read the same ones back. Labels that are text
    but look like numbers come back as numbers.
    """
    names = data.feature_names or tuple(f"x{number}" for number in range(1, data.n_columns + 1))
    label_name = data.label if isinstance(data.label, str) else "label"
    yield record([*names, label_name], separator).encode()
    for first in range(0, data.n_rows, ROWS_AT_ONCE):
        rows = data.X[first : first + ROWS_AT_ONCE]
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        labels = data.y[first : first + ROWS_AT_ONCE].tolist()
        records = (
            record([*row, label], separator) for row, label in zip(dense.tolist(), labels, strict=True)
        )
        yield "".join(records).encode()


def record(fields: list[object], separator: str) -> str:
    """Return a line; text is quoted if it has blanks around it or anything that could separate fields."""
    return separator.join(quoted(field) if isinstance(field, str) else repr(field) for field in fields) + "\n"


def quoted(text: str) -> str:
    """Return the text, in quotes if it would not be read as one field without."""
    if text == text.strip() and not any(mark in text for mark in f'{SEPARATORS}"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'
