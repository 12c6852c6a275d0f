"""From the columns of a table to features: categories, missing values, and the record of how it was done."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.errors import FileFormatError, InvalidInput, Setting
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.columns import FoundColumns, Part, Refusal, TextColumn, assemble
from maxmargin.io.tables.roles import Feature, Roles, ways_out

__all__ = [
    "BOOLEANS",
    "are_booleans",
    "check_infinite",
    "check_width",
    "encode_table",
    "encoding_of",
    "labels_of",
    "refuse_missing",
    "refuse_no_categories",
    "refuse_no_weight",
    "weights_of",
]


def encode_table(
    roles: Roles,
    found: FoundColumns,
    settings: ReadSettings,
    refuse: Refusal,
    scheme: str,
    *,
    is_batch: bool = False,
) -> Data:
    """Return the data set that a table holds.

    Parameters
    ----------
    roles : Roles
        What each column is for.
    found : FoundColumns
        The columns; ``numbers`` may be changed, and may become the rows.
    settings : ReadSettings
        What to do about missing values and unknown categories.
    refuse : callable
        Makes an error about one value, which says where it is.
    scheme : str
        What `Data` calls the format.
    is_batch : bool
        Whether these are some rows of a larger table.
    """
    if found.n_rows == 0:
        raise FileFormatError("there are columns but no rows", roles.header.source)
    parts = parts_of(roles, found, settings, refuse)
    if settings.encoding is not None or settings.missing == "refuse":
        refuse_missing([part for part in parts if part.fill is None], refuse)
    else:
        for part in parts:
            part.fill = usual_value(part, settings.missing, roles.header.source)
    for part in parts:
        fill_in(part)
    encoding = settings.encoding or encoding_of(roles, parts)
    has_names = bool(roles.header.names) or encoding is not None
    names = tuple(name for part in parts for name in part.feature_names)
    X = assemble(found.numbers, parts)
    check_width(X.shape[1], settings, roles)
    labels = labels_of(roles, found, settings, refuse)
    weights = weights_of(roles, found, refuse)
    if weights is not None and not is_batch and not weights.any():
        refuse_no_weight(roles)
    return Data(
        X,
        labels,
        sample_weight=weights,
        feature_names=names if has_names else None,
        scheme=scheme,
        label=None if roles.label is None else roles.header.given(roles.label),
        weight=None if roles.weight is None else roles.header.given(roles.weight),
        encoding=None if encoding is None or encoding.is_plain else encoding,
    )


def parts_of(roles: Roles, found: FoundColumns, settings: ReadSettings, refuse: Refusal) -> list[Part]:
    """Return the features' columns, each as numbers or as categories."""
    column_of = {place: column for column, place in enumerate(found.number_places)}
    nonfinite = check_infinite(found, refuse)
    parts = []
    for feature in roles.read:
        if feature.place in column_of:
            column = column_of[feature.place]
            part = Part(feature, found.numbers[:, column], column, not nonfinite.has_gaps[column])
        else:
            part = part_of_text(feature, found.texts[feature.place], settings, refuse, roles.header.source)
        if feature.known is not None:
            part.fill = feature.known.fill
        parts.append(part)
    return parts


def check_infinite(found: FoundColumns, refuse: Refusal) -> NonFinite:
    """Refuse the first infinite number; return which columns have gaps."""
    nonfinite = find_nonfinite(found.numbers)
    if nonfinite.infinite is not None:
        value = found.numbers[nonfinite.infinite]
        row, column = nonfinite.infinite
        raise refuse(f"expected a finite number, found {value}", row, found.number_places[column])
    return nonfinite


def check_width(width: int, settings: ReadSettings, roles: Roles) -> None:
    """Refuse another number of features than was promised."""
    if settings.n_columns is not None and settings.n_columns != width:
        raise FileFormatError(
            f"expected {settings.n_columns} columns beside the label, found {width}", roles.header.source
        )


def encoding_of(roles: Roles, parts: list[Part]) -> Encoding | None:
    """Return how the columns became features, None where each is a column of numbers as it is."""
    if len(parts) == len(roles.features) and all(
        part.categories is None and part.fill is None for part in parts
    ):
        return None
    part_of = {part.feature.place: part for part in parts}
    columns = []
    for feature in roles.features:
        part = part_of.get(feature.place)
        if part is None:
            columns.append(SourceColumn(feature.name, "dropped"))
        elif part.categories is None:
            columns.append(SourceColumn(feature.name, fill=part.fill))
        else:
            columns.append(SourceColumn(feature.name, "categories", part.categories, part.fill))
    names = [column.name for column in columns]
    repeated = [name for name in names if names.count(name) > 1] if len(set(names)) < len(names) else []
    if repeated:
        raise FileFormatError(
            f'two columns have the name "{repeated[0]}"; with categories, replaced values or columns left '
            "out, names must differ",
            roles.header.source,
        )
    return Encoding(tuple(columns), has_names=bool(roles.header.names))


