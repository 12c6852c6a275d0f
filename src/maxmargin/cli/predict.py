"""``maxmargin predict``: labels, scores or probabilities for the rows of a file."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import check_target, column

if TYPE_CHECKING:
    from maxmargin.training.model import LinearModel
    from maxmargin.training.rows_for_model import RowsForModel

__all__ = ["add_predict"]

EXAMPLES = """\
examples:
  maxmargin predict a9a.t a9a.model              one label a line, and the accuracy
  maxmargin predict a9a.t a9a.model out.txt      … into a file
  maxmargin predict a9a.t a9a.model out.tsv --scores
"""

ROWS_AT_ONCE = 4096


def add_predict(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = commands.add_parser(
        "predict",
        help="label the rows of a data file with a model",
        description="Label the rows of a data file with a model; if it has labels, say how many are right.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("data", metavar="DATA", type=Path, help="LIBSVM text or a CSV table, packed or not")
    parser.add_argument("model", metavar="MODEL", type=Path, help="what maxmargin train wrote")
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?", help="where to write (the terminal)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--scores", action="store_true", help="a table of labels and scores θ·x + θ₀")
    kind.add_argument(
        "--probabilities",
        action="store_true",
        help="a table of labels and probabilities (logistic loss, or trained with --calibrate)",
    )
    parser.add_argument(
        "--label", type=column, help="the label's column in a table, by name or number from 0"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read both files, predict, write, and compare with the labels if there are any."""
    from maxmargin.inputs.atomic_file import replacing
    from maxmargin.training.files import load_model
    from maxmargin.training.rows_for_model import read_rows_for

    if arguments.out is not None:
        check_target(arguments.out, arguments.data, arguments.model)
    model = load_model(arguments.model)
    rows = read_rows_for(model, arguments.data, arguments.label)
    labels = model.predict(rows.X)
    pieces = lines(labels, numbers(model, rows.X, arguments), heading(model, arguments))
    # Labels on the terminal leave the standard output to whoever reads it; what is said goes beside it.
    beside = sys.stderr if arguments.out is None else sys.stdout
    if arguments.out is None:
        sys.stdout.writelines(pieces)
    else:
        with replacing(arguments.out) as file:
            file.writelines(piece.encode() for piece in pieces)
    if not arguments.quiet:
        print(verdict(model, rows, labels), file=beside)
        if arguments.out is not None:
            print(f"wrote {arguments.out}", file=beside)
    return 0


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


def verdict(model: LinearModel, rows: RowsForModel, labels: Any) -> str:
    """Say how many labels are right."""
    import numpy as np

    from maxmargin.results.wording import plural

    count = plural(len(labels), "row")
    if rows.y is None:
        return f"predicted {count}; the file has no labels to compare with"
    if not np.isin(rows.y, model.classes).any():
        return f"predicted {count}; no label in the file is one of the model's classes, so nothing to compare"
    right = int(np.count_nonzero(labels == rows.y))
    return f"accuracy {100 * right / len(labels):.2f} %: {right:,} of {count} right"
