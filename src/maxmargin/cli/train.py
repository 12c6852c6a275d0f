"""``maxmargin train``: from a file with rows to a file with a certified model."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, INTERRUPTED, MISSED
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_reading,
    check_target,
    file_name,
    number,
    read_data,
    whole_number,
)

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice
    from maxmargin.results.data import Data
    from maxmargin.results.solution import Plan
    from maxmargin.training.model import LinearModel

__all__ = ["CALIBRATIONS", "LOSSES", "add_train"]

# As in training.train, which cannot be imported before a command runs; tests compare them.
LOSSES = ("hinge", "squared_hinge", "logistic")
CALIBRATIONS = ("sigmoid", "temperature", "isotonic")

EXAMPLES = """\
  maxmargin train a9a.svm                      writes a9a.model
  maxmargin train cells.csv --label diagnosis  labels in the column of that name
  maxmargin train a9a.svm --loss logistic --C 0.1 --tol 1e-6 -o small.model
  maxmargin train a9a.svm --calibrate sigmoid  with probabilities for predict
  maxmargin train a9a.svm --max-time 60        the best model after a minute
  zcat big.gz | maxmargin train - big.model    rows from another program
"""


def add_train(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "train",
        help="fit a model to a data file and certify it",
        description="Fit a linear classifier to a data file and certify it.",
        examples=EXAMPLES,
    )
    parser.add_argument(
        "data", metavar="DATA", type=file_name, help="LIBSVM text or a table, packed or not; - for stdin"
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=file_name,
        nargs="?",
        help="where to write (DATA's name with .model); - for stdout",
    )
    parser.add_argument("-o", "--out", metavar="MODEL", type=file_name, help="the same")
    add_problem(parser.add_argument_group("the problem"))
    add_effort(parser.add_argument_group("the effort"))
    add_reading(parser)
    add_common(parser)
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


def run(arguments: argparse.Namespace, voice: Voice) -> int:
    """Read, train, report, write."""
    from dataclasses import replace

    from maxmargin.cli.described import data_fields, model_fields
    from maxmargin.cli.streams import write_model
    from maxmargin.training.train import fit_linear

    target = target_of(arguments, voice)
    check_target(target, arguments.data)
    check_settings(arguments)
    data = read_data(arguments, arguments.data)
    voice.say(f"read {source_text(arguments.data)}: {data}")
    voice.result({"data": data_fields(data, arguments.data)})
    check_classes(data, arguments.data)
    model = fit_linear(
        data.X,
        data.y,
        sample_weight=data.sample_weight,
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
        verbose=int(voice.shows_progress),
        announce=lambda plan: voice.say(plan_line(plan, arguments, data)),
    )
    names = None if data.feature_names is None else list(data.feature_names)
    model = replace(model, feature_names=names, scheme=data.scheme, label=data.label)
    if model.interrupted:
        voice.note("interrupted: this is the best model so far")
    voice.say(certificate_line(model))
    voice.say(quality_line(model, data))
    if model.calibration is not None:
        voice.say(f"calibrated: {model.calibration}")
    voice.result({**model_fields(model), "training": training_fields(model, data), "out": target})
    write_model(model, target)
    if target != STANDARD:
        voice.say(f"wrote {target}")
    if model.interrupted:
        return INTERRUPTED
    return warn(model, voice)


def target_of(arguments: argparse.Namespace, voice: Voice) -> Path:
    """Return where the model goes: one place, and not where the JSON object goes."""
    from maxmargin.errors import InvalidParameter

    if arguments.model is not None and arguments.out is not None:
        raise InvalidParameter(f"the model can go to one place: {arguments.model} or --out {arguments.out}")
    target = arguments.out or arguments.model
    if target is None:
        if arguments.data == STANDARD:
            raise InvalidParameter(
                "rows from the standard input have no name: say where the model goes, -o MODEL"
            )
        return default_target(arguments.data)
    if target == STANDARD:
        if voice.json:
            raise InvalidParameter(
                "--json and a model (-) cannot both go to the standard output; name a file"
            )
        voice.step_aside()
    return Path(target)


def source_text(source: Path) -> str:
    """Return what a person calls the source."""
    return "standard input" if source == STANDARD else str(source)


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
        raise InvalidInput(f"{source_text(path)} has one class only ({only}): there is nothing to tell apart")


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


def training_fields(model: LinearModel, data: Data) -> dict[str, Any]:
    """Return how the model does on its own data, for machines."""
    errors = int((model.predict(data.X) != data.y).sum())
    return {"rows": data.n_rows, "errors": errors, "accuracy": 1 - errors / data.n_rows}


def warn(model: LinearModel, voice: Voice) -> int:
    """Say that a goal was missed and what would help, in terms of this command's options."""
    from maxmargin.results.solution import Status
    from maxmargin.results.wording import chosen_percent

    if model.uncalibrated:
        voice.warn(model.calibration_warning().replace("max_time", "--max-time"))
    if model.warning() is None or model.status is None:
        return MISSED if model.uncalibrated else DONE
    advice = {
        Status.MAX_ITER: "Scale the columns to similar ranges, lower --C, or raise --max-iter.",
        Status.MAX_TIME: "Raise --max-time.",
        Status.STALLED: "Scale the columns to similar ranges, or raise --tol.",
    }.get(model.status, "Train again.")
    missed = f"not within the {chosen_percent(model.tol)} asked for by --tol"
    why = model.status.value.replace("max_", "--max-")
    voice.warn(f"the model is {distance(model)}, {missed}: {why}. {advice}")
    return MISSED