# ---------------------------------------------------------------- labels and weights


def labels_of(
    roles: Roles, found: FoundColumns, settings: ReadSettings, refuse: Refusal
) -> NDArray[Any] | None:
    """Return the labels as numbers, booleans or text; None where there are none.

    A table to be predicted, read by an encoding, may have a column for labels with nothing in it.
    """
    label = found.label
    if label is None or roles.label is None:
        return None
    is_missing = label.codes == -1 if isinstance(label, TextColumn) else np.isnan(as_numbers(label))
    if is_missing.any():
        if settings.encoding is not None and is_missing.all():
            return None
        raise refuse("the label is missing; every row needs one", int(np.argmax(is_missing)), roles.label)
    if isinstance(label, TextColumn):
        return np.array(label.texts)[label.codes]
    if label.dtype.kind == "f" and not np.isfinite(label).all():
        row = int(np.argmin(np.isfinite(label)))
        raise refuse(f"expected a finite number as label, found {label[row]}", row, roles.label)
    return label


def weights_of(roles: Roles, found: FoundColumns, refuse: Refusal) -> NDArray[np.float64] | None:
    """Return the weights: finite numbers, none of them negative."""
    weight = found.weight
    if weight is None or roles.weight is None:
        return None
    if isinstance(weight, TextColumn):
        codes = weight.codes
        row = int(np.argmax(codes != -1))
        if codes[row] == -1:
            raise refuse("expected a weight (a finite number, 0 or larger), found nothing", row, roles.weight)
        raise refuse(f'expected a weight, found "{weight.texts[codes[row]]}"', row, roles.weight)
    numbers = as_numbers(weight)
    is_bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if is_bad.any():
        row = int(np.argmax(is_bad))
        value = "nothing" if np.isnan(numbers[row]) else f"{numbers[row]:g}"
        raise refuse(f"expected a weight (a finite number, 0 or larger), found {value}", row, roles.weight)
    return numbers


def refuse_no_weight(roles: Roles) -> NoReturn:
    """Refuse data in which every weight is 0."""
    raise InvalidInput(f"{roles.header.source}: all weights are 0")


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers or booleans in double precision."""
    return np.asarray(values, dtype=np.float64)


# ------------------------------------------------------------------------------------------------
# A column of text as categories: which there are, and which columns are no categories at all.

MOST_CATEGORIES = 1000
# So few different texts are never too many, however few rows there are.
FEW_CATEGORIES = 20
BOOLEANS = {"false": 0.0, "true": 1.0}
MOST_BOOLEANS = 2**4 + 2**5  # in whatever mixture of small and capital letters
DATE = re.compile(r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([ T]\d.*)?")
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")


def part_of_text(
    feature: Feature, column: TextColumn, settings: ReadSettings, refuse: Refusal, source: str
) -> Part:
    """Return the column as categories, or as the numbers 0 and 1 if it holds booleans.

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
    if are_booleans(column.texts) and not column.is_stated:
        numbers = np.array([*(BOOLEANS[text.lower()] for text in column.texts), np.nan])
        return Part(feature, numbers[column.codes])
    if feature.kind == "number":
        row = int(np.argmax(column.codes >= 0))
        text = column.texts[column.codes[row]]
        raise refuse(f'expected a number, as in the training table; found "{text}"', row, feature.place)
    if not column.is_stated and column.texts:
        row = int(np.argmax(column.codes >= 0))
        refuse_no_categories(
            feature,
            column.texts,
            int(np.count_nonzero(column.codes >= 0)),
            column.texts[column.codes[row]],
            lambda message, **fields: refuse(message, row, feature.place, **fields),
            source,
        )
    return _stated(feature, column)


