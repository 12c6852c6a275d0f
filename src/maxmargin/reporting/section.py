"""What a section of a report is made of, before it becomes HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.reporting.subject import Subject

__all__ = ["Chart", "Column", "Section", "Table", "capital", "digits", "drawn_problems", "numbers", "signed"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and whether it holds numbers, which stand to the right."""

    name: str
    is_number: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under headings.

    Attributes
    ----------
    caption : str
    columns : sequence of Column
    rows : sequence of sequences of str
        The cells; a pair (text, number) shows the text and is sorted by the number.
    can_sort, can_filter : bool
        Whether a reader may order the rows and search them.
    first : int
        So many rows are shown before somebody asks for all; 0 shows all.
    stacks : bool
        Whether each row becomes a block of its own on a narrow screen; else the table scrolls sideways.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    can_sort: bool = False
    can_filter: bool = False
    first: int = 0
    stacks: bool = False


@dataclass(frozen=True)
class Chart:
    """A picture that the page draws, and the same in words and numbers for those who cannot see it.

    Attributes
    ----------
    id : str
    title : str
        What is drawn, in a few words.
    spec : mapping
        What the script gets: ``kind`` says which one draws it, the rest is its own.
    tables : sequence of Table
        The numbers that are drawn.
    caption : str
        What one can read from it.
    """

    id: str
    title: str
    spec: Mapping[str, Any]
    tables: Sequence[Table]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes
    ----------
    id, title : str
    short : str
        Its name in the list of contents.
    lead : sequence of str
        Paragraphs that open it.
    charts, tables : sequences
    notes : sequence of str
        What is missing, limited or to be kept in mind.
    template : str
        The fragment that lays it out.
    data : mapping
        What only this fragment understands.
    """

    id: str
    title: str
    short: str
    lead: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    template: str = "section.html.j2"
    data: Mapping[str, Any] = field(default_factory=dict)


def capital(sentence: str) -> str:
    """Begin a sentence with a capital letter, and leave the rest of it alone.

    Examples
    --------
    >>> capital("within 1 % of the optimum, by LP duality")
    'Within 1 % of the optimum, by LP duality'
    """
    return sentence[:1].upper() + sentence[1:]


def digits(value: float, count: int = 4) -> str:
    """Write a number with some significant digits and a true minus sign.

    Examples
    --------
    >>> digits(-0.0123456), digits(1234567.0), digits(20.0), digits(float("inf"))
    ('−0.01235', '1.235e+06', '20', '∞')
    """
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "unknown"
    return f"{float(value):.{count}g}".replace("-", "−").replace("e−0", "e−")


def signed(value: float, count: int = 3) -> str:
    """Write a number with its sign and all its digits, so that numbers line up.

    Examples
    --------
    >>> signed(0.5), signed(-2.0), signed(120.0), signed(0.0)
    ('+0.500', '−2.00', '+120', '0')
    """
    if value == 0:
        return "0"
    return f"{float(value):+#.{count}g}".rstrip(".").replace("-", "−").replace("e−0", "e−")


def numbers(values: Any, count: int = 5) -> list[float | None]:
    """Return numbers for a script, no longer than a picture needs; None for what is not finite.

    Examples
    --------
    >>> numbers([1.23456789, float("nan"), 1000000.0])
    [1.2346, None, 1000000.0]
    """
    return [
        float(f"{value:.{count}g}") if np.isfinite(value) else None for value in np.ravel(values).tolist()
    ]


# ------------------------------------------------------------------------------------------------
# Which classes get pictures of their own where there are many.

MOST = 12


def drawn_problems(subject: Subject) -> tuple[list[int], str]:
    """Return the numbers of the problems to draw, and what to say about the others.

    Of many classes those are drawn that have most errors, in the order of the classes.
    """
    n_problems = subject.examined.signs.shape[1]
    if n_problems <= MOST:
        return list(range(n_problems)), ""
    wrong = subject.examined.lead <= 0
    errors = np.bincount(subject.codes()[wrong], minlength=n_problems)
    worst = np.sort(np.argsort(-errors, kind="stable")[:MOST])
    return worst.tolist(), f"Of {n_problems} classes the {MOST} with most training errors are shown."
