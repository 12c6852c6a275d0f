"""What commands that fit share: options of the problem and the solver, and the arguments of `fit_linear`."""

from __future__ import annotations

import argparse
import math
import time
from typing import TYPE_CHECKING, Any

from maxmargin.cli.options import number, whole_number
from maxmargin.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CALIBRATIONS",
    "LOSSES",
    "MULTI_CLASS",
    "RULES",
    "add_effort",
    "add_problem",
    "add_weights",
    "check_effort",
    "check_strength",
    "class_weight_of",
    "folds",
    "form_words",
    "grid",
    "multi_class",
    "settings_of",
    "strength",
    "time_left",
]

# As in the library, which cannot be imported before a command runs; tests compare them.
LOSSES = ("hinge", "squared_hinge", "logistic")
MULTI_CLASS = ("auto", "one-vs-rest", "softmax", "crammer-singer")
CALIBRATIONS = ("sigmoid", "temperature", "isotonic")
RULES = ("best", "one_standard_error")

LEAST_TIME = 1e-9  # seconds that are always left: a fit has a model and its certificate after any time


# ---------------------------------------------------------------- options


def add_problem(group: Any) -> None:
    """Add the options of the problem, but for C."""
    group.add_argument("--loss", choices=LOSSES, default="hinge", help="the loss (hinge)")
    add_multi_class(group)
    offset = group.add_mutually_exclusive_group()
    offset.add_argument(
        "--no-intercept", action="store_true", help="no offset: the boundary passes through the origin"
    )
    offset.add_argument(
        "--penalize-intercept", action="store_true", help="penalise θ₀ too, as LIBLINEAR does"
    )
    group.add_argument(
        "--intercept-scaling",
        type=number,
        default=1.0,
        metavar="S",
        help="with --penalize-intercept: the value of the constant column, LIBLINEAR's -B (1)",
    )
    add_weights(group)


def add_multi_class(group: Any, about: str = "") -> None:
    """Add the option that says what becomes of three or more classes."""
    group.add_argument(
        "--multi-class",
        choices=MULTI_CLASS,
        type=lambda text: text.replace("_", "-"),
        metavar="FORM",
        help=f"{about}three or more classes: one problem for all of them, softmax (logistic) or "
        "crammer-singer (hinge); or one-vs-rest, each against the rest (auto: together if the loss can)",
    )


def add_weights(group: Any) -> None:
    """Describe the option that weighs classes."""
    group.add_argument(
        "--class-weight",
        metavar="WEIGHTS",
        help="balanced, which gives all classes the same total weight, or LABEL=WEIGHT,…",
    )


def add_effort(group: Any, *, tol: float = 1e-4, goal: str = "0.01 %%") -> None:
    """Add the options of the solver and its limits."""
    group.add_argument(
        "--tol",
        type=number,
        default=tol,
        help=f"the certified relative gap at which to stop ({tol:g}: {goal})",
    )
    group.add_argument(
        "--max-time",
        type=number,
        metavar="SECONDS",
        help="stop after this time, including the time to read the data",
    )
    group.add_argument("--solver", default="auto", help="the solver (auto)")
    group.add_argument("--seed", type=whole_number, help="seed of the order in which the rows are visited")
    group.add_argument("--jobs", type=whole_number, metavar="N", help="number of threads (all cores)")


# ---------------------------------------------------------------- single options


def strength(text: str) -> float | str:
    """Read a C: a number, or auto."""
    if text == "auto":
        return text
    try:
        float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a number or auto, found "{text}"') from None
    return number(text)


def grid(text: str) -> Any:
    """Read values of C: how many between 0.0001 and 10,000, or the values themselves."""
    words = [word for word in text.replace(",", " ").split() if word]
    try:
        if len(words) == 1 and words[0].isdigit() and "," not in text:
            return int(words[0])
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if not values or not all(0 < value < math.inf for value in values):
        raise argparse.ArgumentTypeError(
            f'expected a number of values, or values of C such as 0.1,1,10; found "{text}"'
        )
    return values


def folds(text: str) -> int | str:
    """Read how C is judged: loo, or a number of folds."""
    if text == "loo":
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected loo or a number of folds, found "{text}"') from None


