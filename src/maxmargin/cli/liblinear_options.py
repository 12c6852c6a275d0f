"""LIBLINEAR's options as its users write them, and what is said of those that are not here."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from maxmargin.cli.options import number, whole_number
from maxmargin.errors import InvalidParameter

__all__ = ["SOLVERS", "add_absent", "add_solver", "class_weight", "class_weights", "weights_together"]

# The number that -s gives a solver, with the name in model files and the loss.
# As in training.liblinear, which cannot be imported for a help text; tests compare.
SOLVERS = {
    0: ("L2R_LR", "logistic"),
    1: ("L2R_L2LOSS_SVC_DUAL", "squared_hinge"),
    2: ("L2R_L2LOSS_SVC", "squared_hinge"),
    3: ("L2R_L1LOSS_SVC_DUAL", "hinge"),
    7: ("L2R_LR_DUAL", "logistic"),
}
ABSENT_SOLVERS = {
    4: "is one joint problem of all classes (Crammer and Singer); use -s 3, each class against the rest",
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
        help="0, 7: logistic; 1, 2: squared hinge; 3: hinge (1; with -C 2). Primal or dual is all one here",
    )


def solver_number(text: str) -> int:
    """Read -s, and say what to do instead where it is one that is not here."""
    chosen = whole_number(text)
    if chosen in ABSENT_SOLVERS:
        raise argparse.ArgumentTypeError(f"-s {chosen} {ABSENT_SOLVERS[chosen]}")
    if chosen not in SOLVERS:
        raise argparse.ArgumentTypeError(f"there is no -s {chosen}; here are 0, 1, 2, 3 and 7")
    return chosen


class Absent(argparse.Action):
    """An option of LIBLINEAR that is refused with the reason."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> NoReturn:
        """Say what it means there and what to do."""
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