def are_booleans(texts: Collection[str]) -> bool:
    """Return whether there are no other texts than true and false."""
    return len(texts) <= MOST_BOOLEANS and {text.lower() for text in texts} <= BOOLEANS.keys()


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
            f'the category "{column.texts[column.codes[row]]}" was not in the training table',
            row,
            feature.place,
            remedy="{unknown} gives it no feature",
            unknown=Setting("unknown", "zeros", '"zeros"'),
        )
    return Part(feature, values, categories=categories)


def refuse_no_categories(
    feature: Feature,
    texts: Collection[str],
    n_present: int,
    first: str,
    refuse_first: Callable[..., FileFormatError],
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
        (
            DECIMAL_COMMA,
            "a number with a decimal comma; write decimal points, or say {decimal} of a text table",
        ),
    ):
        if all(pattern.fullmatch(text) for text in texts):
            fields = ways_out(feature.name, instead="Or ") | {"decimal": Setting("decimal", ",", '","')}
            raise refuse_first(f'"{first}" looks like {what}.', **fields)
    n_texts = len(texts)
    if n_texts > MOST_CATEGORIES or (n_texts > FEW_CATEGORIES and 2 * n_texts >= n_present):
        raise FileFormatError(
            f'the column "{feature.name}" has {n_texts:,} different texts in {n_present:,} rows: an '
            "identifier or free text, no categories?",
            source,
            **ways_out(feature.name),
        )


# ------------------------------------------------------------------------------------------------
# Missing values: found, refused with their place, or replaced by a usual value of their column.

ROWS_AT_ONCE = 16384


class NonFinite(NamedTuple):
    """What is not a finite number in a matrix."""

    infinite: tuple[int, int] | None  # row and column of the first infinite number
    has_gaps: NDArray[np.bool_]  # for each column whether a value is missing


def find_nonfinite(numbers: NDArray[Any]) -> NonFinite:
    """Look for infinite numbers and for NaN, which stands for a missing value."""
    has_gaps = np.zeros(numbers.shape[1], dtype=bool)
    infinite = None
    for first in range(0, len(numbers), ROWS_AT_ONCE):
        rows = numbers[first : first + ROWS_AT_ONCE]
        if np.isfinite(rows).all():
            continue
        has_gaps |= np.isnan(rows).any(axis=0)
        is_infinite = np.isinf(rows)
        if infinite is None and is_infinite.any():
            row, column = divmod(int(np.argmax(is_infinite)), rows.shape[1])
            infinite = first + row, column
    return NonFinite(infinite, has_gaps)


def refuse_missing(parts: list[Part], refuse: Refusal) -> None:
    """Refuse the first missing value, the upper one before the lower one."""
    found = []
    for number, part in enumerate(parts):
        if part.is_complete:
            continue
        is_missing = part.is_missing
        if is_missing.any():
            found.append((int(np.argmax(is_missing)), number))
    if not found:
        return
    message = "the value is missing"
    row, number = min(found)
    feature = parts[number].feature
    if feature.known is not None:
        why = "; the training table had none there and was not read with {missing}, so nothing stands for it"
        raise refuse(
            f"{message}{why}", row, feature.place, parameter="missing", missing=Setting("missing", ...)
        )
    raise refuse(
        message,
        row,
        feature.place,
        parameter="missing",
        remedy='{missing} replaces it (or "mean", "most_frequent")',
        missing=Setting("missing", "median", '"median"'),
    )


def usual_value(part: Part, rule: str, source: str) -> float | str:
    """Return what stands for a missing value of this column.

    Parameters
    ----------
    part : Part
        The column.
    rule : {"mean", "median", "most_frequent"}
        Of numbers; categories always have their most frequent one. Of several that are equally frequent it
        is the smallest.
    source : str
        What error messages call the table.
    """
    present = part.values if part.is_complete else part.values[~part.is_missing]
    if len(present) == 0:
        raise FileFormatError(
            f'the column "{part.feature.name}" has no value at all',
            source,
            remedy="leave it out by {drop}",
            drop=Setting("drop", ...),
        )
    if part.categories is not None:
        return part.categories[int(np.argmax(np.bincount(present)))]
    if rule == "mean":
        return float(np.mean(present, dtype=np.float64))
    if rule == "median":
        return float(np.median(present.astype(np.float64)))
    values, counts = np.unique(present, return_counts=True)
    return float(values[np.argmax(counts)])


def fill_in(part: Part) -> None:
    """Put what stands for missing values in their place."""
    if part.fill is None or part.is_complete:
        return
    is_missing = part.is_missing
    fill = part.fill if part.categories is None else part.categories.index(str(part.fill))
    part.values[is_missing] = fill
