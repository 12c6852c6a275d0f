"""``maxmargin certify``: how far a model is above the optimum of its own objective."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, MISSED
from maxmargin.cli.fitting import (
    LOSSES,
    add_multi_class,
    add_weights,
    check_strength,
    class_weight_of,
    multi_class,
    time_left,
)
from maxmargin.cli.options import (
    add_command,
    add_common,
    add_rows,
    check_sources,
    file_name,
    number,
    whole_number,
)
from maxmargin.cli.reading import add_own_weight, read_weighted_rows

if TYPE_CHECKING:
    from maxmargin.cli.console import Console
    from maxmargin.io.liblinear import LiblinearModel
    from maxmargin.model.certify import Assessment
    from maxmargin.model.model import LinearModel


EXAMPLES = """\
  maxmargin certify a9a.model a9a.svm              a model of ours
  maxmargin certify liblinear.model a9a.svm --C 1  LIBLINEAR's, with its -c
  maxmargin certify a9a.model a9a.svm --within 1e-3  exit code 1 if farther
"""


def add_certify(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = add_command(
        commands,
        "certify",
        help="prove how far a model is from the optimum",
        description="Prove how far a model, ours or LIBLINEAR's, is above the optimum of its own objective "
        "on the rows that it was trained on.",
        examples=EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", type=file_name, help="a model of maxmargin train or of LIBLINEAR"
    )
    add_rows(parser)
    add_own_weight(parser)
    parser.add_argument(
        "--within",
        type=number,
        metavar="SHARE",
        help="exit with code 1 unless the model is proved to be within this relative gap, such as 0.001",
    )
    group = parser.add_argument_group(
        "what the file of a LIBLINEAR model, or of given coefficients, does not contain"
    )
    strength = group.add_mutually_exclusive_group()
    strength.add_argument("-c", "--C", type=number, help="½‖θ‖² + C Σ loss, LIBLINEAR's -c")
    strength.add_argument("--lam", type=number, help="λ of λ/2 ‖θ‖² + mean loss instead, C = 1/(λ n)")
    group.add_argument(
        "--loss", choices=LOSSES, help="the loss of given coefficients (default: the one in their file)"
    )
    add_multi_class(group, "of given coefficients with ")
    add_weights(group)
    group.add_argument("--free-bias", action="store_true", help="the bias was not penalised, LIBLINEAR's -R")
    effort = parser.add_argument_group("the solver")
    effort.add_argument(
        "--tol", type=number, default=1e-4, help="the relative gap to which the optimum is bounded (1e-4)"
    )
    effort.add_argument("--max-time", type=number, metavar="SECONDS", help="stop after this time")
    effort.add_argument("--jobs", type=whole_number, metavar="N", help="number of threads (all cores)")
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Read, certify, print."""
    from maxmargin.cli.json_fields import assessment_fields
    from maxmargin.cli.streams import read_either_model
    from maxmargin.model.certify import certify
    from maxmargin.model.liblinear import from_liblinear
    from maxmargin.model.model import LinearModel
    from maxmargin.validation import check_positive

    check_positive("within", arguments.within, or_none=True)
    check_sources(arguments.data, arguments.model)
    found = read_either_model(arguments.model, arguments.data)
    model = found if isinstance(found, LinearModel) else from_liblinear(found)
    class_weight = class_weight_of(arguments.class_weight, model.classes)
    stated: Any = model
    weights: dict[str, Any] = {}
    if not isinstance(found, LinearModel):
        stated = stated_by_liblinear(found, class_weight, arguments)
    elif model.C is None:
        stated = stated_by_options(model, class_weight, arguments)
    else:
        refuse_what_is_known(arguments)
        weights["class_weight"] = class_weight
    X, y, weights["sample_weight"] = read_weighted_rows(model, arguments, console)
    effort = {"tol": arguments.tol, "max_time": time_left(arguments), "n_jobs": arguments.jobs}
    assessment = certify(stated, X, y, **weights, **effort)
    for line in lines_of(assessment):
        console.print(line)
    console.add_fields({"certificate": assessment_fields(assessment)})
    return verdict(assessment, arguments, console)


