"""``maxmargin loo``: which rows would be wrong if they were left out, exactly."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, INTERRUPTED, MISSED
from maxmargin.cli.fitting import (
    add_effort,
    add_problem,
    check_effort,
    check_strength,
    grid,
    settings_of,
    time_left,
)
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
    from maxmargin.core.objective import Objective
    from maxmargin.data import Data
    from maxmargin.selection.leave_one_out.record import LeaveOneOut


EXAMPLES = """\
  maxmargin loo cells.csv                 at C = 1
  maxmargin loo cells.csv --C 0.1 -o left_out.tsv   with a line for each row
  maxmargin loo cells.csv --Cs 0.01,0.1,1,10        at several C, and the best
  maxmargin loo a9a.svm --loss logistic --max-time 60
"""


def add_loo(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "loo",
        help="count leave-one-out errors exactly",
        description="Count the rows that are misclassified when left out of the fit: exactly, with a reason "
        "for each, and without refitting for each.",
        examples=EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "-o",
        "--out",
        metavar="OUT",
        type=file_name,
        help="write a line for each row, counted from 0; - for stdout",
    )
    parser.add_argument(
        "--exact-agreements",
        action="store_true",
        help="write exact agreements of the left-out rows to OUT instead of estimates; slower",
    )
    problem = parser.add_argument_group("the problem")
    cost = problem.add_mutually_exclusive_group()
    cost.add_argument("-c", "--C", type=number, help="½‖θ‖² + C Σ loss (1)")
    cost.add_argument("--lam", type=number, help="λ of λ/2 ‖θ‖² + mean loss instead, C = 1/(λ n)")
    cost.add_argument(
        "--Cs", type=grid, metavar="VALUES", help="several values, such as 0.1,1,10; prints which is best"
    )
    add_problem(problem)
    add_effort(parser.add_argument_group("the solver"))
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, count, print, write."""
    check(arguments, console)
    data = read_classes(arguments, console)
    if arguments.Cs is not None:
        return compare(arguments, data, console)
    return count(arguments, data, console)


def check(arguments: argparse.Namespace, console: Console) -> None:
    """Refuse wrong settings and targets before a large file is read."""
    from maxmargin.errors import InvalidParameter

    check_effort(arguments)
    if arguments.Cs is None:
        check_strength(arguments.C, arguments.lam, arguments.loss)
    elif arguments.out is not None:
        raise InvalidParameter("-o OUT is for one C: a line for each row; give --C instead of --Cs")
    if arguments.exact_agreements and arguments.out is None:
        raise InvalidParameter("--exact-agreements are written into a file: give -o OUT")
    if arguments.out == STANDARD:
        if console.json:
            raise InvalidParameter("--json and rows cannot both go to the standard output; name a file")
        console.reserve_stdout()
    if arguments.out is not None:
        check_target(arguments.out, arguments.data)


# ---------------------------------------------------------------- at one C


def count(arguments: argparse.Namespace, data: Data, console: Console) -> int:
    """Count the errors at one C."""
    from maxmargin.errors import Interrupted
    from maxmargin.selection.leave_one_out.leave_one_out import leave_one_out

    is_interrupted = False
    try:
        found = leave_one_out(
            objective_of(arguments, data),
            data.X,
            data.y,
            sample_weight=data.sample_weight,
            agreements="exact" if arguments.exact_agreements else "estimated" if arguments.out else None,
            max_time=time_left(arguments),
            n_jobs=arguments.jobs,
            verbose=int(console.shows_progress),
        )
    except Interrupted as interrupt:
        found, is_interrupted = interrupt.model, True
    for line in lines_of(found):
        console.print(line)
    console.add_fields(fields_of(found))
    if arguments.out is not None:
        write(found, data, arguments, console)
    if is_interrupted:
        console.print_stderr("interrupted: these are the results so far")
        return INTERRUPTED
    if found.n_undecided:
        from maxmargin.core.solution import Status

        advice = ". Raise --max-time." if found.status is Status.MAX_TIME else ""
        console.warn(f"{found.n_undecided:,} rows are not decided: {found.status.value}{advice}")
    return MISSED if found.n_undecided else DONE


