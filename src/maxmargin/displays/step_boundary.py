"""The boundary of an online learner after a step, over the rows it learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import MARKERS, ink, side_colours
from maxmargin.errors import InvalidInput
from maxmargin.learners.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["draw_boundary", "frame", "near_name"]

MOST_ROWS = 4000
TRUE_TO_SCALE = 4.0  # beyond this ratio of the ranges, equal units would make a thin strip
LEFT_BY_LABELS, MOST_ROOM = 0.7, 0.3  # shares of the axes: of a side, and at either end of it
REMEMBERED = 4  # earlier boundaries that are drawn, each fainter than the next


def draw_boundary(ax: Axes, trace: Trace, t: int) -> Line2D | None:
    """Draw rows, the boundary after step t, the example of that step and the boundaries before it.

    Returns the boundary; None at θ = 0, which has none.
    """
    rows = trace.replay.X
    rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    if rows.shape[1] != 2:
        raise InvalidInput(f"kind='boundary' draws rows of two columns; these have {rows.shape[1]}")
    low, high = frame(ax, np.minimum(rows.min(axis=0), 0.0), np.maximum(rows.max(axis=0), 0.0))
    _draw_rows(ax, rows, trace.replay.sign)
    reach = 20.0 * float((high - low).max())
    _draw_earlier(ax, trace, t, reach)
    coef, offset = trace.weights(t)
    line = _line(coef, offset, rows.mean(axis=0), reach)
    drawn = None
    if line is None:
        ax.text(
            0.5, 0.97, "θ = 0: no boundary yet", transform=ax.transAxes, ha="center", va="top", color=ink()
        )
    else:
        (drawn,) = ax.plot(*line.T, color=ink(), linewidth=1.8, label=f"boundary after step {t:,}", zorder=3)
        _draw_direction(ax, coef, offset, (low, high))
    _ring_example(ax, trace, t)
    ax.set_xlabel("x₁")
    ax.set_ylabel("x₂")
    return drawn


def frame(
    ax: Axes, low: NDArray[np.float64], high: NDArray[np.float64], *, points: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Show what lies between two corners with some room around it, and true to scale where that can be.

    Only then θ looks orthogonal to its boundary. There is room for something of `points` points, such as a
    number, beside a corner. Returns the corners of the picture.
    """
    span = np.where(high > low, high - low, max(float((high - low).max()), 1.0))
    is_true = bool(span.max() <= TRUE_TO_SCALE * span.min())
    half = max(0.62, 0.5 / (1.0 - 2.0 * min(points / _points_of(ax), MOST_ROOM)))
    room = half * (np.full(2, span.max()) if is_true else span)
    low, high = (low + high) / 2 - room, (low + high) / 2 + room
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal" if is_true else "auto", adjustable="box")
    return low, high


def _points_of(ax: Axes) -> float:
    """Return about how many points wide or high the axes will be once labels and legend have their room."""
    box = ax.get_window_extent()
    return LEFT_BY_LABELS * 72.0 * float(min(box.width, box.height)) / ax.figure.dpi


def near_name(trace: Trace) -> str:
    """Return what an example is called that is right and moves the weights all the same.

    Losses with a kink let go of examples beyond it; smooth ones never do.
    """
    return "near mistake" if trace.method.kinks else "right"


def _draw_rows(ax: Axes, rows: NDArray[np.float64], signs: NDArray[np.int8]) -> None:
    every = -(-len(rows) // MOST_ROWS)
    size, colours = float(np.clip(6000.0 / len(rows), 10.0, 40.0)), side_colours()
    for sign, name in ((1, "+1"), (-1, "−1")):
        these = rows[signs == sign]
        shown = "" if every == 1 else f", every {every}th drawn"
        ax.scatter(
            these[::every, 0],
            these[::every, 1],
            s=size,
            marker=MARKERS[sign],
            color=colours[sign],
            linewidth=0,
            label=f"{name} ({len(these):,}{shown})",
            zorder=4,
        )


def _draw_earlier(ax: Axes, trace: Trace, t: int, reach: float) -> None:
    """Draw the last few boundaries before the present one, fading."""
    before = np.flatnonzero(trace.updated[: max(t - trace.first, 0)]) + trace.first
    shown = before[-REMEMBERED:]
    coefs, offsets = trace.course([*shown.tolist(), t])
    for k, (coef, offset) in enumerate(zip(coefs[:-1], offsets[:-1], strict=True)):
        line = _line(coef, float(offset), np.zeros(2), reach)
        if line is None or (np.array_equal(coef, coefs[-1]) and offset == offsets[-1]):
            continue
        age = len(shown) - k
        ax.plot(
            *line.T,
            color=ink(),
            linewidth=1.0,
            linestyle=(0, (5, 3)),
            alpha=0.65 / age,
            label="earlier ones" if age == 1 else None,
            zorder=2,
        )


def _ring_example(ax: Axes, trace: Trace, t: int) -> None:
    """Ring the example of step t."""
    at = t - trace.first
    if at < 0:
        return
    x, _ = trace.replay.row(int(trace.example[at]))
    agreement = float(trace.agreement[at])
    verdict = "wrong" if agreement <= 0 else "right" if not trace.updated[at] else near_name(trace)
    ax.scatter(
        x[0],
        x[1],
        s=170,
        facecolors="none",
        edgecolors=ink(),
        linewidths=1.4,
        label=f"example {int(trace.example[at])}: {verdict}",
        zorder=5,
    )


def _draw_direction(ax: Axes, coef: NDArray[np.float64], offset: float, limits: Any) -> None:
    """Draw θ as an arrow from the boundary, of a length that can be seen."""
    low, high = limits
    normal = coef / np.linalg.norm(coef)
    middle = (low + high) / 2
    foot = middle - (middle @ coef + offset) / float(np.linalg.norm(coef)) * normal
    if not ((foot > low) & (foot < high)).all():
        return
    length = 0.13 * float((high - low).min())
    ax.annotate(
        "",
        foot + length * normal,
        xytext=foot,
        arrowprops={"arrowstyle": "-|>", "color": ink(), "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0},
        zorder=6,
    )
    ax.annotate(
        "θ",
        foot + length * normal,
        xytext=tuple(9 * normal),
        textcoords="offset points",
        ha="center",
        va="center",
        color=ink(),
        fontsize=11,
        zorder=6,
    )


def _line(
    coef: NDArray[np.float64], offset: float, near: NDArray[np.float64], reach: float
) -> NDArray[np.float64] | None:
    """Return two far points of the boundary, or None at θ = 0."""
    norm = float(np.linalg.norm(coef))
    if norm == 0:
        return None
    normal = coef / norm
    foot = near - (near @ coef + offset) / norm * normal
    along = np.array([-normal[1], normal[0]])
    return np.array([foot - reach * along, foot + reach * along])
