"""``maxmargin certify``: how far a model is above the optimum of its own objective."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from maxmargin.cli.codes import DONE, MISSED
from maxmargin.cli.fitting import add_weights, class_weight_of
from maxmargin.cli.options import (
    add_command,
    add_common,
    add_rows,
    check_sources,
    column,
    file_name,
    number,
    whole_number,
)

if TYPE_CHECKING:
    from maxmargin.cli.voice import Voice
    from maxmargin.inputs.liblinear_models import LiblinearModel
    from maxmargin.results.assessment import Assessment
    from maxmargin.training.model import LinearModel

__all__ = ["add_certify"]

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
        "model", metavar="MODEL", type=file_name, help="what maxmargin train, or LIBLINEAR, wrote"
    )
    add_rows(parser)
    parser.add_argument(
        "--weight", metavar="COLUMN", type=column, help="with the weights of the rows, as in training"
    )
    parser.add_argument(
        "--within",
        type=number,
        metavar="SHARE",
        help="end with code 1 if the model may be farther above the optimum, such as 0.001",
    )
    group = parser.add_argument_group("what a LIBLINEAR model does not say")
    group.add_argument("-c", "--C", type=number, help="its -c")
    add_weights(group)
    group.add_argument("--free-bias", action="store_true", help="its -R: the bias was not penalised")
    effort = parser.add_argument_group("the effort")
    effort.add_argument("--tol", type=number, default=1e-4, help="how tight the proof should be (1e-4)")
    effort.add_argument("--max-time", type=number, metavar="SECONDS", help="stop after this time")
    effort.add_argument("--jobs", type=whole_number, metavar="N", help="threads (as many as there are cores)")
    add_common(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, voice: Voice) -> int:
    """Read, prove, say."""
    from maxmargin.cli.described import assessment_fields
    from maxmargin.cli.streams import read_either_model, read_labelled_rows
    from maxmargin.training.certify import certify
    from maxmargin.training.liblinear import from_liblinear
    from maxmargin.training.model import LinearModel
    from maxmargin.validation import check_positive

    check_positive("within", arguments.within, or_none=True)
    check_sources(arguments.data, arguments.model)
    found = read_either_model(arguments.model, arguments.data)
    weights: dict[str, Any] = {}
    if isinstance(found, LinearModel):
        model = own_model(found, arguments)
        claim: Any = model
        weights["class_weight"] = class_weight_of(arguments.class_weight, model.classes)
    else:
        model = from_liblinear(found)
        claim = liblinear_claim(found, model, arguments)
    X, y, weights["sample_weight"] = read_labelled_rows(model, arguments)
    effort = {"tol": arguments.tol, "max_time": arguments.max_time, "n_jobs": arguments.jobs}
    assessment = certify(claim, X, y, **weights, **effort)
    for line in lines_of(assessment):
        voice.say(line)
    voice.result({"certificate": assessment_fields(assessment)})
    return verdict(assessment, arguments, voice)


def liblinear_claim(found: LiblinearModel, model: LinearModel, arguments: argparse.Namespace) -> Any:
    """Return a LIBLINEAR model with the problem that it was meant to solve."""
    from maxmargin.errors import InvalidParameter
    from maxmargin.training.liblinear import claim_of_liblinear
    from maxmargin.validation import check_positive

    if arguments.C is None:
        raise InvalidParameter(f"{arguments.model} is LIBLINEAR's and does not say its C: give --C, its -c")
    check_positive("C", arguments.C)
    weights = class_weight_of(arguments.class_weight, model.classes)
    return claim_of_liblinear(found, arguments.C, weights, free_bias=arguments.free_bias)


def own_model(model: LinearModel, arguments: argparse.Namespace) -> LinearModel:
    """Return a model of ours, which says everything itself; refuse what it says or cannot say."""
    from maxmargin.errors import InvalidParameter

    for option, value in (("--C", arguments.C), ("--free-bias", arguments.free_bias or None)):
        if value is not None:
            raise InvalidParameter(f"{arguments.model} says itself what it minimises; leave {option} away")
    if model.C is None:
        raise InvalidParameter(
            f"{arguments.model} holds a classifier that was given, not fitted: it minimises nothing"
        )
    return model


def lines_of(found: Assessment) -> list[str]:
    """Say what is proved, and for several classes of each of them."""
    from maxmargin.cli.text_table import aligned
    from maxmargin.results.wording import percent, short

    values = f"objective {short(found.objective)}; no weights reach less than {short(found.bound)}"
    lines = [str(found), values]
    if not found.per_class:
        return lines
    rows = [
        [one.label, short(one.objective), short(one.bound), percent(one.relative_gap)]
        for one in found.per_class
    ]
    return [*lines, *aligned(["", "objective", "bound", "at most above"], rows)]


def verdict(found: Assessment, arguments: argparse.Namespace, voice: Voice) -> int:
    """Return the exit code, with a warning where a goal was missed."""
    from maxmargin.results.wording import chosen_percent, percent

    missed = DONE
    if found.shortfall:
        reached = percent(found.own.relative_gap)
        reason = found.shortfall.replace("max_", "--max-")
        voice.warn(f"the proof is not as tight as --tol asks: our own solution is within {reached}: {reason}")
        missed = MISSED
    if arguments.within is not None and not found.relative_gap <= arguments.within:
        most, goal = percent(found.relative_gap), chosen_percent(arguments.within)
        voice.warn(f"the model is up to {most} above the optimum, more than the {goal} of --within")
        missed = MISSED
    return missed
