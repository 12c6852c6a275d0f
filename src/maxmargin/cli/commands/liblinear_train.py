"""``maxmargin liblinear-train``: LIBLINEAR's ``train``, option for option, with a certificate."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from maxmargin.cli.codes import DONE, INTERRUPTED, MISSED
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    check_target,
    file_name,
    number,
    read_data,
    whole_number,
)
from maxmargin.errors import InvalidParameter

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.data import Data
    from maxmargin.interop.liblinear import LiblinearProblem
    from maxmargin.model.model import LinearModel

__all__ = ["SOLVERS"]


EXAMPLES = """\
  maxmargin liblinear-train a9a                writes a9a.model
  maxmargin liblinear-train -s 3 -c 0.1 -B 1 a9a my.model
  maxmargin liblinear-train -s 0 -w1 5 a9a     class 1 counts five times
  maxmargin liblinear-train -v 5 a9a           accuracy in five folds, no model
  maxmargin liblinear-train -C a9a             which C is best, no model

The offset: without -B there is none, with -B 1 it is penalised like a weight;
that is LIBLINEAR's problem. For an unpenalised offset: maxmargin train.
"""

DEFAULT_SOLVER, DEFAULT_OF_SEARCH = 1, 2
DEFAULT_TOL = 1e-4
DEFAULT_FOLDS = 5


def add_liblinear_train(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "liblinear-train",
        help="LIBLINEAR's train: its options, its problem, its model file",
        description="Fit as LIBLINEAR's train does: the same options, problem and model file, which "
        "LIBLINEAR's predict reads. The distance from the optimum is certified.",
        examples=EXAMPLES,
    )
    parser.rewrite = weights_together  # type: ignore[attr-defined]
    parser.add_argument("data", metavar="DATA", type=file_name, help="LIBSVM text; - for stdin")
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=file_name,
        nargs="?",
        help="the file to write (DATA.model); - for stdout",
    )
    add_problem(parser.add_argument_group("LIBLINEAR's options"))
    add_common(parser)
    parser.set_defaults(run=run, format="libsvm", zero_based="no")


def add_problem(group: Any) -> None:
    """Describe LIBLINEAR's options."""
    add_solver(group)
    group.add_argument(
        "-c", type=number, metavar="COST", help="C of ½‖θ‖² + C Σ loss (1); with -C the first to try"
    )
    group.add_argument(
        "-e",
        type=number,
        metavar="EPSILON",
        default=DEFAULT_TOL,
        help="the certified relative gap at which to stop (1e-4: within 0.01 %% of the optimum); unlike "
        "LIBLINEAR's -e it means the same for all solvers",
    )
    group.add_argument(
        "-B",
        type=number,
        metavar="BIAS",
        default=-1.0,
        help="if at least 0, a column of this value is added to each row; otherwise there is no offset (-1)",
    )
    group.add_argument("-R", action="store_true", help="do not penalise the offset; with -B 1")
    group.add_argument(
        "-wi",
        type=class_weight,
        metavar="WEIGHT",
        action="append",
        help="multiply C for class i, as in -w1 5",
    )
    group.add_argument("-v", type=whole_number, metavar="N", help="print the accuracy in N folds; no model")
    group.add_argument("-C", action="store_true", dest="search", help="search for C in folds; no model")
    group.add_argument("-m", type=whole_number, metavar="N", help="threads (all cores)")
    add_absent(group)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, then fit, or judge in folds, or search for C."""
    from maxmargin.cli.json_fields import data_fields

    makes_model = arguments.v is None and not arguments.search
    problem = problem_of(arguments, console)
    target = target_of(arguments, console) if makes_model else None
    if target is not None:
        check_target(target, arguments.data)
    data = read_data(arguments, arguments.data, for_a_fit=makes_model)
    console.add_fields({"data": data_fields(data, arguments.data)})
    check_labels(data, arguments.data)
    problem = with_known_weights(problem, data, console)
    console.print(meaning_of_e(problem.tol))
    if arguments.search:
        return search(problem, data, arguments, console)
    if target is None:
        return judge_in_folds(problem, data, arguments.v, console)
    return fit(problem, data, target, console)


def problem_of(arguments: argparse.Namespace, console: Console) -> LiblinearProblem:
    """Return what the options name, checked before a large file is read."""
    from maxmargin.interop.liblinear import LiblinearProblem

    C = 1.0 if arguments.c is None else arguments.c
    for option, value in (("-c", C), ("-e", arguments.e), ("-m", arguments.m)):
        if value is not None and not 0 < value < math.inf:
            raise InvalidParameter(f"{option} must be a positive number; got {value:g}")
    if not math.isfinite(arguments.B):
        raise InvalidParameter(f"-B must be a finite number; got {arguments.B:g}")
    if arguments.R and arguments.B != 1:
        raise InvalidParameter("-R leaves the offset unpenalised, so there has to be one: give -B 1 with it")
    if arguments.v is not None and arguments.v < 2:
        raise InvalidParameter(f"-v needs at least 2 folds; got {arguments.v}")
    chosen = arguments.s
    if chosen is None:
        chosen = DEFAULT_OF_SEARCH if arguments.search else DEFAULT_SOLVER
        if arguments.search:
            console.print(f"Solver not specified. Using -s {chosen}")
    name, loss = SOLVERS[chosen]
    weights = class_weights(arguments.wi)
    return LiblinearProblem(name, loss, C, arguments.B, arguments.R, weights, arguments.e, arguments.m)


def target_of(arguments: argparse.Namespace, console: Console) -> Path:
    """Return where the model goes: as in LIBLINEAR, DATA.model in the current folder."""
    if arguments.model is None:
        if arguments.data == STANDARD:
            raise InvalidParameter(
                "rows from the standard input have no name: name the model file after them"
            )
        return Path(arguments.data.name + ".model")
    if arguments.model == STANDARD:
        if console.json:
            raise InvalidParameter(
                "--json and a model (-) cannot both go to the standard output; name a file"
            )
        console.reserve_stdout()
    return Path(arguments.model)


def meaning_of_e(tol: float) -> str:
    """Return what -e is here, for it is something else in LIBLINEAR."""
    from maxmargin.presentation.wording import chosen_percent

    goal = chosen_percent(tol)
    return f"-e {tol:g}: to be certified within {goal} of the optimum (in LIBLINEAR -e is something else)"


def check_labels(data: Data, source: Path) -> None:
    """Refuse labels that a model file cannot hold, and a single class."""
    from maxmargin.errors import InvalidInput
    from maxmargin.model.liblinear import labels_in_order

    labels = labels_in_order(data.y)
    if len(labels) < 2:
        name = "standard input" if source == STANDARD else source
        raise InvalidInput(f"{name} has one class only ({labels[0]}): there is nothing to tell apart")


def with_known_weights(problem: LiblinearProblem, data: Data, console: Console) -> LiblinearProblem:
    """Return the problem without weights of classes that do not occur; warn of them as LIBLINEAR does."""
    from dataclasses import replace

    given = problem.class_weight or {}
    known = {label: weight for label, weight in given.items() if label in data.classes}
    for label in given:
        if label not in known:
            console.warn(f"class label {label} of -w{label} is not in the data")
    return replace(problem, class_weight=known or None)


# ---------------------------------------------------------------- a model


def fit(problem: LiblinearProblem, data: Data, target: Path, console: Console) -> int:
    """Fit, print the results as LIBLINEAR does, write the model."""
    from maxmargin.cli.json_fields import model_fields
    from maxmargin.cli.streams import write_through
    from maxmargin.interop.liblinear import as_file, fit_as_liblinear
    from maxmargin.io.liblinear import write_liblinear_model

    model = fit_as_liblinear(problem, data, verbose=int(console.shows_progress))
    if model.interrupted:
        console.print_stderr("interrupted: this is the best model so far")
    for line in course(model):
        console.print(line)
    console.add_fields({**model_fields(model), "solver_type": problem.solver_type, "out": target})
    file = as_file(problem, model, data)
    write_through(target, lambda path: write_liblinear_model(path, file))
    if model.interrupted:
        return INTERRUPTED
    return warn_if_missed(model, console)


def course(model: LinearModel) -> list[str]:
    """Return what LIBLINEAR prints after its fit, once for each problem."""
    import numpy as np

    lines = []
    for at, proof in enumerate(model.certificates):
        lines += [
            f"optimization finished, #iter = {model.n_iter[at]}",
            f"Objective value = {proof.objective:.6f}, certified {proof.verdict}",
        ]
        if model.support is not None:
            own = model.support.dual_coef if model.is_joint else model.support.dual_coef[at]
            lines.append(f"nSV = {np.count_nonzero(own)}")
    return lines


def warn_if_missed(model: LinearModel, console: Console) -> int:
    """Return where a fit ended before -e was reached."""
    from maxmargin.presentation.wording import chosen_percent

    if model.warning() is None or model.certificate is None:
        return DONE
    reached = model.certificate.verdict
    console.warn(
        f"the model is {reached}, not within the {chosen_percent(model.tol)} asked for by -e: scale columns "
        "to similar ranges, lower -c or raise -e"
    )
    return MISSED


# ---------------------------------------------------------------- folds


def judge_in_folds(problem: LiblinearProblem, data: Data, n_folds: int, console: Console) -> int:
    """Print how many rows are right when the fit has not seen them."""
    from maxmargin.interop.liblinear import cross_validated

    right = cross_validated(problem, data, folds_for(n_folds, data, console))
    share = right / data.n_rows
    console.output(f"Cross Validation Accuracy = {100 * share:g}%")
    console.add_fields({"folds": n_folds, "rows": data.n_rows, "right": right, "accuracy": share})
    return DONE


def search(problem: LiblinearProblem, data: Data, arguments: argparse.Namespace, console: Console) -> int:
    """Print which C is best in folds."""
    from maxmargin.interop.liblinear import search_for_C

    n_folds = folds_for(arguments.v or DEFAULT_FOLDS, data, console)
    console.print(f"Doing parameter search with {n_folds}-fold cross validation.")
    found = search_for_C(problem, data, n_folds, arguments.c)
    for C, right in zip(found.Cs, found.n_right, strict=True):
        console.print(f"log2c={math.log2(C):7.2f}\trate={100 * right / data.n_rows:g}")
    share = found.n_right[found.best] / data.n_rows
    console.output(f"Best C = {found.Cs[found.best]:g}  CV accuracy = {100 * share:g}%")
    console.add_fields(
        {
            "folds": n_folds,
            "tried": [{"C": C, "right": right} for C, right in zip(found.Cs, found.n_right, strict=True)],
            "best_C": found.Cs[found.best],
            "accuracy": share,
            "rows": data.n_rows,
        }
    )
    return DONE


def folds_for(n_folds: int, data: Data, console: Console) -> int:
    """Return how many folds there can be; with as many as rows each holds one out, as in LIBLINEAR."""
    if n_folds > data.n_rows:
        console.warn(f"# folds > # data. Will use # folds = # data = {data.n_rows} (leave-one-out) instead")
    return min(n_folds, data.n_rows)


# ------------------------------------------------------------------------------------------------
# LIBLINEAR's options as its users write them, and the messages for those that are not supported.

# The number that -s gives a solver, with the name in model files and the loss.
# As in training.liblinear, which cannot be imported for a help text; tests compare.
SOLVERS = {
    0: ("L2R_LR", "logistic"),
    1: ("L2R_L2LOSS_SVC_DUAL", "squared_hinge"),
    2: ("L2R_L2LOSS_SVC", "squared_hinge"),
    3: ("L2R_L1LOSS_SVC_DUAL", "hinge"),
    4: ("MCSVM_CS", "hinge"),
    7: ("L2R_LR_DUAL", "logistic"),
}
ABSENT_SOLVERS = {
    5: "penalises Σ|θⱼ| and not ‖θ‖²; use -s 1, or LIBLINEAR itself where weights must be 0",
    6: "penalises Σ|θⱼ| and not ‖θ‖²; use -s 0, or LIBLINEAR itself where weights must be 0",
    11: "is regression, and this is for classes; use LIBLINEAR itself",
    12: "is regression, and this is for classes; use LIBLINEAR itself",
    13: "is regression, and this is for classes; use LIBLINEAR itself",
    21: "is one-class detection, and this is for classes; use LIBLINEAR itself",
}
ABSENT_OPTIONS = {
    "-p": "-p is the width of regression's tube (-s 11 to 13), and this is for classes: leave it out",
    "-n": "-n is the ν of one-class detection (-s 21), and this is for classes: leave it out",
    "-M": "-M is not here: several classes are one against the rest, as in LIBLINEAR without it",
}


def add_solver(group: Any) -> None:
    """Describe -s."""
    group.add_argument(
        "-s",
        type=solver_number,
        metavar="TYPE",
        help="0, 7: logistic; 1, 2: squared hinge; 3: hinge; 4: hinge of all classes, by Crammer and Singer "
        "(1; with -C 2). Primal or dual is the same",
    )


def solver_number(text: str) -> int:
    """Read -s, with advice where it is one that is not supported."""
    chosen = whole_number(text)
    if chosen in ABSENT_SOLVERS:
        raise argparse.ArgumentTypeError(f"-s {chosen} {ABSENT_SOLVERS[chosen]}")
    if chosen not in SOLVERS:
        raise argparse.ArgumentTypeError(f"there is no -s {chosen}; here are 0, 1, 2, 3, 4 and 7")
    return chosen


class Absent(argparse.Action):
    """An option of LIBLINEAR that is refused with the reason."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> NoReturn:
        """Return what it means there and what to do."""
        raise argparse.ArgumentError(None, ABSENT_OPTIONS[str(option)])


