"""Telling that lines of a file were left out."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from maxmargin.errors import FileFormatError, SkippedLines

__all__ = ["skipped_lines_text", "warn_of_skipped_lines"]

PACKAGE = __name__.partition(".")[0]


def skipped_lines_text(n_lines: int, first: FileFormatError) -> str:
    """Return how many lines were left out, and what is wrong with the first."""
    if n_lines == 1:
        return f"1 line was left out: line {first.line}, column {first.column}: {first.message}"
    return (
        f"{n_lines:,} lines were left out; the first is line {first.line}, column {first.column}: "
        f"{first.message}"
    )


def warn_of_skipped_lines(path: Path, n_lines: int, first: FileFormatError) -> None:
    """Warn in the name of whoever called this package, from however deep inside it."""
    message = f"{path}: {skipped_lines_text(n_lines, first)}"
    warnings.warn(SkippedLines(message, n_lines), stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """Return how many frames above `warn_of_skipped_lines` the first one outside the package is."""
    frame = sys._getframe(1)
    level = 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    return level


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
