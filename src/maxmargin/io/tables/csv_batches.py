"""A text table in batches of whole records, for a file that is larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import maxmargin._core as _core
from maxmargin.data import Data
from maxmargin.errors import FileFormatError
from maxmargin.io.lines import Stream, warn_of_skipped_lines
from maxmargin.io.open import OpenSource, open_source
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.columns import FoundColumns, Refusal
from maxmargin.io.tables.csv import (
    EITHER,
    GUESSED,
    NUMBER,
    TEXT,
    FieldCounts,
    LineRefusal,
    Parsed,
    counts_in_text,
    decided_kinds,
    find_layout,
    found_columns,
    kinds_of,
    no_rows,
    parse,
)
from maxmargin.io.tables.roles import Roles, assign_roles

__all__ = ["CsvSource", "whole_records"]


BATCH_BYTES = 2 << 20  # of text; its rows may take ten times as much
HEAD_BYTES = 4 << 20  # of text that are looked at for names and separators
LONGEST_HEAD = 64 << 20
FEWEST_LINES = 3


class CsvSource:
    """A text table that is read batch by batch; a `TableSource`.

    Parameters
    ----------
    path : Path
    settings : ReadSettings
    """

    scheme = "csv"

    def __init__(self, path: Path, settings: ReadSettings) -> None:
        self.settings = settings
        self._path = path
        with open_source(path) as opened:
            opened.convert_text(settings.text_encoding)
            self._layout = find_layout(head_of(opened), path, settings)
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
        """Tell of lines that were left out."""
        if self._tally.first_skipped is not None:
            warn_of_skipped_lines(self._path, self._tally.n_skipped, self._tally.first_skipped)

    def read(self) -> Iterator[tuple[FoundColumns, Refusal]]:
        """Yield batches; a whole reading may find that columns are something else."""
        self._tally = tally = Tally(self._kinds, self.settings.decimal)
        n_lines = 0
        with open_source(self._path) as opened:
            opened.convert_text(self.settings.text_encoding)
            for content in self._pieces(opened):
                start = self._layout.start if n_lines == 0 else 0
                try:
                    parsed = self._parse(content, start, n_lines, tally)
                except FileFormatError as error:
                    opened.look_for_damage()
                    raise moved(error, n_lines) from None
                tally.add(parsed, self._path, n_lines)
                refuse = PieceRefusal(content, self._path, self._layout, parsed.starts, n_lines)
                if len(parsed.starts):
                    yield found_columns(parsed, self.roles, self._path), refuse
                n_lines += content.count(b"\n")
        if tally.n_rows == 0:
            raise no_rows(self._path, self._layout, tally.n_skipped, tally.first_skipped)
        if not self._is_settled:
            self._settle(tally)

    def _pieces(self, opened: OpenSource) -> Iterator[bytes]:
        return whole_records(
            opened,
            self._path,
            self._layout.dialect,
            BATCH_BYTES,
            start=self._layout.start,
            cut_lines=self.settings.skip_bad_lines,
        )

    def _parse(self, content: bytes, start: int, n_lines: int, tally: Tally) -> Parsed:
        layout = replace(self._layout, start=start)
        try:
            return parse(content, self._path, layout, self._kinds, self.settings)
        except FileFormatError as error:
            if self._is_settled or EITHER not in self._kinds:
                raise
            # An infinite number among labels is a mistake, but one text in another batch makes it a text.
            parsed = parse(content, self._path, layout, self._kinds.replace(EITHER, TEXT), self.settings)
            tally.unusable = tally.unusable or moved(error, n_lines)
            return parsed

    def _settle(self, tally: Tally) -> None:
        """Take columns for what they turned out to be; a further reading tells what is wrong in them."""
        decided = tally.decided(self.roles)
        if decided == self._kinds and tally.unusable is not None:
            raise tally.unusable
        self._is_settled = decided == self._kinds
        self._kinds = decided


class Tally:
    """What is counted while a table is read: texts and numbers in each column, lines left out."""

    def __init__(self, kinds: str, decimal: str) -> None:
        self.n_rows = 0
        self.n_skipped = 0
        self.first_skipped: FileFormatError | None = None
        self.unusable: FileFormatError | None = None  # a label or weight that is no number, unless it is text
        self._kinds = kinds
        self._decimal = decimal
        self._counts: dict[int, FieldCounts] = {}
        self._seen: dict[int, set[bool]] = {}  # whether labels and weights are text, in some batch

    def add(self, parsed: Parsed, path: Path, n_lines: int) -> None:
        """Count a batch that begins behind so many lines."""
        self.n_rows += len(parsed.starts)
        self.n_skipped += parsed.n_skipped
        if parsed.skipped and self.first_skipped is None:
            message, line, column = parsed.skipped[0]
            self.first_skipped = FileFormatError(message, path, line + n_lines, column)
        n_numbers = np.count_nonzero(~np.isnan(parsed.numbers), axis=0)
        for column, place in enumerate(parsed.places(NUMBER + GUESSED)):
            self._count(place, FieldCounts(int(parsed.n_texts[column]), int(n_numbers[column])))
        for place, (codes, texts) in zip(parsed.places(TEXT + EITHER), parsed.loose, strict=True):
            if self._kinds[place] == TEXT and texts is not None:
                self._count(place, counts_in_text(codes, texts, self._decimal))
            elif parsed.kinds[place] == EITHER and len(parsed.starts):
                self._seen.setdefault(place, set()).add(texts is not None)

    def _count(self, place: int, more: FieldCounts) -> None:
        old = self._counts.get(place, FieldCounts(0, 0))
        self._counts[place] = FieldCounts(old.n_texts + more.n_texts, old.n_numbers + more.n_numbers)

    def decided(self, roles: Roles) -> str:
        """Return what the fields are, now that the whole is known; labels once all features are settled.

        Until then it is not known which lines are left out, and these decide nothing.
        """
        kinds = list(decided_kinds(self._kinds, self._counts, roles))
        if kinds != list(self._kinds):
            return "".join(kinds)
        for place, is_text in self._seen.items():
            if is_text == {True, False} or (True in is_text and self.unusable is not None):
                kinds[place] = TEXT
        return "".join(kinds)


@dataclass(frozen=True)
class PieceRefusal(LineRefusal):
    """Says where a value is by its line and column in the file, of which this is a piece."""

    n_lines: int = 0

    def __call__(self, message: str, row: int, place: int) -> FileFormatError:
        return moved(super().__call__(message, row, place), self.n_lines)


def moved(error: FileFormatError, n_lines: int) -> FileFormatError:
    """Return an error about a piece as one about the file."""
    line = None if error.line is None else error.line + n_lines
    return FileFormatError(error.message, error.path, line, error.column)


def head_of(opened: OpenSource) -> bytes:
    """Return the first lines: a few megabytes, and some lines at least."""
    head = bytearray()
    size = HEAD_BYTES
    while read_more(opened, head, size):
        if head.count(b"\n") > FEWEST_LINES or len(head) > LONGEST_HEAD:
            return bytes(head[: head.rfind(b"\n") + 1])
        size = len(head)
    return bytes(head)


# ------------------------------------------------------------------------------------------------
# Cutting a text table into pieces of whole records.

LONGEST_RECORD = 64 << 20  # bytes; an open quote must not fill the memory
QUOTE = b'"'


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
