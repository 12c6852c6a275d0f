"""LIBSVM text in batches of rows, for a file that is larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from maxmargin._core import LibsvmTable
from maxmargin.errors import FileFormatError
from maxmargin.inputs.libsvm_parts import parse_side_by_side
from maxmargin.inputs.libsvm_text import first_bad_line
from maxmargin.inputs.open_source import open_source
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.skipped_lines import warn_of_skipped_lines
from maxmargin.inputs.source import located_errors
from maxmargin.inputs.whole_lines import WholeLines
from maxmargin.results.csr_rows import CsrRows
from maxmargin.rows.cores import resolve_jobs

__all__ = ["LibsvmLayout", "libsvm_batches", "look_at_libsvm"]

BATCH_BYTES = 4 << 20  # of text; its rows take about as much memory


@dataclass(frozen=True)
class LibsvmLayout:
    """What only the whole text can tell."""

    n_columns: int
    zero_based: bool


def look_at_libsvm(path: Path, settings: ReadSettings) -> LibsvmLayout:
    """Read the text once to find its width, and whether columns count from 0."""
    zero_based = None if settings.zero_based == "auto" else bool(settings.zero_based)
    n_columns, from_zero, n_rows = 0, False, 0
    for _, labels, width, counts_from_zero, _ in _parsed(path, settings, zero_based, settings.n_columns):
        # A batch without an index 0 takes its columns to count from 1.
        n_columns = max(n_columns, width if counts_from_zero or zero_based is not None else width + 1)
        from_zero = from_zero or counts_from_zero
        n_rows += len(labels)
    if n_rows == 0:
        raise FileFormatError("the file has no rows", path)
    if zero_based is None and not from_zero:
        n_columns -= 1
    if n_columns == 0:
        raise FileFormatError("no row has an index:value pair; give n_columns=… if that is meant", path)
    return LibsvmLayout(settings.n_columns or n_columns, from_zero if zero_based is None else zero_based)


def libsvm_batches(path: Path, settings: ReadSettings, layout: LibsvmLayout) -> Iterator[tuple[Any, Any]]:
    """Yield (X, y), some thousand rows at a time; a warning at the end tells of lines left out."""
    n_bad_lines, first_bad = 0, None
    for parts, labels, _, _, table in _parsed(path, settings, layout.zero_based, layout.n_columns):
        if len(labels):
            yield CsrRows(parts, (len(labels), layout.n_columns), is_canonical=True).scipy, labels
        n_bad_lines += table.n_bad_lines
        first_bad = first_bad or first_bad_line(table, path)
    if first_bad is not None:
        warn_of_skipped_lines(path, n_bad_lines, first_bad)


def _parsed(
    path: Path, settings: ReadSettings, zero_based: bool | None, n_columns: int | None
) -> Iterator[tuple[Any, Any, int, bool, LibsvmTable]]:
    """Yield each batch as (parts of a CSR matrix, labels, width, whether it counts from 0, its table)."""
    threads = resolve_jobs(settings.n_jobs)
    n_lines = 0
    with open_source(path) as source:
        lines = WholeLines(source, path, BATCH_BYTES)
        while True:
            piece = lines.take(bytearray())
            if piece is None:
                return
            text = bytes(piece)
            table = LibsvmTable(zero_based, n_columns, settings.skip_bad_lines, len(text))
            try:
                with located_errors(path):
                    parse_side_by_side(BytesIO(text), path, table, threads, len(text))
                    values, columns, starts, labels, width, from_zero = table.finish()
            except FileFormatError as error:
                source.look_for_damage()
                line = None if error.line is None else error.line + n_lines
                raise FileFormatError(error.message, path, line, error.column) from None
            yield (values, columns, starts), labels, width, from_zero, table
            n_lines += text.count(b"\n")