def add_absent(group: Any) -> None:
    """Know the options that are refused, without a line in the help."""
    for option in ABSENT_OPTIONS:
        group.add_argument(option, action=Absent, dest=argparse.SUPPRESS, help=argparse.SUPPRESS)


# ---------------------------------------------------------------- weights of classes


def weights_together(words: Sequence[str]) -> list[str]:
    """Return the words with ``-w1 5``, and a negative number after -B, as one word that argparse can read.

    Examples
    --------
    >>> weights_together(["-w-1", "5", "-B", "-1e0", "a.svm"])
    ['-wi=-1:5', '-B=-1e0', 'a.svm']
    """
    together, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-w") and not word.startswith("-wi="):
            together.append(f"-wi={word[2:]}:{rest.pop(0) if rest else ''}")
        elif word == "-B" and rest:
            together.append(f"-B={rest.pop(0)}")
        else:
            together.append(word)
    return together


def class_weight(text: str) -> tuple[int, float]:
    """Read a label and its weight."""
    label, _, weight = text.partition(":")
    try:
        known = int(label)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected -w and a label that is a whole number, found "-w{label}"'
        ) from None
    if not weight:
        raise argparse.ArgumentTypeError(f"expected a number after -w{label}")
    return known, number(weight)


def class_weights(given: Sequence[tuple[int, float]] | None) -> dict[int, float]:
    """Return the weights by label, checked."""
    weights: dict[int, float] = {}
    for label, weight in given or ():
        if not 0 < weight < float("inf"):
            raise InvalidParameter(f"-w{label} must be a positive number; got {weight:g}")
        if label in weights:
            raise InvalidParameter(f"-w{label} is given for the second time")
        weights[label] = weight
    return weights
