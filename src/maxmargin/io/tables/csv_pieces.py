"""A text table in pieces of whole records, for a file that is larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import maxmargin._core as _core
from maxmargin.errors import FileFormatError
from maxmargin.io.lines import Stream

__all__ = ["head_of", "whole_records"]


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
