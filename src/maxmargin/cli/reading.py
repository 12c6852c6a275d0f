"""Reading data for a command: what is printed about them, and what is refused."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import STANDARD, column, read_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maxmargin.cli.console import Console
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


def read_classes(arguments: argparse.Namespace, console: Console, *, for_a_fit: bool = False) -> Data:
    """Read training data, print what they are, and refuse data of a single class."""
    from maxmargin.cli.json_fields import data_fields

    data = read_data(arguments, arguments.data, for_a_fit=for_a_fit)
    print_what_was_read(data, arguments, console)
    fields = data_fields(data, arguments.data)
    console.add_fields({"data": fields})
    counts = [one["rows"] for one in fields["classes"]]
    check_classes(data.classes, arguments.data, counts, has_label=data.label is not None)
    return data


def print_what_was_read(data: Data, arguments: argparse.Namespace, console: Console) -> None:
    """Print how many rows and columns there are, and what was inferred about them."""
    console.print(f"read {source_text(arguments.data)}: {data}")
    guess = label_guess(data.label, arguments.label)
    if guess:
        console.print(guess)
    if data.encoding is not None:
        console.print(f"columns: {data.encoding}")


def label_guess(label: str | int | None, asked: str | int | None) -> str:
    """Return a line on the column that was taken for the label, empty where --label names one."""
    if label is None or asked is not None:
        return ""
    if isinstance(label, str):
        why = "by its name" if label.lower() in USUAL_NAMES else "the last one"
        return f'label guessed: column "{label}", {why}; --label names another'
    return f"label guessed: column {label}, the last one, counted from 0; --label names another"


def check_classes(classes: NDArray[Any], source: Path, counts: Sequence[int], *, has_label: bool) -> None:
    """Refuse data of a single class, and numbers to be predicted in place of classes."""
    from maxmargin.data import label_text
    from maxmargin.errors import InvalidInput
    from maxmargin.labels import why_no_classes

    other = "; --label names another column" if has_label else ""
    if len(classes) < 2:
        only = label_text(classes[0], is_signed=False)
        raise InvalidInput(
            f"{source_text(source)} has one class only ({only}): there is nothing to tell apart{other}"
        )
    why = why_no_classes(classes, counts)
    if why:
        raise InvalidInput(
            f"{source_text(source)} has numbers as labels that are no classes ({why}), and this is for "
            "classes, not for regression",
            remedy=f"make classes of them, such as above and below a limit{other}",
        )


# ------------------------------------------------------------------------------------------------
# Rows for a model that was trained with weights: their column is its own, unless another one is named.


def add_own_weight(parser: Any, purpose: str = "") -> None:
    """Describe the option that names the column, and what it is for."""
    parser.add_argument(
        "--weight",
        metavar="COLUMN",
        type=column,
        help=f"{purpose}the column with the sample weights (the one used in training, if any)",
    )


def read_weighted_rows(model: LinearModel, arguments: argparse.Namespace, console: Console) -> RowsForModel:
    """Read rows with labels and the weights that the model was trained with; print where they are.

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
        console.print(f"weights of the rows: {where}; --weight names another column")
    return rows
