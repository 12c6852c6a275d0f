"""Signals that end a program: a command ends by them as it does by Ctrl-C, with nothing half-written left."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from maxmargin.cli.codes import INTERRUPTED

__all__ = ["EndingSignals", "ending_as_ctrl_c"]

_MADE_OF_IT = (ImportError, KeyboardInterrupt)
ENDING_SIGNALS = ("SIGTERM", "SIGHUP")  # by kill, and by a terminal that is closed


class EndingSignals:
    """Which signal came first, if any did, and whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.came: int | None = None
        self.pressed = False

    def take(self, number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C does; a second signal must not disturb the tidying up after the first."""
        if self.came is None:
            self.came = number
            raise KeyboardInterrupt

    def press(self, number: int, frame: FrameType | None) -> None:
        """Do what Python does at Ctrl-C, and remember it: C code may make another error of it."""
        self.pressed = True
        raise KeyboardInterrupt

    def are_behind(self, error: Exception) -> bool:
        """Return whether an error is what became of Ctrl-C while modules were loaded.

        NumPy then says that it cannot be imported, and Python that a class cannot be made.
        """
        has_come = self.pressed or self.came is not None
        return has_come and isinstance(error if error.__cause__ is None else error.__cause__, _MADE_OF_IT)

    def code(self, code: int) -> int:
        """Return the exit code of a command, which names the signal if it was one that ended it."""
        return 128 + self.came if code == INTERRUPTED and self.came is not None else code


@contextmanager
def ending_as_ctrl_c(*, ends_process: bool = False) -> Iterator[EndingSignals]:
    """Take signals while a command runs; one that is taken or ignored already (nohup) stays so.

    Where the process ends with the command, those that follow the first are ignored until its very end.
    """
    signals = EndingSignals()
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # in others Python takes none
        for number in (getattr(signal, name) for name in ENDING_SIGNALS if hasattr(signal, name)):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, signals.take)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            before[signal.SIGINT] = signal.signal(signal.SIGINT, signals.press)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            is_over = ends_process and signals.came is not None
            signal.signal(number, signal.SIG_IGN if is_over else handler)
