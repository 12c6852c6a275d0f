"""What is said of data that were read, and what is refused of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import STANDARD, column, read_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maxmargin.cli.console import Voice
    from maxmargin.data import Data
    from maxmargin.model.model import LinearModel
    from maxmargin.model.reading import RowsForModel

__all__ = [
    "add_own_weight",
    "check_classes",
    "label_guess",
    "read_classes",
    "read_weighted_rows",
    "source_text",
]


# Names by which `load_data` takes a column for the label.
USUAL_NAMES = ("label", "y", "target", "class")


def source_text(source: Path) -> str:
    """Return what a person calls the source."""
    return "standard input" if source == STANDARD else str(source)


def read_classes(arguments: argparse.Namespace, voice: Voice, *, for_a_fit: bool = False) -> Data:
    """Read what a command learns from, say what it is, and refuse what holds nothing to tell apart."""
    from maxmargin.cli.described import data_fields

    data = read_data(arguments, arguments.data, for_a_fit=for_a_fit)
    say_what_was_read(data, arguments, voice)
    voice.result({"data": data_fields(data, arguments.data)})
    check_classes(data.classes, arguments.data, has_label=data.label is not None)
    return data


def say_what_was_read(data: Data, arguments: argparse.Namespace, voice: Voice) -> None:
    """Say how many rows and columns there are, and what was guessed or made of them."""
    voice.say(f"read {source_text(arguments.data)}: {data}")
    guess = label_guess(data.label, arguments.label)
    if guess:
        voice.say(guess)
    if data.encoding is not None:
        voice.say(f"columns: {data.encoding}")


def label_guess(label: str | int | None, asked: str | int | None) -> str:
    """Say which column was taken for the label where nobody said so; nothing where somebody did."""
    if label is None or asked is not None:
        return ""
    if isinstance(label, str):
        why = "by its name" if label.lower() in USUAL_NAMES else "the last one"
        return f'label guessed: column "{label}", {why}; --label names another'
    return f"label guessed: column {label}, the last one, counted from 0; --label names another"


def check_classes(classes: NDArray[Any], source: Path, *, has_label: bool) -> None:
    """Refuse what holds nothing to tell apart."""
    from maxmargin.data import label_text
    from maxmargin.errors import InvalidInput

    if len(classes) < 2:
        only = label_text(classes[0], is_signed=False)
        raise InvalidInput(
            f"{source_text(source)} has one class only ({only}): there is nothing to tell apart"
            + ("; --label names another column" if has_label else "")
        )


# ------------------------------------------------------------------------------------------------
# Rows for a model that was trained with weights: their column is its own, unless another one is named.


def add_own_weight(parser: Any, purpose: str = "") -> None:
    """Describe the option that names the column, and what it is for."""
    parser.add_argument(
        "--weight",
        metavar="COLUMN",
        type=column,
        help=f"{purpose}with the weights of the rows, as in training (the same column, if there was one)",
    )


def read_weighted_rows(model: LinearModel, arguments: argparse.Namespace, voice: Voice) -> RowsForModel:
    """Read rows with labels and the weights that the model was trained with; say where they are.

    Without them its objective would be another one, so a file that lacks them is refused.
    """
    from maxmargin.cli.streams import read_labelled_rows
    from maxmargin.errors import InvalidInput

    rows = read_labelled_rows(model, arguments, own_weights=True)
    column = f'"{model.weight}"' if isinstance(model.weight, str) else f"{model.weight}, counted from 0"
    named = "" if model.weight is None else f" (column {column} of its table)"
    if rows.sample_weight is None:
        if model.is_weighted:
            raise InvalidInput(
                f"{source_text(arguments.model)} was trained with weights of the rows{named}, which "
                f"{source_text(arguments.data)} does not have: give the data that it was trained on, or name "
                "the column by --weight"
            )
    elif arguments.weight is None:
        where = "those of the file" if model.weight is None else f"column {column}, as in training"
        voice.say(f"weights of the rows: {where}; --weight names another column")
    return rows
