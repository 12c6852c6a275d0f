"""Tables in a terminal, and the same for the next program."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from maxmargin.results.wording import printable

__all__ = ["aligned", "separated"]


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
