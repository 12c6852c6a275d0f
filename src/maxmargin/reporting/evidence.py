"""Everything that a report shows, computed before any of it is written."""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.solution import Progress, Status
from maxmargin.deadline import Deadline
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter, LeaveOneOutWarning, MaxMarginError
from maxmargin.estimators.convex import LinearClassifier
from maxmargin.model.certify import Assessment, certify
from maxmargin.model.estimator_problem import (
    EstimatorProblem,
    ScoredExamples,
    problem_of_estimator,
    score_examples,
)
from maxmargin.model.model import LinearModel
from maxmargin.model.reliability import Reliability, reliability
from maxmargin.presentation.wording import plural
from maxmargin.reporting.subject import Subject
from maxmargin.selection.guarantees.guarantees import guarantees
from maxmargin.selection.guarantees.record import Guarantees
from maxmargin.selection.leave_one_out.leave_one_out import leave_one_out
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.path.path import regularization_path
from maxmargin.selection.path.record import Path
from maxmargin.selection.suspects import Suspects, suspects

__all__ = ["Evidence", "LeftOutAt", "Request", "gather", "values_of_C"]


# Shares of the time that is left when each begins; the last ones take what there is.
SHARES = {"certificate": 0.25, "leave-one-out": 0.4, "suspects": 0.4, "guarantees": 0.3, "path": 0.5}

DECADES = 2.0  # of C to either side of the model's own


