"""``maxmargin path``: weights for every C of a range, each certified."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, INTERRUPTED, MISSED
from maxmargin.cli.fitting import add_effort, add_problem, check_effort, folds, grid, settings_of
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_data,
    add_reading,
    check_target,
    file_name,
    number,
)
from maxmargin.cli.reading import read_classes

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.data import Data
    from maxmargin.selection.path.record import Path
    from maxmargin.selection.search.selected import Selected


EXAMPLES = """\
  maxmargin path cells.csv                    every C from 0.001 to 100
  maxmargin path cells.csv --C-min 0.01 --C-max 10 --tol 0.001
  maxmargin path cells.csv --cv 5             … and the errors of 5 folds
  maxmargin path cells.csv -o path.csv --weights
  maxmargin path cells.csv --cv loo --plot path.png
"""

TINY = 1e-6  # smaller gaps are shown as "below" it: their digits are rounding


def add_path(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "path",
        help="follow the model along a range of C",
        description="Fit at a few values of C such that the weights are certified for every C in between. "
        "Print the margin, support vectors and training error along the way and, with --cv, which C is best.",
        examples=EXAMPLES,
    )
    add_data(parser)
    parser.add_argument("-o", "--out", metavar="OUT", type=file_name, help="write the table; - for stdout")
    parser.add_argument("--weights", action="store_true", help="include the weights at each C in OUT")
    parser.add_argument("--plot", metavar="FILE", type=File, help="draw the path into this PNG file")
    problem = parser.add_argument_group("the problem")
    problem.add_argument("--C-min", type=number, metavar="C", help="the smallest C (0.001)")
    problem.add_argument("--C-max", type=number, metavar="C", help="the largest C (100)")
    problem.add_argument("--Cs", type=grid, metavar="VALUES", help="these values of C only, such as 0.1,1,10")
    problem.add_argument(
        "--cv", type=folds, metavar="loo|N", help="also count errors by exact leave-one-out or in N folds"
    )
    add_problem(problem)
    add_effort(parser.add_argument_group("the solver"), tol=1e-2, goal="1 %%")
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, follow, print, write."""
    check(arguments, console)
    data = read_classes(arguments, console)
    path, is_whole = followed(arguments, data, console)
    console.print(str(path))
    for line in table_of(path):
        console.print(line)
    console.add_fields(fields_of(path))
    selected = None
    if arguments.cv is not None and is_whole:
        selected = judged(arguments, data, console)
    write(path, selected, arguments, data, console)
    if not is_whole or (selected is not None and selected.status.name == "INTERRUPTED"):
        console.print_stderr("interrupted: these are the results so far")
        return INTERRUPTED
    is_short = selected is not None and selected.warning(float("inf")) is not None
    return DONE if path.is_certified and not is_short else MISSED


def check(arguments: argparse.Namespace, console: Console) -> None:
    """Refuse wrong settings and targets before a large file is read."""
    from maxmargin.errors import InvalidParameter

    check_effort(arguments)
    if isinstance(arguments.Cs, int):
        raise InvalidParameter(f"--Cs must be values of C, such as 0.1,1,10; got {arguments.Cs}")
    if arguments.weights and arguments.out is None:
        raise InvalidParameter("--weights are written into a file: give -o OUT")
    if arguments.out == STANDARD:
        if console.json:
            raise InvalidParameter("--json holds the table itself; leave -o out, or name a file")
        console.reserve_stdout()
    for target in (arguments.out, arguments.plot):
        if target is not None:
            check_target(target, arguments.data)


def followed(arguments: argparse.Namespace, data: Data, console: Console) -> tuple[Path, bool]:
    """Return the path, and whether it was followed to its end: Ctrl-C ends it where it is."""
    from maxmargin.errors import Interrupted
    from maxmargin.selection.path.path import regularization_path

    try:
        path = regularization_path(
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            C_min=arguments.C_min,
            C_max=arguments.C_max,
            Cs=arguments.Cs,
            verbose=int(console.shows_progress),
            **settings_of(arguments, data.classes),
        )
    except Interrupted as interrupt:
        return interrupt.model, False
    return path, True


