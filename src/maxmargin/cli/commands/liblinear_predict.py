"""``maxmargin liblinear-predict``: LIBLINEAR's ``predict``, with LIBLINEAR's model files and output."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    check_sources,
    check_target,
    file_name,
    read_data,
    whole_number,
)
from maxmargin.errors import InvalidParameter

if TYPE_CHECKING:
    from maxmargin.cli.console import Console


EXAMPLES = """\
  maxmargin liblinear-predict a9a.t a9a.model out.txt
  maxmargin liblinear-predict -b 1 a9a.t logistic.model out.txt

The model may come from LIBLINEAR's train or from maxmargin liblinear-train.
"""

ROWS_AT_ONCE = 4096


def add_liblinear_predict(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "liblinear-predict",
        help="LIBLINEAR's predict: its model files, its output",
        description="Predict the labels of a file as LIBLINEAR's predict does, with a LIBLINEAR model file.",
        examples=EXAMPLES,
    )
    parser.add_argument("data", metavar="TEST", type=file_name, help="LIBSVM text; - for stdin")
    parser.add_argument("model", metavar="MODEL", type=file_name, help="a LIBLINEAR model file; - for stdin")
    parser.add_argument(
        "out", metavar="OUTPUT", type=file_name, help="the file to write, one label per line; - for stdout"
    )
    parser.add_argument(
        "-b",
        type=whole_number,
        default=0,
        metavar="0|1",
        help="1: print probabilities as well, for logistic regression",
    )
    add_common(parser)
    parser.set_defaults(run=run, format="libsvm", zero_based="no")


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read both files, predict, write, compare."""
    import numpy as np

    from maxmargin.cli.streams import read_through, write_text
    from maxmargin.interop.liblinear_predict import (
        as_wide_as,
        labels_as_liblinear,
        probabilities_as_liblinear,
        scores_as_liblinear,
    )
    from maxmargin.io.liblinear import read_liblinear_model

    if arguments.b not in (0, 1):
        raise InvalidParameter(f"-b is 0 or 1; got {arguments.b}")
    check_sources(arguments.data, arguments.model)
    check_output(arguments, console)
    found = read_through(arguments.model, read_liblinear_model)
    if arguments.b:
        # Refuse what has none before rows are read.
        probabilities_as_liblinear(found, np.zeros((1, found.weights.shape[1])))
    data = read_data(arguments, arguments.data)
    scores = scores_as_liblinear(found, as_wide_as(found, data.X))
    labels = labels_as_liblinear(found, scores)
    beside = probabilities_as_liblinear(found, scores) if arguments.b else None
    write_text(lines(found.labels, labels, beside), arguments.out)
    right = int(np.count_nonzero(labels == data.y))
    console.print(f"Accuracy = {100 * right / len(labels):g}% ({right}/{len(labels)})")
    console.add_fields(
        {"rows": len(labels), "right": right, "accuracy": right / len(labels), "out": arguments.out}
    )
    return DONE


def check_output(arguments: argparse.Namespace, console: Console) -> None:
    """Refuse an output that cannot be, before any work is done."""
    if arguments.out == STANDARD:
        if console.json:
            raise InvalidParameter("--json and labels (-) cannot both go to the standard output; name a file")
        console.reserve_stdout()
    check_target(arguments.out, arguments.data, arguments.model)


def lines(classes: tuple[int, ...], labels: Any, probabilities: Any) -> Iterator[str]:
    """Yield the output as LIBLINEAR writes it, in pieces of many lines."""
    if probabilities is not None:
        yield " ".join(["labels", *map(str, classes)]) + "\n"
    for first in range(0, len(labels), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        if probabilities is None:
            yield "".join(f"{label}\n" for label in labels[part].tolist())
        else:
            rows = zip(labels[part].tolist(), probabilities[part].tolist(), strict=True)
            yield "".join(f"{label} {' '.join(f'{p:g}' for p in row)}\n" for label, row in rows)
