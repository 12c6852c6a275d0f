"""``maxmargin inspect``: what is in a file, be it a model or data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_reading,
    file_name,
    read_data,
    whole_number,
)
from maxmargin.cli.reading import label_guess, source_text

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.data import Data
    from maxmargin.model.columns import ColumnSummary
    from maxmargin.model.model import LinearModel


EXAMPLES = """\
  maxmargin inspect cells.csv              rows, classes, columns
  maxmargin inspect a9a.svm --rows 100     the first 100 columns
  maxmargin inspect cells.model            what was fitted, and how well
  maxmargin inspect liblinear.model        LIBLINEAR's, too
"""

USUAL_ROWS = 20
MANY_COLUMNS = 100_000  # of which --json lists all only if there are as many values
FAR_APART = 100.0  # deviations of columns between which a regulariser chooses, not the data


def add_inspect(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "inspect",
        help="describe a model or data file",
        description="Describe a file: for a model what it minimises, its certificate and its largest "
        "weights; for data the classes and a summary of the columns.",
        examples=EXAMPLES,
    )
    parser.add_argument("data", metavar="FILE", type=file_name, help="a model or data; - for stdin (data)")
    parser.add_argument(
        "--rows",
        type=whole_number,
        metavar="N",
        help="how many weights or columns to list (20; with --json all)",
    )
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Describe the file."""
    from maxmargin.cli.streams import is_model
    from maxmargin.validation import check_positive

    if arguments.rows is not None:
        check_positive("rows", arguments.rows, integer=True)
    if arguments.data != STANDARD and is_model(arguments.data):
        inspect_model(arguments, console)
    else:
        inspect_data(arguments, console)
    return DONE


# ---------------------------------------------------------------- models


def inspect_model(arguments: argparse.Namespace, console: Console) -> None:
    """Return what a model file holds."""
    from maxmargin.cli.json_fields import model_fields
    from maxmargin.cli.streams import read_model
    from maxmargin.model.files import readable_model

    model, origin = read_model(arguments.data), origin_of(arguments.data)
    console.print(f"{arguments.data}: {origin}")
    for line in (*model_lines(model), *weight_lines(model, arguments.rows or USUAL_ROWS)):
        console.print(f"  {line}")
    about = readable_model(model)
    if arguments.rows is not None:
        about = with_largest_weights(about, model, arguments.rows)
    console.add_fields({"kind": "model", "origin": origin, **model_fields(model), **about})


def origin_of(path: Path) -> str:
    """Return who wrote a model file."""
    from maxmargin.io.liblinear import begins_as_liblinear_model, read_liblinear_model
    from maxmargin.io.models import read_model

    if begins_as_liblinear_model(path):
        return f"a model of LIBLINEAR, {read_liblinear_model(path).solver_type}"
    return f"a model, written by {read_model(path)[0].get('written_by', 'maxmargin')}"


def model_lines(model: LinearModel) -> list[str]:
    """Return what was fitted, how well and to what."""
    from maxmargin.cli.json_fields import plain_labels
    from maxmargin.presentation.wording import plural, short

    cost = "given, not fitted" if model.C is None else f"C = {short(model.C)}"
    lines = [f"problem        {model.form} loss, {cost}, {model.offset} offset"]
    if model.class_weight is not None:
        lines[0] += f", class weights {model.class_weight}"
    labels = ", ".join(map(str, plain_labels(model.classes[:20])))
    more = f", … ({len(model.classes)} in all)" if len(model.classes) > 20 else ""
    lines.append(f"classes        {labels}{more}")
    read_from = "" if model.scheme is None else f", read from {model.scheme}"
    label = "" if model.label is None else f', label "{model.label}"'
    lines.append(f"columns        {plural(model.coef.shape[1], 'feature')}{read_from}{label}")
    if model.encoding is not None:
        lines.append(f"encoding       {model.encoding}")
    lines.append(f"certificate    {model.certificate or 'none'}")
    if model.plans and model.status is not None:
        plan = model.plans[0]
        lines.append(f"solver         {plan.solver} ({plan.reason})")
        lines.append(f"ended          {model.status.value}")
    if not model.is_joint:  # where a class has a margin of its own
        widths = ", ".join(f"{width:.3g}" for width in model.margin[:20])
        lines.append(f"margin width   {widths}")
    if model.support is not None:
        lines.append(f"support        {plural(len(model.support.indices), 'support vector')}")
    if model.has_probabilities:
        lines.append(f"probabilities  {model.calibration or f'of the {model.form} model itself'}")
    return lines


def weight_lines(model: LinearModel, n_rows: int) -> list[str]:
    """Return the largest weights of each class; one alone stands for two classes."""
    import numpy as np

    from maxmargin.cli.console import aligned
    from maxmargin.cli.json_fields import plain_labels

    labels, lines = plain_labels(model.classes), []
    for k, weights in enumerate(model.coef):
        label = labels[-1] if len(model.coef) == 1 else labels[k]
        rows = [[name, f"{weight:+.4g}"] for name, weight in largest_weights(model, k, n_rows)]
        zeros = int(np.count_nonzero(weights == 0))
        rows.append(["intercept", f"{model.intercept[k]:+.4g}"])
        lines += aligned([f"for {label!s}", "weight"], rows, indent="")
        left = len(weights) - zeros - len(rows) + 1
        if left or zeros:
            lines.append(f"({left:,} smaller ones, {zeros:,} zeros)")
    return lines


