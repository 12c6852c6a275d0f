"""Cutting a stream of text into pieces of whole lines."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from maxmargin.errors import FileFormatError, SkippedLines, warn_caller

__all__ = ["Stream", "WholeLines", "skipped_lines_text", "warn_of_skipped_lines"]


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NEWLINE = ord("\n")
LONGEST_LINE = 2**30  # bytes; what has no line breaks at all must not fill the memory
LARGEST_STEP = 2**24  # bytes that are read or made room for at once: Ctrl-C waits for no more


class Stream(Protocol):
    """An open binary file, of which only this is asked."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


class WholeLines:
    """Pieces of a text, one after the other; every line is whole and ends with its newline.

    The last line gets a newline if it has none, and a byte order mark at the start is left out.

    Parameters
    ----------
    stream : Stream
        The text.
    path : Path
        What error messages call it.
    piece_bytes : int
        How long a piece is, about; one long line may make it longer.
    """

    def __init__(self, stream: Stream, path: Path, piece_bytes: int) -> None:
        self._stream = stream
        self._path = path
        self._piece_bytes = piece_bytes
        self._begun = b""  # of a line whose end is in the next piece
        self._n_bytes = 0
        self._is_first = True

    def take(self, buffer: bytearray) -> memoryview | None:
        """Put the next piece into the buffer, which may grow; None at the end."""
        n, newline = len(self._begun), -1
        if len(buffer) <= n:
            buffer.extend(bytes(n + self._piece_bytes - len(buffer)))
        buffer[:n] = self._begun
        while newline < 0:
            room = len(buffer) - 1  # a byte for the newline that a last line may lack
            if n == room:
                self._grow(buffer)
                continue
            n_before, n = n, n + self._read(buffer, n, room)
            if n == n_before:
                return self._last(buffer, n)
            newline = buffer.rfind(b"\n", n_before, n)
        self._begun = bytes(memoryview(buffer)[newline + 1 : n])
        return self._piece(buffer, newline + 1)

    def _read(self, buffer: bytearray, start: int, end: int) -> int:
        """Fill that part of the buffer as far as the stream goes; pipes give little at a time."""
        n = start
        with memoryview(buffer) as view:
            while n < end:
                n_read = self._stream.readinto(view[n : min(end, n + LARGEST_STEP)])
                if not n_read:
                    break
                n += n_read
        return n - start

    def _grow(self, buffer: bytearray) -> None:
        if len(buffer) > LONGEST_LINE:
            raise FileFormatError(
                f"a line is longer than 1 GiB, from byte {self._n_bytes} on; this is not LIBSVM text",
                self._path,
            )
        buffer.extend(bytes(min(len(buffer), LARGEST_STEP)))

    def _last(self, buffer: bytearray, n: int) -> memoryview | None:
        self._begun = b""
        if n == 0:
            return None
        if buffer[n - 1] != NEWLINE:
            buffer[n] = NEWLINE
            n += 1
        return self._piece(buffer, n)

    def _piece(self, buffer: bytearray, end: int) -> memoryview:
        start = len(BYTE_ORDER_MARK) if self._is_first and buffer.startswith(BYTE_ORDER_MARK) else 0
        self._is_first = False
        self._n_bytes += end
        return memoryview(buffer)[start:end]


# ------------------------------------------------------------------------------------------------
# The warning about lines that were skipped.


def skipped_lines_text(n_lines: int, first: FileFormatError) -> str:
    """Return how many lines were skipped, and what is wrong with the first."""
    if n_lines == 1:
        return f"1 line was skipped: line {first.line}, column {first.column}: {first.message}"
    return (
        f"{n_lines:,} lines were skipped; the first is line {first.line}, column {first.column}: "
        f"{first.message}"
    )


def warn_of_skipped_lines(path: Path, n_lines: int, first: FileFormatError) -> None:
    """Warn about skipped lines, with the stack level of the caller of this package."""
    warn_caller(SkippedLines(f"{path}: {skipped_lines_text(n_lines, first)}", n_lines))
