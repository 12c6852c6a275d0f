"""Would another C be better? Errors, margin and support vectors along the regularisation path."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.presentation.wording import chosen_percent, percent, plural, short
from maxmargin.reporting.evidence import Evidence, LeftOutAt, values_of_C
from maxmargin.reporting.section import Chart, Column, Section, Table, digits, numbers
from maxmargin.selection.path.record import Path

__all__ = ["path_section"]

TITLE, SHORT = "Would another C be better?", "Other C"


def path_section(evidence: Evidence) -> Section:
    """Return the section; without a path it says why."""
    path = evidence.path.value
    if path is None:
        return Section("path", TITLE, SHORT, notes=[f"No path over C: {evidence.path.why_not}"])
    C = _own_C(evidence)
    points = _points(evidence, C)
    lead = [
        "C is the price of an error against the width of the margin. The model was refitted over a range of "
        f"C around its own {short(C)}: {_certified(path)}. {_training_errors(path)}; errors of rows "
        "that are left out show what that is worth."
    ]
    best = _best(points, C)
    charts = [_errors(path, points, C, best), _geometry(path, C)]
    return Section("path", TITLE, SHORT, lead, charts, notes=_notes(evidence, path, points, C))


def _own_C(evidence: Evidence) -> float:  # noqa: N802 - C is the letter's name
    """Return the model's C: the path was laid around it."""
    path = evidence.path.value
    if evidence.subject.model.C is not None:
        return float(evidence.subject.model.C)
    return float(np.sqrt(path.C[0] * path.C[-1])) if path is not None else 1.0


def _points(evidence: Evidence, C: float) -> list[LeftOutAt]:
    """Return what leave-one-out found along the path, and at the model's own C."""
    points = list(evidence.left_out_along_path.value or [])
    if evidence.left_out.value is not None:
        points.append(LeftOutAt.of(C, evidence.left_out.value))
    return sorted(points, key=lambda point: point.C)


def _certified(path: Path) -> str:
    if path.is_certified:
        low, high = short(path.C[0]), short(path.C[-1])
        fits = plural(path.n_fits, "fit")
        if path.is_grid:
            within = f"within {chosen_percent(path.tol)} of its optimum"
            return f"{fits} from {low} to {high}, each proved {within}; nothing is claimed between them"
        return f"{fits} prove every C from {low} to {high} within {chosen_percent(path.tol)} of its optimum"
    return f"{plural(path.n_fits, 'fit')}, and what lies between them is not proved everywhere"


def _training_errors(path: Path) -> str:
    """Return what becomes of the training errors as C grows."""
    errors = path.training_error
    changes = np.diff(errors)
    if not changes.any():
        return f"The training error is {percent(float(errors[0]))} at every C"
    if (changes <= 0).all() or (changes >= 0).all():
        return f"Training errors {'fall' if errors[-1] < errors[0] else 'rise'} as C grows"
    least = int(np.argmin(errors))
    ends = f"from {percent(float(errors[0]))} to {percent(float(errors[-1]))}"
    lowest = f"{percent(float(errors[least]))} at C = {digits(path.C[least], 3)}"
    return f"The training error goes {ends} as C grows, up and down, and is lowest, {lowest}"


def _best(points: list[LeftOutAt], C: float) -> str:
    """Return where leave-one-out has fewest errors, as far as it is decided."""
    decided = [point for point in points if point.least == point.most and point.is_meaningful]
    if len(decided) < 2:
        return ""
    fewest = min(point.least for point in decided)
    places = [point.C for point in decided if point.least == fewest]
    own = next((point for point in decided if np.isclose(point.C, C)), None)
    first, last = digits(places[0], 3), digits(places[-1], 3)
    where = {1: f"C = {first}", 2: f"C = {first} and {last}"}.get(
        len(places), f"{len(places)} values of C from {first} to {last}"
    )
    said = f"Fewest errors when left out: {fewest:,}, at {where}"
    if own is not None and own.least > fewest:
        said += f"; the model's own C has {own.least:,}"
    elif own is not None:
        said += "; the model's own C is among them" if len(places) > 1 else ", which is the model's own"
    return f"{said}. Small differences may be chance."