# ---------------------------------------------------------------- arguments of the library


def settings_of(arguments: argparse.Namespace, classes: NDArray[Any]) -> dict[str, Any]:
    """Return the settings that fits, searches and paths share, by the library's own names for them."""
    return {
        "loss": arguments.loss,
        "multi_class": multi_class(arguments),
        "fit_intercept": not arguments.no_intercept,
        "penalize_intercept": arguments.penalize_intercept,
        "intercept_scaling": arguments.intercept_scaling,
        "class_weight": class_weight_of(arguments.class_weight, classes),
        "tol": arguments.tol,
        "solver": arguments.solver,
        "max_time": time_left(arguments),
        "random_state": arguments.seed,
        "n_jobs": arguments.jobs,
    }


def multi_class(arguments: argparse.Namespace) -> str:
    """Return the form of three or more classes by the library's own name."""
    return (arguments.multi_class or "auto").replace("-", "_")


def form_words(arguments: argparse.Namespace, n_classes: int) -> str:
    """Return the loss in words, with the form of three or more classes where it is one problem."""
    from maxmargin.core.objective import multi_class_of
    from maxmargin.losses.multiclass import JOINT_FORMS

    form = multi_class_of(multi_class(arguments), arguments.loss)
    return f"{JOINT_FORMS.get(form if n_classes > 2 else '', arguments.loss)} loss"


def time_left(arguments: argparse.Namespace) -> float | None:
    """Return the seconds of --max-time that are left since the command began; None without a limit."""
    given: float | None = arguments.max_time
    if given is None or not given > 0:  # refused by the library
        return given
    return max(given - (time.perf_counter() - float(arguments.began)), LEAST_TIME)


def check_effort(arguments: argparse.Namespace) -> None:
    """Refuse wrong numbers before a large file is read."""
    from maxmargin.core.objective import multi_class_of
    from maxmargin.model.settings import offset_from
    from maxmargin.rows.cores import resolve_jobs
    from maxmargin.solvers.choose import SOLVERS
    from maxmargin.validation import check_choice, check_positive

    if arguments.intercept_scaling != 1 and not arguments.penalize_intercept:
        raise InvalidParameter("--intercept-scaling goes with --penalize-intercept, or not at all")
    multi_class_of(multi_class(arguments), arguments.loss)
    check_choice("solver", arguments.solver, ("auto", *SOLVERS))
    check_positive("tol", arguments.tol)
    check_positive("max_iter", getattr(arguments, "max_iter", None), or_none=True, integer=True)
    check_positive("max_time", arguments.max_time, or_none=True)
    offset_from(not arguments.no_intercept, arguments.penalize_intercept, arguments.intercept_scaling)
    resolve_jobs(arguments.jobs)
    if arguments.class_weight not in (None, "balanced"):
        weights_by_text(arguments.class_weight)


def check_strength(C: float | None, lam: float | None, loss: str) -> None:
    """Refuse a C that is none, before a large file is read."""
    from maxmargin.core.objective import resolve_C

    resolve_C(C, lam, 1.0, loss)


def class_weight_of(given: str | None, classes: NDArray[Any]) -> Any:
    """Return "balanced", None, or a weight for each of the classes that were named."""
    from maxmargin.data import label_text

    if given in (None, "balanced"):
        return given
    known = {label_text(label, is_signed=False).replace("−", "-"): label for label in classes.tolist()}
    found = {}
    for name, weight in weights_by_text(given or "").items():
        label = known.get(name.removeprefix("+") if name not in known else name)
        if label is None:
            listed = ", ".join(known)
            raise InvalidParameter(f'--class-weight: there is no class "{name}"; the classes are {listed}')
        found[label] = weight
    return found


def weights_by_text(given: str) -> dict[str, float]:
    """Read LABEL=WEIGHT,…; a label may hold an =, a weight cannot."""
    found = {}
    for part in given.split(","):
        name, _, weight = part.rpartition("=")
        try:
            found[name.strip()] = float(weight)
        except ValueError:
            name = ""
        if not name:
            raise InvalidParameter(
                f'--class-weight: expected balanced or LABEL=WEIGHT,…; found "{part}" in "{given}"'
            )
    return found
