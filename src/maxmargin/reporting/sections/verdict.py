"""The verdict: how often the model is right, how near it is to the optimum, what it was fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.model.degenerate import degeneracy_of, in_pieces
from maxmargin.model.error_rates import clopper_pearson
from maxmargin.presentation.wording import chosen_percent, percent, plural
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Column, Section, Table, capital, digits
from maxmargin.selection.leave_one_out.record import LeaveOneOut

__all__ = ["accuracy_text", "verdict"]

NEAR = 1e-3  # a relative gap up to here makes no difference that anybody would notice
TINY = 1e-9  # a gap up to here is rounding, also where the optimum is 0
MOST_CLASSES = 20  # of a table of labels against predictions


@dataclass(frozen=True)
class Accuracy:
    """How often the model is right, and what that is worth.

    Attributes
    ----------
    headline : str
        The share, or the range where not everything is decided.
    basis : str
        Which rows it is about.
    worth : str
        What may be concluded.
    interval : (float, float) or None
        Of the accuracy.
    value : float
    """

    headline: str
    basis: str
    worth: str
    interval: tuple[float, float] | None
    value: float


def verdict(evidence: Evidence, facts: Sequence[tuple[str, str]]) -> Section:
    """Return the first section.

    Parameters
    ----------
    evidence : Evidence
    facts : pairs of name and value
        About the data.
    """
    subject = evidence.subject
    accuracy = _accuracy(evidence)
    wrong = int((subject.examined.lead <= 0).sum())
    counts = np.bincount(subject.codes(), minlength=len(subject.class_names))
    guess = int(counts.argmax())
    guessing = float(counts[guess]) / subject.n_rows
    data = {
        "accuracy": accuracy,
        "bar": _bar(accuracy, guessing),
        "certificate": _optimality(evidence),
        "training": f"On the {subject.n_rows:,} rows it was fitted to, {wrong:,} "
        f"{'is' if wrong == 1 else 'are'} wrong ({percent(wrong / subject.n_rows)}). That is the training "
        "error, and says little about new rows.",
        "guessing": f"Always saying {subject.class_names[guess]} would be right for {percent(guessing)}, "
        "the thin mark on the scale.",
        "confusion": _confusion(evidence),
        "facts": facts,
    }
    return Section("verdict", "Verdict", "Verdict", template="verdict.html.j2", data=data)


def accuracy_text(share: float) -> str:
    """Write an accuracy: 98.4 %, 99.97 %, 100 %.

    Examples
    --------
    >>> accuracy_text(0.98421), accuracy_text(0.99974), accuracy_text(1.0), accuracy_text(0.5)
    ('98.4 %', '99.97 %', '100 %', '50.0 %')
    """
    if share >= 1:
        return "100 %"
    value = 100.0 * share
    return f"{value:.1f} %" if value < 99.5 else f"{100.0 - float(f'{100.0 - value:.1g}'):.10g} %"


# ---------------------------------------------------------------- how often it is right


def _accuracy(evidence: Evidence) -> Accuracy:
    measured = _on_held_out_rows(evidence)
    if measured is not None:
        return measured
    left_out = evidence.left_out.value
    if left_out is not None and left_out.n_examples:
        suspects = evidence.suspects.value
        is_estimated = suspects is not None and suspects.left_out is not None
        estimated = suspects.n_at_odds if suspects is not None and is_estimated else None
        return _by_leave_one_out(left_out, estimated, evidence.subject.is_preprocessed)
    right = float((evidence.subject.examined.lead > 0).mean())
    return Accuracy(
        headline=accuracy_text(right),
        basis=f"right on the {evidence.subject.n_rows:,} rows that it was fitted to",
        worth="This is the training accuracy: it says little about new rows. Give held-out rows "
        "with test=(X, y) for a figure that does.",
        interval=None,
        value=right,
    )


def _on_held_out_rows(evidence: Evidence) -> Accuracy | None:
    """Return what was measured; None without test rows, or if all of them are training rows."""
    held_out, known = evidence.held_out, evidence.guarantees.value
    if held_out is None or (known is not None and "held-out error" not in known):
        return None
    errors, n = int((held_out.lead <= 0).sum()), len(held_out.labels)
    low, high = clopper_pearson(errors, n, evidence.confidence)
    # Beyond what every such interval rests on: rows that were in training too.
    further = () if known is None else known["held-out error"].assumptions[2:]
    return Accuracy(
        headline=accuracy_text(1 - errors / n),
        basis=f"right on {plural(n, 'held-out row')} that had no part in training",
        worth=f"{chosen_percent(evidence.confidence)} interval for new rows: {accuracy_text(1 - high)} to "
        f"{accuracy_text(1 - low)} (Clopper and Pearson). " + " ".join(f"{one}." for one in further),
        interval=(1 - high, 1 - low),
        value=1 - errors / n,
    )


def _by_leave_one_out(left_out: LeaveOneOut, estimated: int | None, is_preprocessed: bool) -> Accuracy:
    """Return the exact count, or what is proved of it, with an estimate of the rest where there is one."""
    n = left_out.n_examples
    high, low = 1 - left_out.n_errors / n, 1 - (left_out.n_errors + left_out.n_undecided) / n
    is_decided = left_out.n_undecided == 0
    between = f"{accuracy_text(low)} to {accuracy_text(high)}"
    warning = f" But {left_out.warning()}" if left_out.warning() else ""
    if is_preprocessed:
        warning = f" The steps before the classifier were fitted with the row that is left out.{warning}"
    of_what = " for the classifier" if is_preprocessed else ""
    if not is_decided and estimated is not None:
        guess = min(max(1 - estimated / n, low), high)
        return Accuracy(
            headline=f"≈ {accuracy_text(guess)}",
            basis=f"right on {plural(n, 'row')} when each is left out of the fit, by estimates",
            worth=f"An estimate for new rows. Leaving out was decided for all but "
            f"{plural(left_out.n_undecided, 'row')} in the time there was: proved is {between}.{warning}",
            interval=(low, high),
            value=guess,
        )
    undecided = "" if is_decided else f" {plural(left_out.n_undecided, 'row')} could not be decided in time."
    return Accuracy(
        headline=accuracy_text(high) if is_decided else between,
        basis=f"right on {plural(n, 'row')} when each is left out of the fit",
        worth=f"Leave-one-out, exact{of_what}: an estimate for new rows, without an interval."
        + undecided
        + warning,
        interval=None if is_decided else (low, high),
        value=high,
    )


def _bar(accuracy: Accuracy, guessing: float) -> dict[str, Any]:
    """Return where things stand on a scale that ends at 100 %, in hundredths of its length."""
    lowest = min(guessing, accuracy.value, *(accuracy.interval or ()))
    begin = max(0.0, math.floor(10 * lowest - 0.5) / 10)

    def place(share: float) -> float:
        return round(float(100.0 * (share - begin) / (1.0 - begin)), 2)

    ends = accuracy.interval
    return {
        "begin": accuracy_text(begin).replace(".0", ""),
        "value": place(accuracy.value),
        "low": None if ends is None else place(ends[0]),
        "wide": None if ends is None else round(place(ends[1]) - place(ends[0]), 2),
        "guessing": place(guessing),
    }


# ---------------------------------------------------------------- how near the optimum


def _optimality(evidence: Evidence) -> dict[str, Any]:
    found, model = evidence.certificate.value, evidence.subject.model
    if found is None:
        return _not_computed(model.certificate, evidence.certificate.why_not)
    gap = found.relative_gap if found.gap > TINY else 0.0
    is_near = gap <= max(NEAR, model.tol if model.certificate is not None else 0.0)
    if gap == 0 or found.is_rounding:
        headline = "At the optimum"
    elif is_near:
        headline = f"Within {percent(gap)} of the optimum"
    else:
        headline = f"Up to {percent(gap)} above the optimum"
    further = (
        f"Objective {digits(found.objective, 7)}; none can be less than {digits(found.bound, 7)}. "
        "The bound was computed from these rows for this report, by code that is independent of the solvers."
    )
    if not is_near:
        further += (
            " So these coefficients are not the best for this problem on these rows: the solver stopped "
            "early, or the rows, the class weights or the sample weights are not those of the fit."
        )
    useless = _uselessness(evidence)
    if useless:
        further = f"{useless} {further}"
    state = "proved" if is_near and not useless else "doubtful"
    return {"state": state, "headline": headline, "sentence": capital(f"{found}."), "further": further}


def _uselessness(evidence: Evidence) -> str:
    """Return what makes the model useless on its own rows, optimum or not; nothing for a useful one."""
    subject = evidence.subject
    model, codes = subject.model, subject.codes()
    found = model.degenerate
    if found is None and model.certificate is not None:
        batches = in_pieces(subject.examined.X, codes, None, len(model.classes))
        found = degeneracy_of(model, batches, len(codes))
    return "" if found is None else capital(str(found.warning(model)))


def _not_computed(own: Certificate | None, why_not: str) -> dict[str, Any]:
    """Return what there is where no certificate could be computed: the model's own, or nothing."""
    if own is None:
        return {
            "state": "unknown",
            "headline": "Not certified",
            "sentence": capital(why_not),
            "further": "",
        }
    return {
        "state": "stated",
        "headline": capital(own.verdict),
        "sentence": f"According to the model's own certificate, from when it was fitted: {own}.",
        "further": f"It was not recomputed for this report. {capital(why_not)}",
    }