def _errors(path: Path, points: list[LeftOutAt], C: float, best: str) -> Chart:
    grid = np.union1d(path.C, [point.C for point in points])
    training = np.full(len(grid), np.nan)
    training[np.searchsorted(grid, path.C)] = path.training_error
    errors, ranges = np.full(len(grid), np.nan), []
    for point in points:
        if point.least == point.most:
            errors[np.searchsorted(grid, point.C)] = point.least / point.n_examples
        else:
            ends = (point.C, point.least / point.n_examples, point.most / point.n_examples)
            ranges.append(numbers(ends, 7))
    series = [{"name": "training error", "values": numbers(training), "colour": "muted", "dash": True}]
    if np.isfinite(errors).any():
        left_out = {
            "name": "wrong when left out",
            "values": numbers(errors),
            "colour": "accent",
            "marks": True,
        }
        series.append(left_out)
    spec = {
        "ranges": ranges,
        "kind": "lines",
        "xLabel": "C",
        "yLabel": "share of the rows",
        "x": numbers(grid, 7),
        "logX": True,
        "percent": True,
        "series": series,
        "own": numbers([C])[0],
    }
    columns = ["C", "training error", "wrong when left out", "margin", "support vectors", "certified within"]
    rows = [_row(path, points, float(value)) for value in grid]
    table = Table("The path", [Column(name, is_number=True) for name in columns], rows)
    return Chart("path-chart", "Errors against C", spec, [table], best)


def _row(path: Path, points: list[LeftOutAt], C: float) -> list[str]:
    point = next((one for one in points if one.C == C), None)
    left = "" if point is None else f"{point.least:,}"
    if point is not None and point.most > point.least:
        left += f" to {point.most:,}"
    k = int(np.searchsorted(path.C, C))
    if k == len(path.C) or path.C[k] != C:
        return [digits(C), "", left, "", "", ""]
    support = "" if path.n_support is None else f"{int(path.n_support[k]):,}"
    gap = percent(float(path.gaps[k]), "up")
    return [digits(C), percent(path.training_error[k]), left, digits(path.margin[k]), support, gap]


def _geometry(path: Path, C: float) -> Chart:
    series: list[dict[str, Any]] = [
        {"name": "margin width 1/‖θ‖", "values": numbers(path.margin), "colour": "proved", "marks": True}
    ]
    if path.n_support is not None:
        series.append(
            {
                "name": "support vectors",
                "values": [int(count) for count in path.n_support],
                "colour": "accent",
                "marks": True,
                "dash": True,
                "right": True,
            }
        )
    spec = {
        "kind": "lines",
        "xLabel": "C",
        "yLabel": "margin width",
        "rightLabel": "support vectors",
        "x": numbers(path.C, 7),
        "logX": True,
        "series": series,
        "own": numbers([C])[0],
    }
    columns = [Column("C", is_number=True), Column("margin width", is_number=True)]
    rows = [[digits(value), digits(width)] for value, width in zip(path.C, path.margin, strict=True)]
    if path.n_support is not None:
        columns.append(Column("support vectors", is_number=True))
        rows = [[*row, f"{int(count):,}"] for row, count in zip(rows, path.n_support, strict=True)]
    return Chart("margin-path-chart", "Margin against C", spec, [Table("Margin width", columns, rows)])


def _notes(evidence: Evidence, path: Path, points: list[LeftOutAt], C: float) -> list[str]:
    notes = [*evidence.path.warnings]
    if evidence.left_out.value is None:
        notes.append(f"No leave-one-out: {evidence.left_out.why_not}")
        return notes
    wanted = len(values_of_C(C, path)) + 1
    if len(points) < wanted:
        why = evidence.left_out_along_path.why_not or "the time limit was reached"
        notes.append(f"Rows were left out at {len(points)} of {wanted} values of C: {why}.")
    weak = [point for point in points if not point.is_meaningful]
    if weak:
        listed = ", ".join(digits(point.C, 3) for point in weak)
        notes.append(
            f"At C = {listed} no support vector lies between its bounds: the errors there tell about the "
            "numbers of rows in each class, not about the classifier."
        )
    return notes
