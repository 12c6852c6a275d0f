"""Where the rows are: the distance to the boundary, and the widest direction along it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.widest_direction import times, widest_direction
from maxmargin.presentation.wording import plural
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.section import MOST, Chart, Column, Section, Table, digits, drawn_problems, numbers
from maxmargin.reporting.subject import Boundary, Subject

__all__ = ["projection"]

ENOUGH = 5_000  # rows to find a direction by
POINTS = 1500  # drawn of one picture
POINTS_OF_ALL = 6000  # drawn of the pictures of all classes together
CELLS = (48, 30)  # of a density at most
OUTER = 0.005  # of the rows to either side are beyond its edges
ROWS_OF_A_CELL = 5  # fewer are not drawn where single rows are not to be seen


def projection(evidence: Evidence) -> Section:
    """Return the section; without a boundary it only says so."""
    subject = evidence.subject
    title, short = "Where the rows are", "Rows"
    shown, note = _boundaries(subject)
    if not shown:
        return Section("rows", title, short, notes=["θ = 0: there is no boundary."])
    few, most = _few(subject.examined.X), min(POINTS, POINTS_OF_ALL // len(shown))
    views = [_view(subject, one, few, most) for one in shown]
    left, right = shown[0].sides if len(shown) == 1 else ("another class", "the class shown")
    where = f"To the right of the thick line the model says {right}, to the left {left}."
    if subject.model.is_joint:
        where = (
            "The rows of two classes at a time, and the boundary between them: to the right of the thick "
            "line the score of the second class is larger, to the left that of the first. Which class the "
            "model says depends on all scores, of which the largest wins."
        )
    lead = [
        f"{where} Distances from it are exact, whatever the number of columns; upwards is the direction "
        "along the boundary in which the rows differ most. The dashed lines are the margin boundaries, where "
        f"the {'scores differ by 1' if subject.model.is_joint else 'score is ±1'}."
    ]
    if subject.redact:
        lead.append("Redacted: squares stand for rows nearby, the larger the more; no single row is drawn.")
    drawn = max([view.pop("n_drawn") for view in views])
    how = f"where {ROWS_OF_A_CELL} or more lie together" if subject.redact else "drawn at random"
    n_rows = max(len(one.rows) for one in shown)
    caption = f"{drawn:,} of {plural(n_rows, 'row')}, {how}" if drawn < n_rows else ""
    chart = Chart(
        "rows-chart",
        "Rows by distance to the boundary",
        {
            "kind": "density" if subject.redact else "scatter",
            "xLabel": "distance to the boundary",
            "yLabel": "widest direction along it",
            "views": views,
        },
        [_table(one) for one in shown],
        caption,
    )
    return Section("rows", title, short, lead, [chart], notes=[note] if note else [])


def _boundaries(subject: Subject) -> tuple[list[Boundary], str]:
    """Return the boundaries to draw, and what to say about the others."""
    if not subject.model.is_joint:
        shown, note = drawn_problems(subject)
        found = [subject.boundary(k) for k in shown]
        return [one for one in found if one.is_there], note
    pairs, n = subject.nearest_pairs(), len(subject.class_names)
    found = [subject.boundary_between(*pair) for pair in pairs[:MOST]]
    n_pairs = n * (n - 1) // 2
    note = (
        ""
        if len(found) == n_pairs
        else (
            f"Of {n_pairs:,} pairs of classes the {len(found)} are shown that the model tells apart least "
            "clearly."
        )
    )
    return [one for one in found if one.is_there], note


def _view(subject: Subject, boundary: Boundary, few: Any, most: int) -> dict[str, Any]:
    length = float(np.linalg.norm(boundary.theta))
    x, rows = boundary.scores / length, boundary.rows
    X = subject.examined.X
    if len(rows) < X.shape[0]:
        X = X[rows]
        few = _few(X)
    direction, _ = widest_direction(few, boundary.theta / length)
    across = times(X, direction)
    across -= across.mean()
    sides = boundary.sides
    name = " or ".join(sides) if subject.model.is_joint else sides[1]
    view: dict[str, Any] = {"name": name, "sides": list(sides), "margin": numbers([1 / length])[0]}
    if subject.redact:
        return {**view, **_density(x, across, boundary.is_positive)}
    chosen = _sample(len(rows), most)
    chosen = chosen[np.argsort(x[chosen], kind="stable")]
    drawn = {
        "x": numbers(x[chosen], 4),
        "y": numbers(across[chosen], 4),
        "positive": boundary.is_positive[chosen].astype(int).tolist(),
        "row": rows[chosen].tolist(),
    }
    return {**view, **drawn, "n_drawn": len(chosen)}


def _few(X: Any) -> Any:
    """Return enough rows to find a direction by."""
    return X if X.shape[0] <= ENOUGH else X[_sample(X.shape[0], ENOUGH)]


def _sample(n_rows: int, most: int) -> NDArray[np.intp]:
    """Return the rows to draw, the same ones every time."""
    if n_rows <= most:
        return np.arange(n_rows)
    # RandomState draws the same numbers in every version of NumPy.
    return np.sort(np.random.RandomState(0).permutation(n_rows)[:most])


def _density(x: NDArray[Any], y: NDArray[Any], side: NDArray[np.bool_]) -> dict[str, Any]:
    """Return how many rows of either side are in each cell of a grid, for cells of several rows."""
    scale = min(1.0, np.sqrt(2.0 * len(x) / (ROWS_OF_A_CELL * CELLS[0] * CELLS[1])))
    sizes = [max(4, round(scale * n)) for n in CELLS]
    grid = [np.linspace(*_ends(values), n + 1) for values, n in zip((x, y), sizes, strict=True)]
    counts = [np.histogram2d(x[which], y[which], bins=grid)[0] for which in (~side, side)]
    filled = np.argwhere(counts[0] + counts[1] >= ROWS_OF_A_CELL)
    middles = [0.5 * (edges[1:] + edges[:-1]) for edges in grid]
    return {
        "x": numbers(middles[0][filled[:, 0]], 4),
        "y": numbers(middles[1][filled[:, 1]], 4),
        "counts": [[int(count[i, j]) for i, j in filled] for count in counts],
        "cell": numbers([edges[1] - edges[0] for edges in grid], 4),
        "n_drawn": int(sum(count[i, j] for count in counts for i, j in filled)),
    }


def _ends(values: NDArray[Any]) -> tuple[float, float]:
    low, high = (float(end) for end in np.quantile(values, (OUTER, 1 - OUTER)))
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _table(boundary: Boundary) -> Table:
    """Return how many rows of either side are where."""
    agreements = boundary.agreements
    width = 1 / float(np.linalg.norm(boundary.theta))
    columns = ["rows of class", "on the wrong side", "inside the margin", "on or beyond the margin"]
    rows = []
    for name, which in zip(boundary.sides, (~boundary.is_positive, boundary.is_positive), strict=True):
        own = agreements[which]
        parts = (own <= 0, (own > 0) & (own < 1), own >= 1)
        rows.append([name, *(f"{int(part.sum()):,}" for part in parts)])
    about = f"Where all {len(agreements):,} rows lie; the margin is {digits(width)} wide to either side"
    return Table(about, [Column(name, is_number=bool(j)) for j, name in enumerate(columns)], rows)