def judged(arguments: argparse.Namespace, data: Data, console: Console) -> Selected:
    """Count the errors of rows left or held out along the range, and print which C has the fewest."""
    from maxmargin.cli.search_for_c import error_lines, search_fields, warn_of_search
    from maxmargin.model.progress import Ticker
    from maxmargin.selection.search.automatic import choose_way, select_C
    from maxmargin.selection.search.task import check_Cs, validation_task

    ends = (arguments.C_min or 1e-3, ..., arguments.C_max or 1e2)
    Cs, is_range = check_Cs(ends if arguments.Cs is None else sorted(arguments.Cs))
    way = choose_way(data.y, arguments.cv)
    settings = settings_of(arguments, data.classes)
    ticker = Ticker(arguments.tol) if console.shows_progress else None
    task = validation_task(data.X, data.y, data.sample_weight, watch=ticker, **settings)
    path_tol = arguments.tol if is_range and way.n_splits else None
    try:
        selected = select_C(task, Cs, way, path_tol=path_tol, refit=False)
    finally:
        if ticker is not None:
            ticker.close()
    console.print()
    console.print(str(selected.table))
    for line in error_lines(selected):
        console.print(line)
    console.add_fields({"search": search_fields(selected, way)})
    warn_of_search(selected, console)
    return selected


# ---------------------------------------------------------------- output


def table_of(path: Path) -> list[str]:
    """Return a line for each C with weights of its own."""
    from maxmargin.cli.console import aligned
    from maxmargin.presentation.wording import percent

    width = "margin width" if path.multi_class == "one_vs_rest" else "1/‖θ‖"
    heading = ["C", "within", "training error", "support vectors", width]
    rows = [
        [
            f"{path.C[k]:.4g}",
            "< 0.0001 %" if path.gaps[k] < TINY else percent(path.gaps[k], "up"),
            percent(path.training_error[k]),
            "" if path.n_support is None else f"{path.n_support[k]:,}",
            f"{path.margin[k]:.3g}",
        ]
        for k in range(len(path))
    ]
    if path.n_support is None:
        heading, rows = [*heading[:3], heading[4]], [[*row[:3], row[4]] for row in rows]
    return aligned(heading, rows)


# ---------------------------------------------------------------- what is written


def write(
    path: Path, selected: Selected | None, arguments: argparse.Namespace, data: Data, console: Console
) -> None:
    """Write the table and the picture where they are wanted."""
    from maxmargin.cli.console import separated
    from maxmargin.cli.streams import write_text

    if arguments.out is not None:
        separator = "," if arguments.out.suffix.lower() == ".csv" else "\t"
        names = list(columns_of(path, data, with_weights=arguments.weights))
        rows = rows_of(path, with_weights=arguments.weights)
        write_text(separated(names, rows, separator), arguments.out)
        if arguments.out != STANDARD:
            console.wrote(arguments.out)
    if arguments.plot is not None:
        draw(path, selected, arguments.plot)
        console.wrote(arguments.plot)


def columns_of(path: Path, data: Data, *, with_weights: bool) -> Iterator[str]:
    """Yield the names of the table's columns."""
    yield from ("C", "relative_gap", "objective", "training_error")
    if path.n_support is not None:
        yield "n_support"
    yield "margin"
    if not with_weights:
        return
    features = data.feature_names or [f"x{j + 1}" for j in range(path.coef.shape[2])]
    classes = [""] if path.coef.shape[1] == 1 else [f"{label!s}: " for label in path.classes.tolist()]
    for label in classes:
        yield f"{label}intercept"
        yield from (f"{label}{name}" for name in features)


def rows_of(path: Path, *, with_weights: bool) -> Iterator[list[Any]]:
    """Yield a row of numbers for each C."""
    for k in range(len(path)):
        row = [path.C[k], path.gaps[k], sum(proof.objective for proof in path.certificates[k])]
        row.append(path.training_error[k])
        if path.n_support is not None:
            row.append(int(path.n_support[k]))
        row.append(path.margin[k])
        if with_weights:
            for intercept, weights in zip(path.intercept[k], path.coef[k], strict=True):
                row += [intercept, *weights]
        yield [value if isinstance(value, int) else float(value) for value in row]


def draw(path: Path, selected: Selected | None, target: File) -> None:
    """Draw errors, margin and support vectors against C."""
    from maxmargin.displays.panels import save_png
    from maxmargin.displays.regularization_path import RegularizationPathDisplay
    from maxmargin.rows.disk.atomic import replacing

    left_out = None if selected is None else selected.table
    display = RegularizationPathDisplay.from_path(path, left_out=left_out)
    with replacing(target) as file:
        save_png(display.figure_, file)


def fields_of(path: Path) -> dict[str, Any]:
    """Return the path for machines."""
    return {
        "loss": path.loss,
        "multi_class": path.multi_class if len(path.classes) > 2 else None,
        "offset": path.offset,
        "tol": path.tol,
        "fits": path.n_fits,
        "is_certified": path.is_certified,
        "certified": path.certified,
        "points": [
            {
                "C": C,
                "relative_gap": gap,
                "training_error": error,
                "support_vectors": None if path.n_support is None else path.n_support[k],
                "margin": margin,
            }
            for k, (C, gap, error, margin) in enumerate(
                zip(path.C, path.gaps, path.training_error, path.margin, strict=True)
            )
        ],
    }
