"""LIBSVM text parsed by several threads, a piece of some lines each."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from maxmargin._core import LibsvmPart, LibsvmTable, StopToken
from maxmargin.errors import FileFormatError
from maxmargin.inputs.whole_lines import Stream, WholeLines
from maxmargin.rows.waiting import Helpers, results_of

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

    @property
    def is_busy(self) -> bool:
        """Whether some helper is, or will be, at it."""
        return self.future is not None and not self.future.done()

    def wait(self) -> None:
        """Return when no helper is at it any more, or raise what went wrong."""
        if self.future is not None:
            results_of([self.future])
            self.future = None


class Parsing:
    """Pieces on their way from the text to the table: read, parsed, given a place, written there.

    The calling thread reads the text and gives parsed pieces their places in the order of the text; parsing
    and writing it shares with the helpers, and does both itself while they have enough to do. So it alone
    waits for the disk or a pipe, and Ctrl-C is heard; and the first error in the text is the first to be
    seen, whatever the number of threads.
    """

    def __init__(self, table: LibsvmTable, helpers: Helpers | None, n_helpers: int) -> None:
        self._table = table
        self._helpers = helpers
        self._most_busy = AHEAD * n_helpers
        self._token = StopToken(None, threading.current_thread() is threading.main_thread())
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
            self._place_all()  # what is wrong before this place is told first
            raise

    def _share(self, piece: Piece, work: Callable[..., None], *arguments: object) -> None:
        """Hand the work to a helper, or do it if they have enough to do."""
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
