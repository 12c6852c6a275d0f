"""LIBSVM text: ``label index:value index:value …``, one row per line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._core import LibsvmPart, LibsvmTable
from maxmargin.data import CsrRows, Data
from maxmargin.deadline import Deadline
from maxmargin.errors import FileFormatError, InvalidInput, Setting
from maxmargin.io.lines import Stream, WholeLines, skipped_lines_text, warn_of_skipped_lines
from maxmargin.io.open import OpenSource, located_errors, open_source
from maxmargin.io.settings import ReadSettings
from maxmargin.rows.base import Helpers, results_of
from maxmargin.rows.cores import resolve_jobs

__all__ = ["libsvm_batches", "libsvm_lines", "look_at_libsvm", "read_libsvm"]


ZERO_BASED_SCHEME = "libsvm-zero-based"
ROWS_AT_ONCE = 1024


def no_pairs(path: Path) -> FileFormatError:
    """Return the error of a file without a single value."""
    return FileFormatError(
        "no row has an index:value pair",
        path,
        remedy="give {n_columns} if that is intended",
        n_columns=Setting("n_columns", ...),
    )


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
        raise no_pairs(path)
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


# ------------------------------------------------------------------------------------------------
# Parallel parsing of LIBSVM text in chunks of whole lines.

LARGEST_PIECE = 2**20  # bytes: some milliseconds of work, beside which handing it out costs nothing
SMALLEST_PIECE = 2**16
AHEAD = 2  # pieces that a helper may have at once: it need not wait for the next one


class Piece:
    """Reusable buffers for some lines of text and the rows parsed from them."""

    def __init__(self) -> None:
        self.parsed = LibsvmPart()
        self.buffer = bytearray()
        self.text: memoryview | None = None
        self.future: Future[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a thread is using it, or will."""
        return self.future is not None and not self.future.done()

    def wait(self) -> None:
        """Wait until no thread is using it, and raise what went wrong."""
        if self.future is not None:
            results_of([self.future])
            self.future = None


class Parsing:
    """Pieces on their way from the text to the table: read, parsed, given a place, written there.

    The calling thread reads the text and gives parsed pieces their places in the order of the text; parsing
    and writing it shares with the helpers, and does both itself while they have enough to do. So it alone
    waits for the disk or a pipe, and Ctrl-C works; and the first error in the text is the first to be
    seen, whatever the number of threads.
    """

    def __init__(self, table: LibsvmTable, helpers: Helpers | None, n_helpers: int) -> None:
        self._table = table
        self._helpers = helpers
        self._most_busy = AHEAD * n_helpers
        self._token = Deadline().token()
        self._free = [Piece() for _ in range(self._most_busy + 1 + min(n_helpers, 1))]
        self._begun: deque[Piece] = deque()  # being parsed, in the order of the text
        self._placed: deque[Piece] = deque()  # being written to their places

    def run(self, lines: WholeLines) -> None:
        """Parse all lines."""
        try:
            while True:
                piece = self._next_free()
                piece.text = self._take(lines, piece)
                if piece.text is None:
                    break
                self._begun.append(piece)
                self._share(piece, piece.parsed.parse, piece.text, self._table, self._token)
            self._place_all()
        except BaseException:
            self._token.stop()
            raise

    def _take(self, lines: WholeLines, piece: Piece) -> memoryview | None:
        try:
            return lines.take(piece.buffer)
        except FileFormatError:
            self._place_all()  # errors before this place come first
            raise

    def _share(self, piece: Piece, work: Callable[..., None], *arguments: object) -> None:
        """Hand the work to another thread, or do it here if they are all busy."""
        n_busy = sum(each.is_busy for each in (*self._begun, *self._placed))
        if self._helpers is not None and n_busy < self._most_busy:
            piece.future = self._helpers.submit(work, *arguments)
        else:
            work(*arguments)

    def _next_free(self) -> Piece:
        while True:
            while self._begun and not self._begun[0].is_busy:
                self._place_first()
            while self._placed and not self._placed[0].is_busy:
                self._free_first()
            if self._free:
                return self._free.pop()
            (self._placed or self._begun)[0].wait()

    def _place_first(self) -> None:
        piece = self._begun.popleft()
        piece.wait()
        assert piece.text is not None
        piece.text.release()  # so that the buffer may grow
        place = self._table.reserve(piece.parsed)
        self._placed.append(piece)
        self._share(piece, self._table.fill, piece.parsed, place)

    def _free_first(self) -> None:
        piece = self._placed.popleft()
        piece.wait()
        self._free.append(piece)

    def _place_all(self) -> None:
        while self._begun:
            self._place_first()
        while self._placed:
            self._free_first()


def parse_side_by_side(
    stream: Stream, path: Path, table: LibsvmTable, threads: int, n_bytes: int | None
) -> None:
    """Put the rows of a text into the table.

    Parameters
    ----------
    stream : Stream
        The text, from its start.
    path : Path
        What error messages call it.
    table : LibsvmTable
        Where the rows go; it also says how to read them.
    threads : int
        They change the time, nothing else.
    n_bytes : int or None
        The length of the text, if it is known.

    Raises
    ------
    ReadError
        For the first line of the text that cannot be read, unless the table says to skip it.
    FileFormatError
        For a line without an end.
    """
    piece_bytes = LARGEST_PIECE
    if n_bytes is not None:
        piece_bytes = min(max(n_bytes // (4 * threads), SMALLEST_PIECE), LARGEST_PIECE)
        threads = min(threads, 1 + n_bytes // piece_bytes)
    lines = WholeLines(stream, path, piece_bytes)
    if threads == 1:
        Parsing(table, None, 0).run(lines)
        return
    with Helpers(threads - 1) as helpers:
        try:
            Parsing(table, helpers, threads - 1).run(lines)
        except BaseException:
            helpers.shutdown(wait=True, cancel_futures=True)
            raise


# ------------------------------------------------------------------------------------------------
# LIBSVM text in batches of rows, for a file that is larger than memory.

BATCH_BYTES = 4 << 20  # of text; its rows take about as much memory


@dataclass(frozen=True)
class LibsvmLayout:
    """What can be known only from the whole text."""

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
        raise no_pairs(path)
    return LibsvmLayout(settings.n_columns or n_columns, from_zero if zero_based is None else zero_based)


def libsvm_batches(path: Path, settings: ReadSettings, layout: LibsvmLayout) -> Iterator[tuple[Any, Any]]:
    """Yield (X, y), some thousand rows at a time; skipped lines are warned about at the end."""
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
                raise error.moved_to(path, line) from None
            yield (values, columns, starts), labels, width, from_zero, table
            n_lines += text.count(b"\n")
