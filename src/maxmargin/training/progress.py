"""The live gap of a long fit, on one line of the terminal or notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from maxmargin.results.solution import Progress
from maxmargin.results.wording import percent

__all__ = ["Ticker", "watching"]

_BETWEEN_LINES = 0.1  # seconds; a terminal cannot be read faster
_BETWEEN_LOG_LINES = 5.0  # where lines stay, as in a log file


class Ticker:
    """Writes the live gap; rewrites one line in a terminal, adds a line now and then elsewhere."""

    def __init__(self, tol: float, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._tol = tol
        self._rewrites = self._stream.isatty() or "ipykernel" in sys.modules
        self._last = 0.0
        self._width = 0

    def __call__(self, progress: Progress) -> None:
        now = time.perf_counter()
        patience = _BETWEEN_LINES if self._rewrites else _BETWEEN_LOG_LINES
        if self._last and now - self._last < patience:
            return
        self._last = now
        self._write(self._line(progress))

    def _line(self, progress: Progress) -> str:
        label = f"{progress.label}: " if progress.label else ""
        return (
            f"{label}{progress.seconds:6.1f} s, {progress.passes:.0f} passes: "
            f"within {percent(progress.relative_gap)} of the optimum (goal {percent(self._tol)})"
        )

    def _write(self, line: str) -> None:
        if self._rewrites:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        """End the line."""
        if self._rewrites and self._width:
            self._stream.write("\n")
            self._stream.flush()


def watching(
    watch: Callable[[Progress], Any] | None, ticker: Ticker | None
) -> Callable[[Progress], Any] | None:
    """Join the user's `watch` and the ticker into one callback."""
    if ticker is None:
        return watch
    shown = ticker

    def both(progress: Progress) -> Any:
        shown(progress)
        return watch(progress) if watch is not None else None

    return both
