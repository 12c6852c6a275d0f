"""Output of the commands: sentences for people, one JSON object for programs, data for the next program."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any, TextIO

from maxmargin.errors import Message, Setting
from maxmargin.presentation.wording import printable

__all__ = ["Console", "aligned", "discard", "plain", "separated"]


class Console:
    """What a command prints, and where.

    Sentences go to the standard output, or to the standard error where the standard output carries something
    else: the JSON object of ``--json``, or data for the next program (`reserve_stdout`). Warnings and errors
    always go to the standard error, and into the JSON object as well. Control characters in labels and names
    are shown, not obeyed.

    Parameters
    ----------
    quiet : bool
        Print nothing but warnings and errors.
    json : bool
        End with one JSON object on the standard output, also where the command fails.
    command : str
        The name that the object carries.

    Attributes
    ----------
    spell, has : callable
        How a parameter of the library is written as an option, and whether the command has that option.
    """

    def __init__(self, quiet: bool = False, json: bool = False, command: str = "") -> None:
        self.quiet = quiet
        self.json = json
        self.command = command
        self.warnings: list[str] = []
        self.written: list[str] = []
        self.spell: Callable[[Setting], str] = str
        self.has: Callable[[Setting], bool] = lambda setting: True
        self._stdout_is_reserved = json
        self._is_finished = False
        self._fields: dict[str, Any] = {}

    @property
    def shows_progress(self) -> bool:
        """Whether there is a terminal to show progress in, and the command is not quiet."""
        return not self.quiet and sys.stderr.isatty()

    def reserve_stdout(self) -> None:
        """Leave the standard output to data."""
        self._stdout_is_reserved = True

    def print(self, line: str = "") -> None:
        """Print a line, without delay also into a log or a pipe."""
        if not self.quiet:
            self.output(line)

    def wrote(self, path: PurePath) -> None:
        """Print that a file was written, and remember it in case the output fails later."""
        self.written.append(str(path))
        self.print(f"wrote {path}")

    def output(self, line: str) -> None:
        """Print the result itself, which even a quiet command does."""
        if self._stdout_is_reserved:
            self.print_stderr(line)
        else:
            print(printable(line, but="\t"), flush=True)

    def print_stderr(self, line: str) -> None:
        """Print to the standard error, also where the command is quiet; the stream may be closed."""
        try:
            print(printable(line), file=sys.stderr, flush=True)
        except OSError:
            discard(sys.stderr)

    def warn(self, warning: str | Warning | Message) -> None:
        """Print a warning, and keep it for the JSON object."""
        text = self._one_line(warning)
        self.warnings.append(text)
        self.print_stderr(f"maxmargin: warning: {text}")

    def error(self, message: str | Message, error: BaseException | None = None) -> None:
        """Print on one line why the command failed."""
        text = self._one_line(message)
        self.print_stderr(f"maxmargin: error: {text}")
        self._fields = {"error": error_fields(text, error)}
        remedy: Callable[..., str | None] | None = getattr(error, "render_remedy", None)
        if remedy is not None:
            self._fields["error"]["remedy"] = remedy(self.spell, self.has)

    def _one_line(self, message: object) -> str:
        """Return a message on one line; parameters that it names become options."""
        if isinstance(message, Message):
            message = message.render(self.spell, self.has, or_none="")
        return " ".join(str(message).split())

    def interrupted(self, message: str, error: BaseException) -> None:
        """Print, below the ^C that a terminal shows, that the command was interrupted."""
        self.print_stderr("")
        self.print_stderr(f"maxmargin: {message}")
        self._fields = {"error": error_fields(message, error)}

    def add_fields(self, fields: Mapping[str, Any]) -> None:
        """Add fields to the JSON object."""
        self._fields.update(fields)

    def finish(self, code: int) -> None:
        """Print the JSON object, where it is wanted and has not been printed."""
        if self.json and not self._is_finished:
            self._is_finished = True
            found = {"command": self.command, "exit_code": code, **self._fields, "warnings": self.warnings}
            print(json.dumps(plain(found), ensure_ascii=False, allow_nan=False), flush=True)


def discard(stream: TextIO) -> None:
    """Send what is left for a stream nowhere, so that Python does not complain about it on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def error_fields(message: str, error: BaseException | None) -> dict[str, Any]:
    """Return an error as fields of the JSON object.

    They are its kind and message; for a file, the place; and the parameter of the library that was refused,
    its value and the remedy. What an error does not have is null.
    """
    names = ("path", "line", "column", "parameter", "value", "remedy")
    kind = "Usage" if error is None else type(error).__name__
    return {"kind": kind, "message": message, **{name: getattr(error, name, None) for name in names}}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: NumPy's numbers as numbers, arrays as lists, NaN and ±inf as null.

    Examples
    --------
    >>> plain({"gap": float("inf"), "out": PurePath("a.model"), "counts": (1, 2)})
    {'gap': None, 'out': 'a.model', 'counts': [1, 2]}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, PurePath):
        return str(value)
    return [plain(item) for item in value] if isinstance(value, Iterable) else repr(value)


# ------------------------------------------------------------------------------------------------
# Tables in a terminal, and the same for the next program.


def aligned(heading: Sequence[str], rows: Sequence[Sequence[str]], *, indent: str = "  ") -> list[str]:
    """Return lines with the first column to the left and the others to the right.

    Examples
    --------
    >>> for line in aligned(["C", "errors"], [["0.1", "12"], ["10", "7"]]):
    ...     print(line)
      C    errors
      0.1      12
      10        7
    """
    table = [[printable(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(heading))]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(f"{indent}{'  '.join(cells)}".rstrip())
    return lines


def separated(heading: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = "\t") -> Iterator[str]:
    r"""Yield a table as text with tabs, or commas, between its fields, numbers with all their digits.

    Examples
    --------
    >>> list(separated(["C", "errors"], [[0.1, 12]]))
    ['C\terrors\n', '0.1\t12\n']
    """
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    for row in itertools.chain([heading], rows):
        writer.writerow(row)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
