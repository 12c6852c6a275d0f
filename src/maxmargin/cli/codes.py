"""How a command ends: the exit codes, the same for all of them."""

from __future__ import annotations

__all__ = [
    "BROKEN_PIPE",
    "DONE",
    "EXIT_CODES",
    "INTERNAL_ERROR",
    "INTERRUPTED",
    "IN_SHORT",
    "MISSED",
    "OUTPUT_FAILED",
    "REFUSED",
]

DONE = 0
MISSED = 1
REFUSED = 2
INTERNAL_ERROR = 70  # EX_SOFTWARE of sysexits.h
OUTPUT_FAILED = 74  # EX_IOERR
INTERRUPTED = 130  # 128 + SIGINT, as shells count
BROKEN_PIPE = 141  # 128 + SIGPIPE

EXIT_CODES = """\
exit codes:
  0    done, and every goal was reached
  1    done and written, but a goal such as --tol was missed; a warning says how
  2    refused: one line says why and what to do; no file was written
  70   an internal error of maxmargin
  74   a file was written, but the standard output could not be
  130  interrupted by Ctrl-C; a line says whether a partial result was kept
  141  the reader of the output closed it
  143  ended by SIGTERM (129: by SIGHUP), handled like Ctrl-C
"""

IN_SHORT = "exit codes: 0 done, 1 a goal was missed, 2 refused, 130 interrupted"
