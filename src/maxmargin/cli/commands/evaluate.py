"""``maxmargin evaluate``: how a model does on rows with known labels."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import add_command, add_common, add_rows, check_sources, file_name, number
from maxmargin.cli.reading import add_own_weight, read_weighted_rows

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.model.evaluation import Evaluation
    from maxmargin.model.model import LinearModel
    from maxmargin.model.reliability import Reliability


EXAMPLES = """\
  maxmargin evaluate a9a.model a9a.t            error with interval, by class
  maxmargin evaluate cells.model more.csv --confidence 0.99
  maxmargin evaluate a9a.model a9a.svm --certify  on its training rows
  maxmargin evaluate a9a.model a9a.t --json     the same for machines
"""

LISTED_CLASSES = 10  # a table of more is wider than a terminal
LISTED_CONFUSIONS = 10


def add_evaluate(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "evaluate",
        help="evaluate a model on rows with known labels",
        description="Evaluate a model on rows with known labels: its error with a confidence interval, the "
        "confusion matrix and, if it has probabilities, how reliable they are. Use rows that had no part "
        "in training to estimate the error on new ones.",
        examples=EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=file_name, help="a model of maxmargin train or of LIBLINEAR"
    )
    add_rows(parser)
    parser.add_argument(
        "--confidence", type=number, default=0.95, help="confidence level of the interval of the error (0.95)"
    )
    parser.add_argument(
        "--certify",
        action="store_true",
        help="also certify how far the model is above the optimum on these rows",
    )
    add_own_weight(parser, "for --certify: ")
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, count, print."""
    from maxmargin.cli.json_fields import assessment_fields
    from maxmargin.cli.streams import read_labelled_rows, read_model
    from maxmargin.model.certify import certify
    from maxmargin.model.evaluation import evaluate

    check_sources(arguments.data, arguments.model)
    model = read_model(arguments.model, arguments.data)
    if arguments.certify:
        X, y, weights = read_weighted_rows(model, arguments, console)
    else:
        X, y, weights = read_labelled_rows(model, arguments)
    found = evaluate(model, X, y, confidence=arguments.confidence)
    for line in lines_of(found, model):
        console.print(line)
    console.add_fields(fields_of(found))
    if arguments.certify:
        assessment = certify(model, X, y, sample_weight=weights)
        console.print(f"certificate on these rows: {assessment}")
        console.add_fields({"certificate": assessment_fields(assessment)})
    return DONE


# ---------------------------------------------------------------- output


def lines_of(found: Evaluation, model: LinearModel) -> list[str]:
    """Return the lines to print."""
    lines = [str(found)]
    few = len(found.labels) <= LISTED_CLASSES
    lines += confusion_table(found) if few else confusions(found)
    if found.area is not None:
        lines.append(f"area under the ROC curve {found.area:.4f}")
    unknown = names(found.labels)[found.n_classes :]
    if unknown:
        shown = ", ".join(unknown[:5]) + (", …" if len(unknown) > 5 else "")
        lines.append(f"labels that the model does not know, counted as wrong: {shown}")
    if found.reliability is not None:
        lines += str(found.reliability).splitlines()
    elif not model.has_probabilities:
        lines.append("no probabilities: --loss logistic or --calibrate in training would give some")
    return lines


def confusion_table(found: Evaluation) -> list[str]:
    """Return the confusion matrix, one line per label."""
    from maxmargin.cli.console import aligned

    labels, recall, precision = names(found.labels), found.recall, found.precision
    heading = ["", *(f"predicted {label}" for label in labels[: found.n_classes]), "recall"]
    rows = [
        [f"actual {label}", *(f"{count:,}" for count in found.counts[k]), share(recall[k])]
        for k, label in enumerate(labels)
    ]
    return aligned(heading, [*rows, ["precision", *(share(value) for value in precision), ""]])


def confusions(found: Evaluation) -> list[str]:
    """Return the most frequent errors, where there are too many classes for a table."""
    import numpy as np

    from maxmargin.presentation.wording import plural

    labels = names(found.labels)
    wrong = found.counts.copy()
    np.fill_diagonal(wrong[: found.n_classes], 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:LISTED_CONFUSIONS]
    places = [divmod(int(place), found.n_classes) for place in order if wrong.flat[place]]
    kinds = plural(int(np.count_nonzero(wrong)), "kind")
    lines = [f"{kinds} of error among {len(labels)} labels; most often:"] if places else []
    for i, j in places:
        lines.append(f"  {labels[i]} predicted as {labels[j]}: {plural(int(wrong[i, j]), 'row')}")
    return lines


def names(labels: Any) -> list[str]:
    """Return the labels as text."""
    from maxmargin.data import label_text

    listed = labels.tolist()
    is_signed = labels.dtype.kind in "if" and any(label < 0 for label in listed)
    return [label_text(label, is_signed) for label in listed]


def share(value: float) -> str:
    """Return a fraction as a percentage; a dash if there is none."""
    return "–" if value != value else f"{100 * value:.1f} %"


# ---------------------------------------------------------------- fields of the JSON object


def fields_of(found: Evaluation) -> dict[str, Any]:
    """Return everything that was counted."""
    from maxmargin.cli.json_fields import plain_labels

    return {
        "rows": found.n_rows,
        "errors": found.n_errors,
        "is_training": found.is_training,
        "error": interval_fields(found.error),
        "confidence": found.confidence,
        "labels": plain_labels(found.labels),
        "classes": plain_labels(found.labels[: found.n_classes]),
        "confusion": found.counts,
        "recall": found.recall,
        "precision": found.precision,
        "area_under_roc": found.area,
        "probabilities": None if found.reliability is None else reliability_fields(found.reliability),
    }


def interval_fields(value: Any) -> dict[str, float]:
    """Return a number and its interval."""
    return {"value": value.value, "low": value.low, "high": value.high}


def reliability_fields(found: Reliability) -> dict[str, Any]:
    """Return the quality of the probabilities."""
    return {
        "about": found.about,
        "log_loss": interval_fields(found.log_loss),
        "brier": interval_fields(found.brier),
        "expected_calibration_error": interval_fields(found.expected_calibration_error),
        "curve": found.columns(),
    }
