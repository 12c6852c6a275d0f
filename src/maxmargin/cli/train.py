"""``maxmargin train``: from a file with rows to a file with a certified model."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, INTERRUPTED, MISSED
from maxmargin.cli.fitting import (
    CALIBRATIONS,
    add_effort,
    add_problem,
    check_effort,
    check_strength,
    settings_of,
    strength,
)
from maxmargin.cli.on_dask import add_dask, train_on_dask
from maxmargin.cli.options import (
    STANDARD,
    add_command,
    add_common,
    add_data,
    add_reading,
    check_target,
    file_name,
    number,
    whole_number,
)
from maxmargin.cli.reading import read_classes
from maxmargin.cli.search_for_c import add_search, check_search, search
from maxmargin.cli.stored import check_memory, memory_size, train_stored

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice
    from maxmargin.inputs.row_store import RowStore
    from maxmargin.results.data import Data
    from maxmargin.results.solution import Plan
    from maxmargin.training.model import LinearModel

__all__ = ["add_train"]

EXAMPLES = """\
  maxmargin train a9a.svm                      writes a9a.model
  maxmargin train cells.csv --label diagnosis  labels in the column of that name
  maxmargin train a9a.svm --C auto             C by rows left out
  maxmargin train a9a.svm --loss logistic --C 0.1 --tol 1e-6 -o small.model
  maxmargin train a9a.svm --calibrate sigmoid  with probabilities for predict
  maxmargin train a9a.svm --max-time 60        the best model after a minute
  maxmargin train cells.csv --memory 4GB       rows larger than memory
  zcat big.gz | maxmargin train - big.model    rows from another program
"""


def add_train(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "train",
        help="fit a model to a data file and certify it",
        description="Fit a linear classifier to a data file and certify it. Whatever is not said is chosen, "
        "and what was chosen is said. Ctrl-C ends the fit and keeps the best model so far, once there is "
        "one; before that nothing is written.",
        examples=EXAMPLES,
    )
    add_data(parser)
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=file_name,
        nargs="?",
        help="where to write (DATA's name with .model); - for stdout",
    )
    parser.add_argument("-o", "--out", metavar="MODEL", type=file_name, help="the same")
    problem = parser.add_argument_group("the problem")
    cost = problem.add_mutually_exclusive_group()
    cost.add_argument(
        "-c", "--C", type=strength, help="½‖θ‖² + C Σ loss (1); inf: no regulariser; auto: by rows left out"
    )
    cost.add_argument("--lam", type=number, help="the same as λ/2 ‖θ‖² + mean loss, C = 1/(λ n)")
    add_problem(problem)
    problem.add_argument(
        "--calibrate", choices=CALIBRATIONS, help="fit probabilities too, to the scores of left-out rows"
    )
    add_search(parser.add_argument_group("how --C auto chooses"))
    effort = parser.add_argument_group("the effort")
    add_effort(effort)
    effort.add_argument(
        "--memory",
        metavar="SIZE",
        type=memory_size,
        help="hold no more than this, such as 500MB: rows are stored beside DATA once and read from disk",
    )
    effort.add_argument("--max-iter", type=whole_number, help="stop after this many iterations of the solver")
    add_dask(effort)
    add_reading(parser)
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, voice: Voice) -> int:
    """Read, train, report, write."""
    from maxmargin.cli.described import model_fields
    from maxmargin.cli.streams import write_model
    from maxmargin.training.sources import Given, with_provenance

    target = target_of(arguments, voice)
    check_target(target, arguments.data)
    check_settings(arguments)
    if arguments.memory is not None:
        return train_stored(arguments, voice, target)
    if arguments.dask is not None:
        return train_on_dask(arguments, voice, target)
    is_search = arguments.C == "auto"
    data = read_classes(arguments, voice, for_a_fit=is_one_fit(arguments))
    model, is_missed = search(arguments, data, voice) if is_search else (fit(arguments, data, voice), False)
    model = with_provenance(model, Given(data.X, data.y, data.sample_weight, data))
    if model.interrupted:
        voice.note("interrupted: this is the best model so far")
    voice.say(certificate_line(model))
    voice.say(quality_line(model, data))
    if model.calibration is not None:
        voice.say(f"calibrated: {model.calibration}")
    voice.result({**model_fields(model), "training": training_fields(model, data), "out": target})
    write_model(model, target)
    if target != STANDARD:
        voice.wrote(target)
    if model.interrupted:
        return INTERRUPTED
    return max(warn(model, voice), MISSED if is_missed else DONE)


def is_one_fit(arguments: argparse.Namespace) -> bool:
    """Return whether there is one regularised fit to do, and nothing else to do with its rows."""
    if arguments.C == "auto" or arguments.calibrate is not None:
        return False
    return arguments.lam != 0 and (arguments.C is None or math.isfinite(arguments.C))


def fit(arguments: argparse.Namespace, data: Data, voice: Voice) -> LinearModel:
    """Fit at the C that was given."""
    from maxmargin.training.train import fit_linear

    return fit_linear(
        data.X,
        data.y,
        sample_weight=data.sample_weight,
        C=arguments.C,
        lam=arguments.lam,
        max_iter=arguments.max_iter,
        calibrate=arguments.calibrate,
        verbose=int(voice.shows_progress),
        announce=lambda plan: voice.say(plan_line(plan, arguments, data)),
        **settings_of(arguments, data.classes),
    )


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
    if Path(target).suffix.lower() == ".onnx":
        raise InvalidParameter(f"{target}: train writes models; then maxmargin convert MODEL {target}")
    return Path(target)


def default_target(data: Path) -> Path:
    """Return the model's file in the current folder: a9a.model for somewhere/a9a.svm.xz."""
    from maxmargin.inputs.source import compression_of

    unpacked = Path(data.stem) if compression_of(data) else Path(data.name)
    return Path(unpacked.stem + ".model")


def check_settings(arguments: argparse.Namespace) -> None:
    """Refuse wrong settings before a large file is read."""
    check_effort(arguments)
    if arguments.memory is not None:
        check_memory(arguments)
    check_search(arguments)
    if arguments.C != "auto":
        check_strength(arguments.C, arguments.lam, arguments.loss)


# ---------------------------------------------------------------- what is said


def plan_line(plan: Plan, arguments: argparse.Namespace, data: Data | RowStore) -> str:
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
    assert model.certificate is not None
    proved = model.certificate.verdict
    verdict = proved if proved.startswith("no bound") else f"certified {proved}"
    return f"{verdict}{several} after {iterations}"


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
    if model.warning() is None or model.status is None or model.certificate is None:
        return MISSED if model.uncalibrated else DONE
    advice = {
        Status.MAX_ITER: "Scale the columns to similar ranges, lower --C, or allow more by --max-iter.",
        Status.MAX_TIME: "Raise --max-time.",
        Status.STALLED: "Scale the columns to similar ranges, or raise --tol.",
    }.get(model.status, "Train again.")
    missed = f"not within the {chosen_percent(model.tol)} asked for by --tol"
    why = model.status.value.replace("max_", "--max-")
    where = "the model is " if model.certificate.bound > 0 else ""
    voice.warn(f"{where}{model.certificate.verdict}, {missed}: {why}. {advice}")
    return MISSED