def objective_of(arguments: argparse.Namespace, data: Data) -> Objective:
    """Return what is minimised."""
    from maxmargin.model.settings import objective_from

    settings = settings_of(arguments, data.classes)
    names = ("fit_intercept", "penalize_intercept", "intercept_scaling", "class_weight", "multi_class")
    stated = {name: settings[name] for name in names}
    return objective_from(loss=arguments.loss, C=arguments.C, lam=arguments.lam, **stated)


def lines_of(found: LeaveOneOut) -> list[str]:
    """Return lines on how many are wrong, and why that is known."""
    from maxmargin.cli.console import aligned
    from maxmargin.presentation.wording import percent
    from maxmargin.selection.leave_one_out.record import REASONS

    rows = [
        [reason.value, f"{number:,}", f"{int(found.errors[found.codes == REASONS.index(reason)].sum()):,}"]
        for reason, number in found.counts.items()
    ]
    share = found.training_errors / max(found.n_examples, 1)
    return [
        str(found).split(";")[0],
        *aligned(["why it is known", "rows", "wrong"], rows),
        f"training errors: {found.training_errors:,} ({percent(share)})",
    ]


def fields_of(found: LeaveOneOut) -> dict[str, Any]:
    """Return the counts for machines."""
    return {
        "examples": found.n_examples,
        "errors": found.n_errors,
        "undecided": found.n_undecided,
        "error_rate": found.error_rate,
        "training_errors": found.training_errors,
        "is_meaningful": found.is_meaningful,
        "reasons": {reason.name.lower(): number for reason, number in found.counts.items()},
        "wrong_rows": found.errors.nonzero()[0],
    }


def write(found: LeaveOneOut, data: Data, arguments: argparse.Namespace, console: Console) -> None:
    """Write a line for each row, counted from 0."""
    from maxmargin.cli.console import separated
    from maxmargin.cli.json_fields import plain_labels
    from maxmargin.cli.streams import write_text
    from maxmargin.selection.leave_one_out.record import REASONS

    heading = ["row", "label", "wrong", "reason"]
    if found.agreements is not None:
        heading.append(f"{found.agreements_are}_agreement")

    def rows() -> Iterator[list[Any]]:
        for k, label in enumerate(plain_labels(data.y)):
            row = [k, label, int(found.errors[k]), REASONS[found.codes[k]].value]
            yield row if found.agreements is None else [*row, float(found.agreements[k])]

    separator = "," if arguments.out.suffix.lower() == ".csv" else "\t"
    write_text(separated(heading, rows(), separator), arguments.out)
    if arguments.out != STANDARD:
        console.wrote(arguments.out)


# ---------------------------------------------------------------- at several


def compare(arguments: argparse.Namespace, data: Data, console: Console) -> int:
    """Count the errors at several C, exactly where bounds do not show that a C cannot be the best."""
    from maxmargin.cli.search_for_c import error_lines, search_fields, warn_of_search
    from maxmargin.model.progress import Ticker
    from maxmargin.selection.search.automatic import Way, select_C
    from maxmargin.selection.search.task import check_Cs, validation_task

    Cs, _ = check_Cs(arguments.Cs)
    ticker = Ticker(arguments.tol) if console.shows_progress else None
    settings = settings_of(arguments, data.classes)
    task = validation_task(data.X, data.y, data.sample_weight, watch=ticker, **settings)
    try:
        selected = select_C(task, Cs, Way(0), refit=False)
    finally:
        if ticker is not None:
            ticker.close()
    console.print(str(selected.table))
    for line in error_lines(selected):
        console.print(line)
    console.add_fields({"search": search_fields(selected, Way(0))})
    if selected.status.name == "INTERRUPTED":
        console.print_stderr("interrupted: these are the results so far")
        return INTERRUPTED
    return MISSED if warn_of_search(selected, console) else DONE
