"""Tables in a terminal, and the same for the next program."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

__all__ = ["aligned", "on_one_line", "separated"]

# What a terminal would end a line at, or take for a command.
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


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
    table = [[on_one_line(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(len(row[k]) for row in table) for k in range(len(heading))]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(f"{indent}{'  '.join(cells)}".rstrip())
    return lines


def on_one_line(text: str) -> str:
    r"""Return a text with line breaks, and what else a terminal would not show, as Python writes them.

    Examples
    --------
    >>> on_one_line("town=New\nYork")
    'town=New\\nYork'
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


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
