"""LIBSVM text: ``label index:value index:value …``, one row a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from maxmargin._core import LibsvmTable
from maxmargin.errors import FileFormatError, InvalidInput
from maxmargin.inputs.libsvm_parts import parse_side_by_side
from maxmargin.inputs.open_source import OpenSource
from maxmargin.inputs.skipped_lines import skipped_lines_text, warn_of_skipped_lines
from maxmargin.inputs.source import located_errors
from maxmargin.results.csr_rows import CsrRows
from maxmargin.results.data import Data
from maxmargin.rows.cores import resolve_jobs

__all__ = ["libsvm_lines", "read_libsvm"]

ZERO_BASED_SCHEME = "libsvm-zero-based"
ROWS_AT_ONCE = 1024


def read_libsvm(
    source: OpenSource,
    *,
    n_columns: int | None,
    zero_based: bool | None,
    skip_bad_lines: bool = False,
    n_jobs: int | None = None,
) -> Data:
    """Return the rows of LIBSVM text as `CsrRows`.

    Parameters
    ----------
    source : OpenSource
        The text; it is read piece by piece.
    n_columns : int or None
        The width; None takes the largest column used.
    zero_based : bool or None
        Whether columns count from 0; None decides by whether any index is 0.
    skip_bad_lines : bool
        Leave out lines that cannot be read, and warn.
    n_jobs : int or None
        Threads; they change the time, nothing else.
    """
    path = source.path
    table = LibsvmTable(zero_based, n_columns, skip_bad_lines, source.n_bytes)
    try:
        with located_errors(path):
            parse_side_by_side(source, path, table, resolve_jobs(n_jobs), source.n_bytes)
            values, columns, starts, labels, width, counts_from_zero = table.finish()
    except FileFormatError:
        source.look_for_damage()
        raise
    bad_line = first_bad_line(table, path)
    if len(labels) == 0:
        left_out = "" if bad_line is None else f"; {skipped_lines_text(table.n_bad_lines, bad_line)}"
        raise FileFormatError(f"the file has no rows{left_out}", path)
    if width == 0:
        raise FileFormatError("no row has an index:value pair; give n_columns=… if that is meant", path)
    skipped: tuple[str, ...] = ()
    if bad_line is not None:
        warn_of_skipped_lines(path, table.n_bad_lines, bad_line)
        skipped = (f"line {bad_line.line}, column {bad_line.column}: {bad_line.message}",)
    X = CsrRows((values, columns, starts), (len(labels), width), is_canonical=True)
    scheme = ZERO_BASED_SCHEME if counts_from_zero else "libsvm"
    return Data(X, labels, scheme=scheme, skipped=skipped, n_skipped=table.n_bad_lines)


def first_bad_line(table: LibsvmTable, path: Path) -> FileFormatError | None:
    """Return the error of the first line that was left out."""
    if table.first_bad_line is None:
        return None
    message, line, column = table.first_bad_line
    return FileFormatError(message, path, line, column)


def libsvm_lines(data: Data) -> Iterator[bytes]:
    """Yield the data set as LIBSVM text, in pieces of many lines; columns count from 1.

    Numbers are written with as many digits as it takes to read the same ones back. Dense zeros are left
    out, sparse ones that are stored stay.
    """
    from scipy.sparse import csr_array

    if data.y.dtype.kind not in "buif":
        raise InvalidInput(
            f'LIBSVM text has numbers as labels; got "{data.classes[0]}". Write a .csv file instead'
        )
    X = csr_array(data.X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    labels = data.y.astype(np.float64)
    for first in range(0, data.n_rows, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, data.n_rows)
        starts = X.indptr[first : last + 1] - X.indptr[first]
        inside = slice(X.indptr[first], X.indptr[last])
        pairs = [
            f"{column}:{shortest(value)}"
            for column, value in zip(
                (X.indices[inside] + 1).tolist(), X.data[inside].astype(np.float64).tolist(), strict=True
            )
        ]
        rows = (
            " ".join([shortest(label), *pairs[start:end]])
            for label, start, end in zip(labels[first:last].tolist(), starts[:-1], starts[1:], strict=True)
        )
        yield "".join(f"{row}\n" for row in rows).encode("ascii")


def shortest(number: float) -> str:
    """Return the shortest text that reads back as the same number."""
    return repr(number).removesuffix(".0")