@dataclass(frozen=True)
class Request:
    """How much effort the evidence is worth.

    Attributes
    ----------
    test : (X, y) or None
    confidence : float
    max_time : float or None
    n_jobs : int or None
    verbose : int
    watch : callable or None
    """

    test: Any = None
    confidence: float = 0.95
    max_time: float | None = 30.0
    n_jobs: int | None = None
    verbose: int = 0
    watch: Callable[[Progress], Any] | None = None


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about a subject; each answer may be missing, with the reason.

    Attributes
    ----------
    subject : Subject
    held_out : ScoredExamples or None
        The test rows.
    confidence : float
    certificate : Answer[Assessment]
        Of the coefficients as they are, by the rows as they are, not what the model says of itself.
    left_out : Answer[LeaveOneOut]
    path : Answer[Path]
    left_out_along_path : Answer[list[LeftOutAt]]
    reliability : Answer[(Reliability, str)]
        And the rows that it is about.
    suspects : Answer[Suspects]
    guarantees : Answer[Guarantees]
    interrupted : bool
        Whether Ctrl-C cut it short.
    """

    subject: Subject
    held_out: ScoredExamples | None
    confidence: float
    certificate: Answer[Assessment]
    left_out: Answer[LeaveOneOut]
    path: Answer[Path]
    left_out_along_path: Answer[list[LeftOutAt]]
    reliability: Answer[tuple[Reliability, str]]
    suspects: Answer[Suspects]
    guarantees: Answer[Guarantees]
    interrupted: bool = False


def gather(subject: Subject, request: Request) -> Evidence:
    """Find out all of it, what matters most first."""
    stages = Stages(request.max_time, request.verbose)
    held_out = _held_out(subject, request.test)
    examined, effort = subject.examined, {"n_jobs": request.n_jobs, "watch": request.watch}
    data = (examined.estimator, examined.rows, examined.labels)
    certificate = stages.run(
        "how far from the optimum", lambda s: _certify(subject, s, request.n_jobs), SHARES["certificate"]
    )
    left_out = stages.run(
        "rows that are wrong when left out",
        lambda s: _leave_out(subject, s, effort),
        SHARES["leave-one-out"],
    )
    found_suspects = stages.run(
        "labels to look at",
        lambda s: suspects(*data, sample_weight=subject.weights, max_time=s, n_jobs=request.n_jobs),
        SHARES["suspects"],
        even_late=True,
    )
    known = stages.run(
        "what is known about new rows",
        lambda s: _guarantee(subject, held_out, left_out.value, request, s),
        SHARES["guarantees"],
        even_late=True,
    )
    judged = stages.run(
        "probabilities",
        lambda _: judged_probabilities(subject, held_out, left_out.value),
        even_late=True,
    )
    path = stages.run("every other C", lambda s: _path(subject, s, effort), SHARES["path"])
    along = stages.run(
        "leave-one-out along the path",
        lambda _: left_out_along(_named(subject, request.n_jobs), subject, path.value, stages, effort),
    )
    return Evidence(
        subject=subject,
        held_out=held_out,
        confidence=request.confidence,
        certificate=certificate,
        left_out=left_out,
        path=path,
        left_out_along_path=along,
        reliability=judged,
        suspects=found_suspects,
        guarantees=known,
        interrupted=stages.interrupted,
    )


def _held_out(subject: Subject, test: Any) -> ScoredExamples | None:
    if test is None:
        return None
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InvalidParameter("test must be a pair (X, y) of rows that had no part in training.")
    return score_examples(subject.given, *test)


def _certify(subject: Subject, seconds: float | None, n_jobs: int | None) -> Assessment:
    examined, model = subject.examined, subject.model
    if isinstance(examined.estimator, LinearModel) and model.C is None:
        raise InvalidInput(
            "the classifier was given, not fitted, and nothing says what it was meant to minimise; "
            "certify(coef, X, y, loss=…, C=…) measures it by a problem of your choice."
        )
    further = {} if subject.class_weight is None else {"class_weight": subject.class_weight}
    return certify(
        examined.estimator,
        examined.rows,
        examined.labels,
        sample_weight=examined.weights,
        max_time=seconds,
        n_jobs=n_jobs,
        **further,
    )


def _leave_out(subject: Subject, seconds: float | None, effort: dict[str, Any]) -> LeaveOneOut:
    examined = subject.examined
    known = getattr(examined.estimator, "leave_one_out_", None)
    if isinstance(known, LeaveOneOut) and known.n_examples == subject.n_rows:
        return known  # a search by leave-one-out has counted already
    if not examined.solves_a_problem and isinstance(examined.estimator, LinearModel):
        raise InvalidInput("leaving a row out takes the optimum of a problem with a finite C to begin with.")
    named = _named(subject, effort["n_jobs"])
    if not math.isfinite(named.targets.C):
        raise InvalidInput("leaving a row out takes the optimum of a problem with a finite C to begin with.")
    data = (examined.estimator, examined.rows, examined.labels)
    return leave_one_out(*data, sample_weight=subject.weights, max_time=seconds, **effort)


def _named(subject: Subject, n_jobs: int | None) -> EstimatorProblem:
    examined = subject.examined
    data = (examined.estimator, examined.rows, examined.labels, subject.weights)
    return problem_of_estimator(*data, n_jobs, asking="the report")


def _guarantee(
    subject: Subject,
    held_out: ScoredExamples | None,
    left_out: LeaveOneOut | None,
    request: Request,
    seconds: float | None,
) -> Guarantees:
    examined = subject.examined
    results = getattr(subject.given, "cv_results_", None)
    chosen_from = len(results["params"]) if isinstance(results, dict) and "params" in results else None
    return guarantees(
        examined.estimator,
        examined.rows,
        examined.labels,
        test=None if held_out is None else (held_out.X, held_out.labels),
        confidence=request.confidence,
        selected_from=chosen_from,
        left_out=False if left_out is None else left_out,
        sample_weight=subject.weights,
        max_time=seconds,
        n_jobs=request.n_jobs,
    )


def _path(subject: Subject, seconds: float | None, effort: dict[str, Any]) -> Path:
    named = _named(subject, effort["n_jobs"])
    stated, C = named.stated, named.targets.C
    if not math.isfinite(C):
        raise InvalidInput("the model has no regulariser, so that there is no C to vary.")
    objective = stated.objective
    weighs_otherwise = objective.rest_weighs_one or not objective.balances_weights
    if objective.class_weight is not None and weighs_otherwise:
        raise InvalidInput(f"{subject.kind} weighs classes in a way that a path over C does not follow.")
    class_weight = objective.class_weight if subject.class_weight is None else subject.class_weight
    return regularization_path(
        subject.examined.rows,
        subject.examined.labels,
        loss=stated.objective.loss,
        C_min=C / 10**DECADES,
        C_max=C * 10**DECADES,
        **stated.objective.offset.parameters,
        class_weight=class_weight,
        multi_class=objective.multi_class,
        sample_weight=subject.examined.weights,
        max_time=seconds,
        **effort,
    )


# ------------------------------------------------------------------------------------------------
# Leave-one-out at some values of C of a path, nearest to the model's own first, as long as there is time.

PER_DECADE = 2


@dataclass(frozen=True)
class LeftOutAt:
    """The leave-one-out errors at one C: between `least` and `most`, the same where all is decided."""

    C: float
    least: int
    most: int
    n_examples: int
    is_meaningful: bool = True

    @classmethod
    def of(cls, C: float, found: LeaveOneOut) -> LeftOutAt:
        """Read them from a record."""
        most = found.n_errors + found.n_undecided
        return cls(C, found.n_errors, most, found.n_examples, found.is_meaningful)


def values_of_C(C: float, path: Path) -> NDArray[np.float64]:  # noqa: N802 - C is the letter's name
    """Return the values to try, nearest to the model's own C first, which is not among them.

    Examples
    --------
    >>> from maxmargin import regularization_path
    >>> path = regularization_path([[0.0], [1.0], [3.0]], [0, 0, 1], C_min=0.1, C_max=10)
    >>> values_of_C(1.0, path).round(3).tolist()
    [3.162, 0.316, 10.0, 0.1]
    """
    low, high = np.log10(path.C[0] / C), np.log10(path.C[-1] / C)
    steps = [sign * k / PER_DECADE for k in range(1, 100) for sign in (1, -1)]
    within = [step for step in steps if low - 1e-9 <= step <= high + 1e-9]
    return np.array([C * 10.0**step for step in within])


def left_out_along(
    named: EstimatorProblem, subject: Subject, path: Path | None, stages: Stages, effort: dict[str, Any]
) -> list[LeftOutAt]:
    """Return what was found in the time that is left, in increasing order of C.

    A value is not begun when the last one took longer than what is left.
    """
    if path is None:
        raise InvalidInput("there is no path.")
    took = 0.0
    found: list[LeftOutAt] = []
    for C in values_of_C(named.targets.C, path):
        left = stages.seconds()
        if left is not None and left <= took:
            break
        began = time.perf_counter()
        try:
            record = _left_out_at(float(C), named, subject, left, effort)
        except Interrupted:
            raise Interrupted("interrupted along the path", _in_order(found)) from None
        took = time.perf_counter() - began
        found.append(LeftOutAt.of(float(C), record))
        if record.status is Status.MAX_TIME:
            break
    return _in_order(found)


def _in_order(found: list[LeftOutAt]) -> list[LeftOutAt]:
    return sorted(found, key=lambda point: point.C)


def _left_out_at(
    C: float, named: EstimatorProblem, subject: Subject, seconds: float | None, effort: dict[str, Any]
) -> LeaveOneOut:
    stated, examined = named.stated, subject.examined
    problem = LinearClassifier(
        C=C,
        loss=stated.objective.loss,
        **stated.objective.offset.parameters,
        class_weight=stated.objective.class_weight,
        multi_class=stated.objective.multi_class,
        tol=named.settings.limits.tol,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeaveOneOutWarning)  # each point records whether it is meaningful
        return leave_one_out(
            problem,
            examined.rows,
            examined.labels,
            sample_weight=subject.weights,
            agreements=None,
            max_time=seconds,
            **effort,
        )


# ------------------------------------------------------------------------------------------------
# Predicted probabilities of rows that the model was not fitted to, against their labels.

Array = NDArray[np.float64]

LEAST_ROWS = 30  # fewer make no curve


def judged_probabilities(
    subject: Subject, held_out: ScoredExamples | None, left_out: LeaveOneOut | None
) -> tuple[Reliability, str]:
    """Return the curve, and which rows it is about: test rows, else training rows when they are left out."""
    model = subject.model
    if not model.has_probabilities:
        return _of_another_library(subject, held_out)
    if held_out is not None:
        return reliability(
            model.predict_proba(held_out.X), held_out.labels, classes=model.classes
        ), f"{plural(len(held_out.labels), 'held-out row')}"
    scores = None if left_out is None else _left_out_scores(subject, left_out)
    if scores is None:
        raise InvalidInput(
            "probabilities of the rows that the model was fitted to are too good to be true, and neither "
            "held-out rows nor left-out scores are at hand."
        )
    known = np.isfinite(scores).all(axis=1)
    if int(known.sum()) < LEAST_ROWS:
        raise InvalidInput(f"{plural(int(known.sum()), 'row')} with left-out scores make no curve.")
    shares = model.probabilities_at(scores[known])
    labels = subject.examined.labels[known]
    which = f"{plural(int(known.sum()), 'training row')}, each by the classifier that is fitted without it"
    return reliability(shares, labels, classes=model.classes), which


def _of_another_library(subject: Subject, held_out: ScoredExamples | None) -> tuple[Reliability, str]:
    """Evaluate a classifier of another library that predicts probabilities itself."""
    estimator = subject.examined.estimator
    if isinstance(estimator, LinearModel) or not hasattr(estimator, "predict_proba"):
        raise InvalidInput(
            "the model gives scores, not probabilities. Fit with the logistic loss, or with "
            "calibrate='sigmoid', 'temperature' or 'isotonic'."
        )
    if held_out is None:
        raise InvalidInput(
            "probabilities of the rows that the model was fitted to are too good to be true, and no held-out "
            "rows were given."
        )
    found = reliability(estimator, held_out.X, held_out.labels)
    return found, f"{plural(len(held_out.labels), 'held-out row')}"


def _left_out_scores(subject: Subject, left_out: LeaveOneOut) -> Array | None:
    """Return the scores that the rows have when they are left out; NaN where they are not known."""
    if subject.model.is_joint:
        return _joint_left_out_scores(subject.model, left_out)
    parts = left_out.per_class or (left_out,)
    signs = subject.examined.signs
    columns = [part.agreements for part in parts if part.agreements is not None]
    if len(columns) != signs.shape[1]:
        return None
    return np.asarray(np.column_stack(columns) * signs)


def _joint_left_out_scores(model: LinearModel, left_out: LeaveOneOut) -> Array | None:
    """Return them up to a constant for each row, which softmax and a temperature do not see."""
    is_blind = model.calibration is None or model.calibration.kind == "temperature"
    if left_out.probabilities is None or not is_blind:
        return None
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(left_out.probabilities))


# ------------------------------------------------------------------------------------------------
# Computing one result after another within a time limit, and recording what is missing.

T = TypeVar("T")

AFTER_INTERRUPT = "not done: the report was interrupted before"
AT_LEAST = 1e-3  # seconds
OUT_OF_TIME = "not done: the time limit was reached before"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A result, or the reason why there is none; warnings are sentences for the reader."""

    value: T | None = None
    why_not: str = ""
    warnings: tuple[str, ...] = ()


