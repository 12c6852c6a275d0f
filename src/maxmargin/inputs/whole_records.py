"""Cutting a text table into pieces of whole records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import maxmargin._core as _core
from maxmargin.errors import FileFormatError
from maxmargin.inputs.whole_lines import Stream

__all__ = ["read_more", "whole_records"]

LONGEST_RECORD = 64 << 20  # bytes; an open quote must not fill the memory
QUOTE = b'"'


def whole_records(
    stream: Stream, path: Path, separator: str, piece_bytes: int, *, start: int = 0, cut_lines: bool = False
) -> Iterator[bytes]:
    """Yield the text in pieces of about this size, each of whole records.

    Parameters
    ----------
    stream : Stream
        The text.
    path : Path
        What error messages call it.
    separator : str
        Between fields: quotes count only where a field begins.
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
        end = len(rest) if is_last else _end_of_records(rest, separator)
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


def _end_of_records(text: bytearray, separator: str) -> int:
    if QUOTE in text:
        return _core.end_of_whole_csv_records(text, separator)
    return text.rfind(b"\n") + 1
