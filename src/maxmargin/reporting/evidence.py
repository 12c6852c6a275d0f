"""Everything that a report tells, found out by the library, before a word of it is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.reporting.left_out_along_path import LeftOutAt, left_out_along
from maxmargin.reporting.probabilities import judged_probabilities
from maxmargin.reporting.stages import Answer, Stages
from maxmargin.reporting.subject import Subject
from maxmargin.results.assessment import Assessment
from maxmargin.results.guarantees import Guarantees
from maxmargin.results.leave_one_out import LeaveOneOut
from maxmargin.results.path import Path
from maxmargin.results.reliability import Reliability
from maxmargin.results.solution import Progress
from maxmargin.results.suspects import Suspects
from maxmargin.training.certify import certify
from maxmargin.training.examined import Examined, examine_model
from maxmargin.training.guarantees import guarantees
from maxmargin.training.leave_one_out import leave_one_out
from maxmargin.training.model import LinearModel
from maxmargin.training.named_problem import NamedProblem, named_problem
from maxmargin.training.regularization_path import regularization_path
from maxmargin.training.suspects import suspects

__all__ = ["Evidence", "Request", "gather"]

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
    held_out : Examined or None
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
    held_out: Examined | None
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
    data = (examined.estimator, examined.X, examined.labels)
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


def _held_out(subject: Subject, test: Any) -> Examined | None:
    if test is None:
        return None
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InvalidParameter("test must be a pair (X, y) of rows that had no part in training.")
    return examine_model(subject.given, *test)


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
        examined.X,
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
    data = (examined.estimator, examined.X, examined.labels)
    return leave_one_out(*data, sample_weight=subject.weights, max_time=seconds, **effort)


def _named(subject: Subject, n_jobs: int | None) -> NamedProblem:
    examined = subject.examined
    data = (examined.estimator, examined.X, examined.labels, subject.weights)
    return named_problem(*data, n_jobs, asking="the report")


def _guarantee(
    subject: Subject,
    held_out: Examined | None,
    left_out: LeaveOneOut | None,
    request: Request,
    seconds: float | None,
) -> Guarantees:
    examined = subject.examined
    results = getattr(subject.given, "cv_results_", None)
    chosen_from = len(results["params"]) if isinstance(results, dict) and "params" in results else None
    return guarantees(
        examined.estimator,
        examined.X,
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
    claim, C = named.claim, named.targets.C
    if not math.isfinite(C):
        raise InvalidInput("the model has no regulariser, so that there is no C to vary.")
    if claim.class_weight is not None and (claim.rest_weighs_one or not claim.balances_weights):
        raise InvalidInput(f"{subject.kind} weighs classes in a way that a path over C does not follow.")
    class_weight = claim.class_weight if subject.class_weight is None else subject.class_weight
    return regularization_path(
        subject.examined.X,
        subject.examined.labels,
        loss=claim.loss,
        C_min=C / 10**DECADES,
        C_max=C * 10**DECADES,
        fit_intercept=claim.offset.kind != "none",
        penalize_intercept=claim.offset.kind == "penalized",
        intercept_scaling=claim.offset.scale,
        class_weight=class_weight,
        sample_weight=subject.examined.weights,
        max_time=seconds,
        **effort,
    )
