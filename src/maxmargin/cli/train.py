"""``maxmargin train``: from a file with rows to a file with a certified model."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import check_target, column, number, whole_number

if TYPE_CHECKING:
    from maxmargin.results.data import Data
    from maxmargin.results.solution import Plan
    from maxmargin.training.model import LinearModel

__all__ = ["CALIBRATIONS", "LOSSES", "add_train"]

# As in training.train, which cannot be imported before a command runs; tests compare them.
LOSSES = ("hinge", "squared_hinge", "logistic")
CALIBRATIONS = ("sigmoid", "temperature", "isotonic")

INTERRUPTED = 130

EXAMPLES = """\
examples:
  maxmargin train a9a.svm                      writes a9a.model
  maxmargin train cells.csv --label diagnosis  the label is in the column of that name
  maxmargin train a9a.svm --loss logistic --C 0.1 --tol 1e-6
  maxmargin train a9a.svm --calibrate sigmoid  with probabilities for maxmargin predict
  maxmargin train a9a.svm --max-time 60        the best model after a minute, and how good it is
"""


def add_train(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = commands.add_parser(
        "train",
        help="fit a model to a data file and certify it",
        description="Fit a linear classifier to a data file (LIBSVM text or CSV) and certify it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("data", metavar="DATA", type=Path, help="LIBSVM text or a CSV table, packed or not")
    parser.add_argument(
        "model", metavar="MODEL", type=Path, nargs="?", help="where to write (DATA's name with .model)"
    )
    add_problem(parser.add_argument_group("the problem"))
    add_effort(parser.add_argument_group("the effort"))
    parser.add_argument(
        "--label", type=column, help="the label's column in a table, by name or number from 0"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but warnings and errors")
    parser.set_defaults(run=run)


def add_problem(group: Any) -> None:
    """Describe the options that say what is minimised."""
    group.add_argument("--loss", choices=LOSSES, default="hinge", help="of the agreement (hinge)")
    strength = group.add_mutually_exclusive_group()
    strength.add_argument("-c", "--C", type=number, help="½‖θ‖² + C Σ loss (1); inf: maximum likelihood")
    strength.add_argument("--lam", type=number, help="the same as λ/2 ‖θ‖² + mean loss, C = 1/(λ n)")
    offset = group.add_mutually_exclusive_group()
    offset.add_argument("--no-intercept", action="store_true", help="a boundary through the origin")
    offset.add_argument(
        "--penalize-intercept", action="store_true", help="penalise θ₀ too, as LIBLINEAR does"
    )
    group.add_argument(
        "--class-weight", choices=["balanced"], help="let small classes count as much as large ones"
    )
    group.add_argument(
        "--calibrate", choices=CALIBRATIONS, help="fit probabilities too, to the scores of left-out rows"
    )


def add_effort(group: Any) -> None:
    """Describe the options that say how far to go and by what way."""
    group.add_argument(
        "--tol",
        type=number,
        default=1e-4,
        help="certified relative gap to reach (1e-4: 0.01 %% of the optimum)",
    )
    group.add_argument("--max-iter", type=whole_number, help="stop after this many iterations of the solver")
    group.add_argument("--max-time", type=number, metavar="SECONDS", help="stop after this time")
    group.add_argument("--solver", default="auto", help="which method (auto)")
    group.add_argument("--seed", type=whole_number, help="another order in which the rows are visited")


def run(arguments: argparse.Namespace) -> int:
    """Read, train, report, write."""
    from dataclasses import replace

    from maxmargin.inputs.load import load_data
    from maxmargin.training.files import save_model
    from maxmargin.training.train import fit_linear

    target = arguments.model or default_target(arguments.data)
    check_target(target, arguments.data)
    check_settings(arguments)
    say = silence if arguments.quiet else speak
    data = load_data(arguments.data, label=arguments.label)
    say(f"read {arguments.data}: {data}")
    check_classes(data, arguments.data)
    model = fit_linear(
        data.X,
        data.y,
        loss=arguments.loss,
        C=arguments.C,
        lam=arguments.lam,
        fit_intercept=not arguments.no_intercept,
        penalize_intercept=arguments.penalize_intercept,
        class_weight=arguments.class_weight,
        tol=arguments.tol,
        solver=arguments.solver,
        max_iter=arguments.max_iter,
        max_time=arguments.max_time,
        random_state=arguments.seed,
        calibrate=arguments.calibrate,
        verbose=int(sys.stderr.isatty() and not arguments.quiet),
        announce=lambda plan: say(plan_line(plan, arguments, data)),
    )
    names = None if data.feature_names is None else list(data.feature_names)
    model = replace(model, feature_names=names, scheme=data.scheme, label=data.label)
    if model.interrupted:
        print("interrupted: this is the best model so far", file=sys.stderr)
    say(certificate_line(model))
    say(quality_line(model, data))
    if model.calibration is not None:
        say(f"calibrated: {model.calibration}")
    save_model(model, target)
    say(f"wrote {target}")
    if not model.interrupted:
        warn(model)
    return INTERRUPTED if model.interrupted else 0


def speak(line: str) -> None:
    """Say it at once, also where a log or another program is listening."""
    print(line, flush=True)


def silence(line: str) -> None:
    """Say nothing."""


def default_target(data: Path) -> Path:
    """Return the model's file in the current folder: a9a.model for somewhere/a9a.svm.xz."""
    from maxmargin.inputs.source import compression_of

    unpacked = Path(data.stem) if compression_of(data) else Path(data.name)
    return Path(unpacked.stem + ".model")


