"""How clearly the rows are separated: a histogram of agreements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.model.estimator_problem import ScoredExamples
from maxmargin.presentation.wording import percent, plural
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import Chart, Column, Section, Table, digits, numbers
from maxmargin.reporting.subject import Subject

__all__ = ["bin_edges", "margins"]

MOST_BINS = 48
OUTER = 0.002  # of the rows to either side may be piled up in the outermost bin


def margins(evidence: Evidence) -> Section:
    """Return the section."""
    subject = evidence.subject
    views, tables = [], []
    for name, examined in _parts(evidence):
        edges = bin_edges(examined.lead)
        series = _series(subject, examined, edges)
        views.append({"name": name, "edges": numbers(edges, 6), "series": series, "n": len(examined.labels)})
        tables.append(_table(name, edges, series))
    two = len(subject.class_names) == 2
    what = "score, positive towards its own class" if two else "own class's score minus the best other"
    lead = [
        f"The agreement of a row is its {what}. At 0 or below the row is an error; between 0 and 1 it is "
        "right, but inside the margin; beyond 1 it is separated clearly."
    ]
    chart = Chart(
        "margins-chart",
        "Rows by agreement",
        {"kind": "bars", "xLabel": "agreement", "yLabel": "rows", "views": views},
        tables,
        _caption(evidence),
    )
    return Section("margins", "How clearly they are separated", "Margins", lead, [chart])


def _parts(evidence: Evidence) -> list[tuple[str, ScoredExamples]]:
    parts = [("training rows", evidence.subject.examined)]
    return parts if evidence.held_out is None else [("held-out rows", evidence.held_out), *parts]


def bin_edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return edges of equal bins, 0 and 1 among them; the outermost bins take what lies beyond.

    Examples
    --------
    >>> bin_edges(np.array([-0.4, 0.3, 1.0, 2.9]))[[0, 1, -1]]
    array([-0.4, -0.3,  2.9])
    """
    low, high = (float(end) for end in np.quantile(values, (OUTER, 1 - OUTER)))
    low, high = min(low, 0.0), max(high, 1.0)
    least = (high - low) / MOST_BINS
    steps = [1 / 20, 1 / 10, 1 / 5, 1 / 4, 1 / 2, 1.0]
    while steps[-1] < least:
        steps += [factor * 10.0 ** math.floor(math.log10(steps[-1]) + 0.01) for factor in (2.0, 5.0, 10.0)]
    step = next(step for step in steps if step >= least)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return np.asarray(np.arange(first, last + 1) * step)


def _series(subject: Subject, examined: ScoredExamples, edges: NDArray[np.float64]) -> list[dict[str, Any]]:
    lead = np.clip(examined.lead, edges[0], np.nextafter(edges[-1], -np.inf))
    names = subject.class_names
    if len(names) > 2:
        return [{"name": "rows", "colour": "accent", "counts": np.histogram(lead, edges)[0].tolist()}]
    positive = examined.signs[:, 0] > 0
    return [
        {"name": name, "colour": colour, "counts": np.histogram(lead[which], edges)[0].tolist()}
        for name, colour, which in zip(names, ("negative", "positive"), (~positive, positive), strict=True)
    ]


def _caption(evidence: Evidence) -> str:
    said = []
    for name, examined in _parts(evidence):
        lead, n = examined.lead, len(examined.labels)
        inside = int(((lead > 0) & (lead < 1)).sum())
        wrong = int((lead <= 0).sum())
        share = percent(wrong / n)
        said.append(f"{name.capitalize()}: {wrong:,} of {n:,} wrong ({share}), {inside:,} inside the margin")
    support = evidence.subject.model.support
    if support is not None:
        said.append(f"The model rests on {plural(len(support.indices), 'support vector')}")
    return ". ".join(said) + "."


def _table(name: str, edges: NDArray[np.float64], series: list[dict[str, Any]]) -> Table:
    columns = [Column("agreement"), *(Column(f"{one['name']}", is_number=True) for one in series)]
    rows = []
    for k in range(len(edges) - 1):
        counts = [one["counts"][k] for one in series]
        if any(counts):
            rows.append([_between(edges, k), *(f"{count:,}" for count in counts)])
    return Table(f"Agreements of the {name}", columns, rows)


def _between(edges: NDArray[np.float64], k: int) -> str:
    low, high = digits(edges[k]), digits(edges[k + 1])
    if k == 0:
        return f"below {high}"
    return f"{low} or more" if k == len(edges) - 2 else f"{low} to {high}"
