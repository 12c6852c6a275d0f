"""What `save_data` writes besides the features: names, labels and metadata."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.encoding import Encoding
from maxmargin.errors import FileFormatError, InvalidInput
from maxmargin.rows.disk.arrays import parsed_json

__all__ = [
    "ABOUT",
    "About",
    "about_from",
    "about_to",
    "check_text",
    "check_width",
    "column_names",
    "label_array",
    "remembered",
]


# The name under which files store the metadata, as JSON.
ABOUT = "maxmargin"
LABEL = "label"
WEIGHT = "sample_weight"


class About(NamedTuple):
    """The metadata of a file: the label's name or number, weights, the encoding."""

    label: str | int | None = None
    label_column: str | None = None
    weight_column: str | None = None
    has_names: bool = True
    encoding: Encoding | None = None


def about_to(data: Data, label_column: str | None = None, weight_column: str | None = None) -> str:
    """Return the metadata as text."""
    return json.dumps(
        {
            "label": data.label,
            "label_column": label_column,
            "weight_column": weight_column,
            "has_names": data.feature_names is not None,
            "encoding": None if data.encoding is None else data.encoding.to_fields(),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def about_from(text: str | bytes, source: str) -> About:
    """Return the metadata of a file; invalid metadata are an error."""
    try:
        found = parsed_json(text)
        about = About(*(found[name] for name in About._fields))
        encoding = None if about.encoding is None else Encoding.from_fields(about.encoding)
        is_possible = (
            isinstance(about.label, str | int | None)
            and not isinstance(about.label, bool)
            and all(isinstance(name, str | None) for name in (about.label_column, about.weight_column))
            and isinstance(about.has_names, bool)
        )
    except (ValueError, KeyError, TypeError, RecursionError, InvalidInput):
        is_possible = False
    if not is_possible:
        raise FileFormatError(f'what it says about itself ("{ABOUT}") is damaged', source)
    return about._replace(encoding=encoding)


def remembered(data: Data, about: About) -> Data:
    """Return the data with the metadata of its file."""
    fits = about.encoding is not None and about.encoding.n_features == data.n_columns
    if data.encoding is not None:  # made by what the user said
        return data
    names = data.feature_names if about.has_names else None
    return replace(data, feature_names=names, encoding=about.encoding if fits else None)


def column_names(data: Data) -> tuple[list[str], str, str]:
    """Return names for the features, the label and the weight, the last two unlike all others."""
    names = list(data.feature_names or (f"x{number}" for number in range(1, data.n_columns + 1)))
    label = data.label if isinstance(data.label, str) else LABEL
    taken = set(names)
    while label in taken:
        label += "_"
    weight = WEIGHT
    while weight in taken or weight == label:
        weight += "_"
    return names, label, weight


def check_width(data: Data, most_columns: int) -> None:
    """Refuse sparse rows that would be a table of more columns than these, before any work is done."""
    if hasattr(data.X, "nnz") and data.n_columns > most_columns:
        raise InvalidInput(
            f"a table of {data.n_columns:,} columns, most of them zero; write sparse rows as .npz or .svm"
        )


def check_text(y: NDArray[Any]) -> None:
    """Refuse labels that are neither numbers nor text, or some of both."""
    if not all(isinstance(label, str) for label in y):
        raise InvalidInput("labels must be numbers, booleans or text to be written, not a mixture")


def label_array(data: Data) -> NDArray[Any]:
    """Return the labels as numbers, booleans or text."""
    y = data.y
    if y is None:
        raise InvalidInput("there are no labels to write; data.y is None")
    if y.dtype.kind == "O":
        check_text(y)
        text = y.astype(str)
        if text.tolist() != y.tolist():  # NumPy drops zeros at the end of a text
            raise InvalidInput("a label that ends in a zero byte cannot be written")
        return np.asarray(text)
    if y.dtype.kind not in "biufU":
        raise InvalidInput(f"labels must be numbers, booleans or text to be written; got {y.dtype}")
    return np.asarray(y)
