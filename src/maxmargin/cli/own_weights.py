"""Rows for a model that was trained with weights: their column is its own, unless another one is named."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import column

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice
    from maxmargin.training.model import LinearModel
    from maxmargin.training.rows_for_model import RowsForModel

__all__ = ["add_own_weight", "read_weighted_rows"]


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
    from maxmargin.cli.reading import source_text
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
