"""Writing a data set as a text table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.data import Data
from maxmargin.errors import InvalidInput
from maxmargin.io.saved_columns import check_width, column_names, label_array
from maxmargin.io.tables.csv_text import SEPARATORS, is_missing

__all__ = ["table_lines"]


ROWS_AT_ONCE = 1024
VALUES_AT_ONCE = 1 << 20  # fewer rows if they are wide
MOST_SPARSE_COLUMNS = 100_000  # beyond, a table is zeros for pages and nobody reads it


def table_lines(data: Data, separator: str) -> Iterator[bytes]:
    """Yield the data set as a text table with a header, in pieces of many lines; the label comes last.

    Numbers are written with as many digits as it takes to read the same ones back. Labels that are text
    but look like numbers come back as numbers. A column ``sample_weight`` before the label has the weights.
    """
    check_width(data, MOST_SPARSE_COLUMNS)
    names, label_name, weight_name = column_names(data)
    y, weights = label_array(data), data.sample_weight
    if y.dtype.kind == "U" and (y == "").any():
        raise InvalidInput("an empty label, in a text table, would be a missing one")
    yield record([*names, *([] if weights is None else [weight_name]), label_name], separator).encode()
    n_at_once = min(ROWS_AT_ONCE, max(1, VALUES_AT_ONCE // max(data.n_columns, 1)))
    for first in range(0, data.n_rows, n_at_once):
        rows = data.X[first : first + n_at_once]
        dense = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        if weights is not None:
            dense = np.column_stack([dense, weights[first : first + n_at_once]])
        labels = y[first : first + n_at_once].tolist()
        records = (
            record([*row, label], separator) for row, label in zip(dense.tolist(), labels, strict=True)
        )
        yield "".join(records).encode()


def record(fields: list[object], separator: str) -> str:
    """Return a line; text is quoted if it has blanks around it or anything that could separate fields."""
    return separator.join(quoted(field) if isinstance(field, str) else repr(field) for field in fields) + "\n"


def quoted(text: str) -> str:
    """Return the text, in quotes if it would not be read as one field, or as a missing one, without."""
    is_plain = text == text.strip() and not any(mark in text for mark in f'{SEPARATORS}"\r\n')
    if is_plain and not is_missing(text):
        return text
    return '"' + text.replace('"', '""') + '"'
