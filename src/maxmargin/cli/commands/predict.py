"""``maxmargin predict``: labels, scores or probabilities for the rows of a file."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_data,
    add_row_options,
    check_sources,
    check_target,
    file_name,
)
from maxmargin.errors import InvalidParameter

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.model.model import LinearModel
    from maxmargin.model.reading import RowsForModel


EXAMPLES = """\
  maxmargin predict a9a.t a9a.model          one label per line, with accuracy
  maxmargin predict a9a.t a9a.model out.txt  … into a file
  maxmargin predict a9a.t a9a.model out.tsv --scores
  maxmargin predict a9a.t a9a.model --json   labels and accuracy in one object
"""

ROWS_AT_ONCE = 4096


def add_predict(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "predict",
        help="predict the labels of a data file",
        description="Predict the labels of a data file; if it has labels already, print how many are right.",
        examples=EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=file_name,
        help="a model of maxmargin train or of LIBLINEAR; - for stdin",
    )
    parser.add_argument("out", metavar="OUT", type=file_name, nargs="?", help="the file to write (stdout)")
    parser.add_argument("-o", "--out", metavar="OUT", type=file_name, dest="target", help="the same")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--scores", action="store_true", help="a table of labels and scores θ·x + θ₀")
    kind.add_argument(
        "--probabilities",
        action="store_true",
        help="a table of labels and probabilities (logistic loss, or trained with --calibrate)",
    )
    add_row_options(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read both files, predict, write, and compare with the labels if there are any."""
    from maxmargin.cli.json_fields import plain_labels
    from maxmargin.cli.streams import read_model, read_rows, write_text

    target = target_of(arguments, console)
    check_sources(arguments.data, arguments.model)
    model = read_model(arguments.model, arguments.data)
    rows = read_rows(model, arguments)
    labels = model.predict(rows.X)
    beside = numbers(model, rows.X, arguments)
    if target is not None:
        write_text(lines(labels, beside, heading(model, arguments)), target)
    console.print(verdict(model, rows, labels))
    if target not in (None, STANDARD):
        console.wrote(target)
    in_json = target is None
    console.add_fields(
        {
            **comparison(model, rows, labels),
            "classes": plain_labels(model.classes),
            "out": target,
            "labels": plain_labels(labels) if in_json else None,
            "scores": beside if in_json and arguments.scores else None,
            "probabilities": beside if in_json and arguments.probabilities else None,
        }
    )
    return DONE


def target_of(arguments: argparse.Namespace, console: Console) -> Path | None:
    """Return where the labels go; None for into the JSON object."""
    if arguments.out is not None and arguments.target is not None:
        raise InvalidParameter(f"the labels can go to one place: {arguments.out} or --out {arguments.target}")
    target: Path | None = arguments.target or arguments.out
    if target is None and not console.json:
        target = STANDARD
    if target == STANDARD:
        if console.json:
            raise InvalidParameter("--json holds the labels itself; leave OUT out, or name a file")
        console.reserve_stdout()
    elif target is not None:
        check_target(target, arguments.data, arguments.model)
    return target


def numbers(model: LinearModel, X: Any, arguments: argparse.Namespace) -> Any:
    """Return what stands beside the labels, one row each; None for nothing."""
    if arguments.probabilities:
        return model.predict_proba(X)
    return model.scores(X) if arguments.scores else None


def heading(model: LinearModel, arguments: argparse.Namespace) -> list[str] | None:
    """Return the names of the columns where there are several."""
    if arguments.scores and model.coef.shape[0] == 1:
        return ["label", "score"]
    if arguments.scores or arguments.probabilities:
        kind = "score" if arguments.scores else "probability"
        return ["label", *(f"{kind} {plain(label)}" for label in model.classes.tolist())]
    return None


def lines(labels: Any, values: Any, names: list[str] | None) -> Iterator[str]:
    """Yield the output in pieces of many lines: labels alone, or a table separated by tabs."""
    for first in range(0, max(len(labels), 1), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t", lineterminator="\n")
        if first == 0 and names is not None:
            writer.writerow(names)
        beside = [[]] * len(labels[part]) if values is None else values[part].tolist()
        writer.writerows(
            [plain(label), *map(repr, row)] for label, row in zip(labels[part].tolist(), beside, strict=True)
        )
        yield text.getvalue()


def plain(label: Any) -> str:
    """Write a label as data files have it: 1, not 1.0."""
    return repr(label).removesuffix(".0") if isinstance(label, float) else str(label)


def comparison(model: LinearModel, rows: RowsForModel, labels: Any) -> dict[str, Any]:
    """Return how many labels are right; None where there is nothing to compare with."""
    import numpy as np

    is_comparable = rows.y is not None and bool(np.isin(rows.y, model.classes).any())
    right = int(np.count_nonzero(labels == rows.y)) if is_comparable else None
    return {
        "rows": len(labels),
        "right": right,
        "accuracy": None if right is None else right / len(labels),
    }


def verdict(model: LinearModel, rows: RowsForModel, labels: Any) -> str:
    """Return how many labels are right."""
    from maxmargin.presentation.wording import plural

    count, right = plural(len(labels), "row"), comparison(model, rows, labels)["right"]
    if rows.y is None:
        return f"predicted {count}; the file has no labels to compare with"
    if right is None:
        return f"predicted {count}; no label in the file is one of the model's classes, so nothing to compare"
    return f"accuracy {100 * right / len(labels):.2f} %: {right:,} of {count} right"
