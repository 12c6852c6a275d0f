"""The report on a model: one HTML file to share with colleagues."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from maxmargin.core.solution import Progress
from maxmargin.errors import Interrupted, InvalidParameter, MissingFile, UnreadableFile
from maxmargin.presentation.wording import plural
from maxmargin.reporting.evidence import Evidence, Request, gather
from maxmargin.reporting.fingerprint import Fingerprint, fingerprint_of
from maxmargin.reporting.page import MissingJinja, render
from maxmargin.reporting.section import Section
from maxmargin.reporting.sections.coefficients import coefficients
from maxmargin.reporting.sections.convergence import convergence
from maxmargin.reporting.sections.guarantees import guarantees_section
from maxmargin.reporting.sections.margins import margins
from maxmargin.reporting.sections.path import path_section
from maxmargin.reporting.sections.projection import projection
from maxmargin.reporting.sections.provenance import data_facts, provenance, size_of_data
from maxmargin.reporting.sections.reliability import reliability_section
from maxmargin.reporting.sections.suspects import suspects_section
from maxmargin.reporting.sections.verdict import verdict
from maxmargin.reporting.subject import Subject, subject_of
from maxmargin.rows.disk.atomic import replacing
from maxmargin.validation import check_positive

__all__ = ["report"]

CUT_SHORT = "This report was interrupted by Ctrl-C; sections that are incomplete say so."


def report(
    model: Any,
    X: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None = None,
    path: str | os.PathLike[str] = "report.html",
    title: str | None = None,
    feature_names: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    redact: bool = False,
    sample_weight: Any = None,
    class_weight: Any = None,
    confidence: float = 0.95,
    n_suspects: int = 25,
    max_time: float | None = 30.0,
    command: str = "",
    n_jobs: int | None = None,
    verbose: int = 0,
    watch: Callable[[Progress], Any] | None = None,
) -> pathlib.Path:
    """Write one HTML file about a model, to share with colleagues.

    It opens from disk in any browser and needs no network. The verdict comes first: how often the
    model is right, with an interval if there are held-out rows; how far it is from the optimum, certified
    anew from the rows; a fingerprint of the data. Then pictures of the rows and their margins, the path over
    C with leave-one-out errors, reliability of probabilities, coefficients, labels to look at, guarantees,
    the history of the fit, versions and the command.

    Parameters
    ----------
    model : fitted classifier
        An estimator of this package, a LinearModel, a linear classifier of scikit-learn, a pipeline or search
        that ends in one, or a pair (θ, θ₀).
    X, y : the rows that the model was fitted to
        A pipeline gets the X that it was fitted with; if that is text, it is shown beside suspicious labels.
    test : (X, y), optional
        Rows that had no part in training. Without them the accuracy is that of leave-one-out, an estimate.
    path : path-like, default "report.html"
        Where to write; the file is written completely or not at all.
    title : str, optional
    feature_names : sequence of str, optional
        By default those of a data frame, of the model, or of the pipeline.
    texts : sequence of str, optional
        What each row was before it was numbers, shown beside suspicious labels.
    redact : bool, default False
        Leave out what is in the rows: values, texts, and single rows in pictures. The model itself stays,
        coefficients and names of columns, as do row numbers, labels and agreements.
    sample_weight : array, optional
        As given to the model's `fit`, if there were any.
    class_weight : "balanced" or mapping, optional
        For a LinearModel of an older file that was fitted with class weights; newer ones keep them.
    confidence : float, default 0.95
        Of intervals and bounds.
    n_suspects : int, default 25
        How many suspicious labels to list at most.
    max_time : float or None, default 30
        Seconds for what is found out: the certificate, leave-one-out, the path. What there was no time for is
        said to be missing. None sets no limit.
    command : str
        How to make the report again, shown at its end.
    n_jobs : int or None
        Threads; None takes all cores.
    verbose : int
        1 says on the error stream what is being found out.
    watch : callable
        Called with the progress of the fits behind leave-one-out and the path.

    Returns
    -------
    pathlib.Path
        Of the file. Ctrl-C writes the file with the results so far and raises `Interrupted`, whose `model`
        is this path.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")
    >>> model = mm.LinearSVM(C=1).fit(X[:150], y[:150])
    >>> with TemporaryDirectory() as folder:
    ...     file = mm.report(model, X[:150], y[:150], test=(X[150:], y[150:]), path=f"{folder}/report.html")
    ...     "held-out rows that had no part in training" in file.read_text(encoding="utf-8")
    True
    """
    target = pathlib.Path(path)
    _check_place(target)
    seconds = check_positive("max_time", max_time, or_none=True)
    count = check_positive("n_suspects", n_suspects, integer=True)
    if not 0 < check_positive("confidence", confidence) < 1:
        raise InvalidParameter.must_be("confidence", "between 0 and 1", confidence)
    subject = subject_of(
        model,
        X,
        y,
        sample_weight=sample_weight,
        class_weight=class_weight,
        feature_names=feature_names,
        texts=texts,
        redact=redact,
    )
    request = Request(test, confidence, seconds, n_jobs, verbose, watch)
    evidence = gather(subject, request)
    fingerprint = fingerprint_of(subject.examined.X, subject.examined.labels)
    page = render(
        title or default_title(subject),
        _subtitle(evidence, fingerprint),
        sections_of(evidence, fingerprint, command, count),
        notes=[CUT_SHORT] if evidence.interrupted else [],
    )
    with replacing(target) as file:
        file.write(page.encode())
    if evidence.interrupted:
        raise Interrupted(f"the report was interrupted; {target} holds the results so far", target)
    return target


def sections_of(evidence: Evidence, fingerprint: Fingerprint, command: str, n_suspects: int) -> list[Section]:
    """Return the sections in the order in which they are read."""
    return [
        verdict(evidence, data_facts(evidence, fingerprint, command)),
        projection(evidence),
        margins(evidence),
        path_section(evidence),
        reliability_section(evidence),
        coefficients(evidence),
        suspects_section(evidence, n_suspects),
        guarantees_section(evidence),
        convergence(evidence),
        provenance(evidence, fingerprint, command),
    ]


def default_title(subject: Subject) -> str:
    """Return a title that names the classes."""
    names = subject.class_names
    if len(names) == 2:
        return f"{names[1]} or {names[0]}?"
    return f"{', '.join(names[:-1])} or {names[-1]}?" if len(names) <= 4 else f"One of {len(names)} classes"


def _subtitle(evidence: Evidence, fingerprint: Fingerprint) -> str:
    subject = evidence.subject
    problem = "" if evidence.certificate.value is None else f" ({evidence.certificate.value.problem})"
    classes = f", {plural(len(subject.class_names), 'class').replace('classs', 'classes')}"
    size = size_of_data(evidence, fingerprint)
    return f"{subject.kind}{problem}, fitted to {size}{classes if len(subject.class_names) > 2 else ''}."


def _check_place(target: pathlib.Path) -> None:
    """Refuse what cannot end well before any work is done."""
    if os.path.isdir(target):
        raise UnreadableFile(f"{target} is a folder; a file is expected")
    if not os.path.isdir(target.parent):
        raise MissingFile(f"{target} cannot be written: there is no folder {target.parent}")
    try:
        import jinja2  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingJinja() from None