def largest_weights(model: LinearModel, k: int, n_rows: int) -> list[tuple[str, float]]:
    """Return the largest weights of a score that are not 0, the largest first, with their columns' names."""
    import numpy as np

    names, weights = model.feature_names, model.coef[k]
    order = np.argsort(-np.abs(weights), kind="stable")[:n_rows].tolist()
    return [(names[j] if names else f"column {j + 1}", float(weights[j])) for j in order if weights[j]]


def with_largest_weights(about: dict[str, Any], model: LinearModel, n_rows: int) -> dict[str, Any]:
    """Return a model as fields of the JSON object, with its largest weights only, as in the printed text."""
    scores = []
    for k, score in enumerate(about["scores"]):
        pairs = largest_weights(model, k, n_rows)
        listed = {"columns": [name for name, _ in pairs], "weights": [weight for _, weight in pairs]}
        scores.append({**score, **listed})
    return {**{name: about[name] for name in about if name != "features"}, "scores": scores}


# ---------------------------------------------------------------- data


def inspect_data(arguments: argparse.Namespace, console: Console) -> None:
    """Return what a data file holds."""
    from maxmargin.cli.json_fields import data_fields
    from maxmargin.model.columns import summarise_columns

    data = read_data(arguments, arguments.data)
    console.print(f"{source_text(arguments.data)}: {data}")
    guess = label_guess(data.label, arguments.label)
    n_rows = arguments.rows or USUAL_ROWS
    n_listed = arguments.rows or (n_for_machines(data) if console.json else USUAL_ROWS)
    columns = summarise_columns(data.X, n_listed)
    for line in ([guess] if guess else []) + data_lines(data, columns, n_rows):
        console.print(f"  {line}")
    console.add_fields({"kind": "data", **data_fields(data, arguments.data)})
    console.add_fields({"features": feature_fields(data, columns)})


def n_for_machines(data: Data) -> int:
    """Return how many columns are listed by default: all, unless nearly all of very many are empty."""
    n_values = int(data.X.nnz) if hasattr(data.X, "nnz") else data.n_rows * data.n_columns
    return data.n_columns if data.n_columns <= max(n_values, MANY_COLUMNS) else USUAL_ROWS


def data_lines(data: Data, columns: ColumnSummary, n_rows: int) -> list[str]:
    """Return how many rows each class has, and what the columns are like."""
    import numpy as np

    from maxmargin.cli.console import aligned
    from maxmargin.cli.json_fields import plain_labels
    from maxmargin.presentation.wording import percent, plural

    kind = "sparse" if hasattr(data.X, "nnz") else "dense"
    lines = [f"{kind}, {data.X.dtype}, {percent(columns.share_of_zeros)} of the values are 0"]
    if data.encoding is not None:
        lines.append(f"encoding: {data.encoding}")
    if data.sample_weight is not None:
        low, high = data.sample_weight.min(), data.sample_weight.max()
        lines.append(f"weights from {low:.4g} to {high:.4g}")
    labels, counts = np.unique(data.y, return_counts=True)
    rows = [[str(label), f"{count:,}"] for label, count in zip(plain_labels(labels), counts, strict=True)]
    lines += aligned(["class", "rows"], rows[:n_rows], indent="")
    if len(rows) > n_rows:
        lines.append(f"({len(rows) - n_rows:,} further classes)")
    lines += column_lines(data, columns, n_rows)
    if columns.n_constant:
        lines.append(
            f"{plural(columns.n_constant, 'column')} with only one value, which carry no information"
        )
    if columns.spread > FAR_APART:
        factor = f"{columns.spread:,.0f}" if columns.spread < 1e9 else f"{columns.spread:.0e}"
        lines.append(
            f"the columns' deviations differ by a factor of {factor}: C weighs small ones more unless they "
            "are scaled"
        )
    return lines


def column_lines(data: Data, columns: ColumnSummary, n_rows: int) -> list[str]:
    """Return a line for each of the first columns."""
    from maxmargin.cli.console import aligned

    names = feature_names(data, min(n_rows, data.n_columns))
    numbers = zip(columns.least, columns.mean, columns.largest, columns.deviation, strict=True)
    rows = [
        [name, *(f"{value:.4g}" for value in four), f"{zeros:,}"]
        for name, four, zeros in zip(names, numbers, columns.n_zeros, strict=False)
    ]
    lines = aligned(["column", "least", "mean", "largest", "deviation", "zeros"], rows, indent="")
    if data.n_columns > n_rows:
        lines.append(f"({data.n_columns - n_rows:,} further columns; --rows lists more)")
    return lines


def feature_names(data: Data, n_listed: int) -> list[str]:
    """Return the names of the first columns, or their numbers, counted as LIBSVM text does."""
    if data.feature_names is not None:
        return list(data.feature_names[:n_listed])
    first = 0 if data.scheme == "libsvm-zero-based" else 1
    return [f"column {j + first}" for j in range(n_listed)]


def feature_fields(data: Data, columns: ColumnSummary) -> dict[str, Any]:
    """Return the columns that are listed for machines, each property as a list."""
    n_listed = len(columns.least)
    return {
        "listed": n_listed,
        "names": None if data.feature_names is None else data.feature_names[:n_listed],
        "least": columns.least,
        "mean": columns.mean,
        "largest": columns.largest,
        "deviation": columns.deviation,
        "zeros": columns.n_zeros,
    }
