"""``maxmargin report``: everything about a model on one page, for readers who did not train it."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, INTERRUPTED
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_row_options,
    check_sources,
    check_target,
    file_name,
    number,
    whole_number,
)
from maxmargin.cli.reading import add_own_weight, read_weighted_rows

if TYPE_CHECKING:
    from maxmargin.cli.console import Console


EXAMPLES = """\
  maxmargin report a9a.model a9a.svm               writes report.html
  maxmargin report a9a.model a9a.svm --test a9a.t  evaluated on other rows
  maxmargin report cells.model cells.csv -o cells.html --redact
"""


def add_report(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "report",
        help="write a page about a model: certificate, plots, guarantees",
        description="Write one HTML file about a model and the data it was trained on. It opens from disk, "
        "without a network.",
        examples=EXAMPLES,
    )
    parser.add_argument("model", metavar="MODEL", type=file_name, help="a model of maxmargin train")
    parser.add_argument("data", metavar="DATA", type=file_name, help="the file that it was trained on")
    parser.add_argument(
        "-o",
        "--out",
        type=file_name,
        default=Path("report.html"),
        help="the file to write (report.html); - for stdout",
    )
    parser.add_argument("--test", metavar="FILE", type=file_name, help="rows that had no part in training")
    parser.add_argument(
        "--texts", metavar="FILE", type=Path, help="a file with the original text of each row, one per line"
    )
    parser.add_argument("--title", help="the title of the page")
    parser.add_argument("--redact", action="store_true", help="leave out the rows' values and texts")
    parser.add_argument(
        "--class-weight",
        choices=["balanced"],
        help="as in training; needed for older model files only",
    )
    add_row_options(parser)
    add_own_weight(parser)
    parser.add_argument(
        "--suspects", type=whole_number, default=25, help="how many suspicious labels to list at most (25)"
    )
    parser.add_argument(
        "--max-time",
        type=number,
        metavar="SECONDS",
        default=30.0,
        help="seconds for the computations of the report (30)",
    )
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, find out, write."""
    from maxmargin.cli.streams import read_labelled_rows, read_model, write_through
    from maxmargin.errors import Interrupted
    from maxmargin.reporting.build import report

    check_files(arguments, console)
    model = read_model(arguments.model, arguments.data)
    X, y, weights = read_weighted_rows(model, arguments, console)
    test = None if arguments.test is None else read_labelled_rows(model, arguments, arguments.test)[:2]
    texts = None if arguments.texts is None else read_texts(arguments.texts)
    cut_short = []

    def write(path: Path) -> None:
        try:
            report(
                model,
                X,
                y,
                test=test,
                path=path,
                title=arguments.title,
                texts=texts,
                redact=arguments.redact,
                sample_weight=weights,
                class_weight=arguments.class_weight,
                n_suspects=arguments.suspects,
                max_time=arguments.max_time,
                command=command_line(arguments),
                verbose=int(not arguments.quiet),
            )
        except Interrupted as error:  # the page is there
            cut_short.append(error)

    write_through(arguments.out, write)
    console.add_fields({"out": arguments.out})
    if cut_short:
        page = "the page" if arguments.out == STANDARD else arguments.out
        console.print_stderr(f"interrupted: {page} holds the results so far")
        return INTERRUPTED
    if arguments.out != STANDARD:
        console.wrote(arguments.out)
    return DONE


def check_files(arguments: argparse.Namespace, console: Console) -> None:
    """Refuse files that cannot be read or written together, before any work is done."""
    from maxmargin.errors import InvalidParameter

    if arguments.out == STANDARD:
        if console.json:
            raise InvalidParameter(
                "--json and the page (-) cannot both go to the standard output; name a file"
            )
        console.reserve_stdout()
    check_sources(arguments.model, arguments.data, arguments.test)
    check_target(arguments.out, arguments.model, arguments.data, arguments.test, arguments.texts)


def read_texts(path: Path) -> list[str]:
    """Read one text per line."""
    from maxmargin.errors import FileFormatError
    from maxmargin.io.open import read_source

    try:
        lines = read_source(path).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"expected text in UTF-8: {error.reason}", path) from None
    return lines[:-1] if lines[-1] == "" else lines


def command_line(arguments: argparse.Namespace) -> str:
    """Return the command that makes this report again, with the names of the files but not their folders."""
    words = ["maxmargin", "report", arguments.model.name, arguments.data.name, "-o", arguments.out.name]
    for option in ("test", "texts"):
        if getattr(arguments, option) is not None:
            words += [f"--{option}", getattr(arguments, option).name]
    for option in ("title", "label", "weight", "class_weight"):
        if getattr(arguments, option) is not None:
            words += [f"--{option.replace('_', '-')}", str(getattr(arguments, option))]
    return shlex.join([*words, *(["--redact"] if arguments.redact else [])])
