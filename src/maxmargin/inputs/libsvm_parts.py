"""LIBSVM text parsed by several threads, a piece of some lines each."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from maxmargin._core import LibsvmPart, LibsvmTable, StopToken
from maxmargin.errors import FileFormatError
from maxmargin.inputs.whole_lines import Stream, WholeLines
from maxmargin.rows.waiting import results_of

__all__ = ["parse_side_by_side"]

LARGEST_PIECE = 2**20  # bytes: some milliseconds of work, beside which handing it out costs nothing
SMALLEST_PIECE = 2**16
AHEAD = 2  # pieces that a helper may have at once: it need not wait for the next one


class Piece:
    """Memory for some lines and for what they hold, used again and again."""

    def __init__(self) -> None:
        self.parsed = LibsvmPart()
        self.buffer = bytearray()
        self.text: memoryview | None = None
        self.future: Future[None] | None = None

    def parse(self, table: LibsvmTable, token: StopToken) -> None:
        """Read the lines; the table only says by which settings."""
        assert self.text is not None
        self.parsed.parse(self.text, table, token)

    @property
    def is_busy(self) -> bool:
        """Whether some helper has not finished with it."""
        return self.future is not None and not self.future.done()


class Parsing:
    """Pieces on their way from the text to the table.

    The calling thread reads the text, appends parsed pieces to the table in the order of the text, and
    parses a piece itself while the helpers have enough to do. So it alone waits for the disk or a pipe, and
    Ctrl-C is heard; and the first error in the text is the first to be seen, whatever the number of threads.
    """

    def __init__(self, table: LibsvmTable, helpers: ThreadPoolExecutor | None, n_helpers: int) -> None:
        self._table = table
        self._helpers = helpers
        self._most_busy = AHEAD * n_helpers
        self._token = StopToken(None, threading.current_thread() is threading.main_thread())
        self._free = [Piece() for _ in range(self._most_busy + 1 + min(n_helpers, 1))]
        self._begun: deque[Piece] = deque()  # in the order of the text

    def run(self, lines: WholeLines) -> None:
        """Parse all lines."""
        try:
            while True:
                piece = self._free.pop()
                piece.text = self._take(lines, piece)
                if piece.text is None:
                    break
                self._begin(piece)
                while self._begun and not (self._free and self._begun[0].is_busy):
                    self._append_first()
            self._append_all()
        except BaseException:
            self._token.stop()
            raise

    def _take(self, lines: WholeLines, piece: Piece) -> memoryview | None:
        try:
            return lines.take(piece.buffer)
        except FileFormatError:
            self._append_all()  # what is wrong before this place is told first
            raise

    def _begin(self, piece: Piece) -> None:
        self._begun.append(piece)
        if self._helpers is not None and sum(each.is_busy for each in self._begun) < self._most_busy:
            piece.future = self._helpers.submit(piece.parse, self._table, self._token)
        else:
            piece.parse(self._table, self._token)

    def _append_first(self) -> None:
        piece = self._begun.popleft()
        if piece.future is not None:
            results_of([piece.future])
            piece.future = None
        assert piece.text is not None
        piece.text.release()  # so that the buffer may grow
        self._table.append(piece.parsed)
        self._free.append(piece)

    def _append_all(self) -> None:
        while self._begun:
            self._append_first()


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
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="maxmargin-read") as helpers:
        try:
            Parsing(table, helpers, threads - 1).run(lines)
        except BaseException:
            helpers.shutdown(wait=True, cancel_futures=True)
            raise
