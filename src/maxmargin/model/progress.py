"""The live gap of a long fit: a line that is rewritten in a terminal, a bar in a notebook, lines in a log."""

from __future__ import annotations

import importlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from html import escape
from typing import Any, Protocol, TextIO

from maxmargin.core.solution import Progress
from maxmargin.presentation.wording import percent, printable

__all__ = ["Ticker", "show_line", "watching"]


_BAR = 20  # characters


class Screen(Protocol):
    """Where the progress of a fit is shown."""

    patience: float  # seconds between two changes; faster is unreadable, and lines that stay should be few

    def show(self, line: str, share: float) -> None:
        """Show a line, and the share of the work that is done."""
        ...

    def close(self) -> None:
        """Finish, so that other output can follow."""
        ...


class Terminal:
    """One line that is rewritten."""

    patience = 0.1

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._width = 0
        encoding = (getattr(stream, "encoding", None) or "ascii").lower()
        self._letters = ("█", "░") if encoding.startswith("utf") else ("#", ".")

    def show(self, line: str, share: float) -> None:
        done = round(_BAR * share)
        text = f"{self._letters[0] * done}{self._letters[1] * (_BAR - done)} {line}"[: _columns(self._stream)]
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            self._stream.write("\n")
            self._stream.flush()


def _columns(stream: TextIO) -> int | None:
    """Return the width of the terminal: a line that wraps could not be rewritten."""
    try:
        return max(os.get_terminal_size(stream.fileno()).columns - 1, 0) or None
    except (OSError, ValueError):  # not a terminal of this system
        return None


class Log:
    """Lines in a log, at intervals."""

    patience = 5.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, line: str, share: float) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Do nothing: a log needs no end."""


class Notebook:
    """A bar and a line that are replaced, in the output of the cell."""

    patience = 0.2

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, line: str, share: float) -> None:
        bundle = {"text/plain": line, "text/html": _bar(line, share)}
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def close(self) -> None:
        """Leave what was shown last."""


class Ticker:
    """Shows the live gap in a terminal, notebook or log."""

    def __init__(self, tol: float, stream: TextIO | None = None) -> None:
        self._tol = tol
        self._screen = _screen(stream)
        self._shown_at = -math.inf
        self._label = ""
        self._first_gap = math.inf
        self._waiting: Progress | None = None
        self._lock = threading.Lock()  # classes are fitted side by side

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            if progress.label != self._label or not math.isfinite(self._first_gap):
                self._label, self._first_gap = progress.label, progress.relative_gap
            self._waiting = progress
            if time.perf_counter() - self._shown_at >= self._screen.patience:
                self._show(progress)

    def _show(self, progress: Progress) -> None:
        self._shown_at = time.perf_counter()
        self._waiting = None
        self._screen.show(self._line(progress), self._share(progress.relative_gap))

    def _line(self, progress: Progress) -> str:
        label = f"{progress.label}: " if progress.label else ""
        return printable(
            f"{label}{progress.seconds:6.1f} s, {progress.passes:.0f} passes: "
            f"within {percent(progress.relative_gap, 'up')} of the optimum (goal {percent(self._tol)})"
        )

    def _share(self, gap: float) -> float:
        """Return the share of the digits to gain, from the first gap to the tolerance, that are gained."""
        if gap <= self._tol:
            return 1.0
        if not (math.isfinite(gap) and gap < self._first_gap and self._tol > 0):
            return 0.0
        if not math.isfinite(self._first_gap):
            return 0.0
        return math.log(self._first_gap / gap) / math.log(self._first_gap / self._tol)

    def close(self) -> None:
        """Show the last progress, unless it has been shown, and end the line."""
        with self._lock:
            if self._waiting is not None:
                self._show(self._waiting)
            self._screen.close()


def _screen(stream: TextIO | None) -> Screen:
    if stream is None:
        display = _notebook_display()
        if display is not None:
            return Notebook(display)
        stream = sys.stderr
    return Terminal(stream) if stream.isatty() else Log(stream)


def _notebook_display() -> Callable[..., Any] | None:
    """Return IPython's display function in a notebook, without importing anything; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    display: Callable[..., Any] = importlib.import_module("IPython.display").display
    return display


def _bar(line: str, share: float) -> str:
    look = "font:13px/1.5 system-ui,sans-serif;display:flex;gap:.7em;align-items:center;flex-wrap:wrap"
    return (
        f'<div style="{look}"><progress max="1" value="{share:.3f}" aria-label="digits gained"></progress>'
        f"<span>{escape(line.strip())}</span></div>"
    )


def show_line(line: str) -> None:
    """Print a line to the standard error, before a fit."""
    print(printable(line), file=sys.stderr, flush=True)


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