def check_settings(arguments: argparse.Namespace) -> None:
    """Refuse wrong numbers before a large file is read."""
    from maxmargin.solvers.choose import SOLVERS
    from maxmargin.training.scales import resolve_C
    from maxmargin.validation import check_choice, check_positive

    check_choice("solver", arguments.solver, ("auto", *SOLVERS))
    resolve_C(arguments.C, arguments.lam, 1.0, arguments.loss)
    check_positive("tol", arguments.tol)
    check_positive("max_iter", arguments.max_iter, or_none=True, integer=True)
    check_positive("max_time", arguments.max_time, or_none=True)


def check_classes(data: Data, path: Path) -> None:
    """Refuse what holds nothing to tell apart."""
    from maxmargin.errors import InvalidInput
    from maxmargin.results.data import label_text

    if len(data.classes) < 2:
        only = label_text(data.classes[0], is_signed=False)
        raise InvalidInput(f"{path} has one class only ({only}): there is nothing to tell apart")


# ---------------------------------------------------------------- what is said


def plan_line(plan: Plan, arguments: argparse.Namespace, data: Data) -> str:
    """Say before the fit what will be done."""
    from maxmargin.results.wording import chosen_percent, short

    C = 1.0 if arguments.C is None else arguments.C
    strength = f"C = {short(C)}"
    if arguments.lam == 0 or math.isinf(C):
        strength = "unregularised"
    elif arguments.lam is not None:
        strength = f"λ = {short(arguments.lam)} (C = {short(1.0 / (arguments.lam * data.n_rows))})"
    goal = chosen_percent(arguments.tol)
    return f"plan: {plan.solver} ({plan.reason}), {arguments.loss} loss, {strength}, to {goal} of the optimum"


def certificate_line(model: LinearModel) -> str:
    """Say what is proved."""
    from maxmargin.results.wording import plural

    several = f" (the worst of {len(model.classes)} classes)" if len(model.certificates) > 1 else ""
    iterations = plural(sum(model.n_iter), "iteration")
    return f"certified {distance(model)}{several} after {iterations}"


def distance(model: LinearModel) -> str:
    """Return the certificate's verdict without its numbers: "within 0.008 % of the optimum"."""
    return str(model.certificate).split(" (")[0]


def quality_line(model: LinearModel, data: Data) -> str:
    """Say how the model does on its own data."""
    from maxmargin.results.wording import plural

    accuracy = float((model.predict(data.X) == data.y).mean())
    said = [f"training accuracy {100 * accuracy:.1f} %", width_text(model)]
    if model.support is not None:
        on_margin = f" ({int(model.support.n_free[0]):,} on the margin)" if len(model.classes) == 2 else ""
        said.append(plural(len(model.support.indices), "support vector") + on_margin)
    return ", ".join(said)


def width_text(model: LinearModel) -> str:
    """Return the margin width, or the range of them for several classes."""
    widths = model.margin
    if len(widths) == 1:
        return f"margin width {widths[0]:.3g}"
    return f"margin widths {widths.min():.3g} to {widths.max():.3g}"


def warn(model: LinearModel) -> None:
    """Say that the goal was missed and what would help, in terms of this command's options."""
    from maxmargin.results.solution import Status
    from maxmargin.results.wording import chosen_percent

    if model.uncalibrated:
        told = model.calibration_warning().replace("max_time", "--max-time")
        print(f"maxmargin: warning: {told}", file=sys.stderr)
    if model.warning() is None or model.status is None:
        return
    advice = {
        Status.MAX_ITER: "Scale the columns to similar ranges, lower --C, or raise --max-iter.",
        Status.MAX_TIME: "Raise --max-time.",
        Status.STALLED: "Scale the columns to similar ranges, or raise --tol.",
    }.get(model.status, "Train again.")
    missed = f"not within the {chosen_percent(model.tol)} asked for by --tol"
    why = model.status.value.replace("max_", "--max-")
    print(f"maxmargin: warning: the model is {distance(model)}, {missed}: {why}. {advice}", file=sys.stderr)