def stated_by_liblinear(found: LiblinearModel, class_weight: Any, arguments: argparse.Namespace) -> Any:
    """Return a LIBLINEAR model with the problem that it was meant to solve."""
    from maxmargin.errors import InvalidParameter
    from maxmargin.model.liblinear import from_liblinear, problem_of_liblinear

    if arguments.C is None and arguments.lam is None:
        raise InvalidParameter(
            f"{arguments.model} is LIBLINEAR's and does not contain its C: give --C, its -c"
        )
    if arguments.loss is not None:
        raise InvalidParameter(f"{arguments.model} is LIBLINEAR's and contains its loss; leave --loss out")
    if arguments.multi_class is not None:
        raise InvalidParameter(f"{arguments.model} is LIBLINEAR's and contains it; leave --multi-class out")
    check_strength(arguments.C, arguments.lam, from_liblinear(found).loss)
    return problem_of_liblinear(
        found, arguments.C, class_weight, lam=arguments.lam, free_bias=arguments.free_bias
    )


def stated_by_options(model: LinearModel, class_weight: Any, arguments: argparse.Namespace) -> Any:
    """Return a model that was given, such as LIBLINEAR's as one of ours, with the problem that is named."""
    from maxmargin.core.objective import Objective, multi_class_of
    from maxmargin.core.offset import FreeOffset, offset_of
    from maxmargin.errors import InvalidParameter
    from maxmargin.model.foreign import StatedProblem

    loss = arguments.loss or model.loss
    if arguments.C is None and arguments.lam is None:
        raise InvalidParameter(
            f"{arguments.model} holds a classifier that was given, not fitted, and does not say what it "
            f"minimises: give --C or --lam ({loss.replace('_', ' ')} loss, unless --loss names another)"
        )
    asked = multi_class(arguments)
    form = model.multi_class if asked == "auto" else multi_class_of(asked, loss)
    if class_weight is not None and len(model.classes) > 2 and form == "one_vs_rest":
        raise InvalidParameter(
            f"{arguments.model} has {len(model.classes)} classes and does not say whether a class's weight "
            "counts in the problems of the others: certify the LIBLINEAR file itself, or leave "
            "--class-weight away"
        )
    is_free = model.offset == "free" or (model.offset == "penalized" and arguments.free_bias)
    offset = FreeOffset() if is_free else offset_of(model.offset, model.intercept_scaling)
    check_strength(arguments.C, arguments.lam, loss)
    objective = Objective(
        loss, offset, C=arguments.C, lam=arguments.lam, class_weight=class_weight, multi_class=form
    )
    return StatedProblem(model.coef, model.intercept, model.classes, objective)


def refuse_what_is_known(arguments: argparse.Namespace) -> None:
    """Refuse options that would contradict a model that contains what it minimises."""
    from maxmargin.errors import InvalidParameter

    given = {
        "--C": arguments.C,
        "--lam": arguments.lam,
        "--loss": arguments.loss,
        "--multi-class": arguments.multi_class,
        "--free-bias": arguments.free_bias or None,
    }
    for option, value in given.items():
        if value is not None:
            raise InvalidParameter(f"{arguments.model} contains what it minimises; leave {option} out")


def lines_of(found: Assessment) -> list[str]:
    """Return what is proved, and for several classes of each of them."""
    from maxmargin.cli.console import aligned
    from maxmargin.presentation.wording import percent, short

    values = f"objective {short(found.objective)}; no weights reach less than {short(found.bound)}"
    lines = [str(found), values]
    if not found.per_class:
        return lines
    rows = [
        [one.label, short(one.objective), short(one.bound), percent(one.relative_gap, "up")]
        for one in found.per_class
    ]
    return [*lines, *aligned(["", "objective", "bound", "at most above"], rows)]


def verdict(found: Assessment, arguments: argparse.Namespace, console: Console) -> int:
    """Return the exit code, with a warning where a goal was missed."""
    from maxmargin.presentation.wording import chosen_percent, percent

    missed = DONE
    if found.shortfall:
        reached = percent(found.own.relative_gap, "up")
        console.warn(
            "the proof is not as tight as --tol asks: "
            f"our own solution is within {reached}: {found.shortfall}"
        )
        missed = MISSED
    if arguments.within is not None and not found.relative_gap <= arguments.within:
        most, goal = percent(found.relative_gap, "up"), chosen_percent(arguments.within)
        console.warn(f"the model is up to {most} above the optimum, more than the {goal} of --within")
        missed = MISSED
    return missed