class Stages:
    """Runs stages of work; Ctrl-C ends the one that is running and skips the rest, max_time shortens them.

    Parameters
    ----------
    max_time : float or None
        Seconds for all stages together.
    verbose : int
        1 says on the error stream what is being found out.
    """

    def __init__(self, max_time: float | None, verbose: int = 0) -> None:
        self.interrupted = False
        self._deadline = Deadline(max_time)
        self._verbose = verbose

    def seconds(self, share: float = 1.0) -> float | None:
        """Return a share of the time that is left, or None without a limit."""
        return self._deadline.left(share)

    def run(
        self, name: str, work: Callable[[float | None], T], share: float = 1.0, *, even_late: bool = False
    ) -> Answer[T]:
        """Compute one result.

        Parameters
        ----------
        name : str
            What it is, for whoever waits.
        work : callable
            Gets the seconds that it may take, or None.
        share : float
            Of the time that is left.
        even_late : bool
            Whether there is something worth having for next to no time, when no other is left.
        """
        if self.interrupted:
            return Answer(why_not=AFTER_INTERRUPT)
        seconds = self.seconds(share)
        if seconds is not None and seconds <= 0 and not even_late:
            return Answer(why_not=OUT_OF_TIME)
        if seconds is not None:
            seconds = max(seconds, AT_LEAST)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = self._answer(name, work, seconds)
        said = [entry for entry in caught if _is_ours(entry.category)]
        for entry in caught:
            if entry not in said:
                warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
        return Answer(answer.value, answer.why_not, tuple(str(entry.message) for entry in said))

    def _answer(self, name: str, work: Callable[[float | None], T], seconds: float | None) -> Answer[T]:
        try:
            if self._verbose:
                print(f"report: {name}", file=sys.stderr, flush=True)
            return Answer(work(seconds))
        except Interrupted as error:
            self.interrupted = True
            partial: Any = error.model
            return Answer(partial, "" if partial is not None else "it was interrupted")
        except KeyboardInterrupt:
            self.interrupted = True
            return Answer(why_not="it was interrupted")
        except MaxMarginError as error:
            return Answer(why_not=str(error))


def _is_ours(category: type[Warning]) -> bool:
    return any(kind.__module__.startswith("maxmargin.") for kind in category.__mro__)
