"""Telling that lines of a file were left out."""

from __future__ import annotations

from pathlib import Path

from maxmargin.errors import FileFormatError, SkippedLines
from maxmargin.inputs.warn_caller import warn_caller

__all__ = ["skipped_lines_text", "warn_of_skipped_lines"]


def skipped_lines_text(n_lines: int, first: FileFormatError) -> str:
    """Return how many lines were left out, and what is wrong with the first."""
    if n_lines == 1:
        return f"1 line was left out: line {first.line}, column {first.column}: {first.message}"
    return (
        f"{n_lines:,} lines were left out; the first is line {first.line}, column {first.column}: "
        f"{first.message}"
    )


def warn_of_skipped_lines(path: Path, n_lines: int, first: FileFormatError) -> None:
    """Warn in the name of whoever called this package."""
    warn_caller(SkippedLines(f"{path}: {skipped_lines_text(n_lines, first)}", n_lines))
