"""``maxmargin demo``: a tour on a small real data set."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from maxmargin.cli.codes import DONE
from maxmargin.cli.options import add_command, add_common
from maxmargin.errors import UnreadableFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maxmargin.cli.console import Console
    from maxmargin.data import Data
    from maxmargin.model.model import LinearModel


FOLDER = Path("maxmargin-demo")
SEED = 7
HELD_OUT = 0.25  # of each class


class Split(NamedTuple):
    """Training and test data, both standardised with the statistics of the training data."""

    train: Data
    held_out: Data


def add_demo(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "demo",
        help="train on a data set that comes with the package, draw it and save the model",
        description="Train on the Wisconsin breast cancer data, print and draw the results, save the model.",
        examples="  maxmargin demo\n  maxmargin demo --folder results\n",
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"where to put the files ({FOLDER} in the current folder)"
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Make the folder first, which may be refused; then show everything."""
    with made(arguments.folder):
        show(arguments.folder, console)
    return DONE


def show(folder: Path, console: Console) -> None:
    """Split, train, print, draw, save."""
    from dataclasses import replace

    from maxmargin.cli.json_fields import model_fields
    from maxmargin.datasets import breast_cancer
    from maxmargin.fit.train import fit_linear

    split = split_in_two(breast_cancer())
    for line in introduction(split):
        console.print(line)
    model = fit_linear(split.train.X, split.train.y)
    hasty = fit_linear(split.train.X, split.train.y, max_iter=1)
    model = replace(
        model, feature_names=list(split.train.feature_names or ()), scheme="csv", label="diagnosis"
    )
    for line in (*findings(model, hasty, split.train), *judgement(model, split.held_out)):
        console.print(line)
    console.print()
    for line in write_files(folder, model, split):
        console.print(line)
    predicted = model.predict(split.held_out.X)
    errors = int((predicted != split.held_out.y).sum())
    console.add_fields(
        {**model_fields(model), "held_out": {"rows": len(predicted), "errors": errors}, "folder": folder}
    )


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make the folder for the results, if it is not there; unmake it where nothing came into it."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remove_empty(missing)
        raise UnreadableFile(f"{folder} cannot be made: {error.strerror or error}") from None
    try:
        yield
    except BaseException:
        remove_empty(missing)
        raise


def remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, each before its parent, as far as they are empty."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def split_in_two(data: Data) -> Split:
    """Hold out a quarter of each class and standardise both parts by the statistics of the training part."""
    import numpy as np

    from maxmargin.data import Data

    generator = np.random.RandomState(SEED)  # its numbers are the same in every version of NumPy
    aside = np.zeros(data.n_rows, dtype=bool)
    for label in data.classes:
        of_class = generator.permutation(np.flatnonzero(data.y == label))
        aside[of_class[: round(HELD_OUT * len(of_class))]] = True
    mean, deviation = data.X[~aside].mean(axis=0), data.X[~aside].std(axis=0)

    def part(rows: NDArray[np.bool_]) -> Data:
        standardised = (data.X[rows] - mean) / deviation
        return Data(standardised, data.y[rows], feature_names=data.feature_names, label=data.label)

    return Split(part(~aside), part(aside))


# ---------------------------------------------------------------- output


def introduction(split: Split) -> list[str]:
    """Return lines on the task."""
    from maxmargin.data import describe_classes

    learn, judge = split
    return [
        "Is a tumour benign or malignant? Breast cancer Wisconsin, 30 measurements of each tumour's cells.",
        "",
        f"training data    {learn.n_rows} tumours, {describe_classes(learn.y, learn.classes)}",
        f"held out         {judge.n_rows} tumours that are not used in training",
        "                 columns standardised with the means and deviations of the training data",
        "",
    ]


