"""How a command ends: the exit codes, the same for all of them."""

from __future__ import annotations

__all__ = [
    "BROKEN_PIPE",
    "DONE",
    "EXIT_CODES",
    "INTERRUPTED",
    "IN_SHORT",
    "MISSED",
    "OUR_MISTAKE",
    "REFUSED",
    "UNTOLD",
]

DONE = 0
MISSED = 1
REFUSED = 2
OUR_MISTAKE = 70  # EX_SOFTWARE of sysexits.h
UNTOLD = 74  # EX_IOERR
INTERRUPTED = 130  # 128 + SIGINT, as shells count
BROKEN_PIPE = 141  # 128 + SIGPIPE

EXIT_CODES = """\
exit codes:
  0    done, and everything that was asked for was reached
  1    done and written, but a goal such as --tol was missed; a warning says how
  2    refused: one line says why and what to do; no file was written
  70   a mistake in maxmargin itself
  74   a file was written, as a line says, but the standard output cannot be
  130  interrupted by Ctrl-C; a command that keeps what it has says so
  141  whoever read the output closed it
  143  ended by SIGTERM, or 129 by SIGHUP: as by Ctrl-C
"""

IN_SHORT = "exit codes: 0 done, 1 a goal was missed, 2 refused, 130 interrupted"
