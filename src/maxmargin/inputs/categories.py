"""A column of text as categories: which there are, and which columns are no categories at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import numpy as np

from maxmargin.errors import FileFormatError
from maxmargin.inputs.assemble_rows import Part
from maxmargin.inputs.column_roles import Feature, ways_out
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.table_columns import Refusal, TextColumn

__all__ = ["TRUTHS", "are_truths", "part_of_text", "refuse_no_categories"]

MOST_CATEGORIES = 1000
# So few different texts are never too many, however few rows there are.
FEW_CATEGORIES = 20
TRUTHS = {"false": 0.0, "true": 1.0}
MOST_TRUTHS = 2**4 + 2**5  # in whatever mixture of small and capital letters
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T]\d.*)?")
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")


def part_of_text(
    feature: Feature, column: TextColumn, settings: ReadSettings, refuse: Refusal, source: str
) -> Part:
    """Return the column as categories, or as the numbers 0 and 1 if it holds truth values.

    Parameters
    ----------
    feature : Feature
        What is known about the column.
    column : TextColumn
        What it holds.
    settings : ReadSettings
        What to do about categories that an encoding does not know.
    refuse : callable
        Makes an error about one value.
    source : str
        What errors about the whole column call the table.
    """
    if feature.kind == "categories":
        known = feature.known
        return _stated(feature, column) if known is None else _known(feature, column, settings, refuse)
    if are_truths(column.texts) and not column.is_stated:
        numbers = np.array([*(TRUTHS[text.lower()] for text in column.texts), np.nan])
        return Part(feature, numbers[column.codes])
    if feature.kind == "number":
        row = int(np.argmax(column.codes >= 0))
        text = column.texts[column.codes[row]]
        raise refuse(f'expected a number, as in the earlier table; found "{text}"', row, feature.place)
    if not column.is_stated and column.texts:
        row = int(np.argmax(column.codes >= 0))
        refuse_no_categories(
            feature,
            column.texts,
            int(np.count_nonzero(column.codes >= 0)),
            column.texts[column.codes[row]],
            lambda message: refuse(message, row, feature.place),
            source,
        )
    return _stated(feature, column)


def are_truths(texts: Collection[str]) -> bool:
    """Tell whether there are no other texts than true and false."""
    return len(texts) <= MOST_TRUTHS and {text.lower() for text in texts} <= TRUTHS.keys()


def _stated(feature: Feature, column: TextColumn) -> Part:
    """Return all texts that occur as categories, in ascending order."""
    occurs = np.zeros(len(column.texts) + 1, dtype=bool)
    occurs[column.codes] = True  # the last one stands for missing values
    order = sorted(np.flatnonzero(occurs[:-1]).tolist(), key=column.texts.__getitem__)
    place = np.full(len(column.texts) + 1, -1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return Part(feature, place[column.codes], categories=tuple(column.texts[code] for code in order))


def _known(feature: Feature, column: TextColumn, settings: ReadSettings, refuse: Refusal) -> Part:
    """Return the categories of the earlier table."""
    assert feature.known is not None
    categories = feature.known.categories
    positions = {category: position for position, category in enumerate(categories)}
    place = np.array([*(positions.get(text, -2) for text in column.texts), -1], dtype=np.int32)
    values = place[column.codes]
    if settings.unknown == "refuse" and (values == -2).any():
        row = int(np.argmax(values == -2))
        raise refuse(
            f'the category "{column.texts[column.codes[row]]}" was not in the earlier table; '
            'unknown="zeros" gives it no feature',
            row,
            feature.place,
        )
    return Part(feature, values, categories=categories)


def refuse_no_categories(
    feature: Feature,
    texts: Collection[str],
    n_present: int,
    first: str,
    refuse_first: Callable[[str], FileFormatError],
    source: str,
) -> None:
    """Refuse dates, numbers with a comma, and columns in which almost every text is another.

    Parameters
    ----------
    feature : Feature
        The column.
    texts : collection of str
        The different texts in it.
    n_present : int
        In how many rows there is one.
    first : str
        The first of them.
    refuse_first : callable
        Makes an error about that one.
    source : str
        What an error about the whole column calls the table.
    """
    for pattern, what in (
        (DATE, "a date; make numbers of it, such as days since another date"),
        (DECIMAL_COMMA, "a number with a decimal comma; write decimal points"),
    ):
        if all(pattern.fullmatch(text) for text in texts):
            raise refuse_first(f'"{first}" looks like {what}. Or {ways_out(feature.name)}')
    n_texts = len(texts)
    if n_texts > MOST_CATEGORIES or (n_texts > FEW_CATEGORIES and 2 * n_texts >= n_present):
        raise FileFormatError(
            f'the column "{feature.name}" has {n_texts:,} different texts in {n_present:,} rows: an '
            f"identifier or free text, no categories? {ways_out(feature.name)}",
            source,
        )
