"""The command line: ``maxmargin train``, ``predict`` and the other commands, one per module."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from maxmargin.cli.codes import INTERRUPTED

__all__ = ["main", "run"]


def main(arguments: Sequence[str] | None = None, *, ends_process: bool = False) -> int:
    """Run the command that the arguments name and return the exit code.

    Everything else is imported here, so that Ctrl-C during the imports gives one line and no traceback.
    """
    try:
        from maxmargin.cli import program

        return program.main(arguments, ends_process=ends_process)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("\nmaxmargin: interrupted\n")
        return INTERRUPTED


def run() -> int:
    """Run the command of the process's arguments: the entry point of the program.

    Ctrl-C while Python shuts down ends it at once: there would be a traceback, and nothing is left to do.
    """
    import atexit
    import os
    import signal

    ended: list[int] = []

    def leave() -> None:
        if ended:  # by a signal, of which more may follow: Python would take none of them from here on
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended[0])

    atexit.register(leave)  # first, so that it is called last
    code = main(ends_process=True)
    if code in {128 + getattr(signal, name, 0) for name in ("SIGTERM", "SIGHUP")}:
        ended.append(code)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code