def findings(model: LinearModel, hasty: LinearModel, data: Data) -> list[str]:
    """Return lines on the fit and its certificate."""
    from maxmargin.presentation.wording import percent

    proof, early = model.certificate, hasty.certificate
    if proof is None or early is None or model.support is None:
        raise AssertionError("a fitted hinge model has a certificate and support vectors")
    n_rows, held, free = data.n_rows, len(model.support.indices), int(model.support.n_free[0])
    errors = int((model.agreements(data.X, data.y) <= 0).sum())
    hasty_gap = percent(early.relative_gap, "up")
    return [
        "trained          linear support vector machine: hinge loss, C = 1, free offset",
        f"certificate      {proof}",
        "                 it is proved that no classifier of this kind has an objective below the bound",
        f"for comparison   after 1 iteration instead of {model.n_iter[0]}: within {hasty_gap} of the optimum",
        f"margin width     {model.margin[0]:.3f} = 1/‖θ‖, from the boundary to where a score reaches ±1",
        f"support vectors  {held} of {n_rows} tumours determine the boundary, {free} of them on the margin",
        f"training errors  {errors} of {n_rows} tumours on the wrong side",
        f"largest weights  {largest_weights(model)}",
        "",
    ]


def largest_weights(model: LinearModel) -> str:
    """Name the three columns with the largest weights; they can be compared because all have deviation 1."""
    import numpy as np

    names = model.feature_names or []
    largest = np.argsort(-np.abs(model.coef[0]), kind="stable")[:3]
    parts = [f"{names[j]} {model.coef[0, j]:+.2f}".replace("-", "−") for j in largest]
    return f"{', '.join(parts)} (+ {model.classes[1]})"


def judgement(model: LinearModel, data: Data) -> list[str]:
    """Return lines on the held-out rows."""
    predicted = model.predict(data.X)
    right = int((predicted == data.y).sum())
    parts = []
    for label, other in ((model.classes[0], model.classes[1]), (model.classes[1], model.classes[0])):
        of_class = predicted[data.y == label]
        wrong = int((of_class == other).sum())
        parts.append(f"{len(of_class) - wrong} {label} right, {wrong} called {other}")
    return [
        f"held out         accuracy {100 * right / data.n_rows:.1f} %: {right} of {data.n_rows} right",
        f"                 {'; '.join(parts)}",
    ]


# ---------------------------------------------------------------- what is written


def write_files(folder: Path, model: LinearModel, split: Split) -> list[str]:
    """Write picture, model and held-out rows; return lines on where they are and what to do with them."""
    from maxmargin.displays.style import MissingMatplotlib
    from maxmargin.io.save import save_data
    from maxmargin.model.files import save_model

    picture, file, rows = folder / "demo.png", folder / "demo.model", folder / "held_out.csv"
    written = {file: "the model", rows: "the held-out rows, standardised"}
    lines = []
    try:
        draw(picture, model, split)
        written = {picture: "agreements of the held-out rows; how the fit converged", **written}
    except MissingMatplotlib as error:
        lines = [f"no picture: {error}"]
    save_model(model, file)
    save_data(split.held_out, rows)
    width = max(len(str(path)) for path in written)
    lines += [f"wrote  {str(path).ljust(width)}  {meaning}" for path, meaning in written.items()]
    return [*lines, f"try    maxmargin predict {rows} {file}"]


def draw(path: Path, model: LinearModel, split: Split) -> None:
    """Draw the agreements of the held-out rows next to the convergence of the fit."""
    from maxmargin.displays.convergence import ConvergenceDisplay
    from maxmargin.displays.margin_histogram import MarginHistogramDisplay
    from maxmargin.displays.panels import save_png, side_by_side
    from maxmargin.rows.disk.atomic import replacing

    judge = split.held_out
    agreements = MarginHistogramDisplay(
        agreements=model.agreements(judge.X, judge.y),
        signs=model.signs(judge.y, judge.n_rows)[:, 0],
        classes=model.classes,
    )
    course = ConvergenceDisplay(history=model.histories[0], tol=model.tol)
    figure = side_by_side(
        {
            "How clearly the held-out tumours are separated": agreements,
            "How the fit converged": course,
        }
    )
    with replacing(path) as file:
        save_png(figure, file)