# ---------------------------------------------------------------- labels against predictions


def _confusion(evidence: Evidence) -> Table | None:
    subject = evidence.subject
    names = subject.class_names
    if len(names) > MOST_CLASSES:
        return None
    if evidence.held_out is not None:
        codes, predicted = subject.codes(evidence.held_out), subject.predicted(evidence.held_out)
        which = "held-out rows"
    else:
        codes, predicted = subject.codes(), subject.predicted()
        which = "training rows"
        left_out = evidence.left_out.value
        if left_out is not None and left_out.n_undecided == 0 and len(names) == 2:
            predicted = np.where(left_out.errors, 1 - codes, codes)
            which = "training rows, each when left out"
    counts = _counts(codes, predicted, len(names))
    predictions = [f"predicted {name}" for name in names] if len(names) == 2 else names
    columns = [Column("labelled"), *(Column(name, is_number=True) for name in predictions)]
    rows = [
        [name, *(f"{count:,}" for count in counts[k]), *_right(counts[k], k)] for k, name in enumerate(names)
    ]
    across = "" if len(names) == 2 else ", predictions across"
    return Table(
        f"Labels and predictions: {which}{across}", [*columns, Column("right", is_number=True)], rows
    )


def _counts(codes: NDArray[np.intp], predicted: NDArray[Any], n: int) -> NDArray[np.intp]:
    return np.bincount(codes * n + predicted, minlength=n * n).reshape(n, n)


def _right(counts: NDArray[np.intp], own: int) -> list[str]:
    total = int(counts.sum())
    return [accuracy_text(float(counts[own]) / total) if total else "none there"]
