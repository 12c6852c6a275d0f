"""From the columns of a table to features: categories, missing values, and the record of how it was done."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError, InvalidInput
from maxmargin.inputs.assemble_rows import Part, assemble
from maxmargin.inputs.categories import part_of_text
from maxmargin.inputs.column_roles import Roles
from maxmargin.inputs.missing_values import (
    Strange,
    fill_in,
    find_strange,
    refuse_missing,
    usual_value,
)
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.table_columns import FoundColumns, Refusal, TextColumn
from maxmargin.results.data import Data
from maxmargin.results.encoding import Encoding, SourceColumn

__all__ = [
    "check_infinite",
    "check_width",
    "encode_table",
    "encoding_of",
    "labels_of",
    "parts_of",
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
    strange = check_infinite(found, refuse)
    parts = []
    for feature in roles.read:
        if feature.place in column_of:
            column = column_of[feature.place]
            part = Part(feature, found.numbers[:, column], column, not strange.has_gaps[column])
        else:
            part = part_of_text(feature, found.texts[feature.place], settings, refuse, roles.header.source)
        if feature.known is not None:
            part.fill = feature.known.fill
        parts.append(part)
    return parts


def check_infinite(found: FoundColumns, refuse: Refusal) -> Strange:
    """Refuse the first infinite number; return which columns have gaps."""
    strange = find_strange(found.numbers)
    if strange.infinite is not None:
        value = found.numbers[strange.infinite]
        row, column = strange.infinite
        raise refuse(f"expected a finite number, found {value}", row, found.number_places[column])
    return strange


def check_width(width: int, settings: ReadSettings, roles: Roles) -> None:
    """Refuse another number of features than was promised."""
    if settings.n_columns is not None and settings.n_columns != width:
        raise FileFormatError(
            f"expected {settings.n_columns} columns beside the label, found {width}", roles.header.source
        )


def encoding_of(roles: Roles, parts: list[Part]) -> Encoding | None:
    """Return how the columns became features, None where each is a column of numbers as it is."""
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
    if all(column.kind == "number" and column.fill is None for column in columns):
        return None
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
    """Return the labels as numbers, truth values or text; None where there are none.

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
    """Say that there is no row to learn from."""
    raise InvalidInput(f"{roles.header.source}: all weights are 0")


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers or truth values in double precision."""
    return np.asarray(values, dtype=np.float64)
